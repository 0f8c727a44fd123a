"""What raises behind random numbers raises as in plain Python, and the numbers are drawn once."""

import torch
import torch.nn.functional as F

GRAPHS = 6
REFERENCE_GRAPHS = 9

log = []


class Swallows:
    def __enter__(self):
        log.append("entered")

    def __exit__(self, kind, error, traceback):
        log.append(kind and kind.__name__)
        return kind is not None


def effects(x):
    log.append(F.dropout(x).shape)
    try:
        return torch.zeros(3)[torch.ones(3).long() * x.long()]
    finally:
        log.append("left")


def swallowed(x):
    with Swallows():
        noise = torch.rand(3)
        torch.linalg.cholesky(torch.diag(1.5 - x)) + noise
    return torch.rand(2)


def distribution(x):
    # torch.compile turns the checks off for the whole process where they are not asked for.
    sample = torch.distributions.Normal(x, 1.0, validate_args=True).sample()
    return torch.distributions.Normal(sample, 1.5 - x, validate_args=True).sample()


def asserted(x):
    noise = torch.rand(3)
    assert (x < 2).all(), "too large"
    return noise * x


def with_a_generator(x):
    generator = torch.Generator().manual_seed(4)
    noise = torch.rand(3, generator=generator)
    try:
        return torch.zeros(3)[x.long()] + noise
    except IndexError:
        return noise, torch.rand(2, generator=generator)


def in_inference_mode(x):
    with torch.inference_mode():
        noise = torch.rand(3)
        try:
            return torch.zeros(3)[x.long()] + noise
        except IndexError:
            return noise * 2


def fn(x, work):
    return work(x)


def calls():
    works = [effects, swallowed, distribution, asserted, with_a_generator, in_inference_mode]
    return [(torch.full((3,), value), work) for work in works for value in (1.0, 5.0, 1.0)]


COMPILED_WRONG = "what the graph drew before it raised stays drawn"
