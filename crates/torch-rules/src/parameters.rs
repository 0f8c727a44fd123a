//! Tensors of other classes that are made in the compiled function: `nn.Parameter`, `nn.Buffer`.

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
/// A break for all but parameters and buffers, and those with `__torch_function__` or `__torch_dispatch__`.
pub fn construct_tensor<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>, args: Args) -> R<Flow> {
    let made = match class {
        class if class.is(tx.known.parameter.bind(tx.py)) => make_parameter(tx, args)?,
        class if class.is(tx.known.buffer.bind(tx.py)) => make_buffer(tx, &args)?,
        _ => match crate::wrappers::construct(tx, class, &args)? {
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

/// A plain tensor on the memory of another, marked as a buffer: what `Buffer.__new__` does.
fn make_buffer(tx: &mut Tx<'_>, args: &Args) -> R<Option<Var>> {
    let ([data], [] | [_]) = (&args.pos[..], &args.kw[..]) else {
        return Ok(None);
    };
    let persistent = match args.kw.first() {
        Some((name, v)) if &**name == "persistent" => v.clone(),
        Some(_) => return Ok(None),
        None => tx.bool(true),
    };
    let Var::Tensor(t) = tx.realize(data)? else {
        return Ok(None);
    };
    if !t.class.is(&tx.known.tensor) || tx.st.effects.meta(&t).requires_grad {
        return Ok(None);
    }
    let made = tx.tensor_method(&Var::Tensor(t), "detach", Args::default())?;
    let made = tx.finish_flow(made)?;
    let marks = [("persistent", persistent), ("_is_buffer", tx.bool(true))];
    for (name, v) in marks {
        let flow = tx.setattr(&made, &name.into(), Some(v))?;
        tx.finish_flow(flow)?;
    }
    Ok(Some(made))
}

/// A leaf on the memory of a tensor.
fn make_parameter(tx: &mut Tx<'_>, args: Args) -> R<Option<Var>> {
    if tx.st.levels.is_active() || !tx.runs_as_is && tx.used.is_some() {
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
    if !tx.runs_as_is {
        return parameter_inside(tx, t, requires_grad).map(Some);
    }
    meta.requires_grad = requires_grad;
    meta.is_leaf = true;
    meta.alias = Alias::View;
    let args = Args::pos(vec![Var::Tensor(t), tx.bool(requires_grad)]);
    let node_args = tx.node_args(&args)?;
    let callee = Callee::Function(&parameter, "torch.nn.parameter.Parameter", None);
    let made = tx.emit_inferred(&callee, node_args, Inferred::Tensor(meta), &args)?;
    tx.st.needs_as_is = true;
    as_parameter(tx, made).map(Some)
}

/// The same below a compiler, which has no parameters: a plain tensor that must not leave the graph.
fn parameter_inside(tx: &mut Tx<'_>, t: Rc<TensorVar>, requires_grad: bool) -> R<Var> {
    let data = tx.tensor_method(&Var::Tensor(t), "detach", Args::default())?;
    let Var::Tensor(data) = tx.finish_flow(data)? else {
        return Err(Stop::Internal("a parameter that is no tensor".into()));
    };
    tx.make_leaf(&data, requires_grad)?;
    as_parameter(tx, Var::Tensor(data))
}

fn as_parameter(tx: &Tx<'_>, made: Var) -> R<Var> {
    let Var::Tensor(made) = made else {
        return Err(Stop::Internal("a parameter that is no tensor".into()));
    };
    Ok(Var::Tensor(Rc::new(TensorVar {
        node: made.node,
        class: tx.known.parameter.clone(),
        meta: made.meta.clone(),
        input: None,
        fresh: true,
    })))
}
