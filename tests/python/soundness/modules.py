"""nn.Module: parameters, buffers, submodules, hooks, training, state."""

# ruff: noqa: E501
from .rows import Group

group = Group("Modules")
row = group.row

M = """class M$(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.lin = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.5)
        self.register_buffer('buf', torch.ones(3))
        self.k = 2
        self.parts = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.ReLU()])
        self.seq = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    def forward(self, v):
        v = self.drop(self.lin(v)) * self.k + self.buf
        for part in self.parts:
            v = part(v)
        return self.seq(v)
m$ = M$()
"""
EVAL = M + "m$.eval()\n"
row(
    "training flag",
    M,
    "m$(x)",
    "m$.eval()",
    "m$.train()",
    "m$.drop.eval()",
    "m$.training = False",
    "m$.drop.p = 0.1",
    "m$.drop.train(); m$.drop.p = 0.9",
)
row(
    "parameter: values",
    EVAL,
    "m$(x)",
    "with torch.no_grad(): m$.lin.weight.add_(1)",
    "m$.lin.weight.data = m$.lin.weight.data * 2",
    "m$.lin.weight.data.zero_()",
    "m$.load_state_dict({k: v + 1 for k, v in m$.state_dict().items()})",
)
row(
    "parameter replaced",
    EVAL,
    "m$(x)",
    "m$.lin.weight = torch.nn.Parameter(torch.ones(3, 3))",
    "m$.lin._parameters['weight'] = torch.nn.Parameter(torch.zeros(3, 3))",
    "m$.lin.weight = m$.seq[0].weight",
    "m$.lin.bias = None",
    "m$.lin.register_parameter('bias', torch.nn.Parameter(torch.ones(3)))",
)
row(
    "parameter: dtype, shape, data of another kind",
    EVAL,
    "(m$(x.to(m$.lin.weight.dtype)) if not B$ else m$.lin.weight.shape)",
    "m$.double()",
    "m$.float()",
    "B$ = 1; m$.lin.weight.data = torch.ones(4, 3); m$.lin.bias.data = torch.ones(4)",
)
row(
    "requires_grad_ of parameters",
    EVAL,
    "m$(x).requires_grad",
    "m$.requires_grad_(False)",
    "m$.lin.weight.requires_grad_()",
    "m$.lin.weight.requires_grad = False",
)
row(
    "parameter replaced by a plain tensor, deleted",
    EVAL,
    "m$(x)",
    "del m$.lin.weight; m$.lin.weight = torch.ones(3, 3)",
    "m$.lin.__dict__['weight'] = torch.zeros(3, 3)",
    "del m$.lin.weight",
)
row(
    "shared parameters",
    EVAL,
    "(m$(x), m$.lin.weight is m$.seq[0].weight)",
    "m$.seq[0].weight = m$.lin.weight",
    "m$.seq[0].weight = torch.nn.Parameter(torch.ones(3, 3))",
)
row(
    "buffer replaced, changed, None",
    EVAL,
    "m$(x)",
    "m$.buf = torch.zeros(3)",
    "m$.buf.add_(3)",
    "m$.buf = torch.ones(1)",
    "m$._buffers['buf'] = torch.full((3,), 2.)",
    "m$.register_buffer('buf', torch.ones(3).double())",
)
row(
    "attribute of a module",
    EVAL,
    "m$(x)",
    "m$.k = 3",
    "m$.k = torch.ones(3)",
    "m$.__dict__['k'] = 5",
    "M$.k = 9; del m$.k",
    "m$.__dict__.update(k=4)",
)
row(
    "submodule replaced",
    EVAL,
    "m$(x)",
    "m$.lin = torch.nn.Linear(3, 3)",
    "m$.lin = torch.nn.Identity()",
    "m$._modules['lin'] = torch.nn.ReLU()",
    "m$.drop = None or torch.nn.Dropout(0.0)",
    "del m$.lin",
)
row(
    "submodules added, removed, reordered, renamed",
    EVAL,
    "m$(x)",
    "m$.parts.append(torch.nn.Tanh())",
    "m$.parts = torch.nn.ModuleList(reversed(list(m$.parts)))",
    "del m$.parts[0]",
    "m$.seq.append(torch.nn.Sigmoid())",
    "m$.seq._modules.move_to_end('0') if hasattr(m$.seq._modules, 'move_to_end') else m$.seq._modules.update({'0': m$.seq._modules.pop('0')})",
    "m$.seq._modules['9'] = m$.seq._modules.pop('1')",
    "m$.seq[0] = torch.nn.Tanh()",
    "m$.parts._modules.clear()",
)
row(
    "ModuleDict",
    "d$ = torch.nn.ModuleDict({'a': torch.nn.ReLU(), 'b': torch.nn.Tanh()})\nk$ = 'b'",
    "(d$[k$](x), [n for n in d$], len(d$))",
    "d$['b'] = torch.nn.Sigmoid()",
    "d$['c'] = torch.nn.ReLU()",
    "k$ = 'c'",
    "d$.pop('a')",
)
row(
    "ParameterList and ParameterDict",
    "p$ = torch.nn.ParameterList([torch.ones(3)])\nq$ = torch.nn.ParameterDict({'a': torch.ones(3)})",
    "(x + sum(v.sum() for v in p$) * q$['a'])",
    "p$.append(torch.ones(2))",
    "p$[0] = torch.nn.Parameter(torch.zeros(3))",
    "q$['a'] = torch.nn.Parameter(torch.zeros(3))",
)
row(
    "forward replaced in the class, in the instance",
    EVAL,
    "m$(x)",
    "M$.forward = lambda self, v: self.lin(v)",
    "m$.forward = lambda v: v * 5",
    "del m$.forward",
    "torch.nn.Linear.forward$ = 1",
    "M$.forward.__code__ = (lambda self, v: v - 1).__code__",
)
row(
    "__call__ replaced",
    EVAL,
    "m$(x)",
    "M$.__call__ = lambda self, v: v * 5",
    "del M$.__call__",
    "m$._call_impl = lambda v: v * 6",
    "m$.__dict__.pop('_call_impl')",
)
row(
    "forward hooks",
    EVAL,
    "m$(x)",
    "h$ = m$.register_forward_hook(lambda m, a, r: r * 2)",
    "h$.remove()",
    "h$ = m$.lin.register_forward_pre_hook(lambda m, a: (a[0] + 1,))",
    "g$ = m$.lin.register_forward_hook(lambda m, a, k, r: r + 1, with_kwargs=True)",
    "h$.remove()",
    "g$.remove()",
    "h$ = m$.lin.register_forward_hook(lambda m, a, r: r - 1, always_call=True)",
    "h$.remove()",
)
row(
    "what a hook reads",
    EVAL + "n$ = 2\nm$.lin.register_forward_hook(lambda m, a, r: r * n$)",
    "m$(x)",
    "n$ = 3",
    "next(iter(m$.lin._forward_hooks)); m$.lin._forward_hooks.clear()",
)
row(
    "backward hooks",
    EVAL,
    "m$(x)",
    "h$ = m$.lin.register_full_backward_hook(lambda m, a, b: None)",
    "h$.remove()",
    "h$ = m$.lin.register_full_backward_pre_hook(lambda m, a: None)",
    "h$.remove()",
)
row(
    "global module hooks",
    EVAL,
    "m$(x)",
    "h$ = torch.nn.modules.module.register_module_forward_hook(lambda m, a, r: r * 2)",
    "h$.remove()",
    "h$ = torch.nn.modules.module.register_module_forward_pre_hook(lambda m, a: (a[0] + 1,))",
    "h$.remove()",
    undo="for n in ('_global_forward_hooks', '_global_forward_pre_hooks'): getattr(torch.nn.modules.module, n).clear()",
)
row(
    "class of a module",
    EVAL + "class N$(M$):\n    def forward(self, v):\n        return v * 7\n",
    "m$(x)",
    "m$.__class__ = N$",
    "m$.__class__ = M$",
)
row(
    "__dict__ of a module replaced",
    EVAL,
    "m$(x)",
    "m$.__dict__ = {**m$.__dict__, 'k': 5}",
    "m$.__dict__ = M$().eval().__dict__",
)
row(
    "registries replaced",
    EVAL,
    "m$(x)",
    "m$._buffers = {'buf': torch.zeros(3)}",
    "m$.lin._parameters = {'weight': torch.nn.Parameter(torch.ones(3, 3)), 'bias': None}",
    "m$._modules = {**m$._modules, 'lin': torch.nn.Identity()}",
)
row(
    "module moved between names",
    EVAL,
    "(m$.lin is m$.seq[0], m$(x))",
    "m$.seq[0] = m$.lin",
    "m$.lin, m$.seq[0] = torch.nn.Linear(3, 3), m$.lin",
)
row(
    "parametrization, weight norm, spectral norm",
    EVAL
    + "import torch.nn.utils.parametrize as P$\nclass Z$(torch.nn.Module):\n    def forward(self, w):\n        return w * 2\n",
    "m$(x)",
    "P$.register_parametrization(m$.lin, 'weight', Z$())",
    "P$.remove_parametrizations(m$.lin, 'weight')",
    "torch.nn.utils.weight_norm(m$.seq[0])",
    "torch.nn.utils.remove_weight_norm(m$.seq[0])",
)
row(
    "pruning, spectral norm as a hook",
    EVAL + "import torch.nn.utils.prune as P$",
    "m$(x)",
    "P$.l1_unstructured(m$.lin, 'weight', 0.5)",
    "m$.lin.weight_mask.zero_()",
    "P$.remove(m$.lin, 'weight')",
    "torch.nn.utils.spectral_norm(m$.seq[0])",
    "m$.train(); m$.drop.p = 0.0",
    "m$.eval()",
    "torch.nn.utils.remove_spectral_norm(m$.seq[0])",
)
row(
    "load_state_dict(assign=True), swap_tensors",
    EVAL,
    "(m$(x.to(m$.lin.weight.dtype)), m$.lin.weight.requires_grad)",
    "m$.load_state_dict({k: v.clone() + 1 for k, v in m$.state_dict().items()}, assign=True)",
    "m$.load_state_dict({k: v.double() for k, v in m$.state_dict().items()}, assign=True)",
    "m$.load_state_dict({k: v.float() for k, v in m$.state_dict().items()}, assign=True)",
    "torch.utils.swap_tensors(m$.lin.weight, m$.seq[0].weight)",
    "m$.lin.weight, m$.seq[0].weight = m$.seq[0].weight, m$.lin.weight",
    compiled_wrong="the result of the last call holds parameters, and torch swaps none of them",
)
row(
    "buffers that are written to and come to share memory",
    "class M$(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.register_buffer('a', torch.ones(3))\n        self.register_buffer('b', torch.ones(3))\n"
    "    def forward(self, v):\n        self.a.add_(v)\n        return self.b * 2 + self.a\nm$ = M$()",
    "m$(x)",
    "m$.b = m$.a",
    "m$.b = m$.a[:]",
    "m$.b = m$.a.clone()",
    "m$.a = torch.zeros(6)[::2]",
    "m$.b = m$.a.view(3)",
    "m$.a = torch.zeros(3, dtype=torch.float64)",
)
row(
    "optimizer: groups, state, gradients",
    "p$ = torch.nn.Parameter(torch.ones(3))\no$ = torch.optim.SGD([p$], lr=0.1, momentum=0.9)\n"
    "def step$(v):\n    p$.grad = v.clone()\n    o$.step()\n    return p$ * 1",
    "step$(x)",
    "o$.param_groups[0]['lr'] = 0.5",
    "o$.param_groups[0]['momentum'] = 0",
    "o$.param_groups[0]['weight_decay'] = 0.1",
    "o$.param_groups[0]['nesterov'] = True; o$.param_groups[0]['momentum'] = 0.5",
    "o$.state.clear()",
    "o$.param_groups[0]['maximize'] = True",
    "p$.data = torch.ones(3) * 2",
    "o$.param_groups[0]['foreach'] = True",
    "o$.load_state_dict(o$.state_dict())",
    "o$.param_groups[0]['params'] = [torch.nn.Parameter(torch.ones(3))]",
)
row(
    "functional_call with other tensors",
    EVAL + "p$ = {k: v.detach() * 2 for k, v in m$.named_parameters()}",
    "torch.func.functional_call(m$, p$, (x,))",
    "p$['lin.bias'] = torch.zeros(3)",
    "del p$['lin.weight']",
    "p$.clear()",
    "p$['buf'] = torch.ones(3) * 5",
    "m$.k = 9",
)
row(
    "attribute that becomes a buffer, a parameter, a module",
    EVAL + "m$.t = 2",
    "x * (m$.t if not isinstance(m$.t, torch.nn.Module) else m$.t(x))",
    "del m$.t; m$.register_buffer('t', torch.ones(3))",
    "del m$.t; m$.t = torch.nn.Parameter(torch.ones(3) * 3)",
    "del m$.t; m$.t = torch.nn.ReLU()",
    "del m$.t; m$.t = 5",
)
row(
    "batch norm: running statistics, momentum, affine",
    "b$ = torch.nn.BatchNorm1d(3)",
    "(b$(x.expand(2, 3)), b$.running_mean + 0, b$.num_batches_tracked + 0)",
    "b$.eval()",
    "b$.running_mean.add_(1)",
    "b$.momentum = None",
    "b$.train(); b$.momentum = 0.9",
    "b$.track_running_stats = False",
    "b$.running_mean = None; b$.running_var = None",
    "b$.eps = 0.5",
    "b$.weight = None; b$.bias = None",
)
row(
    "parameters(), state_dict(), named_modules()",
    EVAL,
    "(len(list(m$.parameters())), [n for n, _ in m$.named_modules()], sum(p.sum() for p in m$.parameters()), x)",
    "m$.register_parameter('zz', torch.nn.Parameter(torch.ones(2)))",
    "m$.extra = torch.nn.Linear(1, 1)",
    "with torch.no_grad(): m$.zz.add_(1)",
    "del m$.extra",
)
row(
    "gradients of parameters",
    EVAL,
    "[0 if p.grad is None else p.grad.sum() for p in m$.lin.parameters()] + [x]",
    "m$.lin(torch.ones(3)).sum().backward()",
    "m$.zero_grad()",
    "m$.lin.weight.grad = torch.ones(3, 3)",
    "m$.lin.bias.grad = torch.ones(3)",
)
row(
    "to(), half(), apply()",
    EVAL,
    "m$(x.to(m$.buf.dtype))",
    "m$.to(torch.float64)",
    "m$.float()",
    "m$.apply(lambda s: setattr(s, 'flag', 1))",
    "m$.apply(lambda s: s.weight.data.fill_(1) if hasattr(s, 'weight') else None)",
)
row(
    "config object of a module",
    "import types\n"
    + EVAL
    + "m$.config = types.SimpleNamespace(act='relu', n=2, inner=dict(k=1))\n",
    "(torch.relu(x) if m$.config.act == 'relu' else torch.tanh(x)) * m$.config.n * m$.config.inner['k']",
    "m$.config.act = 'tanh'",
    "m$.config.n = 3",
    "m$.config.inner['k'] = 4",
    "m$.config = types.SimpleNamespace(act='relu', n=9, inner={'k': 1})",
    "m$.config.other = 1",
)
row(
    "a compiled module and its attributes",
    EVAL + "c$ = COMPILE(m$)",
    "(c$(x), c$.k)",
    "c$.k = 3",
    "m$.k = 4",
    "c$.lin = torch.nn.Identity()",
    "c$.train(); c$.drop.p = 0.0",
    "c$.register_forward_hook(lambda m, a, r: r + 1)",
)
row(
    "copy of a module in its place",
    "import copy\n" + EVAL,
    "m$(x)",
    "m$ = copy.deepcopy(m$); m$.k = 7",
    "m$ = copy.copy(m$)",
    "import pickle; m$ = M$().eval()",
)
