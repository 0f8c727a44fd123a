//! Tensors of NumPy's arrays: `torch.from_numpy`, `torch.as_tensor` and `torch.tensor` of one.
//!
//! The tensor on the array's memory is made by the residual code, before the graph, which gets it as an input, see
//! [`translator::early`]. A copy is a node of the graph. What an array from outside looks like is guarded; one that was
//! made of constants is the same at each call.

use guards::SourceId;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use tensor_meta::Device;
use torch_abi::contexts::modes_see_operations;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::R;
use translator::tx::{Args, Tx};
use variables::{Body, EarlyArg, EarlyCall, EarlyKind, Obj, ObjState, Origin, Var};

pub(crate) const RULES: RuleList = &[(
    "torch",
    &[
        ("from_numpy", from_numpy as Rule),
        ("as_tensor", as_tensor),
        ("tensor", tensor),
    ],
)];

/// An array that the program has.
pub(crate) struct Array {
    /// the array, of this call
    pub(crate) obj: Obj,
    /// how the residual code reaches it
    pub(crate) source: SourceId,
}

/// A value as an array, where it is one and of no subclass.
pub(crate) fn array_of(tx: &mut Tx<'_>, v: &Var) -> R<Option<Array>> {
    let Var::Obj(id) = tx.realize(v)? else {
        return Ok(None);
    };
    let state = tx.obj(id);
    let exact = tx.known.is_exact_ndarray(&state.class);
    Ok(match &state.origin {
        Origin::Source { obj, source } if exact && !state.is_dirty() => Some(Array {
            obj: obj.clone(),
            source: *source,
        }),
        _ => None,
    })
}

/// An array that the residual code makes by a call; `obj` is what it gave while translating.
pub(crate) fn made_array(tx: &mut Tx<'_>, call: EarlyCall, obj: Obj) -> Var {
    let class = obj.bind(tx.py).get_type().into_any().unbind();
    let source = tx.add_early(call);
    let mut state = ObjState::new(class, Body::Plain);
    state.origin = Origin::Source { obj, source };
    Var::Obj(tx.st.effects.add(state))
}

/// Whether nobody can have written to an array since it was made: it was made by the residual code, and no tensor is
/// on its memory.
pub(crate) fn is_as_made(tx: &Tx<'_>, array: &Array) -> R<bool> {
    let on_memory = tx.py.import("torch")?.getattr("from_numpy")?;
    let is_seen = tx.st.effects.early.iter().any(|call| {
        let seen = matches!(call.pos.first(), Some(EarlyArg::Source(s)) if *s == array.source);
        seen && call.function.is(&on_memory)
    });
    Ok(tx.is_early(array.source) && !is_seen)
}

/// What decides how the tensor on an array's memory looks, and whether it can be made without a warning.
const LOOKS: [&str; 5] = [
    "dtype.str",
    "shape",
    "strides",
    "flags.writeable",
    "flags.c_contiguous",
];

static LOOK: PyOnceLock<Obj> = PyOnceLock::new();

/// The tensor on the memory of an array; `None` where torch makes none, or warns.
fn on_memory(tx: &mut Tx<'_>, array: &Array) -> R<Option<Var>> {
    let py = tx.py;
    // Before the graph no mode is entered that the graph enters.
    if tx.inference_now() || tx.st.vmap.is_active() {
        return Ok(None);
    }
    let look = LOOK.get_or_try_init(py, || -> PyResult<Obj> {
        let make = py.import("operator")?.getattr("attrgetter")?;
        let names = pyo3::types::PyTuple::new(py, LOOKS)?;
        Ok(make.call1(names)?.unbind())
    })?;
    let looks = look.bind(py).call1((&array.obj,))?;
    // A copy of another layout would not have the layout that the graph is made for.
    if !looks.get_item(3)?.is_truthy()? || !looks.get_item(4)?.is_truthy()? {
        return Ok(None);
    }
    let function = py.import("torch")?.getattr("from_numpy")?;
    let Ok(tensor) = function.call1((&array.obj,)) else {
        return Ok(None);
    };
    if !tx.is_early(array.source) {
        tx.guard_call(look, Some(array.source), &[], &looks)?;
    }
    let source = tx.add_early(EarlyCall {
        function: function.unbind(),
        pos: vec![EarlyArg::Source(array.source)],
        kw: Vec::new(),
        kind: EarlyKind::Make,
    });
    tx.early_tensor(&tensor.unbind(), source, array.source)
        .map(Some)
}

fn from_numpy(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let ([v], true, true) = (&args.pos[..], args.kw.is_empty(), tx.can_make_early()) else {
        return Ok(None);
    };
    let Some(array) = array_of(tx, v)? else {
        return Ok(None);
    };
    match on_memory(tx, &array)? {
        Some(tensor) => value(tensor),
        None => Ok(None),
    }
}

fn as_tensor(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    of_data(tx, name, args, false)
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

/// `torch.tensor(array, dtype=...)`, which copies always, and `torch.as_tensor`.
fn of_array(tx: &mut Tx<'_>, name: &'static str, args: Args, copies: bool) -> Given {
    let here = tx.can_make_early() && tx.ctx.default_device == Device::CPU;
    let Some(first) = args.pos.first().filter(|_| here) else {
        return Ok(None);
    };
    let first = &tx.look(first)?;
    if first.is_dynamic_number() || matches!(first, Var::Const(_) | Var::Tensor(_) | Var::Tuple(_))
    {
        return Ok(None);
    }
    let Some(array) = array_of(tx, first)? else {
        return Ok(None);
    };
    let known = &["data", "dtype", "device", "requires_grad", "pin_memory"];
    let positional = if copies { 1 } else { 3 };
    let Ok(given) = tx.by_name(name, args, known, 1, positional) else {
        return Ok(None);
    };
    for v in given.iter().skip(2).flatten() {
        let v = tx.realize(v)?;
        let no = tx.bool(false);
        if !v.is_none(tx.py) && !tx.is_same(&v, &no)? {
            return Ok(None);
        }
    }
    let dtype = match &given[1] {
        Some(v) => Some(tx.realize(v)?).filter(|v| !v.is_none(tx.py)),
        None => None,
    };
    let Some(tensor) = on_memory(tx, &array)? else {
        return Ok(None);
    };
    let flow = match (copies, dtype) {
        (false, None) => return value(tensor),
        (true, None) => tx.tensor_method(&tensor, "clone", Args::default())?,
        (copies, Some(dtype)) => {
            let kw = match copies {
                true => vec![("copy".into(), tx.bool(true))],
                false => Vec::new(),
            };
            let pos = vec![dtype];
            tx.tensor_method(&tensor, "to", Args { pos, kw })?
        }
    };
    Ok(Some(flow))
}

/// `array.astype(dtype)` and `array.copy()` of an array that was made of constants. `None`: another method, or an
/// array that may have been changed.
pub(crate) fn array_method(tx: &mut Tx<'_>, recv: &Var, name: &str, args: &Args) -> Given {
    if !matches!(name, "astype" | "copy") || !holds_made_array(tx, &[recv])? {
        return Ok(None);
    }
    let class = tx.type_of(recv)?;
    let method = class.bind(tx.py).getattr(name)?.unbind();
    let mut args = args.clone();
    args.pos.insert(0, recv.clone());
    crate::numpy::call_early(tx, &method, &args)
}

/// An operator, by the name of its special method, of such an array and of constants.
pub(crate) fn array_operator(tx: &mut Tx<'_>, name: &str, operands: &[&Var]) -> Given {
    if !holds_made_array(tx, operands)? {
        return Ok(None);
    }
    let function = tx.py.import("operator")?.getattr(name)?.unbind();
    let operands = operands.iter().map(|v| (*v).clone()).collect();
    crate::numpy::call_early(tx, &function, &Args::pos(operands))
}

/// What says how large such an array is.
pub(crate) fn array_size(
    tx: &mut Tx<'_>,
    array: &Obj,
    source: SourceId,
    name: &str,
) -> R<Option<Var>> {
    let class = array.bind(tx.py).get_type().into_any().unbind();
    let sizes = ["shape", "ndim", "size", "nbytes", "itemsize", "strides"];
    if !tx.is_early(source) || !tx.known.is_exact_ndarray(&class) || !sizes.contains(&name) {
        return Ok(None);
    }
    let value = array.bind(tx.py).getattr(name)?;
    tx.from_const(value).map(Some)
}

fn holds_made_array(tx: &mut Tx<'_>, values: &[&Var]) -> R<bool> {
    if tx.st.effects.early.is_empty() {
        return Ok(false);
    }
    for v in values.iter().filter(|v| matches!(v, Var::Obj(_))) {
        if let Some(array) = array_of(tx, v)? {
            return is_as_made(tx, &array);
        }
    }
    Ok(false)
}
