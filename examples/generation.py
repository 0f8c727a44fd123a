"""A generation loop with a cache of keys and values, as libraries of language models have it."""

import ferrodyn
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, 3 * width)

    def forward(self, x, cache):
        q, k, v = self.project(x).chunk(3, dim=-1)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=1), torch.cat([cache[1], v], dim=1)
        is_causal = cache is None
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        return y, (k, v)


class Model(nn.Module):
    def __init__(self, tokens: int = 50, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.attention = Attention(width)
        self.head = nn.Linear(width, tokens)

    def forward(self, ids, cache=None):
        y, cache = self.attention(self.embed(ids), cache)
        return self.head(y[:, -1]), cache


@torch.no_grad()
def generate(model, ids, steps: int = 12):
    logits, cache = model(ids)
    for _ in range(steps):
        token = logits.argmax(-1, keepdim=True)
        ids = torch.cat([ids, token], dim=1)
        logits, cache = model(token, cache)
    return ids


def main() -> int:
    torch.manual_seed(0)
    model, prompt = Model(), torch.tensor([[3, 1, 4, 1, 5]])
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    expected = generate(model, prompt)
    found = generate(ferrodyn.compile(model, backend=backend), prompt)
    assert torch.equal(found, expected)
    # The prompt, the first token behind it, and all further ones.
    print(f"{found.shape[1]} tokens, {len(graphs)} graphs")
    return len(graphs)


if __name__ == "__main__":
    main()
