//! Tensors of other classes that are made in the compiled function: `nn.Parameter`.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::PyType;
use tensor_meta::{Alias, Inferred, TensorMeta};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::{TensorVar, Var};

/// `Parameter(...)` and other classes of tensors.
///
/// # Errors
/// A break for all but parameters in a graph that runs as it is: a compiler makes plain tensors of
/// them.
pub fn construct_tensor<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>, args: Args) -> R<Flow> {
    let made = match class.is(tx.known.parameter.bind(tx.py)) {
        true => make_parameter(tx, args)?,
        false => match crate::wrappers::construct(tx, class, &args)? {
            Some(made) => Some(made),
            None => crate::subclasses::construct_subclass(tx, class, &args)?,
        },
    };
    made.map(Flow::Value).ok_or(Stop::brk(
        format!("Constructing a {} in the compiled function", class.name()?),
        "Tensor classes are constructed outside the graph.",
        "Use a factory function such as torch.tensor or torch.zeros, or construct it before the call.",
    ))
}

/// A leaf on the memory of a tensor.
fn make_parameter(tx: &mut Tx<'_>, args: Args) -> R<Option<Var>> {
    if !tx.runs_as_is || tx.st.levels.is_active() {
        return Ok(None);
    }
    let given = tx.by_name("__new__", args, &["data", "requires_grad"], 0, 2)?;
    let Some(data) = &given[0] else {
        return Ok(None);
    };
    let Var::Tensor(t) = tx.realize(data)? else {
        return Ok(None);
    };
    let requires_grad = match &given[1] {
        Some(v) => tx.truth(v)?,
        None => true,
    };
    if requires_grad && tx.so_far().inference_now() {
        return Ok(None);
    }
    let (tensor, parameter) = (tx.known.tensor.clone(), tx.known.parameter.clone());
    let mut meta = TensorMeta::clone(tx.st.effects.meta(&t));
    let differentiable = meta.dtype.is_floating() || meta.dtype.is_complex();
    if !(t.class.is(&tensor) || t.class.is(&parameter)) || requires_grad && !differentiable {
        return Ok(None);
    }
    meta.requires_grad = requires_grad;
    meta.is_leaf = true;
    meta.alias = Alias::View;
    let args = Args::pos(vec![Var::Tensor(t), tx.bool(requires_grad)]);
    let node_args = tx.node_args(&args)?;
    let callee = Callee::Function(&parameter, "torch.nn.parameter.Parameter", None);
    let made = tx.emit_inferred(&callee, node_args, Inferred::Tensor(meta), &args)?;
    tx.st.needs_as_is = true;
    let Var::Tensor(made) = made else {
        return Err(Stop::Internal("a parameter that is no tensor".into()));
    };
    Ok(Some(Var::Tensor(Rc::new(TensorVar {
        node: made.node,
        class: parameter,
        meta: made.meta.clone(),
        input: None,
        fresh: true,
    }))))
}
