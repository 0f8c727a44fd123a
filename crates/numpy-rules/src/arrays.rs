//! Attributes, methods and operators of arrays, and of the numbers that come of them.

use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use tensor_meta::{SymInt, TensorMeta};
use torch_abi::arrays::TorchNumpy;
use translator::raw::type_lookup;
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Obj, ObjId, Origin, Var};

use crate::call::call;
use crate::changing_floats::{call_on_numbers, item_value, operator_of_floats};
use crate::numbers::note_operation;
use crate::probe::Stand;
use crate::sizes::SizesAt;
use crate::subscripts;
use crate::values::{array_of, guard_looks};
use crate::what::What;

/// Attributes that follow from the sizes, the strides and the dtype.
const LOOKS: [&str; 7] = [
    "shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides",
];

/// An attribute that is no method. `None`: it is one, or not there.
pub(crate) fn attribute(tx: &mut Tx<'_>, id: ObjId, name: &str) -> Given {
    let py = tx.py;
    if LOOKS.contains(&name) {
        if let Some(meta) = changing(tx, id)?
            && let Some(found) = of_changing(tx, id, &meta, name)?
        {
            return value(found);
        }
        let real = lookalike(tx, id)?;
        let found = real.bind(py).getattr(name)?;
        return value(tx.from_const(found)?);
    }
    let class = tx.obj(id).class.clone();
    let class = class.bind(py).cast().map_err(PyErr::from)?;
    let getter = tx.known.getset_descriptor.clone();
    let is_data =
        type_lookup(class, name).is_some_and(|found| found.bind(py).get_type().is(getter.bind(py)));
    if !is_data || name.starts_with("__") {
        return Ok(None);
    }
    let get = py.import("builtins")?.getattr("getattr")?;
    let torch = TorchNumpy::get(py)?
        .of_arrays(py, name)
        .map(|_| get.clone());
    let args = Args::pos(vec![Var::Obj(id), tx.str(name)]);
    let what = What {
        name,
        real: get,
        torch,
        is_universal: false,
        takes_any_number: false,
        is_subscript: false,
    };
    call(tx, &what, &args)
}

/// What is known of the tensor of an array whose sizes are no constants.
fn changing(tx: &mut Tx<'_>, id: ObjId) -> R<Option<TensorMeta>> {
    if matches!(tx.obj(id).body, Body::Plain) && guard_looks(tx, id)?.iter().all(Option::is_none) {
        return Ok(None);
    }
    let Some(array) = array_of(tx, &Var::Obj(id))? else {
        return Ok(None);
    };
    let meta = (**tx.st.effects.meta(&array.body.tensor)).clone();
    Ok((!meta.is_static() && array.body.strides.is_none()).then_some(meta))
}

/// What follows from sizes that are no constants; `None`: what does not depend on them.
fn of_changing(tx: &mut Tx<'_>, id: ObjId, meta: &TensorMeta, name: &str) -> R<Option<Var>> {
    let sizes = |tx: &mut Tx<'_>, sizes: &[SymInt]| -> R<Vec<Var>> {
        sizes.iter().map(|size| tx.sym_int(*size)).collect()
    };
    let Some(array) = array_of(tx, &Var::Obj(id))? else {
        return Ok(None);
    };
    let real = Stand::of_array(tx, &array, SizesAt::Now, 0)?.real;
    let mut product = match name {
        "shape" => return Ok(Some(Var::tuple(sizes(tx, &meta.shape)?))),
        "strides" | "nbytes" => tx.from_const(real.getattr("itemsize")?)?,
        "size" => tx.int(1),
        _ => return tx.from_const(real.getattr(name)?).map(Some),
    };
    if name == "strides" {
        let mut strides = sizes(tx, &meta.strides)?;
        for stride in &mut strides {
            *stride = tx.binary_sync(BinaryOp::Multiply, &product, stride)?;
        }
        return Ok(Some(Var::tuple(strides)));
    }
    for size in sizes(tx, &meta.shape)? {
        product = tx.binary_sync(BinaryOp::Multiply, &product, &size)?;
    }
    Ok(Some(product))
}

/// An object of the same sizes, strides and dtype.
fn lookalike(tx: &mut Tx<'_>, id: ObjId) -> R<Obj> {
    let state = tx.obj(id);
    if let (Body::Plain, Origin::Source { obj, .. }) = (&state.body, &state.origin) {
        let obj = obj.clone();
        guard_looks(tx, id)?;
        return Ok(obj);
    }
    match array_of(tx, &Var::Obj(id))? {
        Some(array) => Ok(Stand::of_array(tx, &array, SizesAt::Fixed, 0)?
            .real
            .unbind()),
        None => Err(Stop::Internal("an array that is none".into())),
    }
}

/// A method, by name.
pub(crate) fn method(tx: &mut Tx<'_>, recv: &Var, name: &str, args: &Args) -> Given {
    let py = tx.py;
    let Some(id) = tx.array_id(recv) else {
        return Ok(None);
    };
    let class = tx.obj(id).class.clone();
    let Ok(real) = class.bind(py).getattr(name) else {
        return Ok(None);
    };
    if let ("__getitem__" | "__setitem__", true) = (name, args.kw.is_empty()) {
        let operands: Vec<&Var> = [recv].into_iter().chain(&args.pos).collect();
        return operator(tx, name, &operands);
    }
    let is_plain = args.pos.is_empty() && args.kw.is_empty();
    if let ("item" | "tolist" | "__float__", true, Some(float)) =
        (name, is_plain, tx.float_of_number(recv))
    {
        return value(Var::Float(float));
    }
    if matches!(name, "item" | "tolist") && is_plain && known(tx, id)?.is_none() {
        return match array_of(tx, recv)? {
            Some(array) => {
                let tensor = Var::Tensor(array.body.tensor.clone());
                tx.tensor_method(&tensor, name, Args::default()).map(Some)
            }
            None => Ok(None),
        };
    }
    if let ("fill", [v], true) = (name, &args.pos[..], args.kw.is_empty())
        && let Some(number) = item_value(tx, recv, v)?
    {
        let all = tx.from_const(py.Ellipsis().into_bound(py))?;
        operator(tx, "__setitem__", &[recv, &all, &number])?;
        return value(tx.none());
    }
    let torch = TorchNumpy::get(py)?.of_arrays(py, name);
    let mut args = args.clone();
    args.pos.insert(0, recv.clone());
    let what = What {
        name,
        real,
        torch,
        is_universal: false,
        takes_any_number: name == "clip",
        is_subscript: false,
    };
    call(tx, &what, &args)
}

/// An operator, by the name of its special method.
pub(crate) fn operator(tx: &mut Tx<'_>, name: &str, operands: &[&Var]) -> Given {
    let py = tx.py;
    let is_array = |tx: &Tx<'_>, v: &Var| {
        let id = tx.array_id(v);
        id.is_some_and(|id| tx.known.is_exact_ndarray(&tx.obj(id).class))
    };
    let mut name = name.to_owned();
    let table = py.import("operator")?;
    let plain = name.replacen("__i", "__", 1);
    let is_in_place = name.starts_with("__i") && table.hasattr(&*plain)?;
    // An array leaves it to a tensor what it is changed by: what that makes is new.
    if is_in_place && matches!(operands, [_, Var::Tensor(_)]) {
        name = plain;
    } else if is_in_place && !operands.first().is_some_and(|v| is_array(tx, v)) {
        // A number is not written to. A list takes the items of the array.
        if matches!(operands.first(), Some(v @ Var::Obj(_)) if tx.array_id(v).is_none()) {
            return Ok(None);
        }
        // A tensor refuses to be changed by an array: what the operator makes is a new one then.
        if let [Var::Tensor(_), by] = operands
            && !is_array(tx, by)
        {
            return in_place_on_tensor(tx, &name, operands);
        }
        name = plain;
    }
    let function = table.getattr(&*name)?;
    // Follows `torch.Tensor.__rtruediv__`, which rounds twice.
    if let [array, tensor @ Var::Tensor(_)] = operands
        && function.is(&table.getattr("truediv")?)
        && is_array(tx, array)
    {
        let inverse = tx.tensor_method(tensor, "reciprocal", Args::default())?;
        let inverse = tx.finish_flow(inverse)?;
        return operator(tx, "__mul__", &[&inverse, array]);
    }
    let is_subscript = matches!(&*name, "__getitem__" | "__setitem__");
    if is_subscript
        && operands.first().is_some_and(|v| is_array(tx, v))
        && let Some(made) = subscripts::by_ints(tx, &name, operands)?
    {
        return Ok(Some(made));
    }
    let what = What {
        name: name.trim_matches('_'),
        real: function.clone(),
        torch: Some(function.clone()),
        is_universal: true,
        takes_any_number: !is_subscript,
        is_subscript,
    };
    if let [tensor @ Var::Tensor(t), number] = operands
        && tx.st.effects.meta(t).requires_grad
        && !is_array(tx, number)
        && let Some(item) = item_of(tx, number)?
    {
        let args = Args::pos(vec![(*tensor).clone(), item]);
        return tx.call_builtin(&function.unbind(), args);
    }
    let mut operands: Vec<Var> = operands.iter().map(|v| (*v).clone()).collect();
    if let Some(made) = operator_of_floats(tx, &name, &operands)? {
        return Ok(Some(made));
    }
    if let ("__setitem__", [array, _, v]) = (&*name, &mut operands[..])
        && let Some(number) = item_value(tx, array, v)?
    {
        *v = number;
    }
    let args = Args::pos(operands);
    if !is_subscript && let Some(made) = call_on_numbers(tx, &what, &args)? {
        return Ok(Some(made));
    }
    let made = call(tx, &what, &args)?;
    if let (Some(Flow::Value(made)), [a, b]) = (&made, &args.pos[..]) {
        note_operation(tx, made, &what, [a, b]);
    }
    Ok(made)
}

/// One of NumPy's numbers as Python's, which is what a tensor takes it for.
fn item_of(tx: &mut Tx<'_>, number: &Var) -> R<Option<Var>> {
    let item = method(tx, number, "item", &Args::default())?;
    item.map(|item| tx.finish_flow(item)).transpose()
}

/// An operator that writes to a tensor.
fn in_place_on_tensor(tx: &mut Tx<'_>, name: &str, operands: &[&Var]) -> Given {
    let [tensor, number] = operands else {
        return Ok(None);
    };
    let item = match tx.is_numpy_number(number) {
        true => item_of(tx, number)?,
        false => None,
    };
    let Some(item) = item else {
        return Err(Stop::unsupported(
            "a NumPy array that a tensor is changed by",
        ));
    };
    let function = tx.py.import("operator")?.getattr(name)?.unbind();
    tx.call_builtin(&function, Args::pos(vec![(*tensor).clone(), item]))
}

/// What going over an array gives.
pub(crate) fn items(tx: &mut Tx<'_>, id: ObjId) -> R<Vec<Var>> {
    let length = length(tx, id)?;
    let array = Var::Obj(id);
    let mut items = Vec::with_capacity(length);
    for i in 0..length {
        let at = tx.int(i as i64);
        match operator(tx, "__getitem__", &[&array, &at])? {
            Some(Flow::Value(item)) => items.push(item),
            _ => return Err(Stop::unsupported("going over a NumPy array")),
        }
    }
    Ok(items)
}

/// How many items an array has.
pub(crate) fn length(tx: &mut Tx<'_>, id: ObjId) -> R<usize> {
    if let Some(meta) = changing(tx, id)?
        && let Some(length) = meta.shape.first()
    {
        let size = tx.sym_int(*length)?;
        if tx.follows_from_read(&size) {
            return Err(Stop::unsupported(
                "the length of a NumPy array that data decides",
            ));
        }
        return Ok(SizesAt::Fixed.number(tx, *length)? as usize);
    }
    let real = lookalike(tx, id)?;
    match real.bind(tx.py).len() {
        Ok(length) => Ok(length),
        Err(_) => Err(tx.raise("TypeError", "len() of unsized object")),
    }
}

/// What an array or a number holds, where that is known.
pub(crate) fn known(tx: &mut Tx<'_>, id: ObjId) -> R<Option<Obj>> {
    if let Some(float) = tx.float_of_number(&Var::Obj(id)) {
        let float = tx.realize(&Var::Float(float))?;
        let Some(value) = tx.as_const(&float)? else {
            return Ok(None);
        };
        let number = tx.py.import("numpy")?.call_method1("float64", (value,))?;
        return Ok(Some(number.unbind()));
    }
    match array_of(tx, &Var::Obj(id))? {
        Some(array) => Ok(array.known(tx)),
        None => Ok(None),
    }
}
