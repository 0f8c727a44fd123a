"""State of torch, of the thread and of the interpreter."""

# ruff: noqa: E501
from .rows import Group

group = Group("State")
row = group.row

row(
    "grad mode",
    "w$ = torch.ones(3, requires_grad=True)",
    "((x * w$).requires_grad, torch.is_grad_enabled())",
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    undo="torch.set_grad_enabled(True)",
    inside=[
        "torch.no_grad()",
        "torch.enable_grad()",
        "torch.inference_mode()",
        "torch.set_grad_enabled(False)",
    ],
)
row(
    "inference mode",
    "",
    "(torch.is_inference_mode_enabled(), (x * 2).is_inference())",
    inside=["torch.inference_mode()", "torch.inference_mode(False)"],
)
row(
    "default dtype",
    "",
    "(torch.ones(2), torch.get_default_dtype(), torch.tensor(1.5) * 2)",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_dtype(torch.float16)",
    "torch.set_default_dtype(torch.float32)",
    undo="torch.set_default_dtype(torch.float32)",
)
row(
    "default device",
    "",
    "(torch.ones(2).device, torch.zeros(3) + 1 if torch.get_default_device().type == 'cpu' else 0)",
    "torch.set_default_device('meta')",
    "torch.set_default_device('cpu')",
    "torch.set_default_device(None)",
    undo="torch.set_default_device(None)",
    inside=["torch.device('meta')", "torch.device('cpu')"],
)
row(
    "autocast",
    "a$ = torch.ones(3, 3)",
    "(a$ @ a$, torch.is_autocast_enabled('cpu'), torch.get_autocast_dtype('cpu'), x)",
    "torch.set_autocast_enabled('cpu', True)",
    "torch.set_autocast_dtype('cpu', torch.float16)",
    "torch.set_autocast_enabled('cpu', False)",
    undo="torch.set_autocast_enabled('cpu', False); torch.set_autocast_dtype('cpu', torch.bfloat16)",
    inside=[
        "torch.autocast('cpu')",
        "torch.autocast('cpu', dtype=torch.float16)",
        "torch.autocast('cpu', enabled=False)",
    ],
)
row(
    "deterministic algorithms",
    "",
    "(torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(), x * 2)",
    "torch.use_deterministic_algorithms(True)",
    "torch.use_deterministic_algorithms(True, warn_only=True)",
    "torch.use_deterministic_algorithms(False)",
    undo="torch.use_deterministic_algorithms(False)",
)
row(
    "torch function mode",
    "from torch.overrides import TorchFunctionMode\nclass Mode$(TorchFunctionMode):\n    n = 3\n"
    "    def __torch_function__(self, f, types, args=(), kwargs=None):\n        r = f(*args, **(kwargs or {}))\n"
    "        return r * self.n if f is torch.sin else r",
    "torch.sin(x)",
    "Mode$.n = 4",
    inside=["Mode$()", "Mode$()"],
)
row(
    "torch dispatch mode",
    "from torch.utils._python_dispatch import TorchDispatchMode\nclass Mode$(TorchDispatchMode):\n"
    "    def __torch_dispatch__(self, f, types, args=(), kwargs=None):\n        r = f(*args, **(kwargs or {}))\n"
    "        return r * 3 if 'sin' in str(f) else r",
    "torch.sin(x)",
    inside=["Mode$()"],
)
row(
    "what a torch dispatch mode counts",
    "from torch.utils._python_dispatch import TorchDispatchMode\nclass Mode$(TorchDispatchMode):\n    n = 1\n"
    "    def __torch_dispatch__(self, f, types, args=(), kwargs=None):\n        Mode$.n += 1\n"
    "        return f(*args, **(kwargs or {}))\n"
    "def use$(v):\n    with Mode$():\n        return torch.sin(v) + Mode$.n",
    "(torch.sin(x) + Mode$.n, use$(x))",
    "Mode$.n = 9",
    inside=["Mode$()"],
)
row(
    "__torch_function__ disabled",
    "class Sub$(torch.Tensor):\n    pass\ns$ = torch.ones(3).as_subclass(Sub$)",
    "type(s$ * 2).__name__",
    inside=["torch._C.DisableTorchFunctionSubclass()", "torch._C.DisableTorchFunction()"],
)
row(
    "anomaly mode",
    "",
    "(torch.is_anomaly_enabled(), x * 2)",
    "torch.autograd.set_detect_anomaly(True)",
    "torch.autograd.set_detect_anomaly(False)",
    undo="torch.autograd.set_detect_anomaly(False)",
)
row(
    "number of threads",
    "r$ = torch.get_num_threads()",
    "x * torch.get_num_threads()",
    "torch.set_num_threads(r$ + 1)",
    undo="torch.set_num_threads(r$)",
)
row(
    "matrix product precision",
    "r$ = torch.get_float32_matmul_precision(), torch.backends.mkldnn.matmul.fp32_precision",
    "(torch.get_float32_matmul_precision(), x)",
    "torch.set_float32_matmul_precision('medium')",
    "torch.set_float32_matmul_precision('high')",
    # It leaves another setting than it found, which another row reads.
    undo="torch.set_float32_matmul_precision(r$[0]); torch.backends.mkldnn.matmul.fp32_precision = r$[1]",
)
row(
    "backend flags",
    "f$ = torch.backends.mkldnn.flags",
    "(torch.backends.mkldnn.enabled, torch.backends.cudnn.benchmark, torch.backends.cuda.matmul.allow_tf32, x)",
    "torch.backends.cudnn.benchmark = True",
    "torch.backends.cuda.matmul.allow_tf32 = True",
    undo="torch.backends.cudnn.benchmark = False; torch.backends.cuda.matmul.allow_tf32 = False",
    inside=["f$(enabled=False)"],
)
row(
    "attention backends",
    "import torch.nn.functional as F",
    "(torch.backends.cuda.math_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled(), x)",
    "torch.backends.cuda.enable_flash_sdp(False)",
    "torch.backends.cuda.enable_math_sdp(False)",
    undo="torch.backends.cuda.enable_flash_sdp(True); torch.backends.cuda.enable_math_sdp(True)",
)
row(
    "fast path of attention",
    "torch.manual_seed(0)\ne$ = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()\nv$ = torch.ones(1, 2, 4)",
    "(torch.backends.mha.get_fastpath_enabled(), e$(v$), x)",
    "torch.backends.mha.set_fastpath_enabled(False)",
    undo="torch.backends.mha.set_fastpath_enabled(True)",
)
row(
    "warnings always",
    "",
    "(torch.is_warn_always_enabled(), x)",
    "torch.set_warn_always(True)",
    undo="torch.set_warn_always(False)",
)
row(
    "filling of uninitialised memory",
    "",
    "(torch.utils.deterministic.fill_uninitialized_memory, x)",
    "torch.utils.deterministic.fill_uninitialized_memory = False",
    undo="torch.utils.deterministic.fill_uninitialized_memory = True",
)
row(
    "random state of torch",
    "",
    "torch.rand(3) + torch.nn.functional.dropout(x, 0.5)",
    "torch.manual_seed(3)",
    "torch.rand(5)",
    "torch.set_rng_state(torch.get_rng_state())",
)
row(
    "random state of Python and numpy",
    "import random\nimport numpy as np",
    "(x * random.random(), random.randint(1, 9), np.random.rand())",
    "random.seed(5)",
    "np.random.seed(4)",
    "random.random()",
)
row(
    "a generator's state",
    "g$ = torch.Generator().manual_seed(1)",
    "torch.rand(3, generator=g$)",
    "g$.manual_seed(2)",
    "g$ = torch.Generator().manual_seed(9)",
)
row(
    "saved-tensor hooks",
    "w$ = torch.ones(3, requires_grad=True)",
    "x * w$",
    inside=["torch.autograd.graph.save_on_cpu()"],
)
row(
    "vmap, grad and jvp around the call",
    "import torch.func as tf$\nn$ = 1\ndef f$(v):\n    return v * n$\nc$ = COMPILE(f$)",
    "c$(x)",
    "n$ = 2",
    "n$ = 3; r$ = tf$.vmap(c$)(torch.ones(2, 3))",
    "r$ = tf$.grad(lambda v: c$(v).sum())(torch.ones(3))",
    "n$ = 4; r$ = tf$.jvp(c$, (torch.ones(3),), (torch.ones(3),))",
)
row(
    "levels of grad and vmap around the call",
    "import torch.func as tf$\ndef f$(v):\n    return v * 3 if (v * 2).requires_grad else v * 5\nc$ = COMPILE(f$)",
    "c$(x)",
    "r$ = tf$.grad(lambda a: c$(a).sum())(torch.ones(3))",
    "r$ = tf$.grad(lambda a: tf$.grad(lambda b: (c$(a) * b).sum())(torch.ones(3)).sum())(torch.ones(3))",
    "r$ = tf$.vmap(tf$.grad(lambda a: c$(a).sum()))(torch.ones(2, 3))",
)
row(
    "forward-mode level",
    "import torch.autograd.forward_ad as fw$\ndef d$(v):\n    with fw$.dual_level():\n        return tuple(fw$.unpack_dual(c$(fw$.make_dual(v, v * 5))))\nc$ = COMPILE(lambda v: v * v if fw$._current_level < 0 else v * v * 2)\nm$ = 0",
    "(c$(x), d$(x), fw$._current_level, m$)",
    "m$ = 1",
)
row(
    "forward-mode level under a torch function mode",
    "import torch.autograd.forward_ad as fw$\nfrom torch.overrides import TorchFunctionMode\n"
    "class Mode$(TorchFunctionMode):\n    def __torch_function__(self, f, types, args=(), kwargs=None):\n"
    "        return f(*args, **(kwargs or {}))\n"
    "def d$(v):\n    with fw$.dual_level():\n"
    "        return tuple(fw$.unpack_dual(fw$.make_dual(v, v * 5) * n$))\nn$ = 2",
    "d$(x)",
    "n$ = 3",
    inside=["Mode$()"],
)
row(
    "flush of denormal numbers",
    "",
    "x * 1e-42 * 1.0",
    "torch.set_flush_denormal(True)",
    "torch.set_flush_denormal(False)",
    undo="torch.set_flush_denormal(False)",
)
row(
    "default generator",
    "g$ = torch.default_generator",
    "(torch.rand(2) + x[:2], torch.initial_seed())",
    "torch.manual_seed(11)",
    "g$.manual_seed(12)",
    "torch.default_generator.set_state(torch.Generator().manual_seed(5).get_state())",
)
row(
    "hooks on saved tensors",
    "w$ = torch.ones(3, requires_grad=True)\ns$ = []\ndef p$(t):\n    s$.append(float(t.sum()))\n    return t",
    "((x * w$ * w$), torch._C._autograd._saved_tensors_hooks_is_enabled(), list(s$))",
    inside=[
        "torch.autograd.graph.saved_tensors_hooks(p$, lambda t: t)",
        "torch.autograd.graph.disable_saved_tensors_hooks('off')",
    ],
    compiled_wrong="the compiled graph saves other tensors",
)
row(
    "settings of the autograd engine",
    "",
    "(torch._C._is_multithreading_enabled(), torch._C._is_view_replay_enabled(), x * 2)",
    inside=[
        "torch.autograd.set_multithreading_enabled(False)",
        "torch.autograd._force_original_view_tracking(True)",
    ],
)
row(
    "printing options",
    "",
    "(str(torch.ones(2) / 3), x)",
    "torch.set_printoptions(precision=2)",
    undo="torch.set_printoptions(profile='default')",
)
row(
    "how conversions replace parameters",
    "",
    "(torch.__future__.get_swap_module_params_on_conversion(), torch.__future__.get_overwrite_module_params_on_conversion(), x)",
    "torch.__future__.set_swap_module_params_on_conversion(True)",
    undo="torch.__future__.set_swap_module_params_on_conversion(False)",
)
row(
    "precision of backends",
    "r$ = torch.backends.mkldnn.matmul.fp32_precision",
    "(torch.backends.mkldnn.matmul.fp32_precision, torch.backends.fp32_precision, x)",
    "torch.backends.mkldnn.matmul.fp32_precision = 'bf16'",
    undo="torch.backends.mkldnn.matmul.fp32_precision = r$",
)
row(
    "opt-einsum and NNPACK flags",
    "",
    "(torch.backends.opt_einsum.enabled, torch.backends.nnpack.enabled() if callable(torch.backends.nnpack.enabled) else torch.backends.nnpack.enabled, torch.einsum('i,i->', x, x))",
    "torch.backends.opt_einsum.enabled = False",
    undo="torch.backends.opt_einsum.enabled = True",
    inside=["torch.backends.nnpack.flags(enabled=False)"],
)
row(
    "tracing by torch.jit and make_fx",
    "n$ = 1\ndef f$(v):\n    return v * n$\nc$ = COMPILE(f$)",
    "(c$(x), torch.jit.is_tracing())",
    "n$ = 2; r$ = torch.jit.trace(c$, torch.ones(3))(torch.ones(3) * 2)",
    "from torch.fx.experimental.proxy_tensor import make_fx; n$ = 3; r$ = make_fx(c$)(torch.ones(3))(torch.ones(3))",
)
row(
    "profiler active",
    "",
    "x * 2",
    inside=[
        "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])",
        "torch.profiler.record_function('a')",
    ],
)
row(
    "how many digits an int may have in a text",
    "import sys\nr$ = sys.get_int_max_str_digits()\nn$ = 10",
    "(len(str(n$**700)), x)",
    "sys.set_int_max_str_digits(640)",
    "sys.set_int_max_str_digits(0)",
    "n$ = 7",
    undo="sys.set_int_max_str_digits(r$)",
)
row(
    "decimal context",
    "import decimal\nr$ = decimal.getcontext().copy()",
    "(x * float(decimal.Decimal(1) / 3), str(decimal.Decimal(1) / 3))",
    "decimal.getcontext().prec = 3",
    "decimal.setcontext(decimal.Context(prec=5, rounding=decimal.ROUND_UP))",
    undo="decimal.setcontext(r$)",
    inside=["decimal.localcontext(decimal.Context(prec=2))"],
)
row(
    "what NumPy does where a number overflows",
    "import numpy as np\na$, b$ = np.float32(3e38), np.float32(0)",
    "[x * 2, a$ + a$, -np.int8(-128), divmod(a$, b$), a$.astype(np.float16)]",
    "np.seterr(all='raise')",
    "np.seterr(all='ignore')",
    undo="np.seterr(all='warn', under='ignore')",
    inside=["np.errstate(all='raise')"],
)
row(
    "locale",
    "import locale\nr$ = locale.setlocale(locale.LC_ALL)",
    "(locale.localeconv()['decimal_point'], f'{3.5:n}', x)",
    "locale.setlocale(locale.LC_ALL, 'C.UTF-8')",
    "locale.setlocale(locale.LC_ALL, 'C')",
    undo="locale.setlocale(locale.LC_ALL, r$)",
)
row(
    "garbage collector, trace functions",
    "import gc, sys\nt$ = gc.get_threshold()",
    "(gc.isenabled(), gc.get_threshold(), sys.getprofile() is None, x * 2)",
    "gc.disable()",
    "gc.enable()",
    "gc.set_threshold(500, 5, 5)",
    "sys.setprofile(lambda *a: None)",
    "sys.setprofile(None)",
    undo="gc.enable(); gc.set_threshold(*t$); sys.setprofile(None)",
)
row(
    "recursion limit",
    "import sys\nr$ = sys.getrecursionlimit()",
    "x * sys.getrecursionlimit()",
    "sys.setrecursionlimit(r$ + 7)",
    undo="sys.setrecursionlimit(r$)",
)
row(
    "standard streams",
    "import io, sys\nb$ = io.StringIO()\nr$ = sys.stderr",
    "(print('a', file=sys.stderr), x)[1]",
    "sys.stderr = b$",
    undo="sys.stderr = r$",
)
row(
    "who gets log records: handlers, filters, levels",
    """import logging
L$ = logging.getLogger('row$')
L$.propagate, seen$ = False, []
L$.setLevel(10)
L$.handlers[:] = [logging.NullHandler()]
L$.filters.clear()
class H$(logging.Handler):
    def emit(self, record):
        seen$.append(record.getMessage())
class N$(logging.NullHandler):
    handle = logging.Handler.handle
    def emit(self, record):
        seen$.append(0)
n$ = logging.NullHandler()
""",
    "(L$.info('some'), x * len(seen$))",
    "L$.addHandler(H$())",
    "L$.setLevel(50)",
    "L$.setLevel(10)",
    "L$.handlers[:] = [n$]",
    "n$.handle = lambda record: seen$.append(1)",
    "L$.handlers[:] = [N$()]",
    "L$.filters.append(lambda record: seen$.append(2) or True)",
)
row(
    "who gets printed text",
    """import io, sys
seen$ = []
class W$(io.StringIO):
    def write(self, text):
        seen$.append(text)
out$, s$ = sys.stdout, io.StringIO()
sys.stdout = io.StringIO()
""",
    "(print('some'), x * len(seen$))",
    "sys.stdout = s$",
    "s$.write = seen$.append",
    "sys.stdout = W$()",
    "sys.stdout = io.StringIO()",
    undo="sys.stdout = out$",
    combine=False,
)
row(
    "warning filters",
    "import warnings\ndef use$(v):\n    with warnings.catch_warnings():\n        warnings.simplefilter('error')\n"
    "        try:\n            warnings.warn('a')\n        except UserWarning:\n            return v * 2\n    return v",
    "use$(x)",
    "warnings.warn$ = 2",
)
row(
    "logging levels",
    "import logging\nl$ = logging.getLogger('ferrodyn.test$'.replace('ferrodyn.', 'z'))\nl$.setLevel(30)",
    "(l$.isEnabledFor(20), x * l$.level)",
    "l$.setLevel(10)",
    "logging.disable(50)",
    undo="logging.disable(0)",
)
row(
    "working directory, arguments",
    "import os, sys\nr$ = list(sys.argv)",
    "(len(sys.argv) * x, os.getcwd())",
    "sys.argv.append('z')",
    undo="sys.argv[:] = r$",
)
