//! Rules of Python's builtin functions and constructors, and of the standard library.
//!
//! Lives here: one rule for each callable of Python's own C code, and for the few Python functions
//! of the standard library that a rule serves better than inlining; the text of values; methods of
//! constants, of sequences, sets and dictionaries, of regular expressions and the like, and special methods called by
//! name; NumPy's functions, and those that make tensors of its arrays. Does not live here: methods of
//! iterators (`methods` in `translator`), operators (its `values`), functions of torch (`torch-rules`).
//!
//! The interpreter does not know this crate: it is handed [`LISTED`], [`FOUND`] and [`ASKED`]
//! (`translator::rules`).
//!
//! Invariant: a rule does what the callable does, raises what it raises, or breaks.
//!
//! A rule is a free function, [`translator::rules::Rule`], and is written with methods of `Tx`:
//! - `positional`, `one`, `by_name` (`methods/binding` of `translator`): arguments, or CPython's `TypeError`;
//! - `realize`: the value behind an argument, with its guards, to be matched on (`variables::Var`);
//! - `special`, and `special_sync` to call what it found: a special method, the user's or C's;
//! - `iterate`, `truth`, `index_obj`, `compare`, `binary`, `getattr_sync`, `getitem_sync`: what the
//!   interpreter does at such an operation;
//! - `real_args` and `fold`: Python itself, on constants;
//! - `call_sync`: a function of the program, run to its end; `tensor_method`: a node of the graph;
//! - `raise`: an exception of the program; `Stop::unsupported` and `Stop::brk`: a break;
//! - `value(v)`: the result; `Ok(None)`: no rule for this call, which is treated as any other.

mod asked;
mod collections;
mod containers;
mod copying;
mod dicts;
mod dunder;
mod enums;
mod exceptions;
mod existing;
mod format;
mod functools;
mod heapq;
mod inspection;
mod instances;
mod iterators;
mod itertools;
mod itertools_next;
mod lru_cache;
mod made_classes;
mod numbers;
mod objects;
mod operator;
mod outside;
mod patterns;
mod percent;
mod pickling;
mod pure;
mod random;
mod receivers;
mod reduce;
mod regex;
mod rounded;
mod sequences;
mod sets;
mod sorting;
mod templates;
mod text;
mod tuples;
mod warning_filters;
mod weakref;

#[cfg(test)]
mod embedded;
#[cfg(test)]
mod tests;

use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use translator::rules::{Builtins, FoundRules, Given, RuleList, value};

use translator::tx::{Args, Tx};
use variables::Obj;

/// Rules by callable, one list a file.
pub const LISTED: &[RuleList] = &[
    objects::RULES,
    numbers::RULES,
    reduce::RULES,
    containers::RULES,
    iterators::RULES,
    itertools::RULES,
    functools::RULES,
    lru_cache::RULES,
    heapq::RULES,
    operator::RULES,
    collections::RULES,
    copying::RULES,
    inspection::RULES,
    outside::RULES,
    random::RULES,
    regex::RULES,
    weakref::RULES,
    warning_filters::RULES,
];

/// Rules of callables that are looked for: pure functions of the standard library.
pub const FOUND: &[FoundRules] = &[pure::add_all];

/// What the interpreter asks of this crate.
pub const ASKED: Builtins = Builtins {
    call,
    constant_method: text::const_method,
    sequence_method: sequences::sequence_method,
    dict_method: dicts::dict_method,
    view_method: dicts::view_method,
    set_method: sets::set_method,
    tuple_method: tuples::tuple_method,
    slice_method: tuples::slice_method,
    allocate: instances::allocate,
    construct: instances::construct,
    existing_method: existing::method,
    exception_method: exceptions::method,
    exception_field: exceptions::field,
    keeps_fields: exceptions::keeps_fields,
    dunder_method: dunder::dunder_method,
    reduce_method: pickling::reduce_method,
    regex_method: patterns::regex_method,
    itertools_next: itertools_next::advance,
    new_referent: weakref::new_referent,
    warn_later: outside::warn_later,
    format_value: format::format_value,
    template: templates::make,
    convert_or_wait: format::convert_or_wait,
    repr_text: format::text,
    percent_format: percent::percent_format,
    enum_member: enums::enum_member,
    tracked_method: existing::tracked_method,
    single_dispatch: functools::single_dispatch,
};

/// A call of a callable of C's that is not listed.
///
/// # Errors
/// Whatever the callable raises; a break where its rule does not apply.
fn call(tx: &mut Tx<'_>, callable: &Obj, args: Args) -> Given {
    let py = tx.py;
    let b = callable.bind(py).clone();
    let ty = b.get_type();
    if ty.is(tx.known.builtin_function.bind(py)) {
        let receiver = b.getattr("__self__")?;
        let name: String = b.getattr("__name__")?.extract()?;
        // A static method: it has no receiver.
        let owner = py.get_type::<pyo3::types::PyString>();
        let class = match name.as_str() {
            "maketrans" if receiver.is_none() => &owner,
            _ => match receiver.cast::<PyType>() {
                Ok(class) => class,
                Err(_) => return random::call_bound(tx, callable, &receiver, &name, &args),
            },
        };
        return class_call(tx, class, &name, &b, args);
    }
    if b.is_instance_of::<PyType>() {
        return Ok(None);
    }
    call_helper_object(tx, &b, args)
}

/// `cls.__new__` and class methods of C classes.
fn class_call<'py>(
    tx: &mut Tx<'py>,
    class: &Bound<'py, PyType>,
    name: &str,
    f: &Bound<'py, PyAny>,
    mut args: Args,
) -> Given {
    let py = tx.py;
    let cls = class.clone().into_any().unbind();
    match name {
        "__new__" => {
            if args.pos.is_empty() {
                return Ok(None);
            }
            let target = args.pos.remove(0);
            let Some(target) = tx.realize(&target)?.as_obj().cloned() else {
                return Ok(None);
            };
            instances::new_instance(
                tx,
                &cls,
                target.bind(py).cast::<PyType>().map_err(PyErr::from)?,
                args,
            )
        }
        "fromkeys"
            if tx.known.is_frozendict(&cls) || class.is_subclass(tx.known.dict.bind(py))? =>
        {
            let ordered = class.is_subclass(tx.known.ordered_dict.bind(py))?;
            let given = ordered.then(|| args.take_kw("value")).flatten();
            args.pos.extend(given);
            let a = tx.positional("fromkeys", args, 1, 2)?;
            value(dicts::dict_fromkeys(tx, cls, &a[0], a.get(1).cloned())?)
        }
        "apply" if class.is_subclass(tx.known.autograd_function.bind(py))? => {
            (tx.rules.torch.apply_function)(tx, cls, args).map(Some)
        }
        "from_iterable" if class.name()? == "chain" => {
            let outer = tx.one("from_iterable", args)?;
            value(itertools::chain_of(tx, cls, &outer)?)
        }
        "from_bytes" | "fromhex" | "maketrans" => {
            let Some((pos, kw)) = tx.real_args(&args)? else {
                return Ok(None);
            };
            let f = f.clone();
            value(tx.fold(move |py| f.call(PyTuple::new(py, pos)?, kw.as_ref()))?)
        }
        "mro" => {
            tx.guard_mro(&cls);
            let f = f.clone();
            value(tx.fold(move |_| f.call0())?)
        }
        "__subclasses__" => value(inspection::subclasses(tx, &cls)?),
        "__init_subclass__" | "__subclasshook__" if cls.is(&tx.known.object) => value(tx.none()),
        _ => Ok(None),
    }
}

/// Callables that are instances of small C classes: `operator.itemgetter(...)`,
/// functions under `functools.lru_cache`.
fn call_helper_object<'py>(tx: &mut Tx<'py>, b: &Bound<'py, PyAny>, args: Args) -> Given {
    let ty = b.get_type();
    let module = ty.module()?.to_string();
    let name = ty.name()?.to_string();
    match (module.as_str(), name.as_str()) {
        ("operator", "itemgetter" | "attrgetter" | "methodcaller") => {
            operator::call_getter(tx, &name, b, args)
        }
        ("functools", "_lru_cache_wrapper") => functools::call_cached(tx, b, args),
        _ => Ok(None),
    }
}
