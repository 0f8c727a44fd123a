//! NumPy's numbers from outside that may be others on each call: arguments, and whatever was another number when the
//! code was compiled before.
//!
//! A call before the graph makes a tensor of such a number, which is an input of the graph. An operation of tensors
//! takes what the graph reads from it; for an operation of NumPy it is one of the numbers that the graph has.

use std::rc::Rc;

use guards::{GuardKind, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use translator::Flow;
use translator::dynamic::DynamicInts;
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::constants::const_val;
use variables::{
    ArrayBody, Body, EarlyArg, EarlyCall, EarlyKind, IntOperation, Obj, ObjState, Origin, Var,
};

use crate::operation::Maker;
use crate::subscripts::{replaced, with_changing_ints};
use crate::tensors::index_number;
use crate::values::{array_of, check_state, dtype_name, no_tensor};
use crate::what::What;
use bytecode::op::BinaryOp;
use tensor_meta::DType;
use translator::early_tensors::{early_input, early_tensor};

/// A number from outside, as a number that the graph reads, or a tuple or list with dynamic ints in place of integers
/// that change; `None` where all are constants.
pub(crate) fn read_number(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    if let Some(items) = with_changing_items(tx, v)? {
        return Ok(Some(items));
    }
    if let Some(float) = tx.float_of_number(v) {
        return Ok(Some(Var::Float(float)));
    }
    if let Some(int) = changing_int(tx, v)? {
        return Ok(Some(int));
    }
    let l = match v {
        Var::Lazy(l) => l,
        v => return read_of_graph(tx, v),
    };
    let number = l.obj.bind(tx.py).call_method0("item")?;
    let fits = number.is_exact_instance_of::<PyInt>() && number.extract::<i64>().is_ok();
    let is_read = fits || number.is_exact_instance_of::<PyFloat>();
    if !is_read || !is_argument(tx, l.source) || check_state(tx).is_err() {
        return Ok(None);
    }
    let tensor = tensor_of(tx, &l.obj, l.source)?;
    read(tx, &tensor)
}

/// An integer from outside that was another one before, or one that comes of such, as a dynamic int; `None` for
/// anything else.
pub(crate) fn changing_int(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    match v {
        Var::Lazy(l) => of_source(tx, &l.obj, l.source),
        Var::Obj(id) => match (&tx.obj(*id).body, &tx.obj(*id).origin) {
            (Body::Array(body), Origin::New) => match body.of_ints.clone() {
                Some(operation) => of_operation(tx, &operation),
                None => Ok(None),
            },
            (Body::Array(_), Origin::Source { obj, source }) => {
                let (obj, source) = (obj.clone(), *source);
                of_source(tx, &obj, source)
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// An integer from outside that was another one before.
fn of_source(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Option<Var>> {
    let number = obj.bind(tx.py).clone();
    let is_number = tx.known.is_numpy_scalar(number.get_type().as_any());
    if !is_number || !tx.ints.as_inputs || tx.ints.specialize_int {
        return Ok(None);
    }
    let index = tx.known.operator.bind(tx.py).getattr("index")?;
    // NumPy's booleans and floats are none.
    let value = index.call1((&number,)).and_then(|i| i.extract());
    let Ok(value) = value else { return Ok(None) };
    if !was_another(tx, obj, source)? {
        return Ok(None);
    }
    tx.guard_type(&number, source);
    tx.int_of_source(&index, source, value)
}

/// What an operation gives, by its operands as Python's ints; `None` where one is none.
fn of_operation(tx: &mut Tx<'_>, operation: &IntOperation) -> R<Option<Var>> {
    let [a, b] = &operation.operands;
    match (operand(tx, a)?, operand(tx, b)?) {
        (Some(a), Some(b)) => tx.binary_sync(operation.op, &a, &b).map(Some),
        _ => Ok(None),
    }
}

fn operand(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    match v {
        Var::Int(_) => Ok(Some(v.clone())),
        Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyInt>() => Ok(Some(v.clone())),
        Var::Const(_) => index_number(tx, v),
        v => tx.inside(|tx| changing_int(tx, v)),
    }
}

/// Keeps with one of NumPy's integers that the graph makes what it comes of, where that is an operation of integers
/// that is Python's, up to what does not fit 64 bits.
pub(crate) fn note_operation(
    tx: &mut Tx<'_>,
    made: &Var,
    what: &What<'_, '_>,
    operands: [&Var; 2],
) {
    let ops = [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply];
    let op = ops.into_iter().find(|op| op.function(false) == what.name);
    let (Some(op), Some(id)) = (op, tx.array_id(made)) else {
        return;
    };
    let state = tx.obj(id);
    let Body::Array(body) = &state.body else {
        return;
    };
    let is_long = tx.st.effects.meta(&body.tensor).dtype == DType::Int64;
    if !is_long || tx.known.is_exact_ndarray(&state.class) {
        return;
    }
    let operands = operands.map(Var::clone);
    let of_ints = Some(Rc::new(IntOperation { op, operands }));
    let body = ArrayBody {
        of_ints,
        ..(**body).clone()
    };
    tx.st.effects.get_mut(id).body = Body::Array(Rc::new(body));
}

/// A tuple or list with dynamic ints in place of those of its items that are integers that change; `None` where there
/// are none.
pub(crate) fn with_changing_items(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    let Var::Obj(id) = v else {
        return match v {
            Var::Tuple(_) => with_changing_ints(tx, v),
            _ => Ok(None),
        };
    };
    let items: Vec<Var> = match &tx.obj(*id).body {
        Body::List(items) => items.iter().cloned().collect(),
        _ => return Ok(None),
    };
    Ok(replaced(tx, &items, changing_int)?.map(|items| tx.new_list(items)))
}

/// The number that a tensor without dimensions holds, as one that the graph reads.
fn read(tx: &mut Tx<'_>, tensor: &Var) -> R<Option<Var>> {
    match tx.tensor_method(tensor, "item", Args::default()) {
        Ok(Flow::Value(v @ (Var::Int(_) | Var::Float(_)))) => Ok(Some(v)),
        Ok(_) | Err(Stop::Break(_)) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// A number that the graph has, as one that it reads.
fn read_of_graph(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    match array_of(tx, v)? {
        Some(array) => read(tx, &Var::Tensor(array.body.tensor.clone())),
        None => Ok(None),
    }
}

/// A number beside an array, as one that the graph has; `None` where it is a constant.
pub(crate) fn beside_array(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    match v {
        Var::Lazy(l) if is_argument(tx, l.source) => in_graph(tx, &l.obj, l.source),
        _ => Ok(None),
    }
}

/// A number from outside that was another one before, as one that the graph has; `None` where it is a constant.
pub(crate) fn changing(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Option<Var>> {
    match was_another(tx, obj, source)? {
        true => in_graph(tx, obj, source),
        false => Ok(None),
    }
}

/// Whether a number was another one before.
fn was_another(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<bool> {
    if tx.ints.specialize_numpy {
        return Ok(false);
    }
    let bytes = const_val(&obj.bind(tx.py).call_method0("tobytes")?);
    let changed = |ints: &DynamicInts, name: &str| {
        let before = ints.positions.get(name).into_iter().flatten();
        before.into_iter().any(|before| match before {
            GuardKind::IdMatch { obj: before } => before.addr != obj.as_ptr() as usize,
            GuardKind::CallMatch { value, .. } => Some(value) != bytes.as_ref(),
            _ => false,
        })
    };
    let of_module = tx.ints.always && tx.is_of_module(source);
    let name = || tx.facts.sources.name(source);
    let changes = tx.ints.is_dynamic(source, of_module, name, changed);
    tx.ints.has_changing_numpy |= changes;
    Ok(changes)
}

/// A number as one that the graph has; `None` where torch has no tensor of it.
fn in_graph(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Option<Var>> {
    if !tx.ints.as_inputs || check_state(tx).is_err() {
        return Ok(None);
    }
    let b = obj.bind(tx.py).clone();
    let dtype: String = b.getattr("dtype")?.getattr("name")?.extract()?;
    let before = tx.snapshot();
    let tensor = match tensor_of(tx, obj, source) {
        Ok(Var::Tensor(tensor)) if dtype_name(tx.st.effects.meta(&tensor)) == dtype => tensor,
        Ok(_) | Err(Stop::Break(_)) => {
            tx.restore(&before);
            return Ok(None);
        }
        Err(stop) => return Err(stop),
    };
    let body = ArrayBody {
        tensor,
        make: Maker::Number.function(tx.py)?,
        writeable: false,
        strides: None,
        copied: None,
        known: None,
        float: None,
        of_ints: None,
    };
    let class = b.get_type().into_any().unbind();
    let body = Body::Array(Rc::new(body));
    let state = ObjState::existing(class, body, obj.clone(), source);
    Ok(Some(Var::Obj(tx.st.effects.add(state))))
}

/// Whether a value is an argument, or an item of one: what hangs on anything else stays the same object.
fn is_argument(tx: &Tx<'_>, source: SourceId) -> bool {
    let sources = &tx.facts.sources;
    let mut root = source;
    while let Source::TupleItem { base, .. } | Source::ListItem { base, .. } = sources.get(root) {
        root = *base;
    }
    matches!(sources.get(root), Source::Local { .. }) && tx.ints.as_inputs
}

/// The tensor that is made of a number, as an input of the graph.
fn tensor_of(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Var> {
    let py = tx.py;
    let function = py.import("torch")?.getattr("as_tensor")?;
    let obj = obj.bind(py).clone();
    tx.guard_type(&obj, source);
    if let Some(early) = made_of(tx, &function, source)
        && let Some(made) = early_input(tx, early)?
    {
        return Ok(made);
    }
    let made = function.call1((obj,));
    let tensor = made.map_err(|e| no_tensor(e.value(py)))?.unbind();
    let early = tx.add_early(EarlyCall {
        function: function.unbind(),
        pos: vec![EarlyArg::Source(source)],
        kw: Vec::new(),
        kind: EarlyKind::Make,
    });
    early_tensor(tx, &tensor, early, source, Vec::new())
}

/// The result of the same call, where it was made before.
fn made_of(tx: &mut Tx<'_>, function: &Bound<'_, PyAny>, of: SourceId) -> Option<SourceId> {
    let is_same = |call: &EarlyCall| {
        call.function.is(function) && matches!(call.pos[..], [EarlyArg::Source(s)] if s == of)
    };
    let index = tx.st.effects.early.iter().position(|call| is_same(call))?;
    let index = u32::try_from(index).ok()?;
    Some(tx.source(Source::Early { index }))
}
