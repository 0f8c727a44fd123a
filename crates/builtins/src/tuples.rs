//! Methods of `tuple`, `torch.Size` and of slices.

use crate::asked::search_range;
use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use translator::rules::{Given, value};
use translator::tx::{Args, Flow, Tx};
use variables::{TupleVar, Var};

/// A tuple's method. `None`: there is none of this name here.
pub(crate) fn tuple_method(tx: &mut Tx<'_>, t: &TupleVar, name: &str, args: Args) -> Given {
    let result = match name {
        "index" => {
            let a = tx.positional("index", args, 1, 3)?;
            let (start, stop) = search_range(tx, &a, t.items.len())?;
            for (i, v) in t.items.iter().enumerate().skip(start) {
                if i >= stop {
                    break;
                }
                if tx.equals(v, &a[0])? {
                    return value(tx.int(i as i64));
                }
            }
            return Err(tx.raise("ValueError", "tuple.index(x): x not in tuple"));
        }
        "count" => {
            let v = tx.one("tuple.count", args)?;
            let mut n = 0;
            for item in &t.items {
                n += i64::from(tx.equals(item, &v)?);
            }
            tx.int(n)
        }
        "numel" if t.class.as_ref().is_some_and(|c| c.is(&tx.known.size)) => {
            tx.positional("numel", args, 0, 0)?;
            let mut n = tx.int(1);
            for v in &t.items {
                n = tx.binary_sync(BinaryOp::Multiply, &n, v)?;
            }
            n
        }
        "__getnewargs__" => {
            tx.positional(name, args, 0, 0)?;
            Var::tuple(vec![Var::tuple(t.items.clone())])
        }
        _ => return Ok(None),
    };
    value(result)
}

/// `slice.indices(len)`.
pub(crate) fn slice_method(tx: &mut Tx<'_>, s: &[Var; 3], name: &str, args: Args) -> Given {
    if name != "indices" {
        return Ok(None);
    }
    let n = tx.one("slice.indices", args)?;
    let n = tx.index_obj(&n)?;
    let mut parts = Vec::with_capacity(3);
    for p in s {
        let p = tx.realize(p)?;
        parts.push(if p.is_none(tx.py) {
            tx.py.None()
        } else {
            tx.index_obj(&p)?
        });
    }
    let slice = tx.known.slice.clone();
    let parts: [variables::Obj; 3] = [parts[0].clone(), parts[1].clone(), parts[2].clone()];
    tx.fold(move |py| {
        slice
            .bind(py)
            .call1((&parts[0], &parts[1], &parts[2]))?
            .call_method1("indices", (n,))
    })
    .map(|v| Some(Flow::Value(v)))
}
