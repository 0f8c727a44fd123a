"""A compiled nn.Module stands for the module that it wraps."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.5)
        self.register_buffer("steps", torch.tensor(0))
        self.scale = 2

    def forward(self, x, extra=0):
        self.steps += 1
        return self.drop(self.lin(x)) * self.scale + extra

    def helper(self):
        return self.scale + 1


def pair(**choices):
    recorder = harness.Recorder()
    net = Net()
    return net, ferrodyn.compile(net, backend=recorder, **choices), recorder


def test_is_a_module_and_computes_the_same():
    net, compiled, recorder = pair()
    assert isinstance(compiled, torch.nn.Module)
    assert isinstance(compiled, ferrodyn.OptimizedModule)
    x = torch.randn(2, 3)
    compiled.eval()
    assert torch.equal(compiled(x), net(x))
    assert torch.equal(compiled(x, extra=1), net(x, 1))
    assert torch.equal(compiled.forward(x), net(x))
    assert int(net.steps) == 6
    assert len(recorder.graphs) == 2


def test_attributes_go_both_ways():
    net, compiled, _ = pair()
    compiled.eval()
    assert compiled.scale == 2 and compiled.helper() == 3 and compiled.lin is net.lin
    compiled.scale = 5
    assert net.scale == 5
    net.scale = 7
    assert compiled.scale == 7
    x = torch.randn(2, 3)
    assert torch.equal(compiled(x), net(x))
    compiled.extra = torch.nn.Linear(1, 1)
    assert "extra" in dict(net.named_children())
    del compiled.extra
    assert not hasattr(net, "extra")
    with pytest.raises(AttributeError, match="nothing"):
        _ = compiled.nothing
    assert {"lin", "scale", "helper", "forward", "_orig_mod"} <= set(dir(compiled))


def test_attribute_change_is_guarded():
    net, compiled, recorder = pair()
    compiled.eval()
    x = torch.ones(2, 3)
    for scale in (2, 3, 2):
        net.scale = scale
        assert torch.equal(compiled(x), net(x))
    assert len(recorder.graphs) == 2


def test_train_and_eval():
    net, compiled, _ = pair()
    assert compiled.training and net.training
    assert compiled.eval() is compiled
    assert not (compiled.training or net.training or net.drop.training)
    net.train()
    assert compiled.training
    compiled.train(False)
    assert not net.drop.training
    compiled.training = True
    assert net.training
    x = torch.randn(4, 3)
    for mode in (True, False, True):
        compiled.train(mode)
        torch.manual_seed(1)
        expected = net(x)
        torch.manual_seed(1)
        assert torch.equal(compiled(x), expected)


def test_state_dict_and_parameters():
    net, compiled, _ = pair()
    keys = list(compiled.state_dict())
    assert keys == [f"_orig_mod.{key}" for key in net.state_dict()]
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in net.parameters()]
    assert [n for n, _ in compiled.named_parameters()] == [
        "_orig_mod.lin.weight",
        "_orig_mod.lin.bias",
    ]
    other = Net()
    ferrodyn.compile(other, backend="eager").load_state_dict(compiled.state_dict())
    assert torch.equal(other.lin.weight, net.lin.weight)
    compiled.requires_grad_(False)
    assert not net.lin.weight.requires_grad
    compiled.double()
    assert net.lin.weight.dtype == torch.float64


def test_hooks_on_either():
    net, compiled, _ = pair()
    compiled.eval()
    calls = []
    outer = compiled.register_forward_hook(lambda *a: calls.append("outer"))
    inner = net.register_forward_hook(lambda *a: calls.append("inner"))
    x = torch.randn(2, 3)
    compiled(x)
    compiled(x)
    assert calls == ["inner", "outer"] * 2
    outer.remove()
    compiled(x)
    assert calls[4:] == ["inner"]
    inner.remove()
    compiled(x)
    assert len(calls) == 5
    doubled = net.register_forward_hook(lambda m, a, r: r * 2)
    expected = net(x)
    assert torch.equal(compiled(x), expected)
    doubled.remove()
    pre = compiled.register_forward_pre_hook(lambda m, a: (a[0] * 0,))
    assert torch.equal(compiled(x), net(x * 0))
    pre.remove()


def test_deepcopy_pickle_weakref():
    net, compiled, recorder = pair()
    compiled.eval()
    x = torch.randn(2, 3)
    twin = copy.deepcopy(compiled)
    assert twin._orig_mod is not net and torch.equal(twin(x), compiled(x))
    before = net.lin.weight.clone()
    with torch.no_grad():
        twin.lin.weight.zero_()
    assert torch.equal(net.lin.weight, before)
    by_name = ferrodyn.compile(net, backend="eager")
    loaded = pickle.loads(pickle.dumps(by_name))
    assert isinstance(loaded, ferrodyn.OptimizedModule) and torch.equal(loaded(x), by_name(x))
    ref = weakref.ref(compiled)
    assert ref() is compiled
    del compiled, recorder
    gc.collect()
    assert ref() is None


def test_length_iteration_and_truth():
    layers = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
    compiled = ferrodyn.compile(layers, backend="eager")
    assert len(compiled) == 2 and compiled[1] is layers[1] and list(compiled) == list(layers)
    assert bool(compiled) and bool(pair()[1])
    assert not ferrodyn.compile(torch.nn.ModuleList(), backend="eager")
    with pytest.raises(TypeError, match="len"):
        len(pair()[1])


def test_compiled_twice_keeps_one_wrapper():
    net, compiled, _ = pair()
    recorder = harness.Recorder()
    again = ferrodyn.compile(compiled, backend=recorder)
    assert again._orig_mod is net
    again.eval()
    again(torch.ones(2, 3))
    assert len(recorder.graphs) == 1


def test_disabled_module():
    net, _, recorder = pair()
    net.eval()
    disabled = ferrodyn.disable(net)

    def f(x):
        return disabled(x + 1) * 2

    x = torch.randn(2, 3)
    assert torch.equal(ferrodyn.compile(f, backend=recorder)(x), f(x))
    assert len(recorder.graphs) == 2


def test_lazy_module_makes_its_parameters_first():
    recorder = harness.Recorder()
    net = torch.nn.LazyLinear(4)
    compiled = ferrodyn.compile(net, backend=recorder)
    x = torch.randn(2, 3)
    result = compiled(x)
    assert net.weight.shape == (4, 3) and torch.equal(result, net(x))


def test_inside_another_module():
    net, compiled, recorder = pair()
    outer = torch.nn.Sequential(torch.nn.ReLU(), compiled).eval()
    x = torch.randn(2, 3)
    assert torch.equal(outer(x), net(torch.relu(x)))
    assert len(recorder.graphs) == 1
    assert [k for k, _ in outer.named_parameters()][0] == "1._orig_mod.lin.weight"


def test_gradients_and_training_loop():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    twin = copy.deepcopy(net)
    recorder = harness.Recorder()
    compiled = ferrodyn.compile(net, backend=recorder)
    steps = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (compiled, twin)]
    for _ in range(5):
        x = torch.randn(4, 3)
        for model, optimizer in zip((compiled, twin), steps, strict=True):
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()
    for mine, eager in zip(net.parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine, eager)
    assert len(recorder.graphs) == 1


def test_a_function_that_outlives_its_modules_is_compiled_twice():
    """Then what it computes with is fetched from the module that it gets."""
    recorder = harness.Recorder()
    entry = ferrodyn.compile(lambda net, x: net(x) + 1, backend=recorder)
    x = torch.ones(2, 3)
    for _ in range(5):
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
        assert torch.equal(entry(net, x), net(x) + 1)
    assert len(recorder.graphs) == 2


def test_hooks_of_all_modules_run_once():
    """A hook for all modules runs around the wrapped one, not around the wrapper too."""
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    compiled = ferrodyn.compile(module, backend="eager")
    x = torch.ones(3)

    def inside(x):
        return compiled(x) + 1

    outer = ferrodyn.compile(inside, backend="eager")
    for _ in range(2):
        compiled(x), outer(x)
    hooks = torch.nn.modules.module
    for register in hooks.register_module_forward_hook, hooks.register_module_forward_pre_hook:
        called = []
        handle = register(lambda module, *args: called.append(type(module).__name__))
        try:
            expected = module(x)
            names, called[:] = list(called), []
            for _ in range(3):
                assert torch.equal(compiled(x), expected) and called == names
                called.clear()
                assert torch.equal(outer(x), expected + 1) and called == names
                called.clear()
        finally:
            handle.remove()
    double = hooks.register_module_forward_hook(lambda module, args, result: result * 2)
    try:
        for _ in range(3):
            assert torch.equal(compiled(x), module(x)) and torch.equal(outer(x), module(x) + 1)
    finally:
        double.remove()
    assert torch.equal(compiled(x), module(x)) and torch.equal(outer(x), module(x) + 1)


@pytest.mark.parametrize("backend", [lambda gm, inputs: gm, lambda gm, inputs: gm.forward])
def test_hooks_of_all_modules_are_not_for_graphs(backend):
    """A graph is a module that the program has not made."""
    module, x = torch.nn.Linear(2, 2), torch.randn(3, 2)
    compiled = ferrodyn.compile(module, backend=backend)
    hooks = torch.nn.modules.module
    called = []

    def before(module, args):
        called.append(type(module))
        return (args[0] + 1,)

    handles = [
        hooks.register_module_forward_pre_hook(before),
        hooks.register_module_forward_hook(lambda module, args, result: result * 2),
    ]
    try:
        expected, given = module(x), compiled(x)
    finally:
        for handle in handles:
            handle.remove()
    assert torch.equal(given, expected) and called == [torch.nn.Linear] * 2


def test_parameters_are_swapped_by_a_conversion(monkeypatch):
    """torch swaps no tensors to which there are weak references."""
    monkeypatch.setattr(torch.__future__, "_swap_module_params_on_conversion", True)
    net = torch.nn.BatchNorm1d(3).eval()
    call = ferrodyn.compile(net, backend="eager")
    x = torch.randn(2, 3)
    call(x)
    held = [net.weight, net.bias, net.running_mean, net.running_var]
    assert not any(weakref.getweakrefcount(tensor) for tensor in held)
    net.to(torch.float64)
    assert call(x.double()).dtype == torch.float64
    assert torch.equal(call(x.double()), net(x.double()))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
        self.scale = 1.0

    def forward(self, x):
        return self.lin(x) * self.scale


class Doubled(Layer):
    def forward(self, x):
        return super().forward(x) * 2


def other_attributes(layer):
    layer.__dict__ = {**layer.__dict__, "scale": 4.0}


DEEP_CHANGES = {
    "a counter": lambda net: setattr(net, "calls", 1),
    "an attribute": lambda net: setattr(net[17], "scale", 3.0),
    "an attribute of the last layer": lambda net: setattr(net[-1], "scale", 5.0),
    "an item of its dictionary": lambda net: net[3].__dict__.update(scale=0.5),
    "its whole dictionary": lambda net: other_attributes(net[11]),
    "its class": lambda net: setattr(net[20], "__class__", Doubled),
    "a hook": lambda net: net[7].register_forward_hook(lambda m, args, out: out + 1),
    "a hook, by its dictionary": lambda net: net[9].lin._forward_pre_hooks.update(
        {0: lambda m, args: (args[0] + 1,)}
    ),
    "a parameter": lambda net: setattr(
        net[5].lin, "weight", torch.nn.Parameter(torch.full((2, 2), 0.5))
    ),
    "a parameter, by its dictionary": lambda net: net[6].lin._parameters.update(bias=None),
    "a module": lambda net: net[2]._modules.update(lin=torch.nn.Identity()),
    "a function's code": lambda net: setattr(Layer.forward, "__code__", Twice.forward.__code__),
}


class Twice(Layer):
    def forward(self, x):
        return self.lin(x) * self.scale * 2


@pytest.mark.parametrize("name", DEEP_CHANGES)
@pytest.mark.parametrize("noisy", [False, True], ids=["quiet", "noisy"])
def test_a_change_in_a_deep_model_is_seen(name, noisy, monkeypatch):
    """Where no dictionary changes between calls, those of a large model are compared as one."""
    monkeypatch.setattr(Layer.forward, "__code__", Layer.forward.__code__)
    torch.manual_seed(0)
    net = torch.nn.Sequential(*(Layer() for _ in range(24)))
    compiled = ferrodyn.compile(net, backend="eager")
    x = torch.randn(1, 2)
    for calls in 4, 50, 3:
        with torch.no_grad():
            for _ in range(calls):
                if noisy:
                    _ = {"noise": calls}
                got = compiled(x)
            assert torch.equal(got, net(x)), name
        DEEP_CHANGES[name](net)
        assert torch.equal(compiled(x), net(x)), name
