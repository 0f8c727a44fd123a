//! Weak references: those from outside, and those that the function makes to objects that it holds.
//!
//! A new one is made where plain Python gets it. Until then it gives its referent while that is known to live: while a
//! variable holds it, or what leads to it from outside has not changed.

use std::rc::Rc;

use guards::{GuardKind, Source, SourceId};
use pyo3::prelude::*;
use rustc_hash::FxHashSet;
use translator::raw::{derives_from, dict_get, instance_dict, takes_weak_references};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, CallResult, Obj, ObjId, Origin, Var};

pub(crate) const RULES: RuleList = &[("weakref", &[("ref", make as Rule)])];

/// `weakref.ref(object)`, without a callback.
fn make(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let given = tx.by_name(name, args, &["", ""], 1, 2)?;
    let [Some(referent), callback] = &given[..] else {
        return Ok(None);
    };
    if let Some(callback) = callback
        && !tx.realize(callback)?.is_none(tx.py)
    {
        return Ok(None);
    }
    let Var::Obj(referent) = tx.realize(referent)? else {
        return Ok(None);
    };
    if !takes_weak_references(tx.obj(referent).class.bind(tx.py)) {
        return Ok(None);
    }
    tx.tell_apart(referent);
    // There is one without a callback for each object.
    let to_it = |id: &ObjId| match &tx.obj(*id).body {
        Body::Result(made) => {
            made.function.is(&tx.known.weakref) && is_object(&made.pos[0], referent)
        }
        _ => false,
    };
    if let Some(made) = (0..tx.st.effects.len() as u32).map(ObjId).find(to_it) {
        return value(Var::Obj(made));
    }
    let class = tx.known.weakref.clone();
    let made = CallResult {
        function: class.clone(),
        pos: vec![Var::Obj(referent)],
        kw: Vec::new(),
    };
    value(Var::Obj(tx.new_object(class, Body::Result(Rc::new(made)))))
}

/// `ref()` of one that the function has made.
///
/// # Errors
/// A break where the object may have gone.
pub(crate) fn new_referent(tx: &mut Tx<'_>, made: &CallResult, args: Args) -> R<Flow> {
    tx.positional("__call__", args, 0, 0)?;
    match &made.pos[0] {
        Var::Obj(id) if is_held(tx, *id) => Ok(Flow::Value(Var::Obj(*id))),
        _ => Err(may_have_gone()),
    }
}

fn may_have_gone() -> Stop {
    Stop::brk(
        "Weak reference to an object that may have gone",
        "Whether anything else holds the object is known in eager mode only.",
        "Keep the object in a variable while the reference is used.",
    )
}

/// Whether nothing that existed before has changed: what held an object still does, variables aside.
fn is_untouched(tx: &Tx<'_>) -> bool {
    let effects = &tx.st.effects;
    effects.dirty.is_empty()
        && effects.global_writes.is_empty()
        && effects.tensor_writes.is_empty()
        && !effects.any_held()
}

/// Whether what was written may have been the last to hold an object: not where it took the place of numbers, texts
/// and tensors only.
fn may_have_let_go(tx: &Tx<'_>) -> R<bool> {
    let py = tx.py;
    let effects = &tx.st.effects;
    if !effects.global_writes.is_empty() || !effects.tensor_writes.is_empty() || effects.any_held()
    {
        return Ok(true);
    }
    let holds_nothing = |old: &Bound<'_, PyAny>| {
        tx.known.is_const_type(old.get_type().as_any())
            || derives_from(old, tx.known.tensor.bind(py))
    };
    for id in &effects.dirty {
        let state = tx.obj(*id);
        let real = match &state.origin {
            Origin::Source { obj, .. } => obj.bind(py),
            Origin::RootCell(_) => return Ok(true),
            _ => continue,
        };
        if !matches!(state.body, Body::Plain) || state.dict.is_some() {
            let held = py.import("gc")?.call_method1("get_referents", (real,))?;
            for old in held.try_iter()? {
                let old = old?;
                if !holds_nothing(&old) && !old.is(real.get_type()) {
                    return Ok(true);
                }
            }
        }
        let Some(dict) = instance_dict(real) else {
            return Ok(true);
        };
        for name in &state.attr_order {
            if dict_get(&dict, name).is_some_and(|old| !holds_nothing(&old)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn is_object(v: &Var, id: ObjId) -> bool {
    matches!(v, Var::Obj(other) if *other == id)
}

/// Whether an object is sure to live: a variable holds it or what holds it, or what leads to it from outside is as it
/// was.
fn is_held(tx: &Tx<'_>, id: ObjId) -> bool {
    let own = tx.origin_of(&Var::Obj(id)).map(|o| o.0);
    let root = own.map(|source| tx.facts.sources.root(source));
    let untouched = is_untouched(tx);
    if untouched
        && let Some(root) = root
        && !matches!(tx.facts.sources.get(root), Source::Local { .. })
    {
        return true;
    }
    let mut todo: Vec<Var> = Vec::new();
    let mut frame = Some(&tx.st.frame);
    while let Some(f) = frame {
        todo.extend(f.locals.iter().flatten().chain(&f.stack).cloned());
        frame = f.parent.as_deref();
    }
    let mut seen = FxHashSet::default();
    while let Some(v) = todo.pop() {
        let origin = tx.origin_of(&v).map(|o| o.0);
        if is_object(&v, id) || origin.is_some() && (origin == own || untouched && origin == root) {
            return true;
        }
        match v {
            Var::Obj(id) if seen.insert(id) => {
                let state = tx.obj(id);
                todo.extend(state.attrs.values().flatten().cloned());
                todo.extend(state.dict.map(Var::Obj));
                match &state.body {
                    Body::List(items) | Body::Deque(items, _) => todo.extend(items.iter().cloned()),
                    Body::Dict(items) | Body::Set(items) => {
                        todo.extend(items.iter().flat_map(|(k, v)| [k.clone(), v.clone()]));
                    }
                    Body::Cell(Some(content)) => todo.push(content.clone()),
                    _ => {}
                }
            }
            Var::Tuple(t) => todo.extend(t.items.iter().cloned()),
            Var::Method(m) => todo.push(m.receiver.clone()),
            _ => {}
        }
    }
    false
}

/// `ref()`: what a weak reference from outside refers to. A reference never comes to refer to
/// another object, so that its identity and the life of its referent are all that is guarded of one that stays.
pub(crate) fn referent(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Flow> {
    let found = found_behind(tx, obj, source)?;
    if is_untouched(tx) || !may_have_let_go(tx)? {
        return Ok(Flow::Value(found));
    }
    match tx.realize(&found)? {
        Var::Obj(id) if !is_held(tx, id) => Err(may_have_gone()),
        found => Ok(Flow::Value(found)),
    }
}

fn found_behind(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Var> {
    let referent = obj.bind(tx.py).call0()?;
    let root = tx.facts.sources.root(source);
    // One that the caller has made may be another at each call.
    if matches!(tx.facts.sources.get(root), Source::Local { .. }) {
        if referent.is_none() {
            let call = tx.known.weakref.getattr(tx.py, "__call__")?;
            tx.guard_call(&call, Some(source), &[], &referent)?;
            return Ok(tx.none());
        }
        let source = tx.source(Source::Under { base: source });
        return Ok(tx.lazy(referent.unbind(), source));
    }
    let held = tx.pin(obj, false);
    tx.guard(source, GuardKind::IdMatch { obj: held });
    if referent.is_none() {
        return Ok(tx.none());
    }
    let referent = referent.unbind();
    if let Some(v) = tx
        .st
        .effects
        .known(referent.as_ptr() as usize)
        .cloned()
        .filter(|v| is_identity_guarded(tx, v))
    {
        tx.pin(&referent, true);
        return Ok(v);
    }
    let source = tx.pinned_source(&referent, true, "referent");
    tx.build(&referent, source)
}

/// Whether the value stands for the very object at every call that the code serves.
fn is_identity_guarded(tx: &Tx<'_>, var: &Var) -> bool {
    match var {
        Var::Tensor(t) => tx.log.inputs.iter().any(|i| i.node == t.node && i.bound),
        _ => false,
    }
}
