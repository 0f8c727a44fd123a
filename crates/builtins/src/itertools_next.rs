//! `next(it)` of the iterators of `itertools`.

use std::rc::Rc;

use bytecode::op::BinaryOp;
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::iter_class::IterClass;
use variables::object::GroupState;
use variables::{Body, IterBody, ObjId, Var};

/// The next item of the iterator `id`, whose state is `body`; `None` where it has ended.
///
/// # Errors
/// What the program's functions and iterators raise; the breaks that they come to.
pub(crate) fn advance(tx: &mut Tx<'_>, id: ObjId, body: IterBody) -> R<Option<Var>> {
    match body {
        IterBody::Islice(inner, cnt, next, stop, step) => {
            advance_islice(tx, id, inner, cnt, next, stop, step)
        }
        IterBody::TakeWhile(f, inner) => advance_takewhile(tx, id, f, inner),
        IterBody::DropWhile(f, inner, started) => advance_dropwhile(tx, id, f, inner, started),
        IterBody::Compress(data, selectors) => advance_compress(tx, data, selectors),
        IterBody::Accumulate(inner, f, total, initial) => {
            advance_accumulate(tx, id, inner, f, total, initial)
        }
        IterBody::ZipLongest(inner, fill) => advance_zip_longest(tx, id, inner, fill),
        IterBody::Cycle(inner, saved, i) => advance_cycle(tx, id, inner, saved, i),
        IterBody::Pairwise(inner, previous) => advance_pairwise(tx, id, inner, previous),
        IterBody::Batched(inner, n, strict) => advance_batched(tx, id, inner, n, strict),
        IterBody::Tee(source, buffer, i) => advance_tee(tx, id, source, buffer, i),
        IterBody::GroupBy(inner, keyfunc, state) => advance_groupby(tx, id, inner, keyfunc, state),
        IterBody::Group(parent, key, serial) => advance_group(tx, id, parent, &key, serial),
        _ => Err(Stop::Internal("not an iterator of itertools".into())),
    }
}

/// `islice`
fn advance_islice(
    tx: &mut Tx<'_>,
    id: ObjId,
    inner: Var,
    mut cnt: usize,
    next: usize,
    stop: Option<usize>,
    step: usize,
) -> R<Option<Var>> {
    while cnt < next {
        if tx.iter_next(&inner)?.is_none() {
            return tx.exhaust(id);
        }
        cnt += 1;
        tx.put(id, IterBody::Islice(inner.clone(), cnt, next, stop, step));
    }
    if stop.is_some_and(|s| cnt >= s) {
        return tx.exhaust(id);
    }
    let Some(item) = tx.iter_next(&inner)? else {
        return tx.exhaust(id);
    };
    let following = next.saturating_add(step);
    let following = stop.map_or(following, |s| following.min(s));
    tx.put(id, IterBody::Islice(inner, cnt + 1, following, stop, step));
    Ok(Some(item))
}

/// `takewhile`
fn advance_takewhile(tx: &mut Tx<'_>, id: ObjId, f: Var, inner: Var) -> R<Option<Var>> {
    let Some(v) = tx.iter_next(&inner)? else {
        return Ok(None);
    };
    let keep = tx.call_sync(&f, Args::pos(vec![v.clone()]))?;
    if tx.truth(&keep)? {
        Ok(Some(v))
    } else {
        tx.exhaust(id)
    }
}

/// `dropwhile`
fn advance_dropwhile(
    tx: &mut Tx<'_>,
    id: ObjId,
    f: Var,
    inner: Var,
    started: bool,
) -> R<Option<Var>> {
    loop {
        let Some(v) = tx.iter_next(&inner)? else {
            return Ok(None);
        };
        if started {
            return Ok(Some(v));
        }
        let drop = tx.call_sync(&f, Args::pos(vec![v.clone()]))?;
        if !tx.truth(&drop)? {
            tx.put(id, IterBody::DropWhile(f, inner, true));
            return Ok(Some(v));
        }
    }
}

/// `compress`
fn advance_compress(tx: &mut Tx<'_>, data: Var, selectors: Var) -> R<Option<Var>> {
    loop {
        let Some(v) = tx.iter_next(&data)? else {
            return Ok(None);
        };
        let Some(s) = tx.iter_next(&selectors)? else {
            return Ok(None);
        };
        if tx.truth(&s)? {
            return Ok(Some(v));
        }
    }
}

/// `accumulate`
fn advance_accumulate(
    tx: &mut Tx<'_>,
    id: ObjId,
    inner: Var,
    f: Var,
    total: Option<Var>,
    initial: Option<Var>,
) -> R<Option<Var>> {
    if let Some(v) = initial {
        tx.put(id, IterBody::Accumulate(inner, f, Some(v.clone()), None));
        return Ok(Some(v));
    }
    let Some(v) = tx.iter_next(&inner)? else {
        return Ok(None);
    };
    let next = match total {
        None => v,
        Some(t) if f.is_none(tx.py) => tx.binary_sync(BinaryOp::Add, &t, &v)?,
        Some(t) => tx.call_sync(&f, Args::pos(vec![t, v]))?,
    };
    tx.put(id, IterBody::Accumulate(inner, f, Some(next.clone()), None));
    Ok(Some(next))
}

/// `zip_longest`
fn advance_zip_longest(
    tx: &mut Tx<'_>,
    id: ObjId,
    mut inner: Vec<Option<Var>>,
    fill: Var,
) -> R<Option<Var>> {
    let mut out = Vec::with_capacity(inner.len());
    for slot in 0..inner.len() {
        let Some(it) = inner[slot].clone() else {
            out.push(fill.clone());
            continue;
        };
        match tx.iter_next(&it)? {
            Some(v) => out.push(v),
            None => {
                inner[slot] = None;
                tx.put(id, IterBody::ZipLongest(inner.clone(), fill.clone()));
                if inner.iter().all(Option::is_none) {
                    return Ok(None);
                }
                out.push(fill.clone());
            }
        }
    }
    Ok((!out.is_empty()).then(|| Var::tuple(out)))
}

/// `cycle`
fn advance_cycle(
    tx: &mut Tx<'_>,
    id: ObjId,
    inner: Option<Var>,
    mut saved: im::Vector<Var>,
    i: usize,
) -> R<Option<Var>> {
    if let Some(it) = &inner {
        if let Some(v) = tx.iter_next(it)? {
            saved.push_back(v.clone());
            tx.put(id, IterBody::Cycle(inner, saved, 0));
            return Ok(Some(v));
        }
        tx.put(id, IterBody::Cycle(None, saved.clone(), 0));
    }
    let Some(v) = saved.get(i).cloned() else {
        return Ok(None);
    };
    let next = (i + 1) % saved.len();
    tx.put(id, IterBody::Cycle(None, saved, next));
    Ok(Some(v))
}

/// `pairwise`
fn advance_pairwise(
    tx: &mut Tx<'_>,
    id: ObjId,
    inner: Var,
    previous: Option<Var>,
) -> R<Option<Var>> {
    let first = match previous {
        Some(v) => v,
        None => match tx.iter_next(&inner)? {
            Some(v) => v,
            None => return tx.exhaust(id),
        },
    };
    let Some(second) = tx.iter_next(&inner)? else {
        return tx.exhaust(id);
    };
    tx.put(id, IterBody::Pairwise(inner, Some(second.clone())));
    Ok(Some(Var::tuple(vec![first, second])))
}

/// `batched`
fn advance_batched(
    tx: &mut Tx<'_>,
    id: ObjId,
    inner: Var,
    n: usize,
    strict: bool,
) -> R<Option<Var>> {
    let mut out = Vec::new();
    while out.len() < n {
        match tx.iter_next(&inner)? {
            Some(v) => out.push(v),
            None => break,
        }
    }
    if out.is_empty() {
        return tx.exhaust(id);
    }
    if out.len() < n {
        tx.exhaust(id)?;
        if strict {
            return Err(tx.raise("ValueError", "batched(): incomplete batch"));
        }
    }
    Ok(Some(Var::tuple(out)))
}

/// One of the iterators of `tee`.
fn advance_tee(tx: &mut Tx<'_>, id: ObjId, source: Var, buffer: ObjId, i: usize) -> R<Option<Var>> {
    let Body::List(items) = &tx.obj(buffer).body else {
        return Err(Stop::Internal("tee without buffer".into()));
    };
    let item = match items.get(i).cloned() {
        Some(v) => v,
        None => {
            let Some(v) = tx.iter_next(&source)? else {
                return Ok(None);
            };
            if let Body::List(items) = &mut tx.st.effects.get_mut(buffer).body {
                items.push_back(v.clone());
            }
            v
        }
    };
    tx.put(id, IterBody::Tee(source, buffer, i + 1));
    Ok(Some(item))
}

/// The next item and its key (CPython's `groupby_step`).
fn group_step(tx: &mut Tx<'_>, inner: &Var, keyfunc: &Var) -> R<Option<(Var, Var)>> {
    let Some(v) = tx.iter_next(inner)? else {
        return Ok(None);
    };
    let key = if keyfunc.is_none(tx.py) {
        v.clone()
    } else {
        tx.call_sync(keyfunc, Args::pos(vec![v.clone()]))?
    };
    Ok(Some((v, key)))
}

fn advance_groupby(
    tx: &mut Tx<'_>,
    id: ObjId,
    inner: Var,
    keyfunc: Var,
    state: Rc<GroupState>,
) -> R<Option<Var>> {
    let mut state = (*state).clone();
    // Skips what is left of the present group.
    loop {
        match (&state.current, &state.target) {
            (None, _) => {}
            (Some(_), None) => break,
            (Some((_, key)), Some(target)) => {
                let (key, target) = (key.clone(), target.clone());
                if !tx.equals(&target, &key)? {
                    break;
                }
            }
        }
        match group_step(tx, &inner, &keyfunc)? {
            Some(c) => state.current = Some(c),
            None => return tx.exhaust(id),
        }
    }
    let key = state
        .current
        .as_ref()
        .map(|c| c.1.clone())
        .ok_or_else(|| Stop::Internal("groupby".into()))?;
    state.target = Some(key.clone());
    state.serial += 1;
    let serial = state.serial;
    tx.put(id, IterBody::GroupBy(inner, keyfunc, Rc::new(state)));
    let class = IterClass::Group.get(tx.py)?;
    let group = tx.new_iter(class, IterBody::Group(id, key.clone(), serial));
    Ok(Some(Var::tuple(vec![key, group])))
}

fn advance_group(
    tx: &mut Tx<'_>,
    id: ObjId,
    parent: ObjId,
    key: &Var,
    serial: u64,
) -> R<Option<Var>> {
    let Body::Iter(IterBody::GroupBy(inner, keyfunc, state)) = tx.obj(parent).body.clone() else {
        return tx.exhaust(id);
    };
    if state.serial != serial {
        return tx.exhaust(id);
    }
    let mut state = (*state).clone();
    if state.current.is_none() {
        state.current = group_step(tx, &inner, &keyfunc)?;
    }
    let Some((v, k)) = state.current.clone() else {
        return tx.exhaust(id);
    };
    if !tx.equals(key, &k)? {
        tx.put(parent, IterBody::GroupBy(inner, keyfunc, Rc::new(state)));
        return Ok(None);
    }
    state.current = None;
    tx.put(parent, IterBody::GroupBy(inner, keyfunc, Rc::new(state)));
    Ok(Some(v))
}
