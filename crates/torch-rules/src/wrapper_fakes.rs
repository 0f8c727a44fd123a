//! Fakes of wrapper subclasses' tensors from outside: of the same class, around fakes of the tensors that one holds, with
//! symbols for sizes that are no constants.

use std::rc::Rc;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tensor_meta::{Inferred, SymInt, TensorMeta};
use translator::stop::R;
use translator::torch_ops::fake::fake_result;
use translator::torch_ops::sized_fakes::SizedFakes;
use translator::tx::Tx;
use variables::Obj;

/// A tensor of such a class from outside, or one that it holds, as the translation knows it.
pub(crate) struct Held {
    /// its sizes and strides
    pub(crate) meta: Rc<TensorMeta>,
    /// what one of such a class holds, by name; `None` for any other tensor
    pub(crate) parts: Option<Vec<(Arc<str>, Held)>>,
    /// what gives sizes and strides, for its class, of one whose rows differ in length
    pub(crate) ragged: Option<Obj>,
    /// the fake one, where there is one already
    pub(crate) fake: Option<Obj>,
}

impl Held {
    /// Whether no size of it changes.
    pub(crate) fn is_static(&self) -> bool {
        let mut parts = self.parts.iter().flatten();
        self.meta.is_static() && parts.all(|(_, held)| held.is_static())
    }
}

/// The fake tensor of one from outside of which sizes are no constants, and what it is like. `None` where they have to
/// be.
///
/// # Errors
/// None of its own.
pub(crate) fn sized_fake_of<'py>(
    tx: &mut Tx<'py>,
    tensor: &Bound<'py, PyAny>,
    of: &Held,
) -> R<Option<(Obj, Inferred)>> {
    tx.with_shared(|tx, sized| {
        let mode = sized.mode(tx.py);
        let mode = mode.bind(tx.py);
        mode.call_method0("__enter__")?;
        let made = fake(tx, tensor, of, sized);
        mode.call_method1("__exit__", (tx.py.None(), tx.py.None(), tx.py.None()))?;
        let made = made?;
        let meta = fake_result(tx.py, &made, None, Some(sized))?;
        Ok((made.unbind(), meta))
    })
}

fn fake<'py>(
    tx: &Tx<'py>,
    tensor: &Bound<'py, PyAny>,
    of: &Held,
    sized: &SizedFakes,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(fake) = &of.fake {
        return Ok(fake.bind(tx.py).clone());
    }
    let Some(parts) = &of.parts else {
        return tx.so_far().fake_tensor(&of.meta, Some(sized));
    };
    let account = tensor.call_method0("__tensor_flatten__")?;
    let held = PyDict::new(tx.py);
    for name in account.get_item(0)?.try_iter()? {
        let name: String = name?.extract()?;
        let value = tensor.getattr(&*name)?;
        let value = match parts.iter().find(|(part, _)| **part == *name) {
            Some((_, part)) => fake(tx, &value, part, sized)?,
            None => value,
        };
        held.set_item(name, value)?;
    }
    let numbers = |all: &[SymInt]| -> PyResult<_> {
        let all = all.iter().map(|n| sized.number(tx.py, *n));
        PyTuple::new(tx.py, all.collect::<PyResult<Vec<_>>>()?)
    };
    let (size, stride) = match &of.ragged {
        Some(outer) => outer.bind(tx.py).call1((tensor, &held))?.extract()?,
        None => (numbers(&of.meta.shape)?, numbers(&of.meta.strides)?),
    };
    let size = tx.known.size.bind(tx.py).call1((size,))?;
    let context = account.get_item(1)?;
    let class = tensor.get_type();
    let account = (held, context, &size, stride);
    let made = class.call_method1("__tensor_unflatten__", account)?;
    // The class computes sizes from those of the tensors that it holds.
    for (given, own) in size.try_iter()?.zip(made.call_method0("size")?.try_iter()?) {
        if of.ragged.is_none() && !given?.eq(own?)? {
            return Err(PyValueError::new_err("a wrapper of another size"));
        }
    }
    if of.meta.requires_grad && of.meta.is_leaf {
        made.call_method1("requires_grad_", (true,))?;
    } else if of.meta.requires_grad && !made.getattr("requires_grad")?.is_truthy()? {
        tx.so_far().make_computed(&made)?;
    }
    Ok(made)
}
