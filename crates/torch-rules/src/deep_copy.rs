//! `copy.deepcopy` of a tensor: its `__deepcopy__`.
//!
//! A parameter's is Python, which is inlined. That of other tensors copies a storage whole, with all that other
//! tensors see of it; it is captured where the storage is known to be the tensor's own.

use guards::{GuardKind, Key, Source, SourceId};
use pyo3::prelude::*;
use tensor_meta::Alias;
use translator::raw::instance_dict;
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{TensorVar, Var};

/// The dictionary of a module's buffers.
const BUFFERS: &str = "_buffers";

/// `__deepcopy__` of a leaf without a gradient that has its storage to itself.
const PLAIN: &std::ffi::CStr = c"
import torch

def __deepcopy__(self, memo):
    if id(self) in memo:
        return memo[id(self)]
    made = self.clone(memory_format=torch.preserve_format)
    memo[id(self)] = made
    return made
";

variables::own_module! {
    static MODULE = (PLAIN, c"<ferrodyn deepcopy>", c"ferrodyn_deepcopy");
}

/// `tensor.__deepcopy__(memo)`; the tensor comes first among the arguments.
///
/// # Errors
/// A break where the copy would be of more than the tensor.
pub(crate) fn deepcopy_tensor(tx: &mut Tx<'_>, tensor: &TensorVar, args: Args) -> R<Flow> {
    let py = tx.py;
    if tensor.class.is(&tx.known.parameter) {
        let function = tx.known.parameter.bind(py).getattr("__deepcopy__")?;
        return tx.call(&Var::py(function.unbind()), args);
    }
    if !tx
        .known
        .tensor_types
        .contains(&(tensor.class.as_ptr() as usize))
    {
        return Err(Stop::unsupported(
            "a copy of a tensor of the program's class",
        ));
    }
    if !has_own_storage(tx, tensor, &args.pos[0])? {
        return Err(Stop::brk(
            "Deep copy of a tensor",
            "The copy is of the tensor's whole storage, which may be more than the tensor, or be shared.",
            "Use `.clone()`, or make the copy outside of the compiled function.",
        ));
    }
    let function = MODULE.get(py)?.getattr("__deepcopy__")?;
    tx.call(&Var::py(function.unbind()), args)
}

/// Whether a source goes by a module's dictionary of buffers, whichever way it reaches that.
fn is_in_registry(tx: &Tx<'_>, source: SourceId) -> bool {
    let Source::DictItem { base, .. } = tx.facts.sources.get(source) else {
        return false;
    };
    match tx.facts.sources.get(*base) {
        Source::InstanceDictItem { name, .. } => &**name == BUFFERS,
        Source::DictItem { key, .. } => *key == Key::str(BUFFERS),
        _ => false,
    }
}

/// Whether a plain tensor is a leaf without gradient and attributes, alone on a storage of its size.
fn has_own_storage(tx: &mut Tx<'_>, tensor: &TensorVar, var: &Var) -> R<bool> {
    let py = tx.py;
    let meta = tx.st.effects.meta(tensor).clone();
    let contiguous = meta.is_contiguous() == Some(true);
    let plain = tensor.class.is(&tx.known.tensor) && !meta.requires_grad;
    if !plain || !contiguous || meta.conj || meta.neg {
        return Ok(false);
    }
    let Some(input) = &tensor.input else {
        return Ok(meta.alias == Alias::Fresh);
    };
    let (source, obj) = (input.source, input.obj.bind(py).clone());
    let node = tensor.node;
    // A module's own is the same tensor at each call, which keeps its storage where it keeps its address.
    if !tx.log.inputs.iter().any(|i| i.node == node && i.bound) {
        if !is_in_registry(tx, source) {
            return Ok(false);
        }
        let held = tx.pin(&input.obj, true);
        tx.guard(source, GuardKind::IdMatch { obj: held });
    }
    let storage = |t: &Bound<'_, PyAny>| -> PyResult<(usize, usize)> {
        let storage = t.call_method0("untyped_storage")?;
        let address = storage.call_method0("data_ptr")?.extract()?;
        Ok((address, storage.call_method0("nbytes")?.extract()?))
    };
    let (address, bytes) = storage(&obj)?;
    let own: usize = obj.getattr("nbytes")?.extract()?;
    let shared = tx.log.inputs.iter().any(|i| {
        let same = storage(i.obj.bind(py)).is_ok_and(|(other, _)| other == address);
        i.node != node && same
    });
    let has_attributes = instance_dict(&obj).is_some_and(|d| !d.is_empty());
    if own != bytes || shared || has_attributes {
        return Ok(false);
    }
    let question = tx.known.tensor.bind(py).getattr("data_ptr")?;
    let answer = question.call1((&obj,))?;
    tx.guard_call(&question.unbind(), Some(source), &[], &answer)?;
    let grad = tx.getattr_sync(var, &"grad".into())?;
    Ok(tx.realize(&grad)?.is_none(py))
}
