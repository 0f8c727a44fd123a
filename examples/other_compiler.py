"""A compiler that is not torch's own below Ferrodyn: here TorchScript stands for it.

A package that brings a compiler names it in its entry points (`torch_dynamo_backends`); then
`backend="its name"` finds it without an import. Here it is registered by hand.
"""

import ferrodyn
import torch


@ferrodyn.register_backend(name="torchscript", tags=("example",))
def torchscript(graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor]):
    return torch.jit.freeze(torch.jit.trace(graph.eval(), tuple(example_inputs)))


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    compiled = ferrodyn.compile(model, backend="torchscript")
    x = torch.randn(3, 4)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))
    assert "torchscript" not in ferrodyn.list_backends(exclude_tags=("example",))
    print("close")


if __name__ == "__main__":
    main()
