//! The graph's last steps: outputs, dead code, the order of inputs, the backend.

use bytecode::op::LocalIdx;
use fx_graph::{AotInput, Arg, Graph, NodeId, OpKind, Target};
use guards::{Extent, IntExpr, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use rustc_hash::{FxHashMap, FxHashSet};
use torch_abi::names::ContextKind;
use torch_abi::{TorchAbi, names};
use translator::stop::{R, Stop};
use translator::tx::{FloatInput, GraphInput, IntInput};
use variables::{FloatExpr, Obj};

use crate::finished::Finished;
use crate::{GuardsSoFar, OutputEnv, shapes};

/// One argument of the call of the graph.
pub enum CallInput {
    /// a tensor
    Tensor(GraphInput),
    /// an int
    Int(IntInput),
    /// a float
    Float(FloatInput),
}

impl CallInput {
    /// How an int is computed.
    pub fn expr(&self) -> Option<&IntExpr> {
        match self {
            CallInput::Tensor(_) | CallInput::Float(_) => None,
            CallInput::Int(i) => Some(&i.int.expr),
        }
    }

    /// The tensor that it is at each call.
    pub fn bound(&self) -> Option<&Obj> {
        match self {
            CallInput::Tensor(t) if t.bound => Some(&t.obj),
            _ => None,
        }
    }
}

/// A compiled graph and how the residual code calls it.
pub struct Compiled {
    /// what the backend gave
    pub function: Obj,
    /// what calls it with all inputs that are bound, and takes the others
    pub binding: Option<Obj>,
    /// `__compiled_fn_N`
    pub name: String,
    /// inputs, in the order of the arguments
    pub inputs: Vec<CallInput>,
    /// what the backend is told of them, where it is told anything
    pub described: Vec<AotInput>,
    /// where the results go, in order
    pub outputs: Vec<LocalIdx>,
}

impl Compiled {
    /// What the residual code calls.
    pub fn callee(&self) -> &Obj {
        self.binding.as_ref().unwrap_or(&self.function)
    }

    /// Its name in listings.
    pub fn callee_name(&self) -> String {
        let bound = self.inputs.iter().filter(|input| input.bound().is_some());
        match &self.binding {
            Some(_) => format!("{} with {} bound inputs", self.name, bound.count()),
            None => self.name.clone(),
        }
    }
}

/// Where a placeholder stands among the others: the group, the place in it, and which of a tensor's numbers it is.
type Rank = (u8, usize, u8, u8);

/// Of an input that nothing says where to put.
const LAST: Rank = (4, 0, 0, 0);

/// Where a tensor stands among its own sizes, strides and offset: behind them, as torch's tracer has it.
const TENSOR: u8 = Extent::Offset as u8 + 1;

/// The order of inputs: arguments as the program has them, then what else the graph reads, then other numbers.
fn ranks(tx: &Finished<'_, '_>) -> FxHashMap<NodeId, Rank> {
    let local = |source: SourceId| match tx.sources().get(source) {
        Source::Local { index, .. } => Some(*index as usize),
        _ => None,
    };
    let given: FxHashSet<NodeId> = tx.graph().placeholders().iter().copied().collect();
    let mut tensors: FxHashMap<SourceId, (u8, usize)> = FxHashMap::default();
    let mut ranks: FxHashMap<NodeId, Rank> = FxHashMap::default();
    for (i, input) in tx.inputs().iter().enumerate() {
        if given.contains(&input.node) {
            let (group, at) = local(input.source).map_or((2, i), |index| (1, index));
            tensors.insert(input.source, (group, at));
            ranks.insert(input.node, (group, at, TENSOR, 0));
        }
    }
    let of_number = |i: usize, source: Option<SourceId>| {
        let index = source.and_then(local);
        index.map_or((3, i, 0, 0), |index| (1, index, 0, 0))
    };
    for (i, input) in tx.int_inputs().iter().enumerate() {
        let rank = match input.int.expr {
            IntExpr::Dim(source, extent, dim) => match tensors.get(&source) {
                Some((group, at)) => (*group, *at, extent as u8, dim),
                // A compiler has to come to such a size before it comes to what follows from it.
                None if tx.is_unbacked(source, usize::from(dim)) => (0, i, 0, 0),
                None => of_number(i, None),
            },
            IntExpr::Source(source) => of_number(i, Some(source)),
            _ => of_number(i, None),
        };
        ranks.insert(input.node, rank);
    }
    let so_far = tx.int_inputs().len();
    for (i, input) in tx.float_inputs().iter().enumerate() {
        let source = match input.float.expr {
            FloatExpr::Source(source) => Some(source),
            _ => None,
        };
        ranks.insert(input.node, of_number(so_far + i, source));
    }
    ranks
}

/// Finishes the graph of a translation and has it compiled; `None` where it does nothing.
///
/// # Errors
/// [`Stop::Internal`] with what the backend raised.
pub fn compile(
    tx: &mut Finished<'_, '_>,
    mut outputs: Vec<(NodeId, LocalIdx)>,
    env: &mut dyn OutputEnv,
) -> R<Option<Compiled>> {
    let py = tx.py;
    let position: FxHashMap<NodeId, usize> = tx
        .graph()
        .order()
        .enumerate()
        .map(|(i, n)| (n, i))
        .collect();
    outputs.sort_by_key(|(n, _)| position.get(n).copied().unwrap_or(usize::MAX));
    tx.graph_mut().output(Arg::Tuple(
        outputs.iter().map(|(n, _)| Arg::Node(*n)).collect(),
    ));
    tx.graph_mut().eliminate_dead_code();
    if let Some(abi) = TorchAbi::loaded() {
        drop_idle_grad_modes(tx.graph_mut(), abi.grad_mode())?;
    }
    // A mode that is in force would see the residual code set the state.
    if tx.graph().op_count() == 0 || tx.outer_modes() == 0 && only_state(tx) {
        return Ok(None);
    }
    fix_sizes(tx)?;
    tx.graph_mut().erase_unused_placeholders();
    shapes::give_sizes(tx);
    let rank = ranks(tx);
    tx.graph_mut()
        .sort_placeholders_by_key(|id, _| rank.get(&id).copied().unwrap_or(LAST));
    tx.graph()
        .verify()
        .map_err(|e| Stop::Internal(format!("graph: {e}")))?;
    let inputs = tx
        .graph()
        .placeholders()
        .iter()
        .map(|id| {
            let tensor = tx.inputs().iter().find(|i| i.node == *id).cloned();
            let int = || tx.int_inputs().iter().find(|i| i.node == *id).cloned();
            let float = || tx.float_inputs().iter().find(|i| i.node == *id).cloned();
            tensor
                .map(CallInput::Tensor)
                .or_else(|| int().map(CallInput::Int))
                .or_else(|| float().map(CallInput::Float))
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Stop::Internal("a placeholder without an input".into()))?;
    let name = env.next_compiled_name();
    let examples = inputs
        .iter()
        .map(|i| match i {
            CallInput::Tensor(t) => Ok(t.obj.clone()),
            CallInput::Int(i) => {
                let value = i.int.value.into_pyobject(py).map_err(PyErr::from)?;
                Ok(value.into_any().unbind())
            }
            CallInput::Float(f) if tx.runs_as_is() => {
                Ok(PyFloat::new(py, f.float.value).into_any().unbind())
            }
            CallInput::Float(f) => Ok(torch_abi::number_tensor(py)?.call1(py, (f.float.value,))?),
        })
        .collect::<R<_>>()?;
    // What the backend raises is kept by `env` and reaches the program from there, an interrupt too.
    let described = shapes::describe(tx, &inputs);
    let guards = GuardsSoFar {
        guards: tx.guards(),
        places: tx.guard_lines(),
        sources: tx.sources(),
    };
    let (graph, objects) = (tx.graph(), tx.objects());
    let compiled = env
        .compile_graph(py, graph, objects, examples, &described, &name, guards)
        .map_err(|e| Stop::Internal(format!("the backend raised: {e}")))?;
    shapes::guard(tx, &inputs, &compiled.shape_guards)?;
    let function = compiled.callable;
    let bound: Vec<_> = inputs.iter().map(|input| input.bound().cloned()).collect();
    let binding = match bound.iter().any(Option::is_some) {
        true => env.bind_inputs(py, &function, bound)?,
        false => None,
    };
    Ok(Some(Compiled {
        function,
        binding,
        name,
        inputs,
        described,
        outputs: outputs.into_iter().map(|(_, l)| l).collect(),
    }))
}

/// Makes sizes constants that were found to have to be: a compiler would take a number among its inputs for one that
/// changes, and not know what is known of it.
fn fix_sizes(tx: &mut Finished<'_, '_>) -> R<()> {
    if tx.runs_as_is() {
        return Ok(());
    }
    let fixed: Vec<_> = tx
        .int_inputs()
        .iter()
        .filter_map(|input| match input.int.expr {
            IntExpr::Dim(source, Extent::Size, dim) => {
                let fixed = tx.is_fixed_size(source, usize::from(dim));
                fixed.then_some((input.node, input.int.value))
            }
            _ => None,
        })
        .collect();
    for (node, value) in fixed {
        let replaced = tx.graph_mut().replace_uses(node, &Arg::Int(value));
        replaced.map_err(|e| Stop::Internal(format!("a size that is a constant: {e}")))?;
    }
    Ok(())
}

/// Functions that only change torch's state.
const STATE: [&str; 5] = [
    names::SET_GRAD_ENABLED_PATH,
    "torch.autograd.grad_mode._enter_inference_mode",
    "torch.autograd.grad_mode._exit_inference_mode",
    "torch.amp.autocast_mode._enter_autocast",
    "torch.amp.autocast_mode._exit_autocast",
];

/// Whether the graph computes nothing: the residual code sets the state that it would leave, and levels of transforms
/// that it enters it leaves again.
fn only_state(tx: &Finished<'_, '_>) -> bool {
    let only_such = tx.graph().iter().all(|(_, node)| match &node.target {
        Target::Function(f) => {
            let path = &*f.path;
            STATE.contains(&path)
                || level_change(path).is_some()
                || names::levels::PREPARES.contains(&path)
        }
        Target::Name(_) => !matches!(node.op, OpKind::CallMethod | OpKind::CallModule),
    });
    only_such && leaves_what_it_enters(tx.graph())
}

/// What a function enters or leaves that is a level of a transform, or goes with one; whether it enters it.
fn level_change(path: &str) -> Option<(ContextKind, bool)> {
    let mut of_levels = names::CONTEXTS.iter().filter(|c| c.0 != ContextKind::Mode);
    let changed = of_levels.find(|(_, enter, leave)| [*enter, *leave].contains(&path));
    changed.map(|(kind, enter, _)| (*kind, *enter == path))
}

/// Whether levels that the graph leaves are its own, and none stays entered.
fn leaves_what_it_enters(graph: &Graph) -> bool {
    let mut entered = Vec::new();
    // Inside of a transform hooks may be refused once more, and are allowed again but once.
    let mut refuses = false;
    for (_, node) in graph.iter() {
        let path = node.target.function().map(|f| &*f.path);
        match path.and_then(level_change) {
            Some((ContextKind::RefusesHooks, enters)) => {
                if !enters && !refuses {
                    return false;
                }
                refuses = enters;
            }
            Some((kind, true)) => entered.push(kind),
            Some((kind, false)) if entered.pop() != Some(kind) => return false,
            _ => {}
        }
    }
    entered.is_empty() && !refuses
}

/// Removes pairs of nodes of which one sets the grad mode and the next sets it back: the end of one
/// `with torch.no_grad()` and the beginning of the next. `enabled` is the mode that the graph begins with.
fn drop_idle_grad_modes(graph: &mut Graph, mut enabled: bool) -> R<()> {
    let mut idle = Vec::new();
    let mut before: Option<(NodeId, bool)> = None;
    for (id, node) in graph.iter().filter(|(_, n)| n.op != OpKind::Placeholder) {
        let mode = match (&node.target, node.args.first()) {
            (Target::Function(f), Some(Arg::Bool(mode))) if &*f.path == names::SET_GRAD_MODE => {
                *mode
            }
            _ => {
                before = None;
                continue;
            }
        };
        before = match before {
            Some((set, previous)) if mode == previous => {
                idle.extend([set, id]);
                None
            }
            _ => Some((id, enabled)).filter(|_| mode != enabled),
        };
        enabled = mode;
    }
    for id in idle {
        graph.erase(id).map_err(|e| Stop::Internal(e.to_string()))?;
    }
    Ok(())
}
