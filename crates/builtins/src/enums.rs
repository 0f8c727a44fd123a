//! Look-ups of enum members by their values; enums that a call makes of names and plain values.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Obj, Var};

use crate::made_classes;

/// `E(value)`, where `args` has the class in front: the member that the class's table has for a
/// value. Who the table does not know is made or refused by `_missing_`.
pub(crate) fn enum_member<'py>(
    tx: &mut Tx<'py>,
    class: &Bound<'py, PyType>,
    args: &Args,
) -> R<Flow> {
    let unsupported = |what: &str| Err(Stop::unsupported(what));
    if let Some(made) = made_enum(tx, class, args)? {
        return Ok(Flow::Value(made));
    }
    let (Some((pos, None)), [_, value]) = (tx.constants(args)?, &args.pos[..]) else {
        return unsupported("an enum look-up with a tracked value");
    };
    let py = tx.py;
    if has_no_members(class)? {
        return unsupported("an enum made in the compiled function");
    }
    let value = tx.realize(value)?;
    if tx.type_of(&value)?.is(class) {
        return Ok(Flow::Value(value));
    }
    let cls = class.clone().into_any().unbind();
    let enum_class = tx.known.enum_.clone();
    let new = tx.class_lookup(&cls, "__new__")?;
    let own_new = tx.class_lookup(&enum_class, "__new__")?;
    // Classes with members hold the function, `Enum` holds it as a static method.
    let function = |new: Option<Obj>| -> Option<Obj> {
        let new = new?.into_bound(py);
        Some(new.getattr("__func__").unwrap_or(new).unbind())
    };
    if !matches!((function(new), function(own_new)), (Some(a), Some(b)) if a.is(&b)) {
        return unsupported("an enum whose __new__ was replaced");
    }
    let missing = tx.class_lookup(&cls, "_missing_")?;
    let is_library = missing.is_some_and(|m| {
        m.bind(py)
            .getattr("__func__")
            .and_then(|f| f.getattr("__module__"))
            .is_ok_and(|module| module.eq("enum").unwrap_or(false))
    });
    // A flag's member for a combination of bits is made once, and in the table from then on.
    let pos = PyTuple::new(py, pos.into_iter().skip(1))?;
    let found = is_library.then(|| class.call1(pos));
    let table = tx.getattr_sync(&Var::py(cls), &"_value2member_map_".into())?;
    if tx.contains(&table, &value)? {
        return tx.getitem(&table, &value);
    }
    if let Some(found) = found {
        return tx.fold(|_| found).map(Flow::Value);
    }
    let missing = tx.getattr_sync(
        &Var::py(class.clone().into_any().unbind()),
        &"_missing_".into(),
    )?;
    match tx.call_sync(&missing, Args::pos(vec![value])) {
        Ok(member) if tx.type_of(&member)?.is(class) => Ok(Flow::Value(member)),
        // The class raises an error of its own, which says what came before.
        Ok(_) | Err(Stop::Raise(_)) => {
            unsupported("an enum look-up that the program's _missing_ refuses")
        }
        Err(stop) => Err(stop),
    }
}

fn has_no_members(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let members = class.getattr("_member_map_")?;
    Ok(members.is_empty().unwrap_or(true))
}

/// `Enum("Name", "first second")` of a class of the library's: an enum. `None` where the call looks a member up, or is
/// given more than plain values.
fn made_enum<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>, args: &Args) -> R<Option<Var>> {
    let is_library = class.getattr("__module__")?.eq("enum")?;
    if !is_library || !has_no_members(class)? {
        return Ok(None);
    }
    let given = Args {
        pos: args.pos.iter().skip(1).cloned().collect(),
        kw: args.kw.clone(),
    };
    let Some((pos, kw)) = tx.real_args(&given)? else {
        return Ok(None);
    };
    let kw = kw.unwrap_or_else(|| PyDict::new(tx.py));
    // It would be that of the frame that calls.
    if !kw.contains("module")? {
        match made_classes::module_of(tx)? {
            Some(module) => kw.set_item("module", module)?,
            None => return Ok(None),
        }
    }
    let pos = PyTuple::new(tx.py, pos)?;
    made_classes::make(tx, class.as_any(), &pos, &kw).map(Some)
}
