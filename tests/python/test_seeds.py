"""The programs that Ferrodyn must do first: toy example, torch.save, guards, recompilation."""

from __future__ import annotations

import io
import operator
import re

import harness
import pytest
import torch

pytestmark = [pytest.mark.own, pytest.mark.once]
BUFFER = io.BytesIO()


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def _ops(graph: torch.fx.GraphModule) -> list[object]:
    return [node.target for node in graph.graph.nodes if node.op.startswith("call_")]


def test_toy_example_100_calls(capsys):
    import ferrodyn

    recorder = harness.Recorder()

    def my_compiler(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]):
        print("my_compiler() called with FX graph:")
        gm.graph.print_tabular()
        return recorder(gm, example_inputs)

    compiled = ferrodyn.optimize(my_compiler)(toy_example)
    torch.manual_seed(0)
    count_after_both = None
    seen = set()
    for _ in range(100):
        a, b = torch.randn(10), torch.randn(10)
        expected = toy_example(a.clone(), b.clone())
        assert torch.equal(compiled(a, b), expected)
        seen.add(bool(b.sum() < 0))
        if len(seen) == 2 and count_after_both is None:
            count_after_both = len(recorder.graphs)
    assert count_after_both == 3
    assert len(recorder.graphs) == 3
    first, *branches = (_ops(graph) for graph in recorder.graphs)
    assert first == [torch.abs, operator.add, operator.truediv, "sum", operator.lt]
    assert sorted(map(len, branches)) == [1, 2]
    printed = capsys.readouterr().out
    assert printed.count("my_compiler() called with FX graph:") == 3
    assert printed.count("placeholder") == 6


def test_toy_example_graph_inputs_and_outputs():
    import ferrodyn

    recorder = harness.Recorder()
    compiled = ferrodyn.optimize(recorder)(toy_example)
    compiled(torch.ones(10), torch.ones(10))
    first = recorder.graphs[0]
    kinds = [node.op for node in first.graph.nodes]
    assert kinds == [
        *["placeholder"] * 2, *["call_function"] * 3, "call_method", "call_function", "output"
    ]  # fmt: skip
    a, b = torch.randn(10), torch.randn(10)
    results = first(a, b)
    assert isinstance(results, tuple) and len(results) == 2
    assert {tuple(r.shape) for r in results} == {(10,), ()}


def test_toy_example_logs():
    import ferrodyn

    with harness.captured_logs("guards", "bytecode", "graph") as records:
        compiled = ferrodyn.optimize(harness.Recorder())(toy_example)
        compiled(torch.ones(10), torch.ones(10))
        compiled(torch.ones(10), -torch.ones(10))
    text = {kind: "\n".join(t for k, t in records if k == kind) for kind, _ in records}
    assert "TREE_GUARD_MANAGER" in text["guards"]
    assert "TENSOR_MATCH" in text["guards"] and "L['a']" in text["guards"]
    assert re.search(r"Guard eval latency = [\d.]+ us", text["guards"])
    assert "__compiled_fn_" in text["bytecode"] and "__resume_at_" in text["bytecode"]
    assert "placeholder" in text["graph"] and "call_function" in text["graph"]


def save_in_the_middle(x):
    y = x**2 / 2
    torch.save(y, BUFFER)
    z = y**3 / 6
    return z


def test_torch_save_break_says_why_and_where():
    import ferrodyn

    recorder = harness.Recorder()
    x = torch.randn(3)
    with harness.captured_logs("graph_breaks") as records:
        assert torch.equal(
            ferrodyn.compile(save_in_the_middle, backend=recorder)(x), save_in_the_middle(x)
        )
    assert len(recorder.graphs) == 2
    (text,) = [t for _, t in records if "torch" in t and "save" in t][:1]
    line = save_in_the_middle.__code__.co_firstlineno + 2
    assert f"Graph break in user code at {__file__}:{line}" in text
    assert "Graph Break Reason: Attempted to call function marked as skipped" in text
    assert "Explanation: " in text and "Hint: Avoid calling the function `save`." in text
    assert "Developer debug context: module: torch.serialization, qualname: save" in text
    assert "User code traceback:" in text
    assert f'File "{__file__}", line {line}, in save_in_the_middle' in text
    assert "torch.save(y, BUFFER)" in text


def test_fullgraph_raises_unsupported_and_leaves_the_function_usable():
    import ferrodyn

    x = torch.ones(3)
    compiled = ferrodyn.compile(save_in_the_middle, backend="eager", fullgraph=True)
    with pytest.raises(ferrodyn.exc.Unsupported, match="save"):
        compiled(x)
    assert torch.equal(
        save_in_the_middle(x), ferrodyn.compile(backend="eager")(save_in_the_middle)(x)
    )


def plus_one(x):
    return x + 1


def test_recompilation_message():
    import ferrodyn

    compiled = ferrodyn.compile(plus_one, backend="eager")
    with harness.captured_logs("recompiles") as records:
        compiled(torch.ones(3, 3))
        assert not records
        compiled(torch.ones(4, 4))
    text = "\n".join(t for _, t in records)
    line = plus_one.__code__.co_firstlineno
    assert f"Recompiling function plus_one in {__file__}:{line}" in text
    assert "triggered by the following guard failure(s):" in text
    assert re.search(r"- \d+/0: tensor 'x' size mismatch at index 0\. expected 3, actual 4", text)


def test_guard_fail_fn_is_told():
    import ferrodyn

    told = []
    compiled = ferrodyn.optimize(harness.Recorder(), guard_fail_fn=told.append)(plus_one)
    compiled(torch.ones(3, 3))
    assert told == []
    compiled(torch.ones(4, 4))
    assert told and "size mismatch at index 0. expected 3, actual 4" in told[0].reason
    assert told[0].orig_code is plus_one.__code__


def test_guards_tree():
    import ferrodyn

    with harness.captured_logs("guards") as records:
        ferrodyn.compile(plus_one, backend="eager")(torch.ones(3, 3))
    text = "\n".join(t for _, t in records)
    assert "TREE_GUARD_MANAGER:" in text and "+- RootGuardManager" in text
    match = re.search(r"TENSOR_MATCH: check_tensor\(L\['x'\], Tensor, (.*)\)", text)
    assert match, text
    assert "torch.float32, device=None, requires_grad=False, size=[3, 3], stride=[3, 1]" in (
        match.group(1)
    )


def test_append_happens_once_in_order_in_one_graph():
    import ferrodyn

    def f(x, out):
        out.append("first")
        y = x + 1
        out.append(y)
        return y * 2

    recorder = harness.Recorder()
    compiled = ferrodyn.compile(f, backend=recorder)
    for _ in range(3):
        out: list = []
        x = torch.randn(3)
        result = compiled(x, out)
        assert out[0] == "first" and torch.equal(out[1], x + 1) and len(out) == 2
        assert torch.equal(result, (x + 1) * 2)
    assert len(recorder.graphs) == 1


def test_recompile_limit_warns_once_and_then_runs_plainly(caplog):
    import ferrodyn

    recorder = harness.Recorder()

    def f(x, n):
        return x + n

    compiled = ferrodyn.compile(f, backend=recorder)
    patch = ferrodyn.config.patch(recompile_limit=2, automatic_dynamic_shapes=False)
    with patch, caplog.at_level("WARNING", "ferrodyn"):
        for n in range(6):
            assert torch.equal(compiled(torch.ones(2), n), torch.ones(2) + n)
    assert len(recorder.graphs) == 2
    warnings = [r.getMessage() for r in caplog.records if "recompile_limit" in r.getMessage()]
    assert len(warnings) == 1, warnings
    assert f.__name__ in warnings[0]
    # What is cached is still used.
    assert torch.equal(compiled(torch.ones(2), 0), torch.ones(2))


def test_latest_hit_is_first_and_old_entries_stay():
    recorder = harness.Recorder()
    compiled = harness.compile(plus_one, backend=recorder)
    for _ in range(5):
        for rank in (1, 2, 3):
            compiled(torch.ones((2,) * rank))
    assert len(recorder.graphs) == 3


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


def test_stack_of_24_blocks_is_one_graph():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Block(32, 4) for _ in range(24)))
    recorder = harness.Recorder()
    compiled = harness.compile(model, backend=recorder)
    x = torch.randn(2, 8, 32)
    for _ in range(3):
        assert torch.equal(compiled(x), model(x))
    assert len(recorder.graphs) == 1
    compiled(x).sum().backward()
    grads = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    for mine, eager in zip(grads, (p.grad for p in model.parameters()), strict=True):
        assert torch.equal(mine, eager)
