//! The filters of `warnings`: `catch_warnings`, and what sets them.
//!
//! Only warnings look at the filters, and those of the program wait until the graph has run. So do the calls here, in
//! the order of the program. A context in which nothing was warned of leaves nothing behind.

use std::rc::Rc;

use pyo3::exceptions::PyWarning;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::{DeferredCall, ObjId, Var};

pub(crate) const RULES: RuleList = &[(
    "warnings",
    &[
        ("catch_warnings.__enter__", enter as Rule),
        ("catch_warnings.__exit__", exit),
        ("simplefilter", filter),
        ("filterwarnings", filter),
        ("resetwarnings", reset),
    ],
)];

/// What sets filters, and nothing else.
const SETTERS: [&str; 3] = ["simplefilter", "filterwarnings", "resetwarnings"];

fn member<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import("warnings")?.into_any();
    path.split('.').try_fold(module, |o, name| o.getattr(name))
}

fn defer(tx: &mut Tx<'_>, name: &str, args: Args) -> Given {
    let function = member(tx.py, name)?.unbind();
    tx.defer_silent(Var::py(function), args);
    value(tx.none())
}

/// A context of `warnings`' own that records nothing, for the module itself.
fn context(tx: &mut Tx<'_>, args: &Args) -> R<Option<ObjId>> {
    let Some(Var::Obj(id)) = args.pos.first().map(|v| tx.realize(v)).transpose()? else {
        return Ok(None);
    };
    if !tx.obj(id).class.is(&member(tx.py, "catch_warnings")?) {
        return Ok(None);
    }
    let module = tx.py.import("warnings")?;
    for (name, wanted) in [("_record", None), ("_module", Some(module.as_any()))] {
        let held = tx.getattr_sync(&Var::Obj(id), &name.into())?;
        let held = tx.realize(&held)?;
        let fits = match (&held, wanted) {
            (Var::Const(o), None) => !o.bind(tx.py).is_truthy()?,
            (Var::Py(p), Some(wanted)) => p.obj.is(wanted),
            _ => false,
        };
        if !fits {
            return Ok(None);
        }
    }
    Ok(Some(id))
}

fn calls(call: &DeferredCall, function: &Bound<'_, PyAny>) -> bool {
    matches!(&call.function, Var::Py(f) if f.obj.is(function))
}

/// The place of the last call that waits to enter a context.
fn waiting_enter(tx: &Tx<'_>, id: ObjId) -> R<Option<usize>> {
    let enter = member(tx.py, "catch_warnings.__enter__")?;
    let of = |call: &Rc<DeferredCall>| {
        calls(call, &enter) && matches!(call.pos.first(), Some(Var::Obj(o)) if *o == id)
    };
    Ok(tx.st.effects.calls.iter().rposition(of))
}

fn is_entered(tx: &mut Tx<'_>, id: ObjId) -> R<Option<bool>> {
    let entered = tx.getattr_sync(&Var::Obj(id), &"_entered".into())?;
    match tx.as_const(&entered)? {
        Some(o) => Ok(Some(o.bind(tx.py).is_truthy()?)),
        None => Ok(None),
    }
}

/// The program may see what such a call does before the graph has run.
fn at_once() -> Stop {
    Stop::brk(
        "Filters of warnings that cannot be set later",
        "The context records warnings, or the filter may raise an exception, so the call runs in eager mode between two graphs.",
        "Set the filters outside of the compiled function.",
    )
}

fn enter(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let Some(id) = context(tx, &args)? else {
        return Err(at_once());
    };
    if waiting_enter(tx, id)?.is_some() || is_entered(tx, id)? != Some(false) {
        return Err(at_once());
    }
    // What the context itself sets, from Python 3.11 on.
    let set = tx.getattr_sync(&Var::Obj(id), &"_filter".into())?;
    if let Var::Tuple(set) = tx.realize(&set)?
        && !is_harmless(tx, "simplefilter", Args::pos(set.items.clone()))?
    {
        return Err(at_once());
    }
    defer(
        tx,
        "catch_warnings.__enter__",
        Args::pos(vec![Var::Obj(id)]),
    )
}

fn exit(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let Some(id) = context(tx, &args)? else {
        return Err(at_once());
    };
    let none = tx.none();
    let leave = Args::pos(vec![Var::Obj(id), none.clone(), none.clone(), none.clone()]);
    let Some(at) = waiting_enter(tx, id)? else {
        // It was entered by eager code.
        return match is_entered(tx, id)? {
            Some(true) => defer(tx, "catch_warnings.__exit__", leave),
            _ => Err(at_once()),
        };
    };
    let setters = SETTERS.map(|name| member(tx.py, name));
    let setters = setters.into_iter().collect::<PyResult<Vec<_>>>()?;
    let waiting = tx.st.effects.calls.clone();
    let mut inside = waiting.iter().skip(at + 1);
    if !inside.all(|call| setters.iter().any(|s| calls(call, s))) {
        return defer(tx, "catch_warnings.__exit__", leave);
    }
    for at in (at..waiting.len()).rev() {
        tx.st.effects.take_back(at);
    }
    let entered = tx.bool(true);
    tx.st
        .effects
        .write_attr(id, &"_entered".into(), Some(entered));
    value(none)
}

fn filter(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    match is_harmless(tx, name, args.clone())? {
        true => defer(tx, name, args),
        false => Err(at_once()),
    }
}

fn reset(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    tx.positional(name, args.clone(), 0, 0)?;
    defer(tx, name, args)
}

/// Whether a filter with these arguments can be set later: it turns no warning into an exception, is refused for
/// nothing, and is made of what does not change.
fn is_harmless(tx: &mut Tx<'_>, name: &'static str, args: Args) -> R<bool> {
    let py = tx.py;
    let names: &[&str] = match name {
        "simplefilter" => &["action", "category", "lineno", "append"],
        _ => &[
            "action", "message", "category", "module", "lineno", "append",
        ],
    };
    let given = tx.by_name(name, args, names, 1, names.len())?;
    for (name, v) in names.iter().zip(given) {
        let Some(v) = v else { continue };
        let held = match tx.realize(&v)? {
            Var::Const(o) => o,
            Var::Py(p) if p.obj.bind(py).is_instance_of::<PyType>() => p.obj.clone(),
            _ => return Ok(false),
        };
        let held = held.bind(py);
        let fits = match *name {
            "action" => {
                let known = ["ignore", "always", "default", "module", "once"];
                held.extract::<String>().is_ok_and(|s| known.contains(&&*s))
            }
            "category" => match held.cast::<PyType>() {
                Ok(class) => class.is_subclass_of::<PyWarning>()?,
                Err(_) => false,
            },
            "lineno" => held.extract::<u32>().is_ok(),
            "append" => true,
            _ => {
                let compile = py.import("re")?.getattr("compile")?;
                held.is_instance_of::<PyString>() && compile.call1((held,)).is_ok()
            }
        };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}
