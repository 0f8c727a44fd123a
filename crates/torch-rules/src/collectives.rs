//! Collectives of `torch.distributed`, as functional ones: operators of torch's that give new tensors.
//!
//! torch's own Python of the functional collectives is inlined; an operator and the wait for its result are nodes. What
//! writes to its argument is what torch's tracers put in its place. Groups are known by their names.
//!
//! Invariant: a name stands for the group of the process that it stood for while tracing; guards hold what was asked
//! of a group.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use torch_abi::names::FUNCTIONAL_COLLECTIVES as FUNCTIONAL;
use translator::rules::{Given, value};
use translator::stop::R;
use translator::tx::{Args, Tx};
use variables::{Obj, Var};

use crate::higher_order::whole;

/// What guards ask of groups.
const FUNCTION: &std::ffi::CStr = c"
import torch.distributed as dist

def default_name():
    world = dist.group.WORLD
    return None if world is None else world.group_name

def name_of(group):
    return group.group_name
";

variables::own_module! {
    static MODULE = (FUNCTION, c"<ferrodyn collectives>", c"ferrodyn_collectives");
}

/// Where it has those that programs call, and what they ask of groups.
const PLAIN: &str = "torch.distributed.distributed_c10d";

/// Questions about the process and its groups.
const QUESTIONS: [&str; 3] = ["get_rank", "get_world_size", "is_initialized"];

/// A call of a collective, or of what these ask; `None` for any other function.
pub(crate) fn call<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> Given {
    let modules = tx.known.sys_modules.bind(tx.py).cast::<PyDict>();
    let modules = modules.map_err(PyErr::from)?.clone();
    let Some(plain) = modules.get_item(PLAIN)? else {
        return Ok(None);
    };
    let Some(globals) = f.getattr_opt("__globals__")? else {
        return Ok(None);
    };
    // What is decorated has other globals, and wraps what has these.
    let wrapped = f.getattr_opt("__wrapped__")?;
    let wrapped = wrapped.map_or(Ok(None), |w| w.getattr_opt("__globals__"))?;
    let is_in = |module: &Bound<'py, PyAny>| -> PyResult<bool> {
        let dict = module.getattr("__dict__")?;
        Ok(globals.is(&dict) || wrapped.as_ref().is_some_and(|w| w.is(&dict)))
    };
    if is_in(&plain)? {
        return plain_call(tx, &plain, f, args);
    }
    match modules.get_item(FUNCTIONAL)? {
        Some(functional) if is_in(&functional)? => functional_call(tx, &functional, f, args),
        _ => Ok(None),
    }
}

/// A function that programs call.
fn plain_call<'py>(
    tx: &mut Tx<'py>,
    plain: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
    args: &Args,
) -> Given {
    let py = tx.py;
    let initialized = plain.call_method0("is_initialized")?.is_truthy()?;
    for name in QUESTIONS {
        if f.is(&plain.getattr(name)?) {
            return asked(tx, f, args);
        }
    }
    let by_name = "_get_group_size_by_name";
    if f.is(&plain.getattr(by_name)?) {
        return asked(tx, f, args);
    }
    if !initialized {
        return Ok(None);
    }
    let functional = py.import(FUNCTIONAL)?;
    let table = functional.getattr("traceable_collective_remaps")?;
    let table = table.cast::<PyDict>().map_err(PyErr::from)?;
    let Some(mapped) = table.get_item(f)? else {
        return Ok(None);
    };
    let signature = py.import("inspect")?.call_method1("signature", (f,))?;
    let names: Vec<String> = signature
        .getattr("parameters")?
        .call_method0("keys")?
        .try_iter()?
        .map(|n| n?.extract())
        .collect::<PyResult<_>>()?;
    let mut given: Vec<(std::sync::Arc<str>, Var)> = Vec::new();
    for (name, v) in names.iter().zip(&args.pos) {
        given.push((name.as_str().into(), v.clone()));
    }
    if args.pos.len() > names.len() {
        return Ok(None);
    }
    given.extend(args.kw.iter().cloned());
    let named = |given: &[(std::sync::Arc<str>, Var)], name: &str| {
        given.iter().position(|(n, _)| &**n == name)
    };
    if let Some(at) = named(&given, "async_op") {
        let v = given.remove(at).1;
        if tx.truth(&v)? {
            return Ok(None);
        }
    }
    let group = named(&given, "group").map(|at| given.remove(at).1);
    if names.iter().any(|n| n == "group") {
        let group = group.unwrap_or_else(|| tx.none());
        let Some(name) = group_name(tx, &group)? else {
            return Ok(None);
        };
        given.push(("group".into(), name));
    }
    if names.iter().any(|n| n == "op") {
        let op = match named(&given, "op") {
            Some(at) => {
                let op = tx.realize(&given.remove(at).1)?;
                real_object(tx, &op)
            }
            None => Some(plain.getattr("ReduceOp")?.getattr("SUM")?.unbind()),
        };
        let texts = functional.getattr("REDUCE_OP_TO_STR")?;
        let Some(text) = op.and_then(|op| texts.get_item(op).ok()) else {
            return Ok(None);
        };
        given.push(("op".into(), tx.from_const(text)?));
    }
    let args = Args {
        pos: Vec::new(),
        kw: given,
    };
    let name: String = mapped.getattr("__name__")?.extract()?;
    whole(tx, FUNCTIONAL, &name, args)
}

/// A functional collective, or a part of one.
fn functional_call<'py>(
    tx: &mut Tx<'py>,
    functional: &Bound<'py, PyAny>,
    f: &Bound<'py, PyAny>,
    args: &Args,
) -> Given {
    if f.is(&functional.getattr("_resolve_group")?) {
        let Some(group) = args.pos.first() else {
            return Ok(None);
        };
        return match group_name(tx, group)? {
            Some(name) => value(name),
            // A mesh, or a dimension of one.
            None => whole(tx, FUNCTIONAL, "_resolve_group", args.clone()),
        };
    }
    let name: String = f.getattr("__name__")?.extract()?;
    let is_there = functional.getattr_opt(&*name)?.is_some_and(|g| g.is(f));
    match is_there {
        true => whole(tx, FUNCTIONAL, &name, args.clone()),
        false => Ok(None),
    }
}

/// A question whose answer is guarded.
fn asked<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> Given {
    if !args.kw.is_empty() || args.pos.len() > 1 {
        return Ok(None);
    }
    let function = f.clone().unbind();
    let group = match args.pos.first() {
        Some(v) => Some(tx.realize(v)?),
        None => None,
    };
    let (source, pos, real) = match &group {
        None => (None, Vec::new(), None),
        Some(Var::Const(o)) => (None, vec![o.clone()], Some(o.clone())),
        Some(v) => match tx.origin_of(v) {
            Some((source, obj)) => (Some(source), Vec::new(), Some(obj)),
            None => return Ok(None),
        },
    };
    let answer = match real {
        Some(group) => f.call1((group,)),
        None => f.call0(),
    };
    let Ok(answer) = answer else {
        return Ok(None);
    };
    tx.guard_call(&function, source, &pos, &answer)?;
    value(tx.from_const(answer)?)
}

/// The name of a group: of the default one for `None`. `None` for what is no group.
fn group_name(tx: &mut Tx<'_>, group: &Var) -> R<Option<Var>> {
    let group = tx.realize(group)?;
    let module = MODULE.get(tx.py)?;
    if let Var::Const(o) = &group {
        let o = o.bind(tx.py).clone();
        if !o.is_none() {
            return Ok(o.is_instance_of::<pyo3::types::PyString>().then_some(group));
        }
        let ask = module.getattr("default_name")?;
        let name = ask.call0()?;
        if name.is_none() {
            return Ok(None);
        }
        tx.guard_call(&ask.unbind(), None, &[], &name)?;
        return tx.from_const(name).map(Some);
    }
    let class = tx.py.import(PLAIN)?.getattr("ProcessGroup")?;
    let ask = module.getattr("name_of")?;
    match tx.origin_of(&group) {
        Some((source, obj)) if obj.bind(tx.py).is_instance(&class)? => {
            let name = ask.call1((&obj,))?;
            tx.guard_call(&ask.unbind(), Some(source), &[], &name)?;
            tx.from_const(name).map(Some)
        }
        _ => match &group {
            Var::Py(p) if p.obj.bind(tx.py).is_instance(&class)? => {
                let name = ask.call1((&p.obj,))?;
                tx.from_const(name).map(Some)
            }
            _ => Ok(None),
        },
    }
}

/// An object that was there before.
fn real_object(tx: &Tx<'_>, v: &Var) -> Option<Obj> {
    match v.as_obj() {
        Some(obj) => Some(obj.clone()),
        None => tx.origin_of(v).map(|(_, obj)| obj),
    }
}
