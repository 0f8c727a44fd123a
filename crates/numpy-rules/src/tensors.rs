//! Tensors on the memory of arrays (`torch.from_numpy`, `torch.as_tensor`), copies of arrays as tensors
//! (`torch.tensor`), and arrays on the memory of tensors (`tensor.numpy()`).

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use tensor_meta::{DType, Device, TensorMeta};
use torch_abi::contexts::modes_see_operations;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{TensorVar, Var};

use crate::functions::{items_of, stack};
use crate::operation::Maker;
use crate::sizes::SizesAt;
use crate::subscripts::{replaced, with_changing_ints};
use crate::values::{Array, Looks, array_of, check_memory, check_state, new_array};

pub(crate) const RULES: RuleList = &[(
    "torch",
    &[
        ("from_numpy", from_numpy as Rule),
        ("as_tensor", as_tensor),
        ("asarray", as_array),
        ("tensor", tensor),
    ],
)];

/// A tensor on the memory of an array; `None` where torch warns.
fn on_memory(tx: &mut Tx<'_>, array: &Array) -> R<Option<Var>> {
    check_state(tx)?;
    // Of one that the graph makes, torch warns no more than once for the process.
    if array.body.copied.is_some() || !array.body.writeable && !tx.obj(array.id).is_new() {
        return Ok(None);
    }
    check_memory(tx)?;
    // What is done with the tensor is done to the array.
    tx.st.effects.array_writes += 1;
    let tensor = Var::Tensor(array.body.tensor.clone());
    let flow = tx.tensor_method(&tensor, "detach", Args::default())?;
    tx.finish_flow(flow).map(Some)
}

fn from_numpy(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let ([v], true) = (&args.pos[..], args.kw.is_empty()) else {
        return Ok(None);
    };
    let Some(array) = array_of(tx, v)? else {
        return Ok(None);
    };
    if !tx.known.is_exact_ndarray(&tx.obj(array.id).class) {
        return Ok(None);
    }
    match on_memory(tx, &array)? {
        Some(tensor) => value(tensor),
        None => Ok(None),
    }
}

/// What is known of a tensor, its sizes as numbers; `None` where NumPy gets no array of it. `forced`: what records
/// gradients, or is a lazy view, is copied.
pub(crate) fn meta_for_numpy(
    tx: &mut Tx<'_>,
    t: &Rc<TensorVar>,
    forced: bool,
    at: SizesAt,
) -> R<Option<TensorMeta>> {
    let meta = tx.st.effects.meta(t).clone();
    let fits = forced || !meta.requires_grad && !meta.conj && !meta.neg;
    let is_plain = t.class.is(&tx.known.tensor) || t.class.is(&tx.known.parameter);
    let name = crate::values::dtype_name(&meta);
    let numpy = tx.py.import("numpy")?;
    if !fits || !is_plain || !meta.is_cpu() || numpy.call_method1("dtype", (name,)).is_err() {
        return Ok(None);
    }
    at.meta(tx, t).map(Some)
}

/// `tensor.numpy(force=...)`: an array on the tensor's memory. `None`: torch refuses to make one.
pub(crate) fn of_tensor(tx: &mut Tx<'_>, of: &Var, args: &Args) -> Given {
    let (Var::Tensor(t), true) = (of, tx.known.has_numpy()) else {
        return Ok(None);
    };
    let Ok(given) = tx.by_name("numpy", args.clone(), &["force"], 0, 0) else {
        return Ok(None);
    };
    let forced = match &given[0] {
        Some(v) => tx.truth(&v.clone())?,
        None => false,
    };
    let Some(meta) = meta_for_numpy(tx, t, forced, SizesAt::Now)? else {
        return Ok(None);
    };
    check_state(tx)?;
    let mut made = of.clone();
    let resolving: &[&str] = match meta.conj || meta.neg {
        true => &["detach", "resolve_conj", "resolve_neg"],
        false => &["detach"],
    };
    for name in resolving {
        let flow = tx.tensor_method(&made, name, Args::default())?;
        made = tx.finish_flow(flow)?;
    }
    let (Var::Tensor(tensor), Some(class)) = (made, tx.known.ndarray().cloned()) else {
        return Err(Stop::Internal("an array of no tensor".into()));
    };
    new_array(tx, tensor, class, Maker::Array, Looks::default())
        .map(|v| Some(translator::Flow::Value(v)))
}

fn as_tensor(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    of_data(tx, name, args, false)
}

/// `torch.asarray(array, dtype=..., device=...)`: of other arguments it is an operation as any.
fn as_array(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let is_told = |(name, _): &(_, Var)| {
        let name: &std::sync::Arc<str> = name;
        matches!(&**name, "dtype" | "device")
    };
    match args.pos.len() == 1 && args.kw.iter().all(is_told) {
        true => of_data(tx, name, args, false),
        false => Ok(None),
    }
}

/// What an index of a tensor is with tensors in place of arrays. Torch makes indices of other ints than bytes 64 bits
/// wide.
pub(crate) fn as_index(tx: &mut Tx<'_>, key: &Var) -> R<Var> {
    Ok(index_of_arrays(tx, key)?.unwrap_or_else(|| key.clone()))
}

/// `None` where there are neither arrays nor NumPy's ints.
fn index_of_arrays(tx: &mut Tx<'_>, key: &Var) -> R<Option<Var>> {
    if let Var::Tuple(items) = key {
        return Ok(replaced(tx, &items.items, index_of_arrays)?.map(Var::tuple));
    }
    if let Some(ints) = with_changing_ints(tx, key)? {
        return Ok(Some(ints));
    }
    if !matches!(key, Var::Lazy(_) | Var::Obj(_) | Var::Const(_)) {
        return Ok(None);
    }
    let key = tx.look(key)?;
    if tx.array_id(&key).is_none() {
        return index_number(tx, &key);
    }
    let Some(array) = array_of(tx, &key)? else {
        return Ok(None);
    };
    let meta = tx.st.effects.meta(&array.body.tensor);
    let (dtype, is_number) = (meta.dtype, meta.shape.is_empty());
    if is_number
        || array.body.copied.is_some()
        || !tx.known.is_exact_ndarray(&tx.obj(array.id).class)
        || dtype.is_floating()
        || dtype.is_complex()
    {
        return Ok(None);
    }
    check_state(tx)?;
    let tensor = Var::Tensor(array.body.tensor.clone());
    if matches!(dtype, DType::Bool | DType::UInt8 | DType::Int64) {
        return Ok(Some(tensor));
    }
    let long = tx.tensor_method(&tensor, "long", Args::default())?;
    tx.finish_flow(long).map(Some)
}

/// One of NumPy's ints as an index: Python's.
pub(crate) fn index_number(tx: &mut Tx<'_>, key: &Var) -> R<Option<Var>> {
    let Var::Const(o) = key else {
        return Ok(None);
    };
    let number = o.bind(tx.py);
    if !tx.known.is_numpy_scalar(number.get_type().as_any()) {
        return Ok(None);
    }
    // Its booleans and floats are none.
    let index = number.call_method0("__index__");
    Ok(index.and_then(|i| i.extract()).ok().map(|i| tx.int(i)))
}

fn tensor(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    of_data(tx, name, args, true)
}

fn of_data(tx: &mut Tx<'_>, name: &'static str, args: Args, copies: bool) -> Given {
    match of_numbers(tx, name, &args)? {
        Some(tensor) => Ok(Some(tensor)),
        None => of_array(tx, name, args, copies),
    }
}

/// A tensor of constants with NumPy's numbers among them, which decide the dtype: a graph holds Python's
/// numbers, and is told the dtype.
fn of_numbers(tx: &mut Tx<'_>, name: &'static str, args: &Args) -> Given {
    let Some(data) = args.pos.first() else {
        return Ok(None);
    };
    if args.pos.len() > 1 || !tx.holds_numpy(data, true)? {
        return Ok(None);
    }
    let Some((real, _)) = tx.real_args(&Args::pos(vec![data.clone()]))? else {
        return Ok(None);
    };
    let Some(real) = real.first() else {
        return Ok(None);
    };
    let torch = tx.known.torch.clone();
    let torch = torch.bind(tx.py);
    // The program's mode would see this call.
    if modes_see_operations(tx.py)? {
        return Ok(None);
    }
    let Ok(made) = torch.call_method1("tensor", (real,)) else {
        return Ok(None);
    };
    let mut args = args.clone();
    args.pos = vec![plain_numbers(tx, &made.call_method0("tolist")?)?];
    let is_given = |(n, v): &(_, Var)| -> bool {
        let n: &std::sync::Arc<str> = n;
        &**n == "dtype" && !v.is_none(tx.py)
    };
    if !args.kw.iter().any(is_given) {
        let dtype = tx.from_const(made.getattr("dtype")?)?;
        args.kw.retain(|(n, _)| &**n != "dtype");
        args.kw.push(("dtype".into(), dtype));
    }
    let function = torch.getattr(name)?.unbind();
    tx.graph_call(&function, args).map(Some)
}

/// Numbers in nested lists, as tuples.
fn plain_numbers<'py>(tx: &mut Tx<'py>, data: &Bound<'py, PyAny>) -> R<Var> {
    let Ok(items) = data.cast::<PyList>() else {
        return tx.from_const(data.clone());
    };
    let items = items.iter().map(|item| plain_numbers(tx, &item));
    items.collect::<R<Vec<_>>>().map(Var::tuple)
}

/// One array of a list of arrays that have one dtype; `None` for anything else.
fn of_rows(tx: &mut Tx<'_>, list: &Var) -> R<Option<Var>> {
    // Numbers that are no constants stay that.
    if !matches!(list, Var::Tuple(_) | Var::Obj(_)) {
        return Ok(None);
    }
    let Some(rows) = items_of(tx, list)? else {
        return Ok(None);
    };
    let mut dtype = None;
    for row in &rows {
        let row = &tx.look(row)?;
        if tx.array_id(row).is_none() {
            return Ok(None);
        }
        let Some(array) = array_of(tx, row)? else {
            return Ok(None);
        };
        let own = tx.st.effects.meta(&array.body.tensor).dtype;
        if *dtype.get_or_insert(own) != own {
            return Ok(None);
        }
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let made = stack(tx, rows)?;
    made.map(|flow| tx.finish_flow(flow)).transpose()
}

/// `torch.tensor(array, dtype=...)`, which copies always, and `torch.as_tensor`.
fn of_array(tx: &mut Tx<'_>, name: &'static str, args: Args, copies: bool) -> Given {
    let Some(first) = args
        .pos
        .first()
        .filter(|_| tx.ctx.default_device == Device::CPU)
    else {
        return Ok(None);
    };
    let mut first = tx.look(first)?;
    let mut copies = copies;
    if tx.array_id(&first).is_none() {
        let Some(made) = of_rows(tx, &first)? else {
            return Ok(None);
        };
        (first, copies) = (made, true);
    }
    let known = &["data", "dtype", "device", "requires_grad", "pin_memory"];
    let Ok(given) = tx.by_name(name, args.clone(), known, 1, 1) else {
        return Ok(None);
    };
    let mut is_set = |v: &Option<Var>| v.as_ref().map_or(Ok(false), |v| tx.truth(v));
    let (learns, is_pinned) = (is_set(&given[3])?, is_set(&given[4])?);
    if is_pinned {
        return Ok(None);
    }
    let mut kw = Vec::with_capacity(3);
    for (name, v) in known.iter().zip(&given).skip(1).take(2) {
        let v = v.as_ref().map(|v| tx.realize(v)).transpose()?;
        kw.extend(v.filter(|v| !v.is_none(tx.py)).map(|v| ((*name).into(), v)));
    }
    let Some(array) = array_of(tx, &first)? else {
        return Ok(None);
    };
    let tensor = Var::Tensor(array.body.tensor.clone());
    // A number has no memory that a tensor could lie in.
    let copies = copies || !tx.known.is_exact_ndarray(&tx.obj(array.id).class);
    check_state(tx)?;
    let tensor = match copies {
        true => tensor,
        false => match on_memory(tx, &array)? {
            Some(tensor) => tensor,
            None => return Ok(None),
        },
    };
    let flow = match (kw.is_empty(), copies) {
        (true, true) => tx.tensor_method(&tensor, "clone", Args::default())?,
        (true, false) => Flow::Value(tensor),
        (false, _) => {
            if copies {
                kw.push(("copy".into(), tx.bool(true)));
            }
            let pos = Vec::new();
            tx.tensor_method(&tensor, "to", Args { pos, kw })?
        }
    };
    if !learns {
        return Ok(Some(flow));
    }
    let made = tx.finish_flow(flow)?;
    let flow = tx.tensor_method(&made, "requires_grad_", Args::default())?;
    Ok(Some(flow))
}
