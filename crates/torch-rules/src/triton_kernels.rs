//! Launches of the program's Triton kernels: one node of the graph, which is torch's operator of them.
//!
//! Triton's own Python is inlined down to `run` of a kernel; so heuristics of a kernel, and what the program computes
//! the grid with, are followed like other code of the program. What torch's operator does not take (hooks of the
//! tuner, configurations that a function of the program chooses among) runs in plain Python.
//!
//! Invariant: the operator knows the kernel, and the arguments that are no tensors and no sizes, by numbers in tables
//! of this process. So nothing of it is kept for another one.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use tensor_meta::Inferred;
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::{Obj, Origin, Var};

/// What is inlined in place of `run`, and what is asked of a kernel while tracing.
const FUNCTION: &std::ffi::CStr = c"
import copy
import inspect

from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table
from torch._higher_order_ops.triton_kernel_wrap import triton_kernel_wrapper_mutation as operator
from torch.utils import _triton as found
from triton.runtime.autotuner import Autotuner, Config, autotune
from triton.runtime.jit import JITFunction

# What a launch may choose beside the arguments of the kernel.
CHOICES = (
    'num_warps', 'num_stages', 'num_consumer_groups', 'num_buffers_warp_spec', 'num_cpu_threads'
)
# What the tuner may be told, and what the operator takes of it.
TUNING = (
    ('num_warmups', (25, None)), ('num_reps', (100, None)), ('use_cuda_graph', (False,)),
    ('user_defined_pre_hook', (False, None)), ('user_defined_post_hook', (False, None)),
    ('perf_model', (None,)), ('early_config_prune', (None,)),
)
TELLS_NAMES = 'launch_kwargs' in inspect.signature(operator.__call__).parameters

chosen = {}

def planned(kernel, count, launched, choices):
    # What has to be known of a kernel: its text says why it can't be launched from a graph.
    tuner = kernel if isinstance(kernel, Autotuner) else None
    function = tuner.fn if tuner else kernel
    choices = dict(choices)
    if not isinstance(function, JITFunction):
        return 'below several decorators'
    names = tuple(function.arg_names)
    if 'num_ctas' in launched or count > len(names) or set(names[:count]) & set(launched):
        return 'with these arguments'
    if tuner:
        for name, taken in TUNING:
            if getattr(tuner, name, taken[0]) not in taken:
                return f'whose tuner has {name}'
        if any(config.pre_hook is not None for config in tuner.configs):
            return 'whose tuner has hooks'
    by = id(kernel), tuple(choices.items())
    if by not in chosen:
        chosen[by] = kernel, with_choices(tuner, function, choices)
    known = chosen[by][1]
    configs = known.configs if isinstance(known, Autotuner) else [Config({})]
    if any(set(launched) & set(config.kwargs) for config in configs):
        return 'with arguments that its tuner chooses'
    fixed = tuple(p.name for p in function.params if p.is_constexpr)
    configs = tuple(tuple(config.kwargs.items()) for config in configs)
    return names, fixed, configs, kernel_side_table.add_kernel(known)

def with_choices(tuner, function, choices):
    own = [name for name in CHOICES if name in function.arg_names]
    if not choices and not (tuner and own):
        return tuner or function
    configs = copy.deepcopy(tuner.configs) if tuner else [Config({})]
    for config in configs:
        vars(config).update(choices)
        for name in own:
            config.kwargs.setdefault(name, vars(config)[name])
    return autotune(configs=configs, key=[])(function)

def plan(kernel, count, launched, choices):
    raise NotImplementedError

def sort_out(fixed, **given):
    raise NotImplementedError

def refuse(why):
    raise NotImplementedError

def launch(**given):
    raise NotImplementedError

def run(kernel, *args, grid, warmup=False, **kwargs):
    if warmup:
        refuse('that is compiled without being launched')
    choices = tuple((name, kwargs.pop(name)) for name in CHOICES if name in kwargs)
    launched = tuple(kwargs)
    names, fixed, configs, index = plan(kernel, len(args), launched, choices)
    given = {**dict(zip(names, args)), **kwargs}
    grids = []
    for config in configs:
        size = grid({**given, **dict(config)}) if callable(grid) else grid
        if not isinstance(size, (tuple, list)) or len(size) > 3:
            refuse('on another grid than of one to three sizes')
        grids.append((*size, *(1 for _ in range(3 - len(size)))))
    passed, constants = sort_out(fixed, **given)
    told = {'launch_kwargs': launched} if TELLS_NAMES else {}
    launch(
        kernel_idx=index, constant_args_idx=constants, grid=grids, tma_descriptor_metadata={},
        kwargs={name: given[name] for name in passed}, **told,
    )
";

variables::own_module! {
    static MODULE = (FUNCTION, c"<ferrodyn triton kernels>", c"ferrodyn_triton_kernels");
}

const WHAT: &str = "a Triton kernel";
const OPERATOR: &str = "torch.ops.higher_order.triton_kernel_wrapper_mutation";

/// Where kernels are launched: the module, and the class whose `run` does it.
const LAUNCHED_BY: [(&str, &str); 2] = [
    ("triton.runtime.jit", "JITFunction"),
    ("triton.runtime.autotuner", "Autotuner"),
];

type Own = for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, &Args) -> Given;

/// The functions that are answered while tracing, in place of being followed.
const OWN: [(&str, Own); 4] = [
    ("plan", plan),
    ("sort_out", sort_out),
    ("refuse", refuse),
    ("launch", launch),
];

/// The objects of [`OWN`], once a kernel was launched.
static ANSWERED: PyOnceLock<Vec<Obj>> = PyOnceLock::new();

/// A launch of a kernel, or a function that is used for one; `None` for any other function.
pub(crate) fn call<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> Given {
    let py = tx.py;
    if let Some(answered) = ANSWERED.get(py)
        && let Some(at) = answered.iter().position(|own| own.is(f))
    {
        return (OWN[at].1)(tx, &MODULE.get(py)?, args);
    }
    let modules = tx.known.sys_modules.bind(py).cast::<PyDict>();
    let modules = modules.map_err(PyErr::from)?.clone();
    for (module, class) in LAUNCHED_BY {
        let Some(module) = modules.get_item(module)? else {
            return Ok(None);
        };
        // A module that is being imported has no classes yet.
        let class = module.getattr_opt(class)?;
        let run = class.map(|class| class.getattr("run")).transpose()?;
        if run.is_some_and(|run| run.is(f)) {
            return run_of_kernel(tx, args);
        }
    }
    Ok(None)
}

fn run_of_kernel(tx: &mut Tx<'_>, args: &Args) -> Given {
    let py = tx.py;
    let own = MODULE.get(py)?;
    // Without a GPU nothing can be launched, which Triton says itself.
    if !own
        .getattr("found")?
        .call_method0("has_triton")?
        .is_truthy()?
    {
        return Ok(None);
    }
    ANSWERED.get_or_try_init(py, || {
        let functions = OWN.iter().map(|(name, _)| Ok(own.getattr(*name)?.unbind()));
        functions.collect::<PyResult<Vec<_>>>()
    })?;
    let run = own.getattr("run")?;
    tx.call(&Var::py(run.unbind()), args.clone()).map(Some)
}

/// A value as the real object: a constant, or an object that the frame reaches, held by its identity.
fn real(tx: &mut Tx<'_>, v: &Var) -> R<Option<Obj>> {
    let v = tx.realize(v)?;
    if let Var::Obj(id) = v
        && let Origin::Source { obj, .. } = tx.obj(id).origin.clone()
    {
        tx.guard_identity(id);
        return Ok(Some(obj));
    }
    tx.as_const(&v)
}

/// `plan(kernel, count, launched, choices)`: what [`FUNCTION`]'s `planned` gives.
fn plan<'py>(tx: &mut Tx<'py>, own: &Bound<'py, PyAny>, args: &Args) -> Given {
    let mut all = Vec::with_capacity(args.pos.len());
    for v in &args.pos {
        match real(tx, v)? {
            Some(object) => all.push(object),
            None => return Err(refused("with choices that are no constants")),
        }
    }
    let planned = own.getattr("planned")?.call1(PyTuple::new(tx.py, all)?)?;
    match planned.cast::<PyString>() {
        Ok(why) => Err(refused(why.to_str()?)),
        Err(_) => value(tx.fold(|_| Ok(planned))?),
    }
}

/// `sort_out(fixed, **given)`: the names of tensors and sizes, which the node is given, and the number of the others.
fn sort_out<'py>(tx: &mut Tx<'py>, own: &Bound<'py, PyAny>, args: &Args) -> Given {
    let py = tx.py;
    let fixed = match args.pos.first() {
        Some(fixed) => tx.as_const(fixed)?,
        None => None,
    };
    let fixed: Vec<String> = match fixed {
        Some(fixed) => fixed.extract(py)?,
        None => return Err(refused("without names")),
    };
    let mut passed = Vec::new();
    let constants = PyDict::new(py);
    for (name, given) in &args.kw {
        let given = tx.look(given)?;
        match &given {
            Var::Tensor(_) => passed.push(name.to_string()),
            Var::Int(_) if !fixed.iter().any(|n| **n == **name) => passed.push(name.to_string()),
            _ => match real(tx, &given)? {
                Some(object) => constants.set_item(&**name, object)?,
                None => return Err(refused(&format!("whose argument {name} is no constant"))),
            },
        }
    }
    let table = own.getattr("kernel_side_table")?;
    let index = table.call_method1("add_constant_args", (constants,))?;
    let told = (PyTuple::new(py, passed)?, index);
    value(tx.fold(|py| Ok(told.into_pyobject(py)?.into_any()))?)
}

/// `refuse(why)`: the launch runs in eager mode.
fn refuse<'py>(tx: &mut Tx<'py>, _: &Bound<'py, PyAny>, args: &Args) -> Given {
    let why: String = match tx.constants(args)? {
        Some((pos, _)) => PyTuple::new(tx.py, pos)?.get_item(0)?.extract()?,
        None => String::new(),
    };
    Err(refused(&why))
}

/// `launch(**given)`: the node.
fn launch<'py>(tx: &mut Tx<'py>, own: &Bound<'py, PyAny>, args: &Args) -> Given {
    if tx.so_far().inference_now() || tx.st.levels.is_active() || tx.st.effects.shows_tensors {
        return Err(refused("in a transform or an inference mode"));
    }
    let operator = own.getattr("operator")?.unbind();
    let callee = Callee::Function(&operator, OPERATOR, None);
    let node_args = tx.node_args_with_sizes(args)?;
    let made = tx.emit_inferred_as(&callee, node_args, Inferred::None, args, false)?;
    value(made)
}

fn refused(why: &str) -> Stop {
    Stop::unsupported(format!("{WHAT} {why}"))
}
