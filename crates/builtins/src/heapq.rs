//! `heapq`, and `insort` of `bisect`: lists whose order follows from constants.
//!
//! Python's own functions order objects that stand for the items: constants for themselves, tuples for tuples,
//! and for anything else an object that cannot be compared.

use std::collections::HashMap;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::R;
use translator::tx::{Args, Tx};
use variables::{Body, Var};

pub(crate) const RULES: RuleList = &[
    (
        "_heapq",
        &[
            ("heapify", of_heap as Rule),
            ("heappop", of_heap),
            ("heappush", with_item),
            ("heappushpop", with_item),
            ("heapreplace", with_item),
        ],
    ),
    (
        "_bisect",
        &[
            ("insort_left", into_sorted as Rule),
            ("insort_right", into_sorted),
        ],
    ),
];

fn of_heap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    ordered(tx, ("_heapq", name), &args, 1)
}

fn with_item(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    ordered(tx, ("_heapq", name), &args, 2)
}

fn into_sorted(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    ordered(tx, ("_bisect", name), &args, 2)
}

/// A call with a list whose items it orders, and an item.
fn ordered(tx: &mut Tx<'_>, (module, name): (&str, &str), args: &Args, arity: usize) -> Given {
    if !args.kw.is_empty() || args.pos.len() != arity {
        return Ok(None);
    }
    let Var::Obj(id) = tx.realize(&args.pos[0])? else {
        return Ok(None);
    };
    let (true, Body::List(items)) = (tx.obj(id).class.is(&tx.known.list), tx.obj(id).body.clone())
    else {
        return Ok(None);
    };
    let mut given = Vec::new();
    let mut values = HashMap::new();
    for v in items.iter().chain(&args.pos[1..]) {
        let Some(o) = in_place_of(tx, v)? else {
            return Ok(None);
        };
        values.entry(o.as_ptr() as usize).or_insert(v.clone());
        given.push(o);
    }
    let list = PyList::new(tx.py, &given[..items.len()])?;
    let mut call = vec![list.clone().into_any()];
    call.extend_from_slice(&given[items.len()..]);
    let function = tx.py.import(module)?.getattr(name)?;
    let result = match function.call1(PyTuple::new(tx.py, call)?) {
        Ok(result) => result,
        Err(e) if e.is_instance_of::<PyIndexError>(tx.py) => return Err(tx.raise_pyerr(&e)),
        // Items that are no constants would have to be compared.
        Err(_) => return Ok(None),
    };
    let of = |o: Bound<'_, PyAny>| values.get(&(o.as_ptr() as usize)).cloned();
    let Some(ordered) = list.iter().map(of).collect::<Option<im::Vector<Var>>>() else {
        return Ok(None);
    };
    let result = of(result.clone()).unwrap_or_else(|| tx.none());
    *tx.st.effects.body_mut(id) = Body::List(ordered);
    value(result)
}

/// What is compared for an item; `None` where comparing a constant could run code of the program.
fn in_place_of<'py>(tx: &mut Tx<'py>, v: &Var) -> R<Option<Bound<'py, PyAny>>> {
    let v = tx.realize(v)?;
    Ok(Some(match &v {
        Var::Const(o) => {
            let o = o.bind(tx.py).clone();
            if !tx.stays_in_c(&o)? {
                return Ok(None);
            }
            o
        }
        Var::Tuple(t) if t.class.is_none() => {
            let mut items = Vec::with_capacity(t.items.len());
            for item in &t.items {
                match tx.inside(|tx| in_place_of(tx, item))? {
                    Some(o) => items.push(o),
                    None => return Ok(None),
                }
            }
            PyTuple::new(tx.py, items)?.into_any()
        }
        _ => tx.known.object.bind(tx.py).call0()?,
    }))
}
