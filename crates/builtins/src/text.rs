//! Methods of constants: Python runs them, once their arguments are constants too.

use crate::asked::pure_const;
use bytecode::op::Conversion;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use translator::values::{Changing, Special};
use variables::{Obj, Var};

/// What the fields of a template stand for: the arguments of `format`, or the mapping of `format_map`.
enum Fields {
    Arguments(Args),
    Mapping(Var),
}

/// A method of a constant.
pub(crate) fn const_method(tx: &mut Tx<'_>, o: &Obj, name: &str, args: Args) -> R<Option<Flow>> {
    let py = tx.py;
    let b = o.bind(py).clone();
    let text = b.is_instance_of::<PyString>();
    if (text || b.is_instance_of::<PyBytes>()) && name == "join" {
        let items = tx.one("join", args)?;
        return join(tx, &b, &items).map(|v| Some(Flow::Value(v)));
    }
    if matches!(name, "__enter__" | "__exit__") && b.is_instance(tx.known.device.bind(py))? {
        return (tx.rules.torch.device_as_context)(tx, o, name).map(Some);
    }
    if !b.hasattr(name)? {
        return Ok(None);
    }
    // A template may ask for attributes, which run the program's properties: only constants have
    // none.
    let template = text
        && name == "format"
        && (args.values().any(|v| tx.changes(v, Changing::Any)) || !are_pure(tx, &args)?);
    if !template && let Some((pos, kw)) = tx.real_args(&args)? {
        let name = name.to_owned();
        return tx
            .fold(move |py| b.getattr(name)?.call(PyTuple::new(py, pos)?, kw.as_ref()))
            .map(|v| Some(Flow::Value(v)));
    }
    if text && name == "format" {
        let format: String = b.extract()?;
        return format_text(tx, &format, &Fields::Arguments(args), &mut 0, 2)
            .map(|v| Some(Flow::Value(v)));
    }
    if text && name == "format_map" {
        let m = tx.one("format_map", args)?;
        let format: String = b.extract()?;
        return format_text(tx, &format, &Fields::Mapping(m), &mut 0, 2)
            .map(|v| Some(Flow::Value(v)));
    }
    if name == "__mod__" && args.pos.len() == 1 {
        let f = tx.binary(
            bytecode::op::BinaryOp::Remainder,
            false,
            &Var::Const(o.clone()),
            &args.pos[0],
        )?;
        return Ok(Some(f));
    }
    Ok(None)
}

/// `sep.join(items)`, of texts or of bytes.
///
/// # Errors
/// `TypeError` for an item that is none; what iterating raises.
pub(crate) fn join<'py>(tx: &mut Tx<'py>, sep: &Bound<'py, PyAny>, items: &Var) -> R<Var> {
    let realized = tx.realize(items)?;
    if tx.special(&realized, "__iter__")? == Special::Absent
        && tx.special(&realized, "__getitem__")? == Special::Absent
    {
        return Err(tx.raise("TypeError", "can only join an iterable"));
    }
    let items = tx.iterate(items)?;
    if sep.is_exact_instance_of::<PyString>()
        && let Some(text) = join_texts(tx, &sep.clone().unbind(), &items)?
    {
        return Ok(text);
    }
    let mut parts = Vec::with_capacity(items.len());
    for (i, v) in items.iter().enumerate() {
        // C reads the characters, whatever the methods of a derived class say.
        let plain = tx.plain_value(v);
        match tx.as_const(plain.as_ref().unwrap_or(v))? {
            Some(o) => parts.push(o),
            None => {
                let (class, text) = (tx.type_of(v)?, tx.known.str_.clone());
                if tx.is_subtype(&class, &text) {
                    return Err(Stop::unsupported("joining a text that is not known"));
                }
                let name = tx.type_name(v)?;
                return Err(tx.raise(
                    "TypeError",
                    &format!("sequence item {i}: expected str instance, {name} found"),
                ));
            }
        }
    }
    let sep = sep.clone();
    tx.fold(move |py| sep.call_method1("join", (PyList::new(py, parts)?,)))
}

fn are_pure(tx: &mut Tx<'_>, args: &Args) -> R<bool> {
    for v in args.values() {
        if pure_const(tx, v)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `str.format` with arguments that are no constants (CPython's `MarkupIterator`).
fn format_text(tx: &mut Tx<'_>, format: &str, args: &Fields, auto: &mut i64, depth: u32) -> R<Var> {
    if depth == 0 {
        return Err(tx.raise("ValueError", "Max string recursion exceeded"));
    }
    let string = tx.py.import("_string")?;
    let fields = match string
        .call_method1("formatter_parser", (format,))
        .and_then(|p| p.try_iter()?.collect::<PyResult<Vec<_>>>())
    {
        Ok(f) => f,
        Err(e) => return Err(tx.raise_pyerr(&e)),
    };
    let mut out = Vec::new();
    for field in fields {
        type Field = (String, Option<String>, Option<String>, Option<String>);
        let (literal, name, spec, conv): Field = field.extract()?;
        out.push(tx.str(&literal));
        let Some(name) = name else { continue };
        let value = format_field(tx, &name, args, auto)?;
        let spec = spec.unwrap_or_default();
        let spec = if spec.contains('{') {
            format_text(tx, &spec, args, auto, depth - 1)?
        } else {
            tx.str(&spec)
        };
        let conv = match conv.as_deref() {
            None => None,
            Some("s") => Some(Conversion::Str),
            Some("r") => Some(Conversion::Repr),
            Some("a") => Some(Conversion::Ascii),
            Some(c) => {
                return Err(tx.raise("ValueError", &format!("Unknown conversion specifier '{c}'")));
            }
        };
        out.push(crate::format::format_value(tx, &value, conv, Some(&spec))?);
    }
    tx.build_string(&out)
}

/// `0.shape[1]`, `name`, or nothing (the next argument). `auto` counts the latter; it is negative
/// once a number was seen, as the two do not mix.
fn format_field<'py>(tx: &mut Tx<'py>, name: &str, args: &Fields, auto: &mut i64) -> R<Var> {
    let string = tx.py.import("_string")?;
    let (first, rest) = match string.call_method1("formatter_field_name_split", (name,)) {
        Ok(t) => t.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?,
        Err(e) => return Err(tx.raise_pyerr(&e)),
    };
    let mut value = match first.extract::<i64>() {
        Ok(i) => {
            if *auto > 0 {
                let message =
                    "cannot switch from automatic field numbering to manual field specification";
                return Err(tx.raise("ValueError", message));
            }
            *auto = -1;
            format_arg(tx, args, i)?
        }
        Err(_) => {
            let key: String = first.extract()?;
            if key.is_empty() {
                if *auto < 0 {
                    let message = "cannot switch from manual field specification to automatic field numbering";
                    return Err(tx.raise("ValueError", message));
                }
                *auto += 1;
                format_arg(tx, args, *auto - 1)?
            } else {
                format_named(tx, args, &key)?
            }
        }
    };
    for step in rest.try_iter()? {
        let (is_attr, key): (bool, Bound<'py, PyAny>) = step?.extract()?;
        value = if is_attr {
            tx.getattr_sync(&value, &key.extract::<String>()?.into())?
        } else {
            let key = tx.from_const(key)?;
            tx.getitem_sync(&value, &key)?
        };
    }
    Ok(value)
}

fn format_named(tx: &mut Tx<'_>, fields: &Fields, name: &str) -> R<Var> {
    let key = tx.str(name);
    match fields {
        Fields::Mapping(m) => tx.getitem_sync(m, &key),
        Fields::Arguments(args) => match args.kw.iter().find(|(k, _)| **k == *name) {
            Some((_, v)) => Ok(v.clone()),
            None => Err(tx.key_error(&key)),
        },
    }
}

fn format_arg(tx: &mut Tx<'_>, fields: &Fields, i: i64) -> R<Var> {
    let Fields::Arguments(args) = fields else {
        let message = "Format string contains positional fields";
        return Err(tx.raise("ValueError", message));
    };
    match args.pos.get(i as usize) {
        Some(v) => Ok(v.clone()),
        None => Err(tx.raise(
            "IndexError",
            &format!("Replacement index {i} out of range for positional args tuple"),
        )),
    }
}

/// `sep.join(items)` of texts of which one is no constant.
fn join_texts(tx: &mut Tx<'_>, sep: &Obj, items: &[Var]) -> R<Option<Var>> {
    if !items.iter().any(|v| tx.is_changing_text(v)) {
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(2 * items.len());
    for v in items {
        let Some(v) = tx.text_operand(v) else {
            return Ok(None);
        };
        if !parts.is_empty() {
            parts.push(Var::Const(sep.clone()));
        }
        parts.push(v);
    }
    tx.build_string(&parts).map(Some)
}
