//! `sorted`: stable, by `<` alone.

use crate::asked::pure_const;
use pyo3::prelude::*;
use translator::stop::R;
use translator::tx::{Args, Tx};
use variables::Var;

/// `sorted(items, key=key, reverse=reverse)`: stable, by `<` alone.
///
/// # Errors
/// Whatever the key function or a comparison raises; a break for tensors.
pub(crate) fn sorted_items(
    tx: &mut Tx<'_>,
    items: Vec<Var>,
    key: Option<Var>,
    reverse: Option<Var>,
) -> R<Vec<Var>> {
    let reverse = match reverse {
        Some(r) => tx.truth(&r)?,
        None => false,
    };
    let key = key.filter(|k| !k.is_none(tx.py));
    let mut pairs = Vec::with_capacity(items.len());
    for v in items {
        let k = match &key {
            Some(f) => tx.call_sync(f, Args::pos(vec![v.clone()]))?,
            None => v.clone(),
        };
        pairs.push((tx.realize(&k)?, v));
    }
    if let Some(order) = constant_order(tx, &pairs, reverse)? {
        return Ok(order.into_iter().map(|i| pairs[i].1.clone()).collect());
    }
    if reverse {
        pairs.reverse();
    }
    let mut sorted = merge_sort(tx, pairs)?;
    if reverse {
        sorted.reverse();
    }
    Ok(sorted.into_iter().map(|p| p.1).collect())
}

/// The order that Python's own sort gives to keys that are all constants.
fn constant_order(tx: &mut Tx<'_>, pairs: &[(Var, Var)], reverse: bool) -> R<Option<Vec<usize>>> {
    let mut keys = Vec::with_capacity(pairs.len());
    for (k, _) in pairs {
        match pure_const(tx, k)? {
            Some(o) => keys.push(o),
            None => return Ok(None),
        }
    }
    let py = tx.py;
    let list = pyo3::types::PyList::new(py, keys)?;
    let kw = pyo3::types::PyDict::new(py);
    kw.set_item("key", list.getattr("__getitem__")?)?;
    kw.set_item("reverse", reverse)?;
    let range = pyo3::types::PyRange::new(py, 0, pairs.len() as isize)?;
    match py
        .import("builtins")?
        .getattr("sorted")?
        .call((range,), Some(&kw))
    {
        Ok(order) => Ok(Some(order.extract()?)),
        Err(e) => Err(tx.raise_pyerr(&e)),
    }
}

fn merge_sort(tx: &mut Tx<'_>, mut v: Vec<(Var, Var)>) -> R<Vec<(Var, Var)>> {
    if v.len() < 2 {
        return Ok(v);
    }
    let right = v.split_off(v.len() / 2);
    let left = merge_sort(tx, v)?;
    let right = merge_sort(tx, right)?;
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (l.peek(), r.peek()) {
        let f = tx.compare(bytecode::op::CompareOp::Lt, &b.0.clone(), &a.0.clone())?;
        let less = tx.finish_flow(f)?;
        if tx.truth(&less)? {
            out.extend(r.next());
        } else {
            out.extend(l.next());
        }
    }
    out.extend(l);
    out.extend(r);
    Ok(out)
}
