//! Methods of `list` and `collections.deque`.
//!
//! Invariant: what a comparison or an iterable of the program does to the sequence meanwhile is seen.

use crate::asked::search_range;
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::iter_class::IterClass;
use variables::{Body, IterBody, ObjId, Var};

use crate::sorting::sorted_items;

/// A list's or a deque's method. `None`: there is none of this name here.
pub fn sequence_method(tx: &mut Tx<'_>, id: ObjId, name: &str, args: Args) -> Given {
    let recv = Var::Obj(id);
    let is_deque = matches!(tx.obj(id).body, Body::Deque(..));
    let full = format!("{}.{name}", if is_deque { "deque" } else { "list" });
    let result = match name {
        "append" => {
            let v = tx.one(&full, args)?;
            tx.list_append(&recv, v)?;
            tx.none()
        }
        "extend" => {
            let v = tx.one(&full, args)?;
            tx.extend_items(&recv, &v)?;
            tx.none()
        }
        "count" => {
            let v = tx.one(&full, args)?;
            count_equal(tx, id, &v)?
        }
        _ if is_deque => return deque_method(tx, id, name, &full, args),
        _ => return list_method(tx, id, name, &full, args),
    };
    value(result)
}

/// A list's method. `None`: there is none of this name here.
fn list_method(tx: &mut Tx<'_>, id: ObjId, name: &str, full: &str, args: Args) -> Given {
    let recv = Var::Obj(id);
    let none = tx.none();
    Ok(Some(Flow::Value(match name {
        "insert" => {
            let a = tx.positional("insert", args, 2, 2)?;
            let i = tx.index_of(&a[0])?;
            if let Body::List(v) = tx.st.effects.body_mut(id) {
                v.insert(clip(i, v.len()), a[1].clone());
            }
            none
        }
        "pop" => {
            let a = tx.positional("pop", args, 0, 1)?;
            let len = seq_len(tx, id);
            if len == 0 {
                return Err(tx.raise("IndexError", "pop from empty list"));
            }
            let i = match a.first() {
                Some(i) => tx.sequence_index(&recv, i, len, "pop index out of range")?,
                None => len - 1,
            };
            match tx.st.effects.body_mut(id) {
                Body::List(v) => v.remove(i),
                _ => return Err(Stop::Internal("list".into())),
            }
        }
        "remove" => {
            let v = tx.one(full, args)?;
            let Some(i) = find(tx, id, &v, 0, usize::MAX)? else {
                return Err(tx.raise("ValueError", "list.remove(x): x not in list"));
            };
            if let Body::List(v) = tx.st.effects.body_mut(id) {
                v.remove(i);
            }
            none
        }
        "index" => {
            let a = tx.positional("index", args, 1, 3)?;
            let (start, stop) = search_range(tx, &a, seq_len(tx, id))?;
            match find(tx, id, &a[0], start, stop)? {
                Some(i) => tx.int(i as i64),
                None => return Err(not_in(tx, "list", &a[0])?),
            }
        }
        "clear" => {
            tx.positional(full, args, 0, 0)?;
            *tx.st.effects.body_mut(id) = Body::List(im::Vector::new());
            none
        }
        "copy" => {
            tx.positional(full, args, 0, 0)?;
            let items = seq_items(tx, id);
            tx.new_list(items)
        }
        "reverse" => {
            tx.positional(full, args, 0, 0)?;
            let items = seq_items(tx, id).into_iter().rev().collect();
            *tx.st.effects.body_mut(id) = Body::List(items);
            none
        }
        "sort" => {
            let a = tx.by_name("sort", args, &["key", "reverse"], 0, 0)?;
            let items: Vec<Var> = seq_items(tx, id).into_iter().collect();
            sort_in_place(tx, id, items, a[0].clone(), a[1].clone())?;
            none
        }
        "__init__" => {
            let a = tx.positional("list", args, 0, 1)?;
            let items = match a.first() {
                Some(v) => tx.iterate(v)?,
                None => Vec::new(),
            };
            *tx.st.effects.body_mut(id) = Body::List(items.into_iter().collect());
            none
        }
        "__reversed__" => {
            let n = seq_len(tx, id);
            let class = IterClass::ListReverse.get(tx.py)?;
            tx.new_iter(class, IterBody::ListReverse(id, n.checked_sub(1)))
        }
        _ => return Ok(None),
    })))
}

/// A deque's method.
fn deque_method(tx: &mut Tx<'_>, id: ObjId, name: &str, full: &str, args: Args) -> Given {
    let recv = Var::Obj(id);
    let none = tx.none();
    let Body::Deque(items, max) = tx.obj(id).body.clone() else {
        return Ok(None);
    };
    let put =
        |tx: &mut Tx<'_>, v: im::Vector<Var>| *tx.st.effects.items_mut(id) = Body::Deque(v, max);
    Ok(Some(Flow::Value(match name {
        "appendleft" | "extendleft" => {
            let v = tx.one(full, args)?;
            if name == "extendleft" && tx.runs_code(&v)? {
                // What gives the items may look at the deque: each is there before the next is asked for.
                let it = tx.get_iter(&v)?;
                while let Some(item) = tx.iter_next(&it)? {
                    deque_method(tx, id, "appendleft", full, Args::pos(vec![item]))?;
                }
                return value(none);
            }
            let new = if name == "appendleft" {
                vec![v]
            } else {
                tx.iterate(&v)?
            };
            if new.is_empty() {
                return Ok(Some(Flow::Value(none)));
            }
            let mut out = items;
            for v in new {
                out.push_front(v);
                if max.is_some_and(|m| out.len() > m) {
                    out.pop_back();
                }
            }
            put(tx, out);
            none
        }
        "pop" | "popleft" => {
            tx.positional(full, args, 0, 0)?;
            let mut out = items;
            let v = if name == "pop" {
                out.pop_back()
            } else {
                out.pop_front()
            };
            let Some(v) = v else {
                return Err(tx.raise("IndexError", "pop from an empty deque"));
            };
            put(tx, out);
            v
        }
        "insert" => {
            let a = tx.positional("insert", args, 2, 2)?;
            if max.is_some_and(|m| items.len() >= m) {
                return Err(tx.raise("IndexError", "deque already at its maximum size"));
            }
            let i = tx.index_of(&a[0])?;
            let mut out = items;
            out.insert(clip(i, out.len()), a[1].clone());
            put(tx, out);
            none
        }
        "remove" => {
            let v = tx.one(full, args)?;
            let Some(i) = find(tx, id, &v, 0, usize::MAX)? else {
                return Err(tx.raise("ValueError", "deque.remove(x): x not in deque"));
            };
            let mut out = items;
            out.remove(i);
            put(tx, out);
            none
        }
        "index" => {
            let a = tx.positional("index", args, 1, 3)?;
            let (start, stop) = search_range(tx, &a, items.len())?;
            match find(tx, id, &a[0], start, stop)? {
                Some(i) => tx.int(i as i64),
                None => {
                    return Err(not_in(tx, "deque", &a[0])?);
                }
            }
        }
        "clear" => {
            if !items.is_empty() {
                put(tx, im::Vector::new());
            }
            none
        }
        "copy" | "__copy__" => {
            let class = tx.obj(id).class.clone();
            tx.new_like(class, Body::Deque(items, max))
        }
        "reverse" => {
            let items = items.into_iter().rev().collect();
            *tx.st.effects.body_mut(id) = Body::Deque(items, max);
            none
        }
        "rotate" => {
            let a = tx.positional("rotate", args, 0, 1)?;
            let n = match a.first() {
                Some(n) => tx.index_of(n)?,
                None => 1,
            };
            if items.len() > 1 {
                let mut out = items;
                let k = n.rem_euclid(out.len() as isize) as usize;
                let at = out.len() - k;
                let mut tail = out.split_off(at);
                tail.append(out);
                put(tx, tail);
            }
            none
        }
        "__init__" => {
            let a = tx.by_name("deque", args, &["iterable", "maxlen"], 0, 2)?;
            let max = match &a[1] {
                Some(m) if !m.is_none(tx.py) => Some(tx.index_of(m)?.max(0) as usize),
                _ => None,
            };
            *tx.st.effects.items_mut(id) = Body::Deque(im::Vector::new(), max);
            if let Some(v) = &a[0] {
                tx.extend_items(&recv, v)?;
            }
            none
        }
        "__reversed__" => {
            tx.positional(name, args, 0, 0)?;
            tx.iter_deque(id, true)?
        }
        _ => return Ok(None),
    })))
}

fn seq_len(tx: &Tx<'_>, id: ObjId) -> usize {
    match &tx.obj(id).body {
        Body::List(v) | Body::Deque(v, _) => v.len(),
        _ => 0,
    }
}

fn seq_items(tx: &Tx<'_>, id: ObjId) -> im::Vector<Var> {
    match &tx.obj(id).body {
        Body::List(v) | Body::Deque(v, _) => v.clone(),
        _ => im::Vector::new(),
    }
}

fn find(tx: &mut Tx<'_>, id: ObjId, v: &Var, start: usize, stop: usize) -> R<Option<usize>> {
    let items = seq_items(tx, id);
    for (i, item) in items.iter().enumerate().take(stop).skip(start) {
        let found = tx.equals(item, v)?;
        tx.still_holds(&Var::Obj(id), &items)?;
        if found {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

fn count_equal(tx: &mut Tx<'_>, id: ObjId, v: &Var) -> R<Var> {
    let mut n = 0;
    let items = seq_items(tx, id);
    for item in &items {
        n += i64::from(tx.equals(item, v)?);
        tx.still_holds(&Var::Obj(id), &items)?;
    }
    Ok(tx.int(n))
}

/// The error of `index` of a list or a deque that does not hold the value.
fn not_in(tx: &mut Tx<'_>, kind: &str, v: &Var) -> R<Stop> {
    if !tx.version().index_names_the_value() {
        let message = format!("{kind}.index(x): x not in {kind}");
        return Ok(tx.raise("ValueError", &message));
    }
    let text = (tx.rules.builtins.repr_text)(tx, v)?;
    Ok(tx.raise("ValueError", &format!("{text} is not in {kind}")))
}

/// `list.sort`: the list is empty meanwhile, and may not be written to.
fn sort_in_place(
    tx: &mut Tx<'_>,
    id: ObjId,
    items: Vec<Var>,
    key: Option<Var>,
    reverse: Option<Var>,
) -> R<()> {
    let before = seq_items(tx, id);
    *tx.st.effects.body_mut(id) = Body::List(im::Vector::new());
    let sorted = sorted_items(tx, items, key, reverse);
    let changed = seq_len(tx, id) > 0;
    let (items, result) = match sorted {
        Ok(sorted) if changed => {
            let error = tx.raise("ValueError", "list modified during sort");
            (sorted.into_iter().collect(), Err(error))
        }
        Ok(sorted) => (sorted.into_iter().collect(), Ok(())),
        // What a comparison left half sorted only CPython's own sort can tell.
        Err(Stop::Raise(_)) if before.len() > 1 => {
            return Err(Stop::unsupported("a sort that is not finished"));
        }
        Err(stop) => (before, Err(stop)),
    };
    *tx.st.effects.body_mut(id) = Body::List(items);
    result
}

/// Where `insert` puts an item.
fn clip(i: isize, len: usize) -> usize {
    if i < 0 {
        (i + len as isize).max(0) as usize
    } else {
        (i as usize).min(len)
    }
}
