"""A backend that rewrites the graph: `x * 2` becomes `x + x`."""

import operator

import ferrodyn
import torch


@ferrodyn.register_backend
def doubling(graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor]):
    for node in graph.graph.nodes:
        if node.target is operator.mul and node.args[1] == 2:
            node.target, node.args = operator.add, (node.args[0], node.args[0])
    graph.recompile()
    return graph.forward


def main() -> None:
    f = ferrodyn.compile(lambda x: (x * 2).sin(), backend="doubling")
    x = torch.linspace(0, 1, 5)
    assert torch.equal(f(x), (x * 2).sin())
    assert "doubling" in ferrodyn.list_backends()
    print("equal")


if __name__ == "__main__":
    main()
