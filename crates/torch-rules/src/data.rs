//! `tensor.data = other`: the memory of another tensor, without a trace in autograd or in the count of writes.
//!
//! Not here: reading `tensor.data`, which is an operation as any other.
//!
//! Invariant: below a compiler no operation in front of the write has recorded gradients for the tensor, and nothing
//! else lies in its memory.

use std::rc::Rc;

use fx_graph::{Arg, NodeData};
use pyo3::prelude::*;
use tensor_meta::Does;
use torch_abi::overlap::objects_may_overlap;
use torch_abi::{TorchAbi, names};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::torch_ops::raising;
use translator::tx::{Args, Flow, Tx};
use variables::{Obj, TensorVar, Var};

/// Sets the data of a tensor of the graph.
///
/// # Errors
/// A break for tensors of which it is not known that the graph may do so.
pub(crate) fn set_data(tx: &mut Tx<'_>, t: &Rc<TensorVar>, from: &Rc<TensorVar>) -> R<Flow> {
    let (old, new) = (tx.st.effects.meta(t), tx.st.effects.meta(from));
    let known = t.input.is_some() || t.fresh;
    // It has no count of writes.
    let counts = !tx.so_far().is_of_inference(t)? && !tx.so_far().is_of_inference(from)?;
    if !known || !counts || old.dtype != new.dtype || old.device != new.device {
        return Err(Stop::unsupported(
            "setting attribute `data` of a tensor to another kind of tensor",
        ));
    }
    if !tx.runs_as_is && old.requires_grad && may_record(tx, t) {
        return Err(Stop::brk(
            "Data of a tensor set behind an operation that recorded gradients for it",
            "A compiler gives the tensor the gradients of what it was used for afterwards only.",
            "Set it before the tensor is used, or outside of the compiled function.",
        ));
    }
    if !tx.runs_as_is && shares_memory(tx, t) {
        return Err(Stop::brk(
            "Data of a tensor set that shares memory with another one",
            "A compiler makes views anew of the tensor that was viewed, which has other memory by then.",
            "Set it before views are made, or outside of the compiled function.",
        ));
    }
    let set_grad = tx.known.torch_c.getattr(tx.py, "_set_grad_enabled")?;
    let enabled = tx.st.grad_enabled;
    if enabled {
        tx.set_grad_enabled(&set_grad, false)?;
    }
    let args = Args::pos(vec![Var::Tensor(t.clone()), Var::Tensor(from.clone())]);
    match copies_data(tx)? {
        Some(copy) => {
            let callee = Callee::Function(&copy, "torch.ops.aten.shallow_copy_data_", None);
            tx.emit(&callee, &args)?;
        }
        None => set_memory(tx, t, &args)?,
    }
    if enabled {
        tx.set_grad_enabled(&set_grad, true)?;
    }
    Ok(Flow::Value(tx.none()))
}

/// The operation that a compiler knows for it, where torch has one.
fn copies_data(tx: &Tx<'_>) -> R<Option<Obj>> {
    if tx.runs_as_is {
        return Ok(None);
    }
    let aten = tx.known.torch.bind(tx.py).getattr("ops")?.getattr("aten")?;
    Ok(aten
        .getattr("shallow_copy_data_")
        .ok()
        .map(|copy| copy.unbind()))
}

/// Whether the graph has an operation of a tensor that may record gradients for it.
fn may_record(tx: &Tx<'_>, t: &TensorVar) -> bool {
    let graph = &tx.log.graph;
    let only_looks = |node: &NodeData| {
        let traits = raising::traits_of(node);
        traits.any(Does::SHARES_DATA | Does::MOVES)
    };
    !graph
        .users(t.node)
        .iter()
        .all(|user| only_looks(&graph[*user]))
}

/// Whether a tensor is a view or has one, in the graph or among its inputs. What was made of `t.data` alone is no view,
/// unless a variable has it.
fn shares_memory(tx: &Tx<'_>, t: &TensorVar) -> bool {
    let graph = &tx.log.graph;
    let frame = &tx.st.frame;
    let is_held = |node| {
        let has = |v: &Var| matches!(v, Var::Tensor(held) if held.node == node);
        frame
            .stack
            .iter()
            .chain(frame.locals.iter().flatten())
            .any(has)
    };
    let views = Does::VIEW | Does::VIEWS | Does::MAY_GIVE_SELF;
    let gives_view = |user| raising::traits_of(&graph[user]).any(views);
    let is_view = |user| {
        gives_view(user)
            || raising::traits_of(&graph[user]).any(Does::SHARES_DATA)
                && (is_held(user) || graph.users(user).into_iter().any(gives_view))
    };
    let is_own = t.input.is_some() || graph[t.node].owns_memory;
    !is_own || graph.users(t.node).into_iter().any(is_view) || lies_in_another_input(tx, t)
}

/// Whether an input of the graph so far has memory of another one.
fn lies_in_another_input(tx: &Tx<'_>, t: &TensorVar) -> bool {
    let inputs = &tx.log.inputs;
    let own = inputs.iter().find(|input| input.node == t.node);
    let (Some(own), Some(abi)) = (own, TorchAbi::loaded()) else {
        return false;
    };
    let own = own.obj.bind(tx.py);
    let others = inputs.iter().filter(|input| input.node != t.node);
    others
        .into_iter()
        .any(|other| objects_may_overlap(abi, own, other.obj.bind(tx.py)))
}

/// In a graph that runs as it is, and where torch has no operation for it: sets the memory, and then the count of writes
/// back to what it was.
fn set_memory(tx: &mut Tx<'_>, t: &TensorVar, args: &Args) -> R<()> {
    let getattr = tx.known.builtins.bind(tx.py).getattr("getattr")?;
    let version = vec![Arg::Node(t.node), Arg::Str("_version".into())];
    let version = tx.state_node(&getattr, "builtins", version)?;
    tx.emit(&Callee::Method("set_"), args)?;
    let autograd = tx.known.torch_c.bind(tx.py).getattr("_autograd")?;
    let set_version = autograd.getattr("_unsafe_set_version_counter")?;
    let pair = [Arg::Node(t.node), Arg::Node(version)];
    let pair = pair.map(|a| Arg::Tuple(vec![a])).to_vec();
    tx.state_node(&set_version, names::TORCH_C_AUTOGRAD, pair)?;
    Ok(())
}
