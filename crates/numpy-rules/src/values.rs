//! Arrays as values: those from outside, which a call before the graph puts a tensor on, and those of the graph.

use std::rc::Rc;

use fx_graph::OpKind;
use guards::{GuardKind, Source, SourceId};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use tensor_meta::{Device, TensorMeta};
use torch_abi::contexts::modes_see_operations;
use translator::stop::{R, Stop};
use translator::tx::Tx;
use variables::{
    ArrayBody, Body, CallResult, CopiedArray, EarlyArg, EarlyCall, EarlyKind, FloatVar, Obj, ObjId,
    ObjState, Origin, TensorVar, Var,
};

use crate::operation::Maker;
use crate::sizes::SizesAt;
use translator::early_tensors::early_tensor;

/// An array, or a number of NumPy's, that the graph has.
pub(crate) struct Array {
    /// the object
    pub(crate) id: ObjId,
    /// the tensor
    pub(crate) body: Rc<ArrayBody>,
}

impl Array {
    /// What it holds, where nothing may have been written to it since it was made of constants.
    pub(crate) fn known(&self, tx: &Tx<'_>) -> Option<Obj> {
        let known = self.body.known.as_ref();
        let known = known.filter(|(_, writes)| *writes == tx.st.effects.array_writes);
        known.map(|(obj, _)| obj.clone())
    }

    /// What of the tensor is known, with all sizes as numbers.
    pub(crate) fn meta(&self, tx: &mut Tx<'_>, at: SizesAt) -> R<TensorMeta> {
        at.meta(tx, &self.body.tensor)
    }
}

/// A value as an array of the graph; one from outside becomes that. `None`: it is no array.
pub(crate) fn array_of(tx: &mut Tx<'_>, v: &Var) -> R<Option<Array>> {
    let v = match v {
        Var::Lazy(_) => tx.realize(v)?,
        v => v.clone(),
    };
    let Some(id) = tx.array_id(&v) else {
        return Ok(None);
    };
    if let Body::Array(body) = &tx.obj(id).body {
        let body = body.clone();
        let is_stale = |copied: &CopiedArray| copied.writes != tx.st.effects.writes;
        if body.copied.as_ref().is_some_and(is_stale) {
            return Err(Stop::brk(
                "NumPy array read behind a write to what may be its memory",
                "torch makes no tensor on the memory of the array, only a copy, which does not see the write.",
                "Copy the array before the write: `array.copy()`.",
            ));
        }
        return Ok(Some(Array { id, body }));
    }
    let body = Rc::new(bring_in(tx, id)?);
    // No change of the object: the graph has it from here on.
    tx.st.effects.get_mut(id).body = Body::Array(body.clone());
    Ok(Some(Array { id, body }))
}

/// Whether arrays can be in the graph at all.
///
/// # Errors
/// A break that says why not.
pub(crate) fn check_state(tx: &Tx<'_>) -> R<()> {
    let why = if tx.st.levels.is_active() {
        "within torch.vmap"
    } else if tx.so_far().inference_now() {
        "within torch.inference_mode()"
    } else if tx.has_modes() || modes_see_operations(tx.py)? {
        "within a mode of the program, which would see how torch does it"
    } else if tx.ctx.default_device != Device::CPU {
        "while the default device is not the CPU"
    } else {
        return Ok(());
    };
    Err(Stop::brk(
        format!("Operation on a NumPy array {why}"),
        "NumPy's operations are captured as operations of tensors on the CPU, outside of such contexts.",
        "Call NumPy outside of the compiled function, or use torch's operations.",
    ))
}

/// What decides how the tensor on an array's memory looks, and whether there is one.
const LOOKS: [&str; 6] = [
    "dtype.str",
    "flags.writeable",
    "flags.aligned",
    "flags.c_contiguous",
    "shape",
    "strides",
];

/// How many of these there are beside the sizes and the strides. The strides of an array that is contiguous follow from
/// its sizes, which are guarded one by one then.
const BESIDE_SIZES: usize = 4;

static LOOK: PyOnceLock<[Obj; 2]> = PyOnceLock::new();

/// Guards how an array from outside looks; gives which of its sizes are no constants, and the numbers that they are.
///
/// # Errors
/// What asking it raises.
pub(crate) fn guard_looks(tx: &mut Tx<'_>, id: ObjId) -> R<Vec<Option<SourceId>>> {
    let py = tx.py;
    let Origin::Source { obj, source } = tx.obj(id).origin.clone() else {
        return Ok(Vec::new());
    };
    let look = LOOK.get_or_try_init(py, || -> PyResult<[Obj; 2]> {
        let make = py.import("operator")?.getattr("attrgetter")?;
        let look = |names: &[&str]| -> PyResult<Obj> {
            Ok(make.call1(PyTuple::new(py, names)?)?.unbind())
        };
        Ok([look(&LOOKS)?, look(&LOOKS[..BESIDE_SIZES])?])
    })?;
    let one_by_one = may_change_sizes(obj.bind(py))? && tx.ints.as_inputs;
    let look = &look[usize::from(one_by_one)];
    let looks = look.bind(py).call1((&obj,))?;
    tx.guard_call(look, Some(source), &[], &looks)?;
    match one_by_one {
        true => changing_sizes(tx, obj.bind(py), source),
        false => Ok(Vec::new()),
    }
}

/// Whether the layout of an array follows from its sizes: it is contiguous, and has no size that changes what operations
/// do.
fn may_change_sizes(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let flags = array.getattr("flags")?;
    let is = |name: &str| -> PyResult<bool> { flags.getattr(name)?.is_truthy() };
    let sizes: Vec<i64> = array.getattr("shape")?.extract()?;
    let is_plain = is("c_contiguous")? && is("writeable")? && is("aligned")?;
    Ok(is_plain && !sizes.is_empty() && sizes.iter().all(|size| *size > 1))
}

/// Guards the sizes of an array: those that are constants, and how many there are.
fn changing_sizes<'py>(
    tx: &mut Tx<'py>,
    array: &Bound<'py, PyAny>,
    base: SourceId,
) -> R<Vec<Option<SourceId>>> {
    let name = "shape".into();
    let base = tx.source(Source::Attr { base, name });
    let shape = array.getattr("shape")?;
    let len = shape.len()?;
    tx.guard(base, GuardKind::SequenceLength { len });
    let mut changing = Vec::with_capacity(len);
    for (index, size) in shape.try_iter()?.enumerate() {
        let index = index as u32;
        let source = tx.source(Source::TupleItem { base, index });
        let size = tx.lazy(size?.unbind(), source);
        let is_changing = matches!(tx.look(&size)?, Var::Int(_));
        if !is_changing {
            tx.realize(&size)?;
        }
        changing.push(is_changing.then_some(source));
    }
    Ok(changing)
}

pub(crate) fn no_tensor(why: impl std::fmt::Display) -> Stop {
    Stop::brk(
        format!("NumPy array that torch makes no tensor of: {why}"),
        "NumPy's operations are captured as operations of tensors on the memory of the arrays.",
        "Pass an aligned array of numbers without negative strides: `numpy.ascontiguousarray(x)`.",
    )
}

/// An array from outside, as an input of the graph: a tensor on its memory, or on that of a copy where the program may
/// not write to it.
fn bring_in(tx: &mut Tx<'_>, id: ObjId) -> R<ArrayBody> {
    let py = tx.py;
    check_state(tx)?;
    let Origin::Source { obj, source } = tx.obj(id).origin.clone() else {
        return Err(Stop::Internal("an array of nowhere".into()));
    };
    let flags = obj.bind(py).getattr("flags")?;
    if !flags.getattr("aligned")?.is_truthy()? {
        return Err(no_tensor("its items are not aligned"));
    }
    let strides: Vec<i64> = obj.bind(py).getattr("strides")?.extract()?;
    let is_backward = strides.iter().any(|s| *s < 0);
    let is_copied = is_backward || !flags.getattr("writeable")?.is_truthy()?;
    let (mut seen, mut of) = (obj.clone(), source);
    let mut copied = None;
    if is_copied {
        // The copy is made before the graph, and with it before what the graph writes.
        if may_have_written(tx) {
            return Err(no_tensor(
                "it may not be written to, or has negative strides",
            ));
        }
        copied = Some(CopiedArray {
            writes: count_writes(tx),
            view: None,
        });
        let copy = py.import("numpy")?.getattr("copy")?;
        seen = copy.call1((&obj,))?.unbind();
        of = tx.add_early(EarlyCall {
            function: copy.unbind(),
            pos: vec![EarlyArg::Source(source)],
            kw: Vec::new(),
            kind: EarlyKind::Make,
        });
    }
    let function = py.import("torch")?.getattr("from_numpy")?;
    let tensor = match function.call1((&seen,)) {
        Ok(tensor) => tensor.unbind(),
        Err(e) => return Err(no_tensor(e.value(py))),
    };
    let sizes = guard_looks(tx, id)?;
    let early = tx.add_early(EarlyCall {
        function: function.unbind(),
        pos: vec![EarlyArg::Source(of)],
        kw: Vec::new(),
        kind: EarlyKind::Make,
    });
    let Var::Tensor(tensor) = early_tensor(tx, &tensor, early, source, sizes)? else {
        return Err(Stop::Internal("a tensor that is none".into()));
    };
    if may_have_written(tx) {
        check_memory(tx)?;
    }
    Ok(ArrayBody {
        tensor,
        make: Maker::Array.function(py)?,
        writeable: !is_copied,
        strides: is_copied.then(|| strides.into()),
        copied,
        known: None,
        float: None,
        of_ints: None,
    })
}

/// Whether an operation of the graph may have written to what existed before it.
fn may_have_written(tx: &Tx<'_>) -> bool {
    let calls = |op| {
        matches!(
            op,
            OpKind::CallFunction | OpKind::CallMethod | OpKind::CallModule
        )
    };
    let mut nodes = tx.log.graph.iter();
    nodes.any(|(_, node)| calls(node.op) && !node.repeatable)
}

/// How many operations may have written to tensors, which are counted from here on at the latest.
fn count_writes(tx: &mut Tx<'_>) -> u32 {
    tx.st.effects.has_text = true;
    tx.st.effects.writes
}

/// What NumPy says of an array that the graph makes.
#[derive(Default)]
pub(crate) struct Looks {
    /// its strides in bytes, where the tensor has others
    pub(crate) strides: Option<Rc<[i64]>>,
    /// the call that gives it as a view, where the tensor is a copy
    pub(crate) view: Option<CallResult>,
    /// what it holds, where that is known
    pub(crate) known: Option<Obj>,
    /// the float that it was made of
    pub(crate) float: Option<Rc<FloatVar>>,
}

/// An array, or a number of NumPy's, that the graph makes.
pub(crate) fn new_array(
    tx: &mut Tx<'_>,
    tensor: Rc<TensorVar>,
    class: Obj,
    maker: Maker,
    looks: Looks,
) -> R<Var> {
    let array_writes = tx.st.effects.array_writes;
    let view = looks.view.map(Some);
    let copied = view.map(|view| CopiedArray {
        writes: count_writes(tx),
        view,
    });
    let body = ArrayBody {
        tensor,
        make: maker.function(tx.py)?,
        writeable: maker == Maker::Array && copied.is_none(),
        strides: looks.strides,
        copied,
        known: looks.known.map(|obj| (obj, array_writes)),
        float: looks.float,
        of_ints: None,
    };
    let state = ObjState::new(class, Body::Array(Rc::new(body)));
    Ok(Var::Obj(tx.st.effects.add(state)))
}

/// What an array is called in a reason.
pub(crate) fn dtype_name(meta: &TensorMeta) -> &'static str {
    let name = meta.dtype.name();
    name.strip_prefix("torch.").unwrap_or(name)
}

/// Whether memory of arrays may be written to.
///
/// # Errors
/// A break for a compiler that would not see that two inputs lie in the same memory: only tensors say so.
pub(crate) fn check_memory(tx: &Tx<'_>) -> R<()> {
    if tx.runs_as_is {
        return Ok(());
    }
    let early = |i: &&translator::tx::GraphInput| tx.is_early(i.source);
    if tx.log.inputs.iter().any(|i| early(&i)) && tx.log.inputs.len() > 1 {
        let numpy = tx.py.import("numpy")?;
        let arrays = tx.log.inputs.iter().map(|i| {
            let detached = i.obj.bind(tx.py).call_method0("detach")?;
            detached.call_method0("numpy")
        });
        let arrays = arrays.collect::<PyResult<Vec<_>>>()?;
        for (at, a) in arrays.iter().enumerate() {
            for b in &arrays[..at] {
                if numpy
                    .call_method1("may_share_memory", (a, b))?
                    .is_truthy()?
                {
                    return Err(Stop::brk(
                        "Write to a NumPy array that may lie in the memory of another argument",
                        "A compiler sees that two inputs share memory by their storages, and those of arrays are apart.",
                        "Pass copies, or write to the array outside of the compiled function.",
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The name of a dtype, or of that which a class of numbers stands for.
pub(crate) fn dtype_text(o: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = o.py();
    let dtype = py.import("numpy")?.getattr("dtype")?;
    if !o.is_instance(&dtype)? && o.cast::<PyType>().is_err() {
        return Ok(None);
    }
    dtype.call1((o,))?.getattr("name")?.extract().map(Some)
}
