"""A distribution refuses an argument behind random numbers, and the program handles that."""

import torch

GRAPHS = 1


def fn(logits, value):
    d = torch.distributions.Categorical(logits=logits, validate_args=True)
    drawn = d.sample()
    try:
        return drawn, d.log_prob(value)
    except ValueError as e:
        return drawn, str(e)


def calls():
    logits = torch.randn(2, 3)
    return [(logits, torch.tensor(value)) for value in ([0, 1], [2, 2], [3, 0], [1, 1])]
