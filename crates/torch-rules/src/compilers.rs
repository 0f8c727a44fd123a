//! `torch.compile` and `ferrodyn.compile` in a compiled function, where the outer choices hold.
//!
//! What they give is made only where plain Python gets it. A call of it is a call of what it was made of.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use torch_abi::names;
use translator::raw::{dict_get, instance_dict};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, CallResult, Obj, ObjId, Origin, Var};

pub(crate) const RULES: RuleList = &[
    ("torch", &[("compile", by_torch as Rule)]),
    ("ferrodyn._api", &[("compile", by_ferrodyn as Rule)]),
];

fn by_torch(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let function = tx.py.import("torch")?.getattr(name)?.unbind();
    compile(tx, function, args, true)
}

fn by_ferrodyn(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let function = tx.py.import("ferrodyn._api")?.getattr(name)?.unbind();
    compile(tx, function, args, false)
}

/// What is made of a function, a method or a module; without one, a decorator. Nothing else, and only
/// choices that are known to be taken.
fn compile(tx: &mut Tx<'_>, function: Obj, args: Args, is_torch: bool) -> Given {
    let Args { pos, kw } = args;
    let mut model = None;
    let choices = match &pos[..] {
        [] => kw,
        [given] => {
            model = Some(tx.realize(given)?);
            kw
        }
        _ => return Ok(None),
    };
    for (name, choice) in &choices {
        if !is_taken(tx, name, choice)? {
            return Ok(None);
        }
    }
    let Some(class) = class_of_result(tx, is_torch, model.as_ref())? else {
        return Ok(None);
    };
    let made = CallResult {
        function,
        pos: model.into_iter().collect(),
        kw: choices,
    };
    let id = tx.new_object(class, Body::Result(Rc::new(made)));
    value(Var::Obj(id))
}

/// A call of what `torch.compile` gave in the compiled function.
///
/// # Errors
/// As [`Tx::call`].
pub(crate) fn call_compiled(tx: &mut Tx<'_>, made: &CallResult, args: Args) -> R<Flow> {
    let Some(model) = made.pos.first() else {
        let function = Var::py(made.function.clone());
        if args.pos.len() != 1 || !args.kw.is_empty() {
            return Err(Stop::unsupported("compiling without a function"));
        }
        let kw = made.kw.clone();
        return tx.call(&function, Args { pos: args.pos, kw });
    };
    if matches!(model, Var::Obj(_)) {
        let module = tx.py.import("torch.nn.modules.module")?;
        let hooked = module.getattr("_has_any_global_hook")?.unbind();
        let hooked = tx.call_sync(&Var::py(hooked), Args::default())?;
        if tx.truth(&hooked)? {
            return Err(Stop::unsupported(
                "a compiled module and hooks of all modules",
            ));
        }
    }
    tx.call(model, args)
}

/// Whether a choice is one that neither raises nor changes what is given.
fn is_taken(tx: &mut Tx<'_>, name: &str, choice: &Var) -> R<bool> {
    let choice = tx.realize(choice)?;
    let constant = match &choice {
        Var::Const(constant) => Some(constant.bind(tx.py)),
        _ => None,
    };
    let flag = || constant.is_some_and(|c| c.is_exact_instance_of::<PyBool>());
    let none = || constant.is_some_and(|c| c.is_none());
    Ok(match name {
        "fullgraph" => flag(),
        "dynamic" => flag() || none(),
        "disable" => flag() && !tx.truth(&choice)?,
        "mode" | "options" => none(),
        "backend" => match constant.map(|c| c.cast_exact::<PyString>()) {
            Some(Ok(name)) => matches!(name.to_str()?, "eager" | "inductor"),
            Some(Err(_)) => false,
            None => is_function(tx, &choice),
        },
        _ => false,
    })
}

/// Whether a value is a Python function or a method of one.
fn is_function(tx: &Tx<'_>, v: &Var) -> bool {
    match v {
        Var::Func(_) => true,
        Var::Method(m) => is_function(tx, &m.func),
        Var::Py(p) => {
            let class = p.obj.bind(tx.py).get_type();
            class.is(tx.known.function.bind(tx.py))
        }
        _ => false,
    }
}

/// The class of what is made of a function, a method, a module, or without one; `None` for anything
/// else.
fn class_of_result(tx: &mut Tx<'_>, is_torch: bool, model: Option<&Var>) -> R<Option<Obj>> {
    let py = tx.py;
    let named = |module: &str, name: &str| -> R<Option<Obj>> {
        Ok(Some(py.import(module)?.getattr(name)?.unbind()))
    };
    match model {
        None => Ok(Some(tx.known.function.clone())),
        // What is marked is not compiled.
        Some(Var::Py(p)) if translator::raw::may_have_marks(p.obj.bind(py)) => Ok(None),
        Some(f) if is_function(tx, f) => match (is_torch, f) {
            (true, _) => Ok(Some(tx.known.function.clone())),
            (false, Var::Method(_)) => named("ferrodyn._core", "CompiledCallable"),
            (false, _) => named("ferrodyn._core", "CompiledFunction"),
        },
        Some(Var::Obj(id)) if is_plain_module(tx, *id)? => match is_torch {
            true => named(names::DYNAMO_EVAL_FRAME, "OptimizedModule"),
            false => named("ferrodyn._module", "OptimizedModule"),
        },
        Some(_) => Ok(None),
    }
}

/// Whether an object is a module from outside that is called as its class says, all of whose
/// parameters are there.
fn is_plain_module(tx: &mut Tx<'_>, id: ObjId) -> R<bool> {
    let state = tx.obj(id);
    let Origin::Source { obj, .. } = &state.origin else {
        return Ok(false);
    };
    let Some(attributes) = instance_dict(obj.bind(tx.py)) else {
        return Ok(false);
    };
    let own = ["__call__", "_initialize_hook"];
    if own.iter().any(|name| dict_get(&attributes, name).is_some()) {
        return Ok(false);
    }
    let class = state.class.clone();
    if !tx.is_subtype(&class, &tx.known.module.clone()) {
        return Ok(false);
    }
    // One that was compiled already is unwrapped first.
    let name = tx.class_name(&class);
    let call = tx.class_lookup(&class, "__call__")?;
    Ok(name != "OptimizedModule" && call.is_some_and(|call| call.is(&tx.known.module_call)))
}
