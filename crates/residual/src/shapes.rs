//! Sizes and ints that are not constants, at the boundary to a backend that traces the graph again: which inputs
//! have them, and what the backend relies on about them.
//!
//! Invariant: whatever the backend relies on is guarded, so the compiled graph never runs for sizes that it does not
//! hold for.

use std::sync::Arc;

use fx_graph::{AotInput, ShapeCompare, ShapeExpr, ShapeGuard, ShapeLeaf, ShapeOperator};
use guards::{Extent, IntBinary, IntCompare, IntExpr, IntRelation, LARGEST, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use torch_abi::overlap::objects_may_overlap;
use torch_abi::{TorchAbi, is_jagged};
use translator::raw::{dict_get, instance_dict};
use translator::stop::{R, Stop};
use variables::Obj;

use crate::finished::Finished;
use crate::graph::CallInput;

/// Makes each size that may change an input of its own, as torch's tracer does, and where tensors begin that share memory:
/// where one of them is written to, AOTAutograd makes one tensor of them, and lays the others out in it.
///
/// Compilers and their caches take what they rely on, and what they keep a result by, from inputs that are ints.
pub(crate) fn give_sizes(tx: &mut Finished<'_, '_>) {
    if tx.runs_as_is() || !tx.is_dynamic() {
        return;
    }
    let Some(abi) = TorchAbi::loaded() else {
        return;
    };
    let placeholders = tx.graph().placeholders();
    let given = tx.inputs().iter();
    let given: Vec<(SourceId, Obj)> = given
        .filter(|input| placeholders.contains(&input.node))
        .map(|input| (input.source, input.obj.clone()))
        .collect();
    let py = tx.py;
    for (at, (source, tensor)) in given.iter().enumerate() {
        let (dims, strides) = (tx.dynamic_sizes(*source), tx.dynamic_strides(*source));
        if dims.is_empty() && strides.is_empty() {
            continue;
        }
        for dim in dims {
            tx.size_input(*source, dim);
        }
        for dim in strides {
            tx.layout_input(IntExpr::Dim(*source, Extent::Stride, dim));
        }
        let tensor = tensor.bind(py);
        let mut others = given.iter().enumerate().filter(|(other, _)| *other != at);
        if !others.any(|(_, (_, other))| objects_may_overlap(abi, tensor, other.bind(py))) {
            continue;
        }
        let begins = abi.read_meta(py, tensor);
        let begins = begins.ok().and_then(|meta| meta.storage_offset.as_const());
        // Torch takes 0 and 1 for constants.
        if let Some(begins @ 2..) = begins {
            tx.number_input(IntExpr::Dim(*source, Extent::Offset, 0), begins);
        }
    }
}

/// What each input is, and what of it may differ from call to call. Empty where no compiler could take the graph, and
/// where the graph runs as it is and nothing may differ.
pub(crate) fn describe(tx: &Finished<'_, '_>, inputs: &[CallInput]) -> Vec<AotInput> {
    let changes = tx.is_dynamic() || !tx.float_inputs().is_empty();
    if tx.suits_no_compiler() || tx.runs_as_is() && !changes {
        return Vec::new();
    }
    let name = |at: usize| {
        let node = tx.graph().placeholders()[at];
        let name = tx.graph().get(node).and_then(|n| n.target.name().cloned());
        name.as_deref().unwrap_or_default().to_owned()
    };
    let tensor = |source| {
        inputs
            .iter()
            .position(|i| matches!(i, CallInput::Tensor(t) if t.source == source))
    };
    let int = |at: usize, is_unbacked| AotInput::Int {
        source: name(at),
        is_unbacked,
    };
    let describe = |at: usize, input: &CallInput| match input {
        CallInput::Tensor(t) => AotInput::Tensor {
            source: name(at),
            dynamic_dims: tx.dynamic_sizes(t.source),
            unbacked_dims: tx.unbacked_sizes(t.source),
            dynamic_held: tx.dynamic_held(t.source),
            parameter: (input.bound()).map(|_| tx.sources().plain_path(t.source)),
        },
        CallInput::Int(i) => match &i.int.expr {
            IntExpr::Dim(source, extent, dim) if let Some(of) = tensor(*source) => {
                AotInput::Layout(match extent {
                    Extent::Size => ShapeLeaf::Size(of, *dim),
                    Extent::Stride => ShapeLeaf::Stride(of, *dim),
                    Extent::Offset => ShapeLeaf::Offset(of),
                })
            }
            IntExpr::Source(number) => match size_of_early(tx, inputs, *number) {
                Some((of, dim)) => AotInput::Layout(ShapeLeaf::Size(of, dim as u8)),
                None => int(at, false),
            },
            IntExpr::Dim(source, Extent::Size, dim) => {
                int(at, tx.is_unbacked(*source, usize::from(*dim)))
            }
            _ => int(at, false),
        },
        CallInput::Float(_) => AotInput::Float { source: name(at) },
    };
    inputs
        .iter()
        .enumerate()
        .map(|(at, input)| describe(at, input))
        .collect()
}

/// Which size of which input a number is, where that is a tensor that is made early.
fn size_of_early(
    tx: &Finished<'_, '_>,
    inputs: &[CallInput],
    number: SourceId,
) -> Option<(usize, usize)> {
    let place = |input: &CallInput| match input {
        CallInput::Tensor(t) => {
            let dims = tx.dynamic_sizes(t.source).into_iter();
            let mut sizes = dims.map(|dim| (dim, tx.early_size(t.source, dim)));
            let found = sizes.find(|(_, size)| *size == Some(number));
            found.map(|(dim, _)| dim)
        }
        _ => None,
    };
    let mut inputs = inputs.iter().enumerate();
    inputs.find_map(|(at, input)| Some((at, place(input)?)))
}

/// Guards what the backend relies on.
///
/// # Errors
/// [`Stop::Internal`] for a leaf that is no int of the inputs.
pub(crate) fn guard(
    tx: &mut Finished<'_, '_>,
    inputs: &[CallInput],
    found: &[ShapeGuard],
) -> R<()> {
    for guard in found {
        if is_about_ragged(tx, inputs, guard)? {
            continue;
        }
        let relation = match guard {
            ShapeGuard::Compare(op, left, right) => {
                let op = match op {
                    ShapeCompare::Less => IntCompare::Lt,
                    ShapeCompare::LessOrEqual => IntCompare::Le,
                    ShapeCompare::Equal => IntCompare::Eq,
                    ShapeCompare::Differ => IntCompare::Ne,
                    ShapeCompare::Greater => IntCompare::Gt,
                    ShapeCompare::GreaterOrEqual => IntCompare::Ge,
                };
                match (expr(tx, inputs, left)?, expr(tx, inputs, right)?) {
                    (Some(left), Some(right)) => Some(IntRelation { op, left, right }),
                    _ => None,
                }
            }
            ShapeGuard::Unchanged(_) => None,
            // The one that holds in this call is relied on.
            ShapeGuard::Either(all) => {
                let mut holding = None;
                for one in all {
                    if holding.is_none() && holds_now(tx, inputs, one)? {
                        holding = Some(one);
                    }
                }
                if let Some(one) = holding {
                    self::guard(tx, inputs, one)?;
                    continue;
                }
                None
            }
        };
        match relation {
            Some(relation) => tx.guard_relation(relation),
            // Too large an expression, or none: for the values of this call it holds.
            None => {
                for leaf in leaves(guard) {
                    hold(tx, inputs, &leaf)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether all of these are known to hold for the values of this call.
fn holds_now(tx: &Finished<'_, '_>, inputs: &[CallInput], all: &[ShapeGuard]) -> R<bool> {
    for guard in all {
        let holds = match guard {
            ShapeGuard::Compare(op, left, right) => {
                let (a, b) = (value_of(tx, inputs, left)?, value_of(tx, inputs, right)?);
                a.zip(b).is_some_and(|(a, b)| op.holds(a, b))
            }
            ShapeGuard::Unchanged(_) => true,
            ShapeGuard::Either(several) => {
                let mut any = false;
                for one in several {
                    any |= holds_now(tx, inputs, one)?;
                }
                any
            }
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

fn leaves(guard: &ShapeGuard) -> Vec<ShapeLeaf> {
    fn add(expr: &ShapeExpr, out: &mut Vec<ShapeLeaf>) {
        match expr {
            ShapeExpr::Const(_) => {}
            ShapeExpr::Leaf(leaf) => out.push(leaf.clone()),
            ShapeExpr::Negative(x) => add(x, out),
            ShapeExpr::Binary(_, ab) => {
                add(&ab.0, out);
                add(&ab.1, out);
            }
        }
    }
    let mut out = Vec::new();
    match guard {
        ShapeGuard::Compare(_, left, right) => {
            add(left, &mut out);
            add(right, &mut out);
        }
        ShapeGuard::Unchanged(leaf) => out.push(leaf.clone()),
        ShapeGuard::Either(all) => out.extend(all.iter().flatten().flat_map(leaves)),
    }
    out
}

/// Guards the value that a leaf has in this call.
fn hold(tx: &mut Finished<'_, '_>, inputs: &[CallInput], leaf: &ShapeLeaf) -> R<()> {
    let left = leaf_expr(tx, inputs, leaf)?;
    let value = value(tx, inputs, leaf)?;
    tx.guard_relation(IntRelation {
        op: IntCompare::Eq,
        left,
        right: IntExpr::Const(value),
    });
    Ok(())
}

fn expr(tx: &mut Finished<'_, '_>, inputs: &[CallInput], of: &ShapeExpr) -> R<Option<IntExpr>> {
    Ok(match of {
        ShapeExpr::Const(n) => Some(IntExpr::Const(*n)),
        ShapeExpr::Leaf(leaf) => Some(leaf_expr(tx, inputs, leaf)?),
        ShapeExpr::Negative(x) => expr(tx, inputs, x)?.and_then(|x| {
            let zero = IntExpr::Const(0);
            IntExpr::binary_within(LARGEST, IntBinary::Subtract, &zero, &x)
        }),
        ShapeExpr::Binary(op, ab) => {
            let op = operator(*op);
            let (a, b) = (expr(tx, inputs, &ab.0)?, expr(tx, inputs, &ab.1)?);
            match (a, b) {
                (Some(a), Some(b)) => IntExpr::binary_within(LARGEST, op, &a, &b),
                _ => None,
            }
        }
    })
}

fn operator(op: ShapeOperator) -> IntBinary {
    match op {
        ShapeOperator::Add => IntBinary::Add,
        ShapeOperator::Subtract => IntBinary::Subtract,
        ShapeOperator::Multiply => IntBinary::Multiply,
        ShapeOperator::FloorDivide => IntBinary::FloorDivide,
        ShapeOperator::Remainder => IntBinary::Remainder,
        ShapeOperator::Power => IntBinary::Power,
        ShapeOperator::Max => IntBinary::Max,
        ShapeOperator::Min => IntBinary::Min,
    }
}

/// What an expression is in this call; `None` where it does not fit 64 bits.
fn value_of(tx: &Finished<'_, '_>, inputs: &[CallInput], of: &ShapeExpr) -> R<Option<i64>> {
    let both = |ab: &(ShapeExpr, ShapeExpr)| -> R<Option<(i64, i64)>> {
        let (a, b) = (value_of(tx, inputs, &ab.0)?, value_of(tx, inputs, &ab.1)?);
        Ok(a.zip(b))
    };
    Ok(match of {
        ShapeExpr::Const(n) => Some(*n),
        ShapeExpr::Leaf(leaf) => Some(value(tx, inputs, leaf)?),
        ShapeExpr::Negative(x) => value_of(tx, inputs, x)?.and_then(i64::checked_neg),
        ShapeExpr::Binary(op, ab) => both(ab)?.and_then(|(a, b)| operator(*op).eval(a, b)),
    })
}

/// What of an input's layout a leaf is, or of what attributes of the input lead to.
struct Layout<'a> {
    extent: Extent,
    dim: u8,
    attributes: &'a [String],
}

/// Which input a leaf is of, and what of its layout; none for an input that is an int itself.
fn place(leaf: &ShapeLeaf) -> (usize, Option<Layout<'_>>) {
    let (at, extent, dim) = match *leaf {
        ShapeLeaf::Int(at) => return (at, None),
        ShapeLeaf::Size(at, dim) => (at, Extent::Size, dim),
        ShapeLeaf::Stride(at, dim) => (at, Extent::Stride, dim),
        ShapeLeaf::Offset(at) => (at, Extent::Offset, 0),
        ShapeLeaf::Of(ref attributes, ref leaf) => {
            let (at, layout) = place(leaf);
            let of = |layout| Layout {
                attributes,
                ..layout
            };
            return (at, layout.map(of));
        }
    };
    let layout = Layout {
        extent,
        dim,
        attributes: &[],
    };
    (at, Some(layout))
}

/// How what attributes lead to from an input is reached.
fn led_to<'py>(
    tx: &mut Finished<'_, 'py>,
    tensor: &Bound<'py, PyAny>,
    source: SourceId,
    attributes: &[String],
) -> R<SourceId> {
    let (mut object, mut source) = (tensor.clone(), source);
    for name in attributes {
        let found = instance_dict(&object).and_then(|dict| dict_get(&dict, name));
        let (base, name) = (source, Arc::from(&**name));
        let held = tx.held_by_property(base, &name);
        (object, source) = match found {
            None if let Some(held) = held => (object.getattr(&*name)?, held),
            Some(found) => (found, tx.source(Source::InstanceDictItem { base, name })),
            None => {
                let found = object.getattr(&*name)?;
                (found, tx.source(Source::Attr { base, name }))
            }
        };
    }
    Ok(source)
}

fn leaf_expr(tx: &mut Finished<'_, '_>, inputs: &[CallInput], leaf: &ShapeLeaf) -> R<IntExpr> {
    let (at, layout) = place(leaf);
    let (tensor, layout) = match (inputs.get(at), layout) {
        (Some(CallInput::Int(i)), None) => return Ok(i.int.expr.clone()),
        (Some(CallInput::Tensor(tensor)), Some(layout)) => (tensor, layout),
        _ => return Err(no_int()),
    };
    let object = tensor.obj.bind(tx.py).clone();
    let source = led_to(tx, &object, tensor.source, layout.attributes)?;
    if layout.attributes.is_empty() && is_jagged(&object)? {
        return jagged_layout(tx, &object, source, &layout);
    }
    if let Some(expr) = early_layout(tx, &object, source, &layout)? {
        return Ok(expr);
    }
    Ok(IntExpr::Dim(source, layout.extent, layout.dim))
}

/// What of the layout of a tensor that is made early: it is contiguous where its sizes are numbers of the program.
/// `None` for any other tensor.
fn early_layout(
    tx: &Finished<'_, '_>,
    tensor: &Bound<'_, PyAny>,
    source: SourceId,
    layout: &Layout<'_>,
) -> R<Option<IntExpr>> {
    let mut dims = tx.dynamic_sizes(source).into_iter();
    // No other tensor is asked: a class of the program's may answer.
    if dims.all(|dim| tx.early_size(source, dim).is_none()) {
        return Ok(None);
    }
    let sizes: Vec<i64> = tensor.getattr("shape")?.extract()?;
    let numbers: Vec<_> = (0..sizes.len())
        .map(|dim| tx.early_size(source, dim))
        .collect();
    let size = |dim: usize| match numbers[dim] {
        Some(number) => IntExpr::Source(number),
        None => IntExpr::Const(sizes[dim]),
    };
    let dim = usize::from(layout.dim);
    Ok(match layout.extent {
        Extent::Size => Some(size(dim)),
        Extent::Stride => (dim + 1..sizes.len()).try_fold(IntExpr::Const(1), |step, inner| {
            IntExpr::binary(IntBinary::Multiply, &step, &size(inner))
        }),
        Extent::Offset => Some(IntExpr::Const(0)),
    })
}

/// What a leaf is in this call.
fn value(tx: &Finished<'_, '_>, inputs: &[CallInput], leaf: &ShapeLeaf) -> R<i64> {
    let (at, layout) = place(leaf);
    let (tensor, layout) = match (inputs.get(at), layout) {
        (Some(CallInput::Int(i)), None) => return Ok(i.int.value),
        (Some(CallInput::Tensor(tensor)), Some(layout)) => (tensor, layout),
        _ => return Err(no_int()),
    };
    let mut tensor = tensor.obj.bind(tx.py).clone();
    for name in layout.attributes {
        tensor = tensor.getattr(&**name)?;
    }
    if is_jagged(&tensor)? {
        return of_jagged(&tensor, &layout)?.ok_or_else(no_int);
    }
    let meta = TorchAbi::get(tx.py)?.read_meta(tx.py, &tensor)?;
    let found = match layout.extent {
        Extent::Size => meta.sizes(),
        Extent::Stride => meta.stride(),
        Extent::Offset => return meta.storage_offset.as_const().ok_or_else(no_int),
    };
    found
        .and_then(|all| all.get(usize::from(layout.dim)).copied())
        .ok_or_else(no_int)
}

/// A number of the layout of a tensor whose rows differ in length, by the tensors that it holds: such a tensor has no
/// numbers itself that a guard could read.
fn jagged_layout<'py>(
    tx: &mut Finished<'_, 'py>,
    tensor: &Bound<'py, PyAny>,
    source: SourceId,
    layout: &Layout<'_>,
) -> R<IntExpr> {
    let mut held = |name: &str| led_to(tx, tensor, source, &[name.to_owned()]);
    match (layout.extent, layout.dim.checked_sub(1)) {
        (Extent::Size, None) => {
            let offsets = IntExpr::Dim(held("_offsets")?, Extent::Size, 0);
            let count = IntExpr::binary(IntBinary::Subtract, &offsets, &IntExpr::Const(1));
            count.ok_or_else(no_int)
        }
        (extent, dim) => Ok(IntExpr::Dim(held("_values")?, extent, dim.unwrap_or(0))),
    }
}

/// What of the layout of a tensor is whose rows differ in length; `None` for what is no number.
fn of_jagged(tensor: &Bound<'_, PyAny>, layout: &Layout<'_>) -> R<Option<i64>> {
    let all = tensor.call_method0(layout.extent.method())?;
    let found = match layout.extent {
        Extent::Offset => all,
        Extent::Size | Extent::Stride => all.get_item(layout.dim)?,
    };
    match found.is_exact_instance_of::<PyInt>() {
        true => Ok(Some(found.extract()?)),
        false => Ok(None),
    }
}

/// Whether a guard is about a size that is no number, that of rows that differ in length, or a stride that follows from
/// it. Which tensor names that size is guarded, and how the values lie in memory.
fn is_about_ragged(tx: &Finished<'_, '_>, inputs: &[CallInput], guard: &ShapeGuard) -> R<bool> {
    for leaf in leaves(guard) {
        let (at, layout) = place(&leaf);
        let (Some(CallInput::Tensor(tensor)), Some(layout)) = (inputs.get(at), layout) else {
            continue;
        };
        let tensor = tensor.obj.bind(tx.py);
        if layout.attributes.is_empty()
            && is_jagged(tensor)?
            && of_jagged(tensor, &layout)?.is_none()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn no_int() -> Stop {
    Stop::Internal("a backend relies on what is no int of the graph's inputs".into())
}
