//! Exceptions that are made while tracing: what C keeps in them, and their methods.
//!
//! Lives here: which of them can be made, the fields that C fills, what is read of their contexts
//! and tracebacks. Does not live here: what is handled while one is raised (the crate
//! `translator`), their texts (`format`).
//!
//! Invariant: such an exception is an object with `args`, and what C makes of these is asked of a
//! stand-in of the same C class. Tracebacks exist in plain Python only.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use translator::attr::is_heap_type;
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::{Obj, ObjId, Var};

/// Classes whose constructors fill fields from their arguments, and up to how many arguments these
/// only do what the constructor of others does: they check none, keep each in `args`, and make an
/// exception of the class that was asked for. `None`: never.
const WITH_FIELDS: [(&str, Option<usize>); 7] = [
    ("OSError", Some(1)),
    ("SyntaxError", Some(1)),
    ("UnicodeEncodeError", None),
    ("UnicodeDecodeError", None),
    ("UnicodeTranslateError", None),
    ("BaseExceptionGroup", None),
    ("ImportError", Some(1)),
];

/// Classes with one field, that says what `args` said when they were made.
const OF_ARGS: [&str; 2] = ["StopIteration", "SystemExit"];

/// Classes in which the interpreter notes what it was looking for when it raises them.
const NOTED: [&str; 3] = ["AttributeError", "NameError", "ImportError"];

/// Whether an exception of this class has fields that stay when its `args` are written.
pub(crate) fn keeps_fields(tx: &Tx<'_>, class: &Obj) -> R<bool> {
    let with_fields = WITH_FIELDS.iter().map(|(name, _)| name);
    derives_from_one(tx, class, with_fields.chain(&OF_ARGS))
}

/// Whether an exception can be made of these arguments: one of which `args` is all that its
/// constructor keeps. Others check them, choose another class by them, or keep more in fields.
///
/// # Errors
/// A break for any other.
pub(crate) fn made_of(tx: &mut Tx<'_>, class: &Obj, args: &Args) -> R<()> {
    let mut plain = args.kw.is_empty();
    for (name, most) in WITH_FIELDS {
        let fills = most.is_none_or(|most| args.pos.len() > most);
        plain &= !(fills && derives(tx, class, name)?);
    }
    match plain {
        true => Ok(()),
        false => Err(not_plain(tx, class)),
    }
}

fn not_plain(tx: &Tx<'_>, class: &Obj) -> Stop {
    let class = tx.class_name(class);
    Stop::unsupported(format!(
        "making an exception of class {class} with these arguments"
    ))
}

/// A method, by name, that C gives to exceptions.
pub(crate) fn method(tx: &mut Tx<'_>, id: ObjId, name: &str, args: &Args) -> Given {
    match name {
        "__init__" => {
            let class = tx.obj(id).class.clone();
            let with_fields = WITH_FIELDS.iter().map(|(name, _)| name);
            let has_fields = derives_from_one(tx, &class, with_fields)?;
            if has_fields || !args.kw.is_empty() {
                return Err(not_plain(tx, &class));
            }
            let args = Var::tuple(args.pos.clone());
            let name = Arc::from("args");
            tx.st.effects.write_attr(id, &name, Some(args));
            value(tx.none())
        }
        "with_traceback" => {
            let traceback = tx.one("with_traceback", args.clone())?;
            let traceback = tx.realize(&traceback)?;
            if !tx.takes_traceback(id, Some(&traceback)) {
                return Err(Stop::unsupported("giving a traceback to an exception"));
            }
            value(Var::Obj(id))
        }
        "add_note" => add_note(tx, id, args),
        _ => Ok(None),
    }
}

fn add_note(tx: &mut Tx<'_>, id: ObjId, args: &Args) -> Given {
    let note = tx.one("add_note", args.clone())?;
    let notes: Arc<str> = "__notes__".into();
    let old = match tx.instance_dict_attr(&Var::Obj(id), &notes)? {
        Some(old) => Some(tx.realize(&old)?),
        None => None,
    };
    let (text, list) = (tx.known.str_.clone(), tx.known.list.clone());
    let fits = tx.type_of(&note)?.is(&text)
        && match &old {
            Some(old) => tx.type_of(old)?.is(&list),
            None => true,
        };
    if !fits {
        return Err(Stop::unsupported(
            "add_note without a text, or notes in no list",
        ));
    }
    match old {
        Some(list) => tx.list_append(&list, note)?,
        None => {
            let list = tx.new_list([note]);
            tx.write_dict_attr(id, &notes, Some(list))?;
        }
    }
    value(tx.none())
}

/// A field, by name, that C has in an exception made while tracing.
///
/// # Errors
/// A break where only an exception that Python has raised knows it.
pub(crate) fn field(tx: &mut Tx<'_>, id: ObjId, name: &Arc<str>) -> R<Var> {
    let raised = tx.st.raised_under.contains_key(&id);
    match &**name {
        "__cause__" => Ok(tx.none()),
        "__suppress_context__" => {
            let from = tx.obj(id).attrs.contains_key("__cause__");
            Ok(tx.bool(from))
        }
        "__context__" if raised => match tx.st.raised_under.get(&id).cloned().flatten() {
            Some(handled) => Ok(handled),
            None => of_callers(tx),
        },
        "__traceback__" if raised => {
            if let Some(known) = tx.st.tracebacks.get(&id) {
                return Ok(known.clone());
            }
            let made = tx.traceback_of(&Var::Obj(id));
            tx.st.tracebacks.insert(id, made.clone());
            Ok(made)
        }
        "__context__" | "__traceback__" => Ok(tx.none()),
        _ => match filled(tx, id, name)? {
            Some(field) => Ok(field),
            None => Err(Stop::unsupported(format!(
                "attribute {name} of an exception made while tracing"
            ))),
        },
    }
}

/// The exception that a caller of the compiled function handles: `None` is guarded.
///
/// # Errors
/// A break where there is one.
pub(crate) fn of_callers(tx: &mut Tx<'_>) -> R<Var> {
    let ask = tx.py.import("sys")?.getattr("exception")?;
    let outside = ask.call0()?;
    if !outside.is_none() {
        return Err(Stop::unsupported(
            "asking for the exception that a caller handles",
        ));
    }
    tx.guard_call(&ask.unbind(), None, &[], &outside)?;
    Ok(tx.none())
}

/// What C has filled a field with. `None` where the interpreter may have noted more than arguments.
fn filled(tx: &mut Tx<'_>, id: ObjId, name: &Arc<str>) -> R<Option<Var>> {
    let class = tx.obj(id).class.clone();
    if tx.is_subtype(&class, &tx.known.stop_iteration) && &**name == "value" {
        return match tx.obj(id).attrs.get("args").cloned().flatten() {
            Some(Var::Tuple(t)) if !t.items.is_empty() => Ok(Some(t.items[0].clone())),
            _ => Ok(Some(tx.none())),
        };
    }
    if derives_from_one(tx, &class, &NOTED)? {
        return Ok(None);
    }
    let made = stand_in(tx, id)?;
    match made.map(|made| made.getattr(&**name)) {
        Some(Ok(field)) if tx.known.is_const_type(field.get_type().as_any()) => {
            tx.from_const(field).map(Some)
        }
        _ => Ok(None),
    }
}

/// An exception of the nearest C class that is made of the same arguments. `None` where these are
/// no constants, or the class refuses them.
pub(crate) fn stand_in<'py>(tx: &mut Tx<'py>, id: ObjId) -> R<Option<Bound<'py, PyAny>>> {
    let Some(Var::Tuple(args)) = tx.obj(id).attrs.get("args").cloned().flatten() else {
        return Ok(None);
    };
    let mut constants = Vec::with_capacity(args.items.len());
    for arg in &args.items {
        match tx.realize(arg)? {
            Var::Const(c) => constants.push(c),
            _ => return Ok(None),
        }
    }
    let class = tx.obj(id).class.bind(tx.py).clone();
    let mro = class.cast::<PyType>().map_err(PyErr::from)?.mro();
    let is_native = |c: &Bound<'_, PyAny>| c.cast().is_ok_and(|c| !is_heap_type(c));
    let Some(native) = mro.iter().find(is_native) else {
        return Ok(None);
    };
    Ok(native.call1(PyTuple::new(tx.py, constants)?).ok())
}

fn derives_from_one<'n>(
    tx: &Tx<'_>,
    class: &Obj,
    names: impl IntoIterator<Item = &'n &'static str>,
) -> R<bool> {
    for name in names {
        if derives(tx, class, name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn derives(tx: &Tx<'_>, class: &Obj, name: &str) -> R<bool> {
    let base = tx.known.builtins.bind(tx.py).getattr(name)?.unbind();
    Ok(tx.is_subtype(class, &base))
}
