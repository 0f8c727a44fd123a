//! Wrapper subclasses whose rows differ in length: torch's jagged nested tensors.
//!
//! Such a size is no number. It is named by the tensor that holds the lengths, or where the rows begin: two tensors fit
//! together where they hold the same one. So fakes of tensors that hold the same one share its fake, and that it is
//! the same is guarded.
//!
//! Invariant: nothing of the translation reads such a size.

use std::rc::Rc;

use guards::{GuardKind, SourceId};
use pyo3::prelude::*;
use tensor_meta::{Inferred, TensorMeta};
use torch_abi::TorchAbi;
use translator::stop::{R, Stop};
use translator::tx::Tx;
use variables::state::Wrapper;
use variables::{Obj, Var};

use crate::tensor_classes::hold_tensor_class;
use crate::wrapper_fakes::{Held, sized_fake_of};
use crate::wrappers::{Parts, held_tensors, hold_account, hold_parts};

/// Sizes and strides for torch's `__tensor_unflatten__`, which reads the size of the rows and computes all others; and
/// whether a view that is made again, as a compiler makes its fake, holds the same: not what was read of it since.
const SIZES: &std::ffi::CStr = c"
def outer(tensor, held):
    lengths = held['_lengths' if '_lengths' in held else '_offsets']
    length = lengths.get_nested_int(coeff=1)
    sizes = tuple(size if type(size) is int else length for size in tensor.size())
    return sizes, sizes

def is_as_viewed(tensor):
    if not tensor._is_view():
        return True
    again = tensor._view_func_unsafe(tensor._base)
    return again.__tensor_flatten__()[0] == tensor.__tensor_flatten__()[0]
";

variables::own_module! {
    static MODULE = (SIZES, c"<ferrodyn ragged>", c"ferrodyn_ragged");
}

/// One from outside; `None` where it is left to eager mode.
///
/// # Errors
/// A break where no fake one can be made.
pub(crate) fn tensor(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Option<Var>> {
    let tensor = obj.bind(tx.py).clone();
    hold_tensor_class(tx, &tensor.get_type())?;
    let Some(mut parts) = hold_parts(tx, &tensor, source)? else {
        return Ok(None);
    };
    let abi = TorchAbi::get(tx.py)?;
    for (_, held, _) in held_tensors(tx, &tensor, source)? {
        if abi.is_view_of_non_strided(tx.py, &held).unwrap_or(true) {
            return Ok(None);
        }
    }
    let is_as_viewed = MODULE
        .get(tx.py)?
        .call_method1("is_as_viewed", (&tensor,))?;
    if !is_as_viewed.is_truthy()? {
        return Ok(None);
    }
    share_fakes(tx, &tensor, source, &mut parts)?;
    let Some((_, first)) = parts.first() else {
        return Ok(None);
    };
    let meta = TensorMeta {
        requires_grad: tensor.getattr("requires_grad")?.is_truthy()?,
        is_leaf: tensor.getattr("is_leaf")?.is_truthy()?,
        ..(*first.meta).clone()
    };
    let of = Held {
        meta: Rc::new(meta),
        parts: Some(parts),
        ragged: Some(MODULE.get(tx.py)?.getattr("outer")?.unbind()),
        fake: None,
    };
    let Some((fake, Inferred::Tensor(meta))) = sized_fake_of(tx, &tensor, &of)? else {
        return Err(Stop::unsupported(
            "a nested tensor of which torch can make no fake one",
        ));
    };
    let var = tx.build_described(obj, source, meta)?;
    if let Var::Tensor(t) = &var {
        hold_account(tx, &tensor, source, Some(fake.bind(tx.py).clone()))?;
        tx.st.wrappers.insert(t.node.0, Wrapper::new(fake));
    }
    Ok(Some(var))
}

/// Finds the fakes of tensors that another one holds as well, and guards that it does.
fn share_fakes<'py>(
    tx: &mut Tx<'py>,
    tensor: &Bound<'py, PyAny>,
    source: SourceId,
    parts: &mut Parts,
) -> R<()> {
    let inputs = tx.log.inputs.iter().filter_map(|input| {
        let wrapper = tx.st.wrappers.get(&input.node.0)?;
        Some((input.obj.clone(), input.source, wrapper.fake.clone()))
    });
    let inputs: Vec<_> = inputs.collect();
    let mut others = Vec::new();
    for (other, source, fake) in &inputs {
        let other = other.bind(tx.py);
        if !tx.is_wrapper_class(&other.get_type()) {
            continue;
        }
        for (name, held, at) in held_tensors(tx, other, *source)? {
            let fake = fake.bind(tx.py).getattr(&*name)?.unbind();
            others.push((held, at, fake));
        }
    }
    for (name, held, at) in held_tensors(tx, tensor, source)? {
        let shared = others.iter().find(|other| other.0.is(&held));
        let part = parts.iter_mut().find(|part| part.0 == name);
        if let (Some((_, other, fake)), Some((_, part))) = (shared, part) {
            part.fake = Some(fake.clone());
            let (at, other) = (tx.source(at), tx.source(other.clone()));
            tx.guard(at, GuardKind::ObjectAliasing { other });
        }
    }
    Ok(())
}

/// What an attribute of torch's says of one whose rows differ in length; `None` where that is as for any tensor.
///
/// # Errors
/// A break where it says the size of the rows.
pub(crate) fn attribute(fake: &Bound<'_, PyAny>, name: &str) -> R<Option<Var>> {
    if !matches!(name, "is_nested" | "layout" | "nbytes") || !torch_abi::is_jagged(fake)? {
        return Ok(None);
    }
    if name == "nbytes" {
        return Err(Stop::unsupported("nbytes of a nested tensor"));
    }
    // Neither is asked of what a tensor holds.
    Ok(Some(Var::Const(fake.getattr(name)?.unbind())))
}
