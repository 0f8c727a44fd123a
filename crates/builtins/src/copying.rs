//! `copy.copy` and `copy.deepcopy` of builtin containers; other objects go through Python's own code.

use pyo3::prelude::*;
use translator::raw::derives_from;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::{Body, Key, ObjId, OrderedMap, Origin, Var};

pub(crate) const RULES: RuleList = &[("copy", &[("copy", copy as Rule), ("deepcopy", deepcopy)])];

/// Whether a value is its own copy.
fn atomic(tx: &Tx<'_>, v: &Var) -> bool {
    match v {
        Var::Const(_) | Var::Func(_) | Var::BuiltinMethod(_) => true,
        Var::Py(p) => {
            let b = p.obj.bind(tx.py);
            let ty = b.get_type();
            let k = &tx.known;
            b.is_instance_of::<pyo3::types::PyType>()
                || [&k.function, &k.builtin_function, &k.code]
                    .iter()
                    .any(|t| ty.is(t.bind(tx.py)))
                || derives_from(b, k.enum_.bind(tx.py))
        }
        _ => false,
    }
}

/// Whether a value is a dictionary that never changes.
fn is_frozen(tx: &Tx<'_>, v: &Var) -> bool {
    matches!(v, Var::Obj(id) if tx.known.is_frozendict(&tx.obj(*id).class))
}

fn copy(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args.clone(), &["x"], 1, 1)?;
    let Some(v) = &a[0] else { return Ok(None) };
    let v = tx.realize(v)?;
    if atomic(tx, &v) || is_frozen(tx, &v) || matches!(&v, Var::Tuple(t) if t.class.is_none()) {
        return value(v);
    }
    let Var::Obj(id) = &v else { return Ok(None) };
    match copied(tx, *id)? {
        Some(c) => value(c),
        None => Ok(None),
    }
}

/// Whether an object may have attributes: an `OrderedDict` takes them.
fn has_attributes(tx: &Tx<'_>, id: ObjId) -> bool {
    let state = tx.obj(id);
    let from_outside = matches!(state.origin, Origin::Source { .. });
    let ordered = from_outside && state.class.is(&tx.known.ordered_dict);
    ordered || !state.attrs.is_empty() || state.dict.is_some()
}

/// A shallow copy of a container of exactly builtin type.
fn copied(tx: &mut Tx<'_>, id: ObjId) -> R<Option<Var>> {
    let (class, body) = (tx.obj(id).class.clone(), tx.obj(id).body.clone());
    if !tx.is_builtin_container(&class) || has_attributes(tx, id) {
        return Ok(None);
    }
    let factory = tx.factory_of(id);
    let made = tx.new_object(class, body);
    if let Some(f) = factory {
        tx.st
            .effects
            .get_mut(made)
            .seen
            .insert("default_factory".into(), Some(f));
    }
    Ok(Some(Var::Obj(made)))
}

fn deepcopy(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["x", "memo", "_nil"], 1, 3)?;
    let Some(v) = &a[0] else { return Ok(None) };
    if a[1].is_some() && !a[1].as_ref().is_some_and(|m| m.is_none(tx.py)) {
        return Ok(None);
    }
    if !only_containers(tx, v, 0)? {
        return Ok(None);
    }
    let mut memo = OrderedMap::default();
    value(deep(tx, v, &mut memo)?)
}

/// Whether a value consists of builtin containers and atomic values.
fn only_containers(tx: &mut Tx<'_>, v: &Var, depth: u32) -> R<bool> {
    let v = tx.realize(v)?;
    if atomic(tx, &v) {
        return Ok(true);
    }
    if depth > 50 {
        return Ok(false);
    }
    let items: Vec<Var> = match &v {
        Var::Tuple(t) if t.class.is_none() => t.items.clone(),
        Var::Obj(id) if has_attributes(tx, *id) => return Ok(false),
        Var::Obj(id) if tx.is_builtin_container(&tx.obj(*id).class.clone()) => {
            match &tx.obj(*id).body {
                Body::List(l) | Body::Deque(l, _) => l.iter().cloned().collect(),
                Body::Dict(d) => d.iter().flat_map(|(k, v)| [k.clone(), v.clone()]).collect(),
                Body::Set(s) => s.iter().map(|(k, _)| k.clone()).collect(),
                _ => return Ok(false),
            }
        }
        _ => return Ok(false),
    };
    for i in &items {
        if !only_containers(tx, i, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A deep copy; `memo` has those that were made, by what they are copies of.
fn deep(tx: &mut Tx<'_>, v: &Var, memo: &mut OrderedMap) -> R<Var> {
    let v = tx.realize(v)?;
    let key = Key::address(&v);
    if let Some(made) = key.as_ref().and_then(|key| memo.get(key)) {
        return Ok(made.clone());
    }
    match &v {
        Var::Tuple(t) if t.class.is_none() => {
            let mut items = Vec::with_capacity(t.items.len());
            let mut changed = false;
            for i in &t.items {
                let c = deep(tx, i, memo)?;
                changed |= !tx.is_same(&c, i)?;
                items.push(c);
            }
            // A tuple whose items are their own copies is its own copy.
            if !changed {
                return Ok(v);
            }
            let made = Var::tuple(items);
            if let Some(key) = key {
                memo.insert(key, v.clone(), made.clone());
            }
            Ok(made)
        }
        Var::Obj(id) => {
            let id = *id;
            tx.tell_apart(id);
            let Some(made) = copied(tx, id)? else {
                return Err(Stop::Internal("deepcopy".into()));
            };
            if let Some(key) = key {
                memo.insert(key, v.clone(), made.clone());
            }
            let Var::Obj(new) = made else {
                return Err(Stop::Internal("deepcopy".into()));
            };
            let body = match tx.obj(id).body.clone() {
                Body::List(l) => Body::List(l.iter().map(|i| deep(tx, i, memo)).collect::<R<_>>()?),
                Body::Deque(l, max) => {
                    Body::Deque(l.iter().map(|i| deep(tx, i, memo)).collect::<R<_>>()?, max)
                }
                Body::Dict(d) => {
                    let mut out = OrderedMap::default();
                    for (k, value) in d.iter() {
                        let k = deep(tx, k, memo)?;
                        let value = deep(tx, value, memo)?;
                        out.insert(tx.dict_key(&k)?, k, value);
                    }
                    Body::Dict(out)
                }
                other => other,
            };
            tx.st.effects.get_mut(new).body = body;
            Ok(made)
        }
        _ => Ok(v),
    }
}
