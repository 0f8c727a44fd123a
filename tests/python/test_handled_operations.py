"""Where a graph of a compiler ends, if an exception in it has to find the program's handler."""

import ferrodyn
import pytest
import torch


class Counted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        x = x.sin()
        self.calls.add_(1)
        return x.cos()


class Net(torch.nn.Module):
    """A library's container calls what writes, behind an operation that is handled."""

    def __init__(self):
        super().__init__()
        self.rest = torch.nn.Sequential(torch.nn.Linear(3, 3), Counted(), torch.nn.ReLU())

    def pick(self, x, index):
        try:
            return x[index]
        except IndexError:
            return x

    def forward(self, x, index):
        y = self.pick(x, index) + 1
        return self.rest(y) * 2


def counting():
    """A backend that takes graphs apart, and how many operations each of its graphs has."""
    operations = []
    compile_graph = torch._dynamo.lookup_backend("aot_eager")

    def backend(gm, example_inputs):
        operations.append(sum(node.op.startswith("call_") for node in gm.graph.nodes))
        return compile_graph(gm, example_inputs)

    return backend, operations


def test_a_write_in_a_called_module_leaves_the_call_in_one_graph():
    torch.manual_seed(0)
    net, eager = Net(), Net()
    eager.load_state_dict(net.state_dict())
    backend, operations = counting()
    compiled = ferrodyn.compile(net, backend=backend)
    x = torch.ones(3, 3)
    for index in (torch.tensor([1, 2]), torch.tensor([2, 0])):
        assert torch.equal(compiled(x, index), eager(x, index))
    assert operations == [2, 6]
    outside = torch.tensor([1, 7])
    assert torch.equal(compiled(x, outside), eager(x, outside))
    assert net.rest[1].calls == eager.rest[1].calls == 3


def add_at(x, index, n):
    try:
        count = x.new_zeros(n + 1)
        count.scatter_add_(0, index, x)
        return count.clamp_(min=1).cos()
    except RuntimeError:
        return x


@pytest.mark.parametrize("dynamic", [None, True])
def test_an_int_that_the_graph_computes_can_be_computed_again(dynamic):
    backend, operations = counting()
    compiled = ferrodyn.compile(add_at, backend=backend, dynamic=dynamic)
    x = torch.ones(4)
    for n in (3, 4, 5):
        index = torch.arange(4) % n
        assert torch.equal(compiled(x, index, n), add_at(x, index, n))
    assert len(operations) == (2 if dynamic is None else 1)
    outside = torch.full((4,), 9)
    assert torch.equal(compiled(x, outside, 5), x)
