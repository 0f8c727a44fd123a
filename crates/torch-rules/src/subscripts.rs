//! Subscripts of tensors that are more than one call of `operator.getitem` or `operator.setitem`.
//!
//! Not here: what stands for arrays in a subscript (the crate `numpy-rules`), and the meta of what the operators give
//! (`tensor-meta`).
//!
//! Invariant: what is made is a view where eager mode's subscript is one, of the same elements.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyInt, PySlice};
use tensor_meta::DType;
use translator::rules::{Given, value};
use translator::stop::R;
use translator::torch_ops::contexts::SUBSCRIPTS;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::contexts::{Effect, OpenContext};
use variables::{Body, Obj, Var};

/// `t[key]`; `None` where the operator takes it as it is.
pub(crate) fn subscript(tx: &mut Tx<'_>, t: &Var, key: &Var) -> Given {
    if let Some(made) = by_tensors(tx, t, key)? {
        return value(made);
    }
    if let Some(asked) = tx.indexes_with.clone()
        && let Some(made) = with_overload(tx, &asked, t, key)?
    {
        return value(made);
    }
    if let Var::Tensor(k) = key
        && let meta = tx.st.effects.meta(k)
        && (tx.captures_unknown() && meta.shape.is_empty() && meta.dtype.is_integral())
        && !matches!(meta.dtype, DType::Bool | DType::UInt8)
        && !tx.st.levels.shadows.contains_key(&k.node.0)
    {
        let place = tx.tensor_method(key, "item", Args::default())?;
        let place = tx.finish_flow(place)?;
        return tx.tensor_getitem(t, &place).map(Some);
    }
    // What traces the graph would take the numbers that these are now for the indices, and guard them.
    let is_guarded =
        !tx.runs_as_is || tx.follows_from_read(key) && !tx.st.effects.has_known_sizes(t);
    match is_guarded {
        false => Ok(None),
        true => match selected(tx, t, key)? {
            Some(Selected { view, others }) if others.is_empty() => value(view),
            Some(Selected { view, others }) => {
                let key = Var::tuple(others);
                tx.call_operator("getitem", vec![view, key]).map(Some)
            }
            None => Ok(None),
        },
    }
}

/// `t[key] = v`; false where the operator takes it as it is.
pub(crate) fn set_subscript(tx: &mut Tx<'_>, t: &Var, key: &Var, v: &Var) -> R<bool> {
    // The place of a number that only the graph knows is a view of the tensor.
    if matches!(key, Var::Int(_)) && tx.follows_from_read(key) {
        let number = tx.look(v)?;
        if !matches!(number, Var::Tensor(_)) {
            let flow = tx.tensor_getitem(t, key)?;
            let place = tx.finish_flow(flow)?;
            tx.tensor_method(&place, "fill_", Args::pos(vec![number]))?;
            return Ok(true);
        }
    }
    if tx.runs_as_is || !matches!(key, Var::Tuple(_)) {
        return Ok(false);
    }
    let Some(Selected { view, others }) = selected(tx, t, key)? else {
        return Ok(false);
    };
    let key = match others.is_empty() {
        true => tx.from_const(PyEllipsis::get(tx.py).to_owned().into_any())?,
        false => Var::tuple(others),
    };
    tx.call_operator("setitem", vec![view, key, v.clone()])?;
    Ok(true)
}

/// `t[key]` where a mode that was entered here takes it for a look-up by tensors: all parts of the key are tensors or
/// ints.
fn by_tensors(tx: &mut Tx<'_>, t: &Var, key: &Var) -> R<Option<Var>> {
    let modes = |o: &OpenContext| matches!(o.effect, Effect::Subscripts);
    let mut indices = Vec::new();
    if !tx.st.contexts.iter().any(modes) || !index_parts(tx, key, &mut indices)? {
        return Ok(None);
    }
    let device = tx.getattr_sync(t, &Arc::from("device"))?;
    let make = Var::py(tx.known.torch.getattr(tx.py, "tensor")?);
    for index in &mut indices {
        if matches!(index, Var::Tensor(_)) {
            continue;
        }
        let kw = vec![
            (Arc::from("dtype"), tx.dtype_var(DType::Int64)?),
            (Arc::from("device"), device.clone()),
        ];
        let pos = vec![index.clone()];
        *index = tx.call_sync(&make, Args { pos, kw })?;
    }
    let f = tx.py.import(SUBSCRIPTS)?.getattr("mod_index")?.unbind();
    let path = format!("{SUBSCRIPTS}.mod_index");
    let indices = tx.new_list(indices);
    let args = Args::pos(vec![t.clone(), indices]);
    tx.emit(&Callee::Function(&f, &path, None), &args).map(Some)
}

/// The parts of a key, if all of them are tensors or ints.
fn index_parts(tx: &mut Tx<'_>, key: &Var, out: &mut Vec<Var>) -> R<bool> {
    let key = tx.realize(key)?;
    let items = match &key {
        Var::Tensor(_) => {
            out.push(key);
            return Ok(true);
        }
        Var::Tuple(t) if t.class.is_none() => t.items.clone(),
        Var::Obj(id) => match &tx.obj(*id).body {
            Body::List(items) => items.iter().cloned().collect(),
            _ => return Ok(false),
        },
        _ => {
            let int = tx
                .as_const(&key)?
                .is_some_and(|o| o.bind(tx.py).is_instance_of::<PyInt>());
            out.push(key);
            return Ok(int);
        }
    };
    for item in &items {
        if !index_parts(tx, item, out)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `t[key]` by tensors, as a call of the overload that is asked for in place of the operator.
fn with_overload(tx: &mut Tx<'_>, asked: &Obj, t: &Var, key: &Var) -> R<Option<Var>> {
    let indices = match key {
        Var::Tuple(items) => items.items.clone(),
        key => vec![key.clone()],
    };
    if !indices.iter().all(|i| matches!(i, Var::Tensor(_))) {
        return Ok(None);
    }
    let indices = tx.new_list(indices);
    let indices = tx.node_args(&Args::pos(vec![t.clone(), indices]))?;
    let callee = Callee::Function(asked, "torch.ops.aten.index", None);
    let (inferred, out) = tx.infer_fake_result(&callee, &indices, "")?;
    let f = tx.known.operator.getattr(tx.py, "getitem")?;
    let args = Args::pos(vec![t.clone(), key.clone()]);
    let node_args = tx.node_args(&args)?;
    let callee = Callee::Function(&f, "operator.getitem", None);
    let shadowed = tx.gives_shadow(&node_args);
    let made = tx.emit_inferred_as(&callee, node_args, inferred, &args, true)?;
    if shadowed {
        tx.keep_shadow(&made, out.bind(tx.py))?;
    }
    Ok(Some(made))
}

/// A key in two steps: the view that its ints that are no constants are taken for, and the rest of the key.
struct Selected {
    view: Var,
    /// what is left of the key; none: all of the view
    others: Vec<Var>,
}

/// A subscript with a `select` for each int of the key that is no constant, behind the other parts, or, where one is a
/// tensor, in front of them: torch takes all ints of a key so. `None` where there is no such int, and for keys with
/// parts of which it is not known here how many dimensions they take.
fn selected(tx: &mut Tx<'_>, t: &Var, key: &Var) -> R<Option<Selected>> {
    let parts = match key {
        Var::Int(_) => vec![key.clone()],
        Var::Tuple(items) if items.class.is_none() => {
            let parts = items.items.iter().map(|part| tx.look(part));
            parts.collect::<R<Vec<_>>>()?
        }
        _ => return Ok(None),
    };
    let Var::Tensor(tensor) = t else {
        return Ok(None);
    };
    let mut taken = Vec::with_capacity(parts.len());
    for part in &parts {
        match dimensions_of(tx, part) {
            Some(dimensions) => taken.push(dimensions),
            None => return Ok(None),
        }
    }
    let count = tx.st.effects.meta(tensor).shape.len();
    let named = taken.iter().map(|t| t.count()).sum::<usize>();
    let ellipses = taken.iter().filter(|t| matches!(t, Takes::Rest)).count();
    let by_tensors = parts.iter().any(|part| matches!(part, Var::Tensor(_)));
    let inserts = taken.iter().any(|t| matches!(t, Takes::Some(0)));
    if named > count || ellipses > 1 || by_tensors && inserts {
        return Ok(None);
    }
    let full = PySlice::full(tx.py).into_any();
    let full = tx.from_const(full)?;
    let (mut selects, mut others) = (Vec::new(), Vec::new());
    let (mut dim, mut takes_all) = (0, true);
    for (part, takes) in parts.into_iter().zip(taken) {
        let is_int = matches!(part, Var::Int(_));
        let dims = match takes {
            Takes::Rest => count - named,
            // What is left of a dimension: of the tensor where the ints come first, of what the others give if not.
            Takes::Some(_) if !is_int && !by_tensors => left_of(tx, &part),
            Takes::Some(dims) => dims,
        };
        takes_all &= is_int || matches!(takes, Takes::Rest) || is_full_slice(tx, &part)?;
        match (is_int, by_tensors) {
            (true, true) => {}
            (true, false) => others.push(full.clone()),
            (false, _) => others.push(part.clone()),
        }
        if is_int {
            selects.push((dim, part));
        }
        dim += dims;
    }
    if selects.is_empty() {
        return Ok(None);
    }
    let mut view = t.clone();
    if !by_tensors && !takes_all {
        let key = Var::tuple(std::mem::take(&mut others));
        let flow = tx.call_operator("getitem", vec![view, key])?;
        view = tx.finish_flow(flow)?;
    }
    if !by_tensors {
        others.clear();
    }
    let select = tx.known.torch.getattr(tx.py, "select")?;
    // From the last on, so that the dimensions in front keep their places.
    for (dim, index) in selects.into_iter().rev() {
        let dim = tx.int(dim as i64);
        let flow = tx.graph_call(&select, Args::pos(vec![view, dim, index]))?;
        view = tx.finish_flow(flow)?;
    }
    Ok(Some(Selected { view, others }))
}

/// How many dimensions a part of a key leaves in what the key gives.
fn left_of(tx: &Tx<'_>, part: &Var) -> usize {
    match part {
        Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyInt>() => 0,
        _ => 1,
    }
}

/// How many dimensions of a tensor a part of a key takes.
#[derive(Clone, Copy)]
enum Takes {
    Some(usize),
    /// what the other parts leave
    Rest,
}

impl Takes {
    fn count(self) -> usize {
        match self {
            Takes::Some(count) => count,
            Takes::Rest => 0,
        }
    }
}

fn dimensions_of(tx: &Tx<'_>, part: &Var) -> Option<Takes> {
    let count = match part {
        Var::Int(_) | Var::Slice(_) => 1,
        Var::Tensor(index) => match tx.st.effects.meta(index) {
            // A mask.
            meta if matches!(meta.dtype, DType::Bool | DType::UInt8) => meta.shape.len(),
            _ => 1,
        },
        Var::Const(o) => match o.bind(tx.py) {
            o if o.is_none() => 0,
            o if o.is_exact_instance_of::<PyEllipsis>() => return Some(Takes::Rest),
            o if o.is_exact_instance_of::<PyInt>() || o.is_instance_of::<PySlice>() => 1,
            _ => return None,
        },
        _ => return None,
    };
    Some(Takes::Some(count))
}

fn is_full_slice(tx: &Tx<'_>, part: &Var) -> R<bool> {
    match part {
        Var::Const(o) => Ok(o.bind(tx.py).eq(PySlice::full(tx.py))?),
        Var::Slice(limits) => {
            let is_none = |limit: &Var| matches!(limit, Var::Const(o) if o.is_none(tx.py));
            Ok(limits.iter().all(is_none))
        }
        _ => Ok(false),
    }
}
