"""A function with graph breaks, what `explain` says of them, and the same without."""

import ferrodyn
import torch


def sick(x, limit=10.0):
    y = x.softmax(-1)
    if y.max().item() > 0.5:  # a branch on a number that is read from a tensor
        y = y * 2
    while y.sum() < limit:  # a loop on a tensor
        y = y * 2
    return y


def healthy(x, limit=10.0):
    y = x.softmax(-1)
    y = torch.where(y.max() > 0.5, y * 2, y)
    doublings = torch.log2(limit / y.sum()).ceil().clamp(min=0)
    return y * 2**doublings


def main() -> None:
    x = torch.linspace(-1, 2, 6)
    before = ferrodyn.explain(sick)(x)
    print(before)
    after = ferrodyn.explain(healthy)(x)
    assert before.graph_break_count >= 2 and after.graph_break_count == 0
    torch.testing.assert_close(sick(x), healthy(x))
    print(f"\n{before.graph_count} graphs -> {after.graph_count}")


if __name__ == "__main__":
    main()
