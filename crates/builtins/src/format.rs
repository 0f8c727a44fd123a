//! Text of values: `str`, `repr`, `format`.

use std::rc::Rc;

use crate::asked::pure_const;
use bytecode::op::Conversion;
use pyo3::prelude::*;
use translator::stop::{R, Stop};
use translator::tx::Tx;
use translator::values::Changing;
use translator::values::Special;
use variables::{Body, IterBody, TextPart, TextVar, Var};

/// One replacement field of an f-string: conversion, then `format` with a spec.
///
/// # Errors
/// Whatever formatting raises; a break for values without a known text.
pub fn format_value(
    tx: &mut Tx<'_>,
    v: &Var,
    conv: Option<Conversion>,
    spec: Option<&Var>,
) -> R<Var> {
    if let Some(text) = changing_text(tx, v, conv, spec)? {
        return Ok(text);
    }
    let spec = match spec {
        Some(s) => tx.realize(s)?,
        None => tx.str(""),
    };
    if let Some(text) = tensor_text(tx, v, conv, &spec)? {
        return Ok(text);
    }
    let empty = matches!(&spec, Var::Const(o) if o.bind(tx.py).len().is_ok_and(|n| n == 0));
    let v = match conv {
        None => tx.realize(v)?,
        Some(c) => {
            let text = convert_value(tx, v, c)?;
            match empty {
                true => text,
                false => tx.realize(&text)?,
            }
        }
    };
    match &v {
        Var::Text(_) if !empty => Err(Stop::unsupported("a format of a text that is not known")),
        Var::Const(o) => {
            let (o, Some(s)) = (o.clone(), tx.as_const(&spec)?) else {
                return Err(Stop::unsupported("a format spec that is no constant"));
            };
            tx.fold(move |py| py.import("builtins")?.call_method1("format", (o, s)))
        }
        _ => {
            if let Special::User = tx.special(&v, "__format__")? {
                let text = tx.special_sync(&v, "__format__", vec![spec])?;
                if tx.is_changing_text(&text) {
                    return Ok(text);
                }
                let text = tx.realize(&text)?;
                let is_str = |o: &Bound<'_, PyAny>| o.is_instance_of::<pyo3::types::PyString>();
                return match &text {
                    Var::Const(o) if is_str(o.bind(tx.py)) => Ok(text),
                    _ => Err(Stop::unsupported("a __format__ that gives no known text")),
                };
            }
            if empty {
                return str_of(tx, &v);
            }
            if let Some(plain) = tx.plain_value(&v)
                && tx.base_has(&v, "__format__")?
            {
                return format_value(tx, &plain, None, Some(&spec));
            }
            if let (Var::Py(p), Some(s)) = (&v, tx.as_const(&spec)?) {
                // A C class's own format, as a number's, on a mix-in enum member.
                let (o, object) = (
                    p.obj.clone(),
                    tx.known.object.bind(tx.py).getattr("__format__")?,
                );
                if !o.bind(tx.py).get_type().getattr("__format__")?.is(&object) {
                    return tx
                        .fold(move |py| py.import("builtins")?.call_method1("format", (o, s)));
                }
            }
            if matches!(v, Var::Tensor(_)) {
                return Err(tx.no_text(&v));
            }
            let name = tx.type_name(&v)?;
            Err(tx.raise(
                "TypeError",
                &format!("unsupported format string passed to {name}.__format__"),
            ))
        }
    }
}

/// The text of a tensor, to be made once the graph has run. `None` where there is none to be made,
/// or to make it may raise.
///
/// # Errors
/// Those of looking at the value.
pub(crate) fn tensor_text(
    tx: &mut Tx<'_>,
    v: &Var,
    conv: Option<Conversion>,
    spec: &Var,
) -> R<Option<Var>> {
    let Some(spec) = tx.as_const(spec)? else {
        return Ok(None);
    };
    let py = tx.py;
    let plain = spec.bind(py).len()? == 0;
    if let (Var::Text(_), None | Some(Conversion::Str), true) = (v, conv, plain) {
        return Ok(Some(v.clone()));
    }
    if matches!(v, Var::Text(_)) || tx.st.levels.is_active() || tx.has_modes() {
        return Ok(None);
    }
    let tensor = tx.realize(v)?;
    let Var::Tensor(t) = &tensor else {
        return Ok(None);
    };
    if !plain {
        let meta = tx.st.effects.meta(t);
        let number = conv.is_none() && meta.shape.is_empty() && meta.dtype.is_floating();
        let formats = number && {
            let zero = pyo3::types::PyFloat::new(py, 0.0);
            zero.call_method1("__format__", (&spec,)).is_ok()
        };
        if !formats {
            return Ok(None);
        }
    }
    let builtins = tx.known.builtins.bind(py).clone();
    let conversion = match conv {
        None => None,
        Some(Conversion::Str) => Some(builtins.getattr("str")?.unbind()),
        Some(Conversion::Repr) => Some(builtins.getattr("repr")?.unbind()),
        Some(Conversion::Ascii) => Some(builtins.getattr("ascii")?.unbind()),
    };
    if tx.ways.first_text.is_none() {
        tx.ways.first_text = tx.ways.place();
    }
    tx.st.effects.has_text = true;
    Ok(Some(Var::Text(Rc::new(TextVar {
        parts: vec![TextPart::Tensor {
            tensor,
            conversion,
            spec: (!plain).then_some(spec),
            writes: tx.st.effects.writes,
        }],
    }))))
}

/// The text of a value that is no constant, to be made by residual code. `None` where it is a constant or
/// anything else, or where to make its text raises.
///
/// # Errors
/// Those of realizing the format specification.
fn changing_text(
    tx: &mut Tx<'_>,
    v: &Var,
    conv: Option<Conversion>,
    spec: Option<&Var>,
) -> R<Option<Var>> {
    let Some(v) = tx.as_changing(v, Changing::Any) else {
        return Ok(None);
    };
    let py = tx.py;
    let builtins = tx.known.builtins.bind(py).clone();
    let is_text = tx.is_changing_text(&v);
    // Python refuses the text of an int with very many digits, which none of 64 bits has.
    let is_int = !matches!(v, Var::Int(_)) && tx.type_of(&v)?.is(&tx.known.int);
    let v = match conv {
        None => v,
        Some(Conversion::Str) if is_text => v,
        Some(conv) => {
            let name = match conv {
                Conversion::Str => "str",
                Conversion::Repr => "repr",
                Conversion::Ascii => "ascii",
            };
            match tx.compute(&builtins.getattr(name)?, vec![v], is_int)? {
                Some(text) => text,
                None => return Ok(None),
            }
        }
    };
    let spec = match spec {
        None => None,
        Some(s) => match tx.as_changing(s, Changing::Any) {
            Some(s) => Some(s),
            None => match tx.realize(s)? {
                Var::Const(o) if o.bind(py).len()? == 0 => None,
                other => Some(other),
            },
        },
    };
    match spec {
        None if tx.is_changing_text(&v) => Ok(Some(v)),
        None => tx.compute(&builtins.getattr("str")?, vec![v], is_int),
        Some(spec) => {
            // A known specification fits all values of a type.
            let fits = !is_int && matches!(&spec, Var::Const(_));
            let format = builtins.getattr("format")?;
            tx.compute(&format, vec![v, spec], !fits)
        }
    }
}

/// The text of a conversion (`!r`) by an instruction of its own: made when the code runs, where the value changes
/// or is a tensor.
///
/// # Errors
/// As [`convert_value`].
pub(crate) fn convert_or_wait(tx: &mut Tx<'_>, v: &Var, conv: Conversion) -> R<Var> {
    if let Some(text) = changing_text(tx, v, Some(conv), None)? {
        return Ok(text);
    }
    let empty = tx.str("");
    match tensor_text(tx, v, Some(conv), &empty)? {
        Some(text) => Ok(text),
        None => convert_value(tx, v, conv),
    }
}

/// `!s`, `!r` or `!a`.
///
/// # Errors
/// As [`str_of`] and [`repr_of`].
pub fn convert_value(tx: &mut Tx<'_>, v: &Var, conv: Conversion) -> R<Var> {
    match conv {
        Conversion::Str => str_of(tx, v),
        Conversion::Repr => repr_of(tx, v),
        Conversion::Ascii => {
            if let Some(text) = changing_text(tx, v, Some(conv), None)? {
                return Ok(text);
            }
            let r = repr_of(tx, v)?;
            let Some(o) = tx.as_const(&r)? else {
                return Err(Stop::unsupported("ascii() of a text that is no constant"));
            };
            // `ascii` of a text escapes as `ascii` of the value does, but for the quotes.
            tx.fold(move |py| {
                o.bind(py)
                    .call_method1("encode", ("ascii", "backslashreplace"))?
                    .call_method1("decode", ("ascii",))
            })
        }
    }
}

/// `str(v)` with one argument.
///
/// # Errors
/// Whatever a user's `__str__` does; a break for values without a known text.
pub fn str_of(tx: &mut Tx<'_>, v: &Var) -> R<Var> {
    if let Some(text) = changing_text(tx, v, None, None)? {
        return Ok(text);
    }
    let v = tx.realize(v)?;
    match &v {
        Var::Const(o) => {
            let o = o.clone();
            return tx.fold(move |py| o.bind(py).str().map(Bound::into_any));
        }
        Var::Tensor(_) => return Err(tx.no_text(&v)),
        _ => {}
    }
    if tx.special(&v, "__str__")?.is_user() {
        let r = tx.special_sync(&v, "__str__", vec![])?;
        return checked_text(tx, &v, r, "__str__");
    }
    if let Some(text) = exception_text(tx, &v)? {
        return Ok(text);
    }
    if let Some(plain) = tx.plain_value(&v)
        && tx.base_has(&v, "__str__")?
    {
        return str_of(tx, &plain);
    }
    // `type.__str__` and other C classes that have a text apart from their `repr`.
    if let Var::Py(p) = &v {
        let class = p.obj.bind(tx.py).get_type();
        let own = !class
            .getattr("__str__")?
            .is(&tx.known.object.bind(tx.py).getattr("__str__")?);
        if own {
            let o = p.obj.clone();
            return tx.fold(move |py| o.bind(py).str().map(Bound::into_any));
        }
    }
    repr_of(tx, &v)
}

/// `repr(v)`.
///
/// # Errors
/// Whatever a user's `__repr__` does; a break for values without a known text.
pub fn repr_of(tx: &mut Tx<'_>, v: &Var) -> R<Var> {
    if let Some(text) = changing_text(tx, v, Some(Conversion::Repr), None)? {
        return Ok(text);
    }
    let v = tx.realize(v)?;
    match &v {
        Var::Const(o) => {
            let o = o.clone();
            return tx.fold(move |py| o.bind(py).repr().map(Bound::into_any));
        }
        Var::Tensor(_) => return Err(tx.no_text(&v)),
        _ => {}
    }
    if tx.special(&v, "__repr__")?.is_user() {
        // `collections.namedtuple` writes its `__repr__` in Python over a tuple's items.
        let r = tx.special_sync(&v, "__repr__", vec![])?;
        return checked_text(tx, &v, r, "__repr__");
    }
    if let Some(plain) = tx.plain_value(&v) {
        return repr_of(tx, &plain);
    }
    tx.inside(|tx| builtin_repr(tx, &v))
}

/// `str` of an exception made while translating.
///
/// # Errors
/// As [`str_of`] of its arguments.
pub(crate) fn exception_text(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    let Some(args) = exception_args(tx, v)? else {
        return Ok(None);
    };
    let class = tx.type_of(v)?;
    // A function of the program's that the class has may be what asks.
    let mro = class.bind(tx.py).getattr("__mro__")?;
    let mut text = mro.get_item(mro.len()? - 1)?.getattr("__str__")?;
    for c in mro.try_iter()? {
        let held = c?.getattr("__dict__")?.call_method1("get", ("__str__",))?;
        if !held.is_none() && !held.get_type().is(tx.known.function.bind(tx.py)) {
            text = held;
            break;
        }
    }
    let builtin = |name: &str| {
        tx.known
            .builtins
            .bind(tx.py)
            .getattr(name)?
            .getattr("__str__")
    };
    // The text of these is that of the base class, whose function they have under a name of their own.
    const SAME_TEXT: [&str; 4] = ["BaseException", "KeyError", "AttributeError", "NameError"];
    let mut known = false;
    for name in SAME_TEXT {
        known |= text.is(&builtin(name)?);
    }
    if !known {
        return own_text(tx, v, &text).map(Some);
    }
    Ok(Some(match &args[..] {
        [] => tx.str(""),
        [one] => {
            let key_error = tx.known.builtins.bind(tx.py).getattr("KeyError")?.unbind();
            let class = tx.type_of(v)?;
            if tx.is_subtype(&class, &key_error) {
                repr_of(tx, one)?
            } else {
                str_of(tx, one)?
            }
        }
        _ => repr_of(tx, &Var::tuple(args))?,
    }))
}

/// The text that a C class of exceptions makes of its fields.
fn own_text(tx: &mut Tx<'_>, v: &Var, text: &Bound<'_, PyAny>) -> R<Var> {
    let stand_in = match v {
        Var::Obj(id) => crate::exceptions::stand_in(tx, *id)?,
        _ => None,
    };
    match stand_in {
        Some(made) => {
            let text = text.clone().unbind();
            tx.fold(move |py| text.bind(py).call1((made,)))
        }
        None => Err(tx.no_text(v)),
    }
}

/// The `repr` that the builtin class gives, whatever a subclass overrides.
///
/// # Errors
/// A break for values without a known text.
pub(crate) fn builtin_repr(tx: &mut Tx<'_>, v: &Var) -> R<Var> {
    match v {
        Var::Const(o) => {
            let o = o.clone();
            tx.fold(move |py| o.bind(py).repr().map(Bound::into_any))
        }
        Var::Tuple(t) => {
            let (open, close) = match &t.class {
                Some(c) if c.is(&tx.known.size) => ("torch.Size([", "])"),
                Some(c) if !has_tuples_repr(tx, c)? => return Err(tx.no_text(v)),
                _ if t.items.len() == 1 => ("(", ",)"),
                _ => ("(", ")"),
            };
            shown(tx, open, &t.items.clone(), close)
        }
        Var::Slice(s) => shown(tx, "slice(", &s[..], ")"),
        Var::Obj(id) => {
            let id = *id;
            if let Some(args) = exception_args(tx, v)? {
                let name = tx.type_name(v)?;
                return shown(tx, &format!("{name}("), &args, ")");
            }
            let (body, class) = (tx.obj(id).body.clone(), tx.obj(id).class.clone());
            repr_of_body(tx, v, body, &class)
        }
        // The C text of existing objects: classes, functions, enums of C classes, dtypes.
        Var::Py(p) if !stateful_text(&p.obj.bind(tx.py).get_type()) => {
            let o = p.obj.clone();
            tx.fold(move |py| o.bind(py).repr().map(Bound::into_any))
        }
        _ => Err(tx.no_text(v)),
    }
}

fn repr_of_body(tx: &mut Tx<'_>, v: &Var, body: Body, class: &variables::Obj) -> R<Var> {
    let name = tx.class_name(class);
    match body {
        Body::MappingProxy(mapping) => shown(tx, "mappingproxy(", &[mapping], ")"),
        Body::Iter(IterBody::Count(next, step)) => {
            // The text of some counts is CPython's own (`count(sys.maxsize)`).
            if let (Some(next), Some(step)) = (pure_const(tx, &next)?, pure_const(tx, &step)?) {
                return tx.fold(move |py| {
                    let itertools = py.import("itertools")?;
                    let count = itertools.getattr("count")?.call1((next, step))?;
                    Ok(count.repr()?.into_any())
                });
            }
            let plain = matches!(&step, Var::Const(s)
                if s.bind(tx.py).is_instance_of::<pyo3::types::PyInt>() && s.bind(tx.py).eq(1)?);
            let numbers = [next, step];
            shown(tx, "count(", &numbers[..if plain { 1 } else { 2 }], ")")
        }
        Body::List(items) => shown(tx, "[", &items.into_iter().collect::<Vec<_>>(), "]"),
        Body::Deque(items, max) => {
            let max = max.map_or_else(String::new, |m| format!(", maxlen={m}"));
            let items: Vec<Var> = items.into_iter().collect();
            shown(tx, &format!("{name}(["), &items, &format!("]{max})"))
        }
        Body::Set(_) => {
            let Some(id) = tx.id_of(v) else {
                return Err(Stop::Internal("set".into()));
            };
            let items = tx.set_order(id)?;
            match (items.is_empty(), class.is(&tx.known.set)) {
                (true, _) => Ok(tx.str(&format!("{name}()"))),
                (false, true) => shown(tx, "{", &items, "}"),
                (false, false) => shown(tx, &format!("{name}({{"), &items, "})"),
            }
        }
        Body::Dict(_)
            if tx.is_subtype(class, &tx.known.ordered_dict) && tx.is_read_by_methods(class)? =>
        {
            Err(tx.no_text(v))
        }
        Body::Dict(d) => {
            let ordered = tx.is_subtype(class, &tx.known.ordered_dict.clone());
            if !ordered && tx.is_subtype(class, &tx.known.defaultdict.clone()) {
                return Err(tx.no_text(v));
            }
            let frozen = tx.known.is_frozendict(class);
            if (ordered || frozen) && d.is_empty() {
                return Ok(tx.str(&format!("{name}()")));
            }
            let pairs = ordered && tx.version().shows_ordered_dict_as_pairs();
            let mut items = Vec::with_capacity(d.len());
            for (k, value) in d.iter() {
                items.push(match pairs {
                    true => shown(tx, "(", &[k.clone(), value.clone()], ")")?,
                    false => {
                        let parts = [repr_of(tx, k)?, tx.str(": "), repr_of(tx, value)?];
                        tx.build_string(&parts)?
                    }
                });
            }
            let (open, close) = match (ordered || frozen, pairs) {
                (false, _) => ("{".to_owned(), "}"),
                (true, false) => (format!("{name}({{"), "})"),
                (true, true) => (format!("{name}(["), "])"),
            };
            enclosed(tx, &open, items, close)
        }
        Body::DictView(d, view) => {
            let items = tx.iterate(v)?;
            let ordered = tx.is_subtype(&tx.obj(d).class.clone(), &tx.known.ordered_dict.clone());
            let prefix = if ordered { "o" } else { "" };
            let view = match view {
                variables::DictView::Keys => "dict_keys",
                variables::DictView::Values => "dict_values",
                variables::DictView::Items => "dict_items",
            };
            shown(tx, &format!("{prefix}{view}(["), &items, "])")
        }
        _ => Err(tx.no_text(v)),
    }
}

/// The `repr` of each item, with commas in between.
fn shown(tx: &mut Tx<'_>, open: &str, items: &[Var], close: &str) -> R<Var> {
    let items = items.iter().map(|v| repr_of(tx, v)).collect::<R<_>>()?;
    enclosed(tx, open, items, close)
}

/// Texts with commas in between.
fn enclosed(tx: &mut Tx<'_>, open: &str, items: Vec<Var>, close: &str) -> R<Var> {
    let mut parts = vec![tx.str(open)];
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            parts.push(tx.str(", "));
        }
        parts.push(item);
    }
    parts.push(tx.str(close));
    tx.build_string(&parts)
}

/// `repr(v)` as Rust text.
pub(crate) fn text(tx: &mut Tx<'_>, v: &Var) -> R<String> {
    let r = repr_of(tx, v)?;
    match &tx.realize(&r)? {
        Var::Const(o) => Ok(o.bind(tx.py).extract::<String>()?),
        _ => Err(tx.no_text(v)),
    }
}

/// A result of `__str__` or `__repr__` of `v` has to be a `str`.
fn checked_text(tx: &mut Tx<'_>, v: &Var, r: Var, name: &str) -> R<Var> {
    if tx.is_changing_text(&r) {
        return Ok(r);
    }
    let r = tx.realize(&r)?;
    if matches!(&r, Var::Const(o) if o.bind(tx.py).is_instance_of::<pyo3::types::PyString>()) {
        return Ok(r);
    }
    Err(tx.wrong_result(v, name, &r)?)
}

/// Whether the text of a class that derives from `tuple` is that of its items.
fn has_tuples_repr(tx: &Tx<'_>, class: &variables::Obj) -> R<bool> {
    let theirs = class.bind(tx.py).getattr("__repr__")?;
    Ok(theirs.is(&tx.known.tuple.bind(tx.py).getattr("__repr__")?))
}

/// The arguments of an exception made while translating.
fn exception_args(tx: &mut Tx<'_>, v: &Var) -> R<Option<Vec<Var>>> {
    let Var::Obj(id) = v else { return Ok(None) };
    let state = tx.obj(*id);
    if !state.is_new() || !tx.is_subtype(&state.class, &tx.known.base_exception) {
        return Ok(None);
    }
    match state.attrs.get("args") {
        Some(Some(args)) => {
            let args = args.clone();
            tx.iterate(&args).map(Some)
        }
        _ => Ok(Some(Vec::new())),
    }
}

/// Objects whose text shows contents that are not guarded.
fn stateful_text(class: &Bound<'_, pyo3::types::PyType>) -> bool {
    class.name().is_ok_and(|n| {
        matches!(
            &*n.to_string_lossy(),
            "mappingproxy" | "partial" | "generator" | "cell"
        )
    })
}
