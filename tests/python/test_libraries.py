"""Compiled modules and functions pass for torch.compile's: what libraries ask of them.

The first part asks what libraries ask, without them; the second runs those that are installed.
"""

from __future__ import annotations

import copy
import functools
import pickle

import forked
import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = [pytest.mark.own, pytest.mark.once]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.lin(x).relu()


def compiled_pair(net=None):
    net = Net() if net is None else net
    return net, ferrodyn.compile(net, backend="eager")


def eval_frame():
    import torch._dynamo.eval_frame

    return torch._dynamo.eval_frame


IMPORTED_LATER = """
import sys, torch, ferrodyn
backend = lambda gm, inputs: gm.forward
net = torch.nn.Linear(3, 3)
x = torch.ones(2, 3)
compiled = ferrodyn.compile(net, backend=backend)
graph = ferrodyn.compile(torch.nn.Sequential(compiled, torch.nn.ReLU()), backend=backend)
class Derived(ferrodyn.OptimizedModule):
    pass
derived = Derived(net, compiled._options)
want = net(x)
for _ in range(3):
    assert torch.equal(compiled(x), want) and torch.equal(graph(x), want.relu())
    assert torch.equal(derived(x), want)
assert not any(name.startswith("torch._dynamo") for name in sys.modules)
finders = lambda: [f for f in sys.meta_path if type(f).__module__ == "ferrodyn._when_imported"]
assert finders()
import importlib.util
spec = importlib.util.find_spec("torch._C")  # of another module
import torch._dynamo.eval_frame as module
assert not finders()
assert type(module.__spec__.loader) is type(torch.__spec__.loader) is type(module.__loader__)
for m in (compiled, graph, derived, ferrodyn.compile(net, backend=backend)):
    assert isinstance(m, module.OptimizedModule) and isinstance(m, ferrodyn.OptimizedModule)
    assert issubclass(type(m), module.OptimizedModule) and m.__class__ is type(m)
for _ in range(3):
    assert torch.equal(compiled(x), want) and torch.equal(graph(x), want.relu())
    assert torch.equal(derived(x), want)
assert not isinstance(net, module.OptimizedModule)
print("fine")
"""


def test_it_passes_for_torchs_class_once_that_is_imported():
    result = forked.run(["-c", IMPORTED_LATER])
    assert result.stdout == "fine\n", result.stderr


def test_who_only_looks_for_the_module_gets_its_source():
    result = forked.run(
        [
            "-c",
            "import torch, ferrodyn, importlib.util, sys\n"
            "spec = importlib.util.find_spec('torch._dynamo.eval_frame')\n"
            "import torch._dynamo\n"
            "m = ferrodyn.compile(torch.nn.ReLU(), backend='eager')\n"
            "print(isinstance(m, torch._dynamo.OptimizedModule))",
        ]
    )
    assert result.stdout == "True\n", result.stderr


def test_copies_and_pickles_pass_too():
    net, compiled = compiled_pair()
    torchs = eval_frame().OptimizedModule
    x = torch.randn(2, 3)
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert isinstance(twin, torchs) and twin._orig_mod is not net
        assert torch.equal(twin(x), net(x))
    assert isinstance(compiled.to(torch.float64), torchs) and net.lin.weight.dtype == torch.float64


def test_module_unwraps_as_torchs_does():
    net, compiled = compiled_pair()
    theirs = torch.compile(net, backend="eager")
    assert compiled._orig_mod is theirs._orig_mod is net
    assert compiled._torchdynamo_orig_callable == theirs._torchdynamo_orig_callable == net.forward
    innermost = eval_frame().innermost_fn
    assert innermost(compiled) == innermost(theirs) == net.forward
    assert list(compiled.state_dict()) == list(theirs.state_dict())
    # What the call comes to includes the hooks of the module.
    net.register_forward_hook(lambda module, args, result: result + 1)
    x = torch.randn(2, 3)
    assert torch.equal(innermost(compiled)(x), net(x))


def test_function_unwraps_as_torchs_does():
    def f(x):
        return x + 1

    compiled = ferrodyn.compile(f, backend="eager")
    innermost = eval_frame().innermost_fn
    assert compiled._torchdynamo_orig_callable is f is innermost(compiled)
    bound = ferrodyn.compile(Net().forward, backend="eager")
    assert innermost(bound) == bound.__wrapped__

    @functools.wraps(compiled)
    def wrapper(x):
        return compiled(x)

    assert innermost(wrapper) is wrapper
    assert not hasattr(f, "_torchdynamo_orig_callable")
    # A function that is to stay out of compilation is not unwrapped.
    disabled = ferrodyn.disable(f)
    assert innermost(disabled) is disabled and disabled._torchdynamo_orig_callable is f


def test_attributes_of_torchs_class_do_not_hide_the_modules():
    torchs = eval_frame().OptimizedModule

    class Own(Net):
        def _initialize(self):
            return "mine"

    net, compiled = compiled_pair(Own())
    assert compiled._initialize() == "mine"
    for name in vars(torchs):
        if not name.startswith("__") and name not in vars(ferrodyn.OptimizedModule):
            assert hasattr(compiled, name) is hasattr(net, name), name
    compiled._initialize = 3
    assert net._initialize == 3
    del compiled._initialize
    assert compiled._initialize() == "mine"


def test_the_decorator_of_a_module_compiles_as_the_module_is():
    """Lightning compiles the steps of a compiled module with its ``dynamo_ctx``."""
    recorder = harness.Recorder()
    net = Net()
    compiled = ferrodyn.compile(net, backend=recorder, fullgraph=True)
    step = compiled.dynamo_ctx(lambda x: net(x).sum())
    x = torch.randn(2, 3)
    assert torch.equal(step(x), net(x).sum()) and len(recorder.graphs) == 1
    with pytest.raises(ferrodyn.exc.Unsupported):
        compiled.dynamo_ctx(lambda x: 1 if x.sum() > 0 else 2)(x)
    disabled = ferrodyn.disable(net)
    assert disabled.dynamo_ctx(net.forward)._torchdynamo_disable is True


def test_keys_of_a_distributed_checkpoint_are_those_of_the_module():
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict

    net, compiled = compiled_pair()
    outer = torch.nn.Sequential(compiled)
    assert list(get_model_state_dict(compiled)) == list(net.state_dict())
    state = {key: value + 1 for key, value in get_model_state_dict(outer).items()}
    assert list(state) == ["0.lin.weight", "0.lin.bias"]
    bias = state["0.lin.bias"]
    set_model_state_dict(outer, state)
    assert torch.equal(net.lin.bias, bias)


def test_one_inside_the_other():
    net, compiled = compiled_pair()
    x = torch.randn(2, 3)
    want = net(x)
    assert torch.equal(torch.compile(compiled, backend="eager")(x), want)
    assert torch.equal(
        ferrodyn.compile(torch.compile(net, backend="eager"), backend="eager")(x), want
    )
    for outer in (torch.compile, ferrodyn.compile):
        for inner in (compiled, torch.compile(net, backend="eager")):
            both = torch.nn.Sequential(inner, torch.nn.ReLU())
            assert torch.equal(outer(both, backend="eager")(x), want.relu())
    assert isinstance(ferrodyn.compile(compiled, backend="eager")._orig_mod, Net)
    assert torch.equal(torch._dynamo.disable(compiled)(x), want)


def test_the_class_may_be_changed():
    """As `fully_shard` and parametrizations do: a class is made of that of the instance."""
    _, compiled = compiled_pair()
    eval_frame()
    x = torch.randn(2, 3)
    want = compiled(x)
    cls = compiled.__class__
    compiled.__class__ = type(f"Sharded{cls.__name__}", (cls,), {})
    assert torch.equal(compiled(x), want) and isinstance(compiled, ferrodyn.OptimizedModule)


# With the libraries, where they are installed: untrained models, nothing is downloaded.


def test_diffusers_saves_a_compiled_part(tmp_path):
    diffusers = pytest.importorskip("diffusers")
    unet = diffusers.UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(8,),
        down_block_types=("DownBlock2D",),
        up_block_types=("UpBlock2D",),
        norm_num_groups=4,
    )
    scheduler = diffusers.DDPMScheduler(num_train_timesteps=4)
    pipe = diffusers.DDPMPipeline(unet=unet, scheduler=scheduler)
    pipe.set_progress_bar_config(disable=True)

    def images():
        generator = torch.Generator().manual_seed(0)
        return pipe(generator=generator, num_inference_steps=2, output_type="np").images

    want = images()
    pipe.unet = ferrodyn.compile(pipe.unet, backend="eager")
    assert (images() == want).all()
    pipe.save_pretrained(tmp_path)
    loaded = diffusers.DDPMPipeline.from_pretrained(tmp_path)
    assert type(loaded.unet) is type(unet)
    states = unet.state_dict(), loaded.unet.state_dict()
    assert all(torch.equal(states[1][key], value) for key, value in states[0].items())


def test_lightning_trains_a_compiled_module(tmp_path):
    lightning = pytest.importorskip("lightning")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, index):
            return self(batch[0]).pow(2).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(8, 3)), batch_size=4
    )

    def fit(model):
        trainer = lightning.Trainer(
            max_epochs=2,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        trainer.fit(model, data)
        return trainer

    model = Model()
    plain = copy.deepcopy(model)
    fit(plain)
    compiled = ferrodyn.compile(model, backend="eager")
    fit(compiled).save_checkpoint(tmp_path / "x.ckpt")
    assert all(map(torch.equal, model.parameters(), plain.parameters()))
    loaded = Model.load_from_checkpoint(tmp_path / "x.ckpt", weights_only=False)
    assert all(map(torch.equal, model.parameters(), loaded.parameters()))


def test_fabric_sets_up_a_compiled_module(tmp_path):
    fabric = pytest.importorskip("lightning.fabric").Fabric(accelerator="cpu", devices=1)
    net, compiled = compiled_pair()
    module, optimizer = fabric.setup(compiled, torch.optim.SGD(net.parameters(), 0.1))
    x = torch.randn(2, 3)
    assert torch.equal(module(x), net(x))
    fabric.backward(module(x).sum())
    optimizer.step()
    fabric.save(tmp_path / "x.ckpt", {"m": module})
    state = torch.load(tmp_path / "x.ckpt")["m"]
    assert all(torch.equal(state[key], value) for key, value in net.state_dict().items())


def test_accelerate_unwraps_and_saves_a_compiled_module(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    net, compiled = compiled_pair()
    model, optimizer = accelerator.prepare(compiled, torch.optim.SGD(net.parameters(), 0.1))
    accelerator.backward(model(torch.randn(2, 3)).sum())
    optimizer.step()
    assert accelerator.unwrap_model(model, keep_torch_compile=False) is net
    assert accelerator.unwrap_model(model) is compiled
    accelerator.save_state(tmp_path)
    before = net.lin.weight.detach().clone()
    optimizer.step()
    accelerator.load_state(tmp_path)
    assert torch.equal(net.lin.weight, before)


def test_transformers_trains_saves_and_generates(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=1, n_head=2, n_embd=8, vocab_size=16, n_positions=16, bos_token_id=1, eos_token_id=1
    )
    net = transformers.GPT2LMHeadModel(config)
    plain = copy.deepcopy(net)
    rows = [{"input_ids": ids, "labels": ids} for ids in torch.randint(2, 16, (8, 6))]

    def train(model, folder):
        arguments = transformers.TrainingArguments(
            output_dir=str(folder),
            max_steps=2,
            per_device_train_batch_size=4,
            report_to=[],
            use_cpu=True,
            seed=1,
            # A wrapper's `forward` takes whatever it is given, with torch.compile as well.
            remove_unused_columns=False,
            disable_tqdm=True,
        )
        transformers.Trainer(model=model, args=arguments, train_dataset=rows).train()

    compiled = ferrodyn.compile(net, backend="eager")
    train(plain, tmp_path / "plain")
    train(compiled, tmp_path / "compiled")
    assert all(map(torch.equal, net.parameters(), plain.parameters()))
    # Training leaves them with dropout.
    compiled.eval(), plain.eval()
    ids = torch.tensor([[2, 3, 4]])
    choices = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(compiled.generate(ids, **choices), plain.generate(ids, **choices))
    compiled.save_pretrained(tmp_path / "saved")
    loaded = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "saved")
    state = loaded.state_dict()
    assert all(torch.equal(state[key], value) for key, value in net.state_dict().items())
