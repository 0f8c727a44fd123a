"""Beside torch.compile, which has a frame hook of its own: each owns its regions."""

import pytest
from hook_core import compiled, core, testing

torch = pytest.importorskip("torch")


@pytest.fixture
def seen():
    names = []
    testing.use_python_compiler(lambda code, _: names.append(code.co_qualname))
    yield names
    testing.use_python_compiler(None)
    torch._dynamo.reset()


def eval_frame_is_torchs():
    from torch._C._dynamo.eval_frame import get_eval_frame_callback

    return get_eval_frame_callback() is not None


def count_graphs(graphs):
    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    return backend


def leaf(x):
    return x * 2


def test_torch_inside_ours(seen):
    graphs = []

    @torch.compile(backend=count_graphs(graphs))
    def by_torch(x):
        return leaf(x) + 1

    def f(x):
        return by_torch(x) + leaf(x)

    entry = compiled(f)
    x = torch.ones(3)
    for _ in range(3):
        assert torch.equal(entry(x), leaf(x) + 1 + leaf(x))
    assert len(graphs) == 1
    assert testing.hook_state() == (False, 0)
    # The plain frames are ours on each call, and nothing below torch's wrapper.
    name = f.__qualname__
    assert seen.count(name) == 3 and seen.count("leaf") == 3
    assert not any("forward" in n or "by_torch" in n for n in seen)


def test_ours_inside_torch(seen):
    graphs = []
    entry = compiled(leaf)

    @torch.compile(backend=count_graphs(graphs))
    def by_torch(x):
        y = x + 1
        torch._dynamo.graph_break()
        z = entry(y)
        return z + 1

    x = torch.ones(3)
    for _ in range(3):
        assert torch.equal(by_torch(x), (x + 1) * 2 + 1)
    assert graphs
    assert testing.hook_state() == (False, 0)
    assert not eval_frame_is_torchs()


def test_ours_called_by_a_frame_under_torchs_hook(seen):
    from torch._C._dynamo.eval_frame import set_eval_frame

    asked = []
    entry = compiled(leaf)

    def torch_callback(frame, *rest):
        asked.append(frame.f_code.co_name)
        from torch._dynamo.types import ConvertFrameReturn

        return ConvertFrameReturn()

    def region(x):
        inside = entry(x)
        return inside, eval_frame_is_torchs()

    before = set_eval_frame(torch_callback)
    try:
        result, still_torchs = region(torch.ones(2))
    finally:
        set_eval_frame(before)
    assert torch.equal(result, torch.full((2,), 2.0))
    assert still_torchs
    assert "region" in asked and "leaf" not in asked
    assert seen == ["leaf"]
    assert testing.hook_state() == (False, 0)


def test_disable_of_each_is_honoured_by_the_other(seen):
    graphs = []
    ours = core.make_disabled(leaf)

    @torch.compile(backend=count_graphs(graphs))
    def by_torch(x):
        return ours(x + 1) + 1

    x = torch.ones(3)
    assert torch.equal(by_torch(x), (x + 1) * 2 + 1)
    ops = [n.target.__name__ for g in graphs for n in g.graph.nodes if n.op == "call_function"]
    assert "mul" not in ops and ops.count("add") == 2

    theirs = torch.compiler.disable(leaf)

    def f(x):
        return theirs(x) + leaf(x)

    seen.clear()
    assert torch.equal(compiled(f)(x), x * 4)
    assert seen == [f.__qualname__, "leaf"]


def test_torch_compile_of_an_entry(seen):
    entry = compiled(leaf)
    x = torch.ones(3)
    assert torch.equal(torch.compile(entry, backend="eager")(x), x * 2)
    assert testing.hook_state() == (False, 0)


def test_exceptions_through_both(seen):
    @torch.compile(backend="eager")
    def by_torch(x):
        torch._dynamo.graph_break()
        raise ValueError("inside")

    def f(x):
        return by_torch(x)

    with pytest.raises(ValueError, match="inside"):
        compiled(f)(torch.ones(1))
    assert testing.hook_state() == (False, 0)
    assert not eval_frame_is_torchs()
    assert torch.equal(compiled(leaf)(torch.ones(1)), torch.full((1,), 2.0))


def test_module_forward_in_a_region(seen):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())

    x = torch.randn(2, 3)
    assert torch.equal(compiled(model)(x), model(x))
    assert any("Linear.forward" in name for name in seen)
