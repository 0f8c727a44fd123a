//! Methods of `set` and `frozenset`.

use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use translator::rules::{Given, value};
use translator::stop::R;
use translator::tx::{Args, Tx};
use translator::values::combine;
use variables::{Key, OrderedMap, Var};

/// A set's method, on a tracked set or a constant frozenset. `None`: there is none of this name
/// here.
pub(crate) fn set_method(tx: &mut Tx<'_>, recv: &Var, name: &str, args: Args) -> Given {
    let Some(mine) = tx.set_items(recv)? else {
        return Ok(None);
    };
    let class = tx.type_of(recv)?;
    let frozen = tx.is_subtype(&class, &tx.known.frozenset.clone());
    let base = if frozen {
        tx.known.frozenset.clone()
    } else {
        tx.known.set.clone()
    };
    let none = tx.none();
    let result = match name {
        "union" | "intersection" | "difference" => {
            let op = operator(name);
            let args = tx.positional(name, args, 0, usize::MAX)?;
            let mut out = mine;
            for a in &args {
                out = combine(op, &out, &tx.other_set(a)?);
            }
            tx.make_set(base, out)?
        }
        "symmetric_difference" => {
            let other = tx.one(name, args)?;
            let other = tx.other_set(&other)?;
            tx.make_set(base, combine(BinaryOp::Xor, &mine, &other))?
        }
        "issubset" | "issuperset" | "isdisjoint" => {
            let other = tx.one(name, args)?;
            let other = tx.other_set(&other)?;
            let within =
                |a: &OrderedMap, b: &OrderedMap| a.entries().all(|(k, _, _)| b.contains(k));
            let r = match name {
                "issubset" => within(&mine, &other),
                "issuperset" => within(&other, &mine),
                _ => mine.entries().all(|(k, _, _)| !other.contains(k)),
            };
            tx.bool(r)
        }
        "copy" | "__copy__" => {
            tx.positional(name, args, 0, 0)?;
            if frozen && class.is(&tx.known.frozenset) {
                recv.clone()
            } else {
                tx.make_set(base, mine)?
            }
        }
        "__reduce__" if class.is(&base) => {
            tx.positional(name, args, 0, 0)?;
            let items = tx.iterate(recv)?;
            let items = tx.new_list(items);
            Var::tuple(vec![Var::py(class), Var::tuple(vec![items]), none])
        }
        "__le__" | "__lt__" | "__ge__" | "__gt__" | "__eq__" | "__ne__" => return Ok(None),
        "__init__" if frozen => {
            // `object`'s, which refuses what an `__init__` of the program hands on.
            tx.class_lookup(&class, "__init__")?;
            let objects = tx.known.object.bind(tx.py).getattr("__init__")?;
            let has_own = !class.bind(tx.py).getattr("__init__")?.is(&objects);
            if has_own && !(args.pos.is_empty() && args.kw.is_empty()) {
                return Ok(None);
            }
            none
        }
        _ if frozen => return Ok(None),
        "add" => {
            let v = tx.one("set.add", args)?;
            tx.set_add(recv, v)?;
            none
        }
        "discard" | "remove" => {
            let v = tx.one(&format!("set.{name}"), args)?;
            let v = tx.realize(&v)?;
            let key = lookup_key(tx, &v)?;
            if mine.contains(&key) {
                let mut out = mine;
                out.remove(&key);
                tx.put_set(recv, out);
            } else if name == "remove" {
                return Err(tx.key_error(&v));
            }
            none
        }
        "pop" => {
            tx.positional("set.pop", args, 0, 0)?;
            let Some(id) = tx.id_of(recv) else {
                return Ok(None);
            };
            let Some(first) = tx.set_order(id)?.into_iter().next() else {
                let message = tx.str("pop from an empty set");
                return Err(tx.key_error(&message));
            };
            let key = tx.key(&first)?;
            let mut out = mine;
            out.remove(&key);
            tx.put_set(recv, out);
            first
        }
        "clear" => {
            tx.positional("set.clear", args, 0, 0)?;
            tx.put_set(recv, OrderedMap::default());
            none
        }
        "update" | "intersection_update" | "difference_update" => {
            let op = operator(name.strip_suffix("_update").unwrap_or("union"));
            let args = tx.positional(name, args, 0, usize::MAX)?;
            let mut out = mine;
            for a in &args {
                if name == "update" && tx.runs_code(a)? && !tx.is_opaque_set(a)? {
                    tx.put_set(recv, out);
                    tx.set_update(recv, a)?;
                    out = tx.other_set(recv)?;
                    continue;
                }
                out = combine(op, &out, &tx.other_set(a)?);
            }
            tx.put_set(recv, out);
            none
        }
        "symmetric_difference_update" => {
            let other = tx.one(name, args)?;
            let other = tx.other_set(&other)?;
            tx.put_set(recv, combine(BinaryOp::Xor, &mine, &other));
            none
        }
        "__init__" => {
            let a = tx.positional("set", args, 0, 1)?;
            let map = match a.first() {
                Some(v) => tx.other_set(v)?,
                None => OrderedMap::default(),
            };
            tx.put_set(recv, map);
            none
        }
        _ => return Ok(None),
    };
    value(result)
}

/// A set is looked up as a frozenset of its items.
fn lookup_key(tx: &mut Tx<'_>, v: &Var) -> R<Key> {
    if matches!(v, Var::Obj(_))
        && let Some(items) = tx.set_items(v)?
    {
        let class = tx.known.frozenset.clone();
        let frozen = tx.make_set(class, items)?;
        return tx.key(&frozen);
    }
    tx.set_key(v)
}

fn operator(name: &str) -> BinaryOp {
    match name {
        "intersection" => BinaryOp::And,
        "difference" => BinaryOp::Subtract,
        _ => BinaryOp::Or,
    }
}
