//! Methods of `dict`, `OrderedDict`, `defaultdict` and `frozendict`, and of views of them.
//!
//! Invariant: a class that lacks a method does not get here by its name.

use std::rc::Rc;

use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::iter_class::IterClass;
use variables::object::DictWalk;
use variables::{Body, DictView, IterBody, ObjId, OrderedMap, Var};

use crate::pickling::reduce_derived_dict;

fn map_of(tx: &Tx<'_>, id: ObjId) -> OrderedMap {
    match &tx.obj(id).body {
        Body::Dict(d) => d.clone(),
        _ => OrderedMap::default(),
    }
}

/// A dict's method. `None`: there is none of this name here.
pub fn dict_method(tx: &mut Tx<'_>, id: ObjId, name: &str, args: Args) -> Given {
    let none = tx.none();
    let ordered = tx.is_subtype(&tx.obj(id).class.clone(), &tx.known.ordered_dict.clone());
    let result = match name {
        "get" => {
            let a = tx.positional("get", args, 1, 2)?;
            let k = tx.realize(&a[0])?;
            let k = tx.dict_key(&k)?;
            match map_of(tx, id).get(&k) {
                Some(v) => v.clone(),
                None => a.get(1).cloned().unwrap_or(none),
            }
        }
        "setdefault" => dict_setdefault(tx, id, ordered, args)?,
        "pop" => dict_pop(tx, id, ordered, args)?,
        "popitem" => dict_popitem(tx, id, ordered, args)?,
        "keys" => {
            tx.positional("dict.keys", args, 0, 0)?;
            view_of(tx, id, DictView::Keys)?
        }
        "values" => {
            tx.positional("dict.values", args, 0, 0)?;
            view_of(tx, id, DictView::Values)?
        }
        "items" => {
            tx.positional("dict.items", args, 0, 0)?;
            view_of(tx, id, DictView::Items)?
        }
        "update" => {
            update_with(tx, &Var::Obj(id), "update", args)?;
            none
        }
        // That of a frozendict is object's, which leaves alone what its `__new__` has made.
        "__init__" if tx.known.is_frozendict(&tx.obj(id).class) => none,
        "__init__" => {
            dict_init(tx, id, args)?;
            none
        }
        "__reduce__" => {
            tx.positional(name, args, 0, 0)?;
            match reduce_derived_dict(tx, id)? {
                Some(parts) => parts,
                None => return Ok(None),
            }
        }
        "copy" | "__copy__" => dict_copy(tx, id)?,
        "clear" => {
            tx.positional("dict.clear", args, 0, 0)?;
            if let Body::Dict(map) = tx.st.effects.body_mut(id) {
                map.clear();
            }
            none
        }
        "fromkeys" => {
            let a = tx.positional("fromkeys", args, 1, 2)?;
            let class = tx.obj(id).class.clone();
            dict_fromkeys(tx, class, &a[0], a.get(1).cloned())?
        }
        "move_to_end" if ordered => {
            move_to_end(tx, id, args)?;
            none
        }
        "__missing__" => {
            let k = tx.one("defaultdict.__missing__", args)?;
            tx.defaultdict_missing(id, &k)?
        }
        "__reversed__" => {
            tx.positional("dict.__reversed__", args, 0, 0)?;
            reversed(tx, id, DictView::Keys)?
        }
        _ => return Ok(None),
    };
    value(result)
}

/// A key, and a default if there is one: arguments that only an `OrderedDict` takes by name.
fn key_and_default(tx: &mut Tx<'_>, name: &str, ordered: bool, args: Args) -> R<Vec<Var>> {
    match ordered {
        true => {
            let args = tx.by_name(name, args, &["key", "default"], 1, 2)?;
            Ok(args.into_iter().flatten().collect())
        }
        false => tx.positional(name, args, 1, 2),
    }
}

fn dict_setdefault(tx: &mut Tx<'_>, id: ObjId, ordered: bool, args: Args) -> R<Var> {
    let recv = Var::Obj(id);
    let a = key_and_default(tx, "setdefault", ordered, args)?;
    let k = tx.realize(&a[0])?;
    let key = tx.dict_key(&k)?;
    let class = tx.obj(id).class.clone();
    if let Some(v) = map_of(tx, id).get(&key) {
        return match ordered && tx.is_read_by_methods(&class)? {
            true => tx.getitem_sync(&recv, &k),
            false => Ok(v.clone()),
        };
    }
    let v = a.get(1).cloned().unwrap_or_else(|| tx.none());
    if tx.asks_for_items(&recv)? {
        let flow = tx.setitem(&recv, &k, &v)?;
        tx.finish_flow(flow)?;
    } else if let Body::Dict(d) = tx.st.effects.body_mut(id) {
        d.insert(key, k, v.clone());
    }
    Ok(v)
}

fn dict_pop(tx: &mut Tx<'_>, id: ObjId, ordered: bool, args: Args) -> R<Var> {
    let a = key_and_default(tx, "pop", ordered, args)?;
    let k = tx.realize(&a[0])?;
    let found = match (ordered, map_of(tx, id).len()) {
        (true, _) => Some(tx.key(&k)?),
        // Nothing is hashed.
        (false, 0) => None,
        (false, _) => Some(tx.dict_key(&k)?),
    };
    let Some(key) = found.filter(|key| map_of(tx, id).contains(key)) else {
        return a.get(1).cloned().ok_or_else(|| tx.key_error(&k));
    };
    let none = tx.none();
    Ok(match tx.st.effects.body_mut(id) {
        Body::Dict(d) => d.remove(&key).unwrap_or(none),
        _ => none,
    })
}

fn dict_popitem(tx: &mut Tx<'_>, id: ObjId, ordered: bool, args: Args) -> R<Var> {
    let last = if ordered {
        let a = tx.by_name("popitem", args, &["last"], 0, 1)?;
        match &a[0] {
            Some(v) => tx.truth(v)?,
            None => true,
        }
    } else {
        tx.positional("dict.popitem", args, 0, 0)?;
        true
    };
    if map_of(tx, id).is_empty() {
        let message = tx.str(match ordered {
            true => "dictionary is empty",
            false => "popitem(): dictionary is empty",
        });
        return Err(tx.key_error(&message));
    }
    let none = tx.none();
    Ok(match tx.st.effects.body_mut(id) {
        Body::Dict(d) => match d.pop_end(last) {
            Some((k, v)) => Var::tuple(vec![k, v]),
            None => none,
        },
        _ => none,
    })
}

fn dict_init(tx: &mut Tx<'_>, id: ObjId, mut args: Args) -> R<()> {
    if tx.is_subtype(&tx.obj(id).class.clone(), &tx.known.defaultdict.clone()) {
        let factory = match args.pos.is_empty() {
            true => tx.none(),
            false => args.pos.remove(0),
        };
        set_factory(tx, id, factory);
    }
    update_with(tx, &Var::Obj(id), "dict", args)
}

fn set_factory(tx: &mut Tx<'_>, id: ObjId, factory: Var) {
    let seen = &mut tx.st.effects.get_mut(id).seen;
    seen.insert("default_factory".into(), Some(factory));
}

/// `copy()`: `dict.copy` of a subclass gives a plain dict.
fn dict_copy(tx: &mut Tx<'_>, id: ObjId) -> R<Var> {
    let class = tx.obj(id).class.clone();
    if tx.known.is_frozendict(&class) {
        return Ok(Var::Obj(id));
    }
    if tx.copies_its_class(&class) {
        return Err(Stop::unsupported("copy() of a subclass, which calls it"));
    }
    let class = match tx.is_builtin_container(&class) {
        true => class,
        false => tx.known.dict.clone(),
    };
    let made = tx.new_object(class, Body::Dict(map_of(tx, id)));
    if let Some(factory) = tx.factory_of(id) {
        set_factory(tx, made, factory);
    }
    Ok(Var::Obj(made))
}

/// `OrderedDict.move_to_end()`
fn move_to_end(tx: &mut Tx<'_>, id: ObjId, args: Args) -> R<()> {
    let a = tx.by_name("move_to_end", args, &["key", "last"], 1, 2)?;
    let Some(k) = &a[0] else {
        return Err(Stop::Internal("move_to_end".into()));
    };
    let last = match &a[1] {
        Some(v) => tx.truth(v)?,
        None => true,
    };
    let k = tx.realize(k)?;
    let key = tx.key(&k)?;
    if !map_of(tx, id).contains(&key) {
        return Err(tx.key_error(&k));
    }
    if let Body::Dict(d) = tx.st.effects.body_mut(id) {
        d.move_to_end(&key, last);
    }
    Ok(())
}

/// `dict.fromkeys`.
///
/// # Errors
/// Whatever iterating or hashing raises.
pub(crate) fn dict_fromkeys(
    tx: &mut Tx<'_>,
    class: variables::Obj,
    keys: &Var,
    value: Option<Var>,
) -> R<Var> {
    if !tx.is_builtin_container(&class) {
        return Err(Stop::unsupported("fromkeys of a dict subclass"));
    }
    let value = value.unwrap_or_else(|| tx.none());
    let mut map = OrderedMap::default();
    for k in tx.iterate(keys)? {
        let k = tx.realize(&k)?;
        map.insert(tx.dict_key(&k)?, k, value.clone());
    }
    Ok(Var::Obj(tx.new_object(class, Body::Dict(map))))
}

/// `dict(x, **kw)` and `dict.update(x, **kw)`.
///
/// # Errors
/// Whatever reading the argument raises.
pub(crate) fn update_with(tx: &mut Tx<'_>, recv: &Var, func: &str, args: Args) -> R<()> {
    if args.pos.len() > 1 {
        let message = format!("{func} expected at most 1 argument, got {}", args.pos.len());
        return Err(tx.raise("TypeError", &message));
    }
    if let Some(m) = args.pos.first() {
        tx.update_items(recv, m)?;
    }
    for (k, v) in args.kw {
        let k = tx.str(&k);
        tx.put_all(recv, vec![(k, v)])?;
    }
    Ok(())
}

/// A method of a dict view.
pub fn view_method(tx: &mut Tx<'_>, id: ObjId, name: &str, args: Args) -> Given {
    let Body::DictView(d, view) = tx.obj(id).body.clone() else {
        return Ok(None);
    };
    match name {
        "__reversed__" => {
            tx.positional(name, args, 0, 0)?;
            value(reversed(tx, d, view)?)
        }
        "isdisjoint" if view != DictView::Values => {
            let other = tx.one(name, args)?;
            let mine = tx.iterate(&Var::Obj(id))?;
            let mine = tx.set_map(mine)?;
            let theirs = tx.iterate(&other)?;
            let theirs = tx.set_map(theirs)?;
            let apart = mine.entries().all(|(k, _, _)| !theirs.contains(k));
            value(tx.bool(apart))
        }
        _ => Ok(None),
    }
}

/// `reversed(d)` or `reversed(d.items())`.
///
/// # Errors
/// None in practice.
pub(crate) fn reversed(tx: &mut Tx<'_>, dict: ObjId, view: DictView) -> R<Var> {
    let (class, walk) = tx.dict_walk(dict, view, true)?;
    let Body::Dict(map) = &tx.obj(dict).body else {
        return Err(Stop::Internal("view of no dict".into()));
    };
    let keys: Vec<Var> = map.iter().map(|(k, _)| k.clone()).collect();
    let slot = keys.len();
    let body = IterBody::DictReverse(DictWalk { slot, ..walk }, Rc::new(keys));
    Ok(tx.new_iter(class, body))
}

/// A live view of a tracked dict.
fn view_of(tx: &mut Tx<'_>, id: ObjId, view: DictView) -> R<Var> {
    let class = IterClass::of_view(view).get(tx.py)?;
    Ok(Var::Obj(tx.new_object(class, Body::DictView(id, view))))
}
