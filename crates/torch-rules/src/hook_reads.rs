//! Whether what a hook reads may be another by the time that it runs. A hook that is part of a graph is read where it is
//! registered, but runs in the backward pass: behind all that the program does in between.
//!
//! Lives here: variables that are assigned again, containers, and objects that the program makes. Does not live here:
//! what a hook does (`hooks`). Attributes of modules and of objects from outside, and numbers among globals, are taken
//! as they are at the registration, as torch's own tracer does.
//!
//! Invariant: nothing is realized, so nothing is guarded.

use bytecode::leads_to;
use bytecode::op::{LocalIdx, Op};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict, PyFunction, PyList, PySet, PyTuple, PyType};
use translator::stop::R;
use translator::tx::{Tx, qualified_name};
use variables::code::CodeInfo;
use variables::state::Frame;
use variables::{Body, Obj, ObjId, Var};

/// How deep functions, tuples and receivers are looked into.
const DEEPEST: u32 = 8;

/// What of a hook's reads may change, in words; `None` where nothing does.
///
/// # Errors
/// Code that can't be decoded.
pub(crate) fn what_may_change(tx: &Tx<'_>, hook: &Var) -> R<Option<String>> {
    of_value(tx, hook, DEEPEST)
}

fn of_value(tx: &Tx<'_>, v: &Var, depth: u32) -> R<Option<String>> {
    if depth == 0 {
        return Ok(Some("what is nested deeply".into()));
    }
    match v {
        Var::Tuple(t) => of_values(tx, &t.items, depth),
        Var::Method(m) => of_values(tx, [&m.func, &m.receiver], depth),
        Var::Func(f) => {
            for cell in &f.closure {
                if let Some(found) = of_cell(tx, cell, depth)? {
                    return Ok(Some(found));
                }
            }
            let code = tx.codes.borrow_mut().get(f.code.bind(tx.py))?;
            of_globals(tx, &code, &f.globals)
        }
        Var::Obj(id) => of_object(tx, *id, depth),
        Var::Lazy(l) => of_real(tx, l.obj.bind(tx.py), depth),
        Var::Py(p) => of_real(tx, p.obj.bind(tx.py), depth),
        _ => Ok(None),
    }
}

/// The first of values that may change, or that lead to what may.
fn of_values<'a>(
    tx: &Tx<'_>,
    values: impl IntoIterator<Item = &'a Var>,
    depth: u32,
) -> R<Option<String>> {
    for v in values {
        if let Some(found) = of_value(tx, v, depth - 1)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A cell: its variable, and what it holds.
fn of_cell(tx: &Tx<'_>, cell: &Var, depth: u32) -> R<Option<String>> {
    let id = match cell {
        Var::Obj(id) => *id,
        v => return of_value(tx, v, depth - 1),
    };
    if let Some(name) = assigned_later(tx, id)? {
        return Ok(Some(format!(
            "the variable `{name}`, which is assigned again"
        )));
    }
    match &tx.obj(id).body {
        Body::Cell(Some(v)) => of_value(tx, v, depth - 1),
        _ => Ok(None),
    }
}

fn of_object(tx: &Tx<'_>, id: ObjId, depth: u32) -> R<Option<String>> {
    let object = tx.obj(id);
    let class = object.class.bind(tx.py);
    let part = |name: &str| object.attrs.get(name).and_then(Option::as_ref);
    if object.is_new() && object.class.is(&tx.known.partial) {
        return of_values(
            tx,
            [part("func"), part("args")].into_iter().flatten(),
            depth,
        );
    }
    let is_module = class
        .cast::<PyType>()
        .is_ok_and(|c| c.is_subclass(tx.known.module.bind(tx.py)).unwrap_or(false));
    let may_change = match &object.body {
        Body::Plain => object.is_new() && !is_module,
        Body::List(_) | Body::Deque(..) | Body::Dict(_) | Body::Set(_) | Body::Iter(_) => true,
        _ => false,
    };
    Ok(may_change.then(|| format!("an object of the class `{}`", qualified_name(class))))
}

/// An object from outside.
fn of_real(tx: &Tx<'_>, b: &Bound<'_, PyAny>, depth: u32) -> R<Option<String>> {
    if depth == 0 {
        return Ok(Some("what is nested deeply".into()));
    }
    if is_container(b) {
        return Ok(Some(format!(
            "a `{}`",
            qualified_name(b.get_type().as_any())
        )));
    }
    let mut parts: Vec<Bound<'_, PyAny>> = Vec::new();
    if let Ok(items) = b.cast_exact::<PyTuple>() {
        parts.extend(items.iter());
    } else if b.is_instance_of::<PyFunction>() {
        if let Ok(cells) = b.getattr("__closure__")?.cast::<PyTuple>() {
            let held = cells.iter().map(|cell| cell.getattr("cell_contents"));
            parts.extend(held.filter_map(Result::ok));
        }
        let code = tx.codes.borrow_mut().get(&b.getattr("__code__")?)?;
        let globals = b.getattr("__globals__")?.unbind();
        if let Some(found) = of_globals(tx, &code, &globals)? {
            return Ok(Some(found));
        }
    }
    for part in parts {
        if let Some(found) = of_real(tx, &part, depth - 1)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Containers among the globals that a function reads.
fn of_globals(tx: &Tx<'_>, code: &CodeInfo, globals: &Obj) -> R<Option<String>> {
    let Ok(globals) = globals.bind(tx.py).cast::<PyDict>() else {
        return Ok(None);
    };
    for instr in &code.body.instrs {
        let Op::LoadGlobal(name) = instr.op else {
            continue;
        };
        let name = &code.names[name.0 as usize];
        if globals.get_item(&**name)?.is_some_and(|v| is_container(&v)) {
            return Ok(Some(format!("the global `{name}`")));
        }
    }
    Ok(None)
}

fn is_container(b: &Bound<'_, PyAny>) -> bool {
    b.is_instance_of::<PyDict>() || b.is_instance_of::<PyList>() || b.is_instance_of::<PySet>()
}

/// The name of the variable of a cell, where code that is still to run assigns it.
fn assigned_later(tx: &Tx<'_>, cell: ObjId) -> R<Option<String>> {
    let mut frame: Option<&Frame> = Some(&tx.st.frame);
    while let Some(f) = frame {
        let holds = |v: &Option<Var>| matches!(v, Some(Var::Obj(id)) if *id == cell);
        if let Some(slot) = f.locals.iter().position(holds) {
            let slot = LocalIdx(slot as u32);
            let name = &f.code.local_names[slot.0 as usize];
            if is_stored(&f.code, slot, Some(f.ip)) || stored_inside(tx, &f.code, name)? {
                return Ok(Some(name.to_string()));
            }
        }
        frame = f.parent.as_deref();
    }
    Ok(None)
}

/// Whether code assigns the variable of a slot, behind an instruction.
fn is_stored(code: &CodeInfo, slot: LocalIdx, behind: Option<usize>) -> bool {
    let stores = |op: &Op| matches!(op, Op::StoreDeref(l) | Op::DeleteDeref(l) if *l == slot);
    let mut instrs = code.body.instrs.iter().enumerate();
    instrs.any(|(at, instr)| {
        stores(&instr.op)
            && behind.is_none_or(|ip| leads_to(&code.body, ip as u32, at as u32).unwrap_or(true))
    })
}

/// Whether a function that code makes assigns a variable of the code's own (`nonlocal`).
fn stored_inside(tx: &Tx<'_>, code: &CodeInfo, name: &str) -> R<bool> {
    for constant in &code.consts {
        let constant = constant.bind(tx.py);
        if !constant.is_instance_of::<PyCode>() {
            continue;
        }
        let inner = tx.codes.borrow_mut().get(constant)?;
        let slot = inner.local_names.iter().position(|n| **n == *name);
        let stored = slot.is_some_and(|slot| is_stored(&inner, LocalIdx(slot as u32), None));
        if stored || stored_inside(tx, &inner, name)? {
            return Ok(true);
        }
    }
    Ok(false)
}
