"""Writes tokens one by one with a cache that grows; a step is compiled, for torch.compile."""

import torch
from torch import nn

torch.manual_seed(1)
WORDS, WIDTH = 11, 8
embedding = nn.Embedding(WORDS, WIDTH)
query, key, value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
out = nn.Linear(WIDTH, WORDS)


def step(token, cache):
    x = embedding(token)
    cache = torch.cat([cache, torch.stack([key(x), value(x)])], 1)
    keys, values = cache
    attended = torch.softmax(query(x) @ keys.T / WIDTH**0.5, -1) @ values
    return out(attended + x).argmax(-1), cache


def generate(step, count):
    token, cache = torch.tensor([3]), torch.zeros(2, 0, WIDTH)
    tokens = []
    for _ in range(count):
        token, cache = step(token, cache)
        tokens.append(token.item())
    return tokens


with torch.no_grad():
    compiled = torch.compile(step, backend="aot_eager")
    print(generate(compiled, 10))
    torch.compiler.reset()
    with torch.compiler.set_stance("force_eager"):
        print(generate(compiled, 4))
