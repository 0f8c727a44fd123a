//! What torch's fake tensors say of an operation's result.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};
use tensor_meta::{Alias, Inferred, SymDims, SymInt, TensorMeta};
use torch_abi::{TorchAbi, is_jagged};
use variables::Obj;

use crate::sized_fakes::SizedFakes;

/// What a fake result is like; `first` is the first argument.
///
/// # Errors
/// Where that can't be described.
pub fn fake_result<'py>(
    py: Python<'py>,
    out: &Bound<'py, PyAny>,
    first: Option<&Obj>,
    sized: Option<&SizedFakes>,
) -> PyResult<Inferred> {
    if out.is_none() {
        return Ok(Inferred::None);
    }
    let abi =
        TorchAbi::get(py).map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))?;
    if abi.classify(out) != torch_abi::TensorClass::No {
        let strided = match sized {
            Some(_) => abi
                .is_strided(py, out)
                .and_then(|is| Ok(is || is_jagged(out)?)),
            None => abi.is_strided(py, out),
        };
        if !strided.map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))? {
            // Sizes and strides don't say what the next op makes of it.
            return Err(pyo3::exceptions::PyTypeError::new_err(
                "a sparse, nested or MKL-DNN tensor",
            ));
        }
        let int = |n: Bound<'py, PyAny>| -> PyResult<SymInt> {
            match sized {
                Some(sized) => sized.size(&n),
                None if n.is_exact_instance_of::<pyo3::types::PyInt>() => {
                    Ok(SymInt::Const(n.extract()?))
                }
                None => Err(pyo3::exceptions::PyValueError::new_err(
                    "the result's shape depends on data",
                )),
            }
        };
        let ints = |n: &str| -> PyResult<SymDims> {
            let all = out.call_method0(n)?;
            all.try_iter()?.map(|n| int(n?)).collect()
        };
        let dtype = tensor_meta::DType::from_name(&out.getattr("dtype")?.str()?.to_string());
        let device = tensor_meta::Device::parse(&out.getattr("device")?.str()?.to_string());
        let (Some(dtype), Some(device)) = (dtype, device) else {
            return Err(pyo3::exceptions::PyValueError::new_err(
                "unknown dtype or device",
            ));
        };
        let mut meta = TensorMeta::strided(&[], &[], dtype, device)
            .with_grad(out.getattr("requires_grad")?.extract()?);
        (meta.shape, meta.strides) = (ints("size")?, ints("stride")?);
        meta.is_leaf = out.getattr("is_leaf")?.extract()?;
        meta.alias = if first.is_some_and(|f| f.is(out)) {
            Alias::Identity
        } else {
            Alias::View
        };
        if meta.dtype.is_complex() {
            meta.conj = out.call_method0("is_conj")?.extract()?;
        }
        if meta.dtype.is_complex() || first.is_some_and(|f| is_complex(f.bind(py))) {
            meta.neg = out.call_method0("is_neg")?.extract()?;
        }
        not_quantized(&meta)?;
        meta.storage_offset = int(out.call_method0("storage_offset")?)?;
        return Ok(Inferred::Tensor(meta));
    }
    let items = |o: &Bound<'py, PyAny>| -> PyResult<Vec<Inferred>> {
        o.try_iter()?
            .map(|i| fake_result(py, &i?, first, sized))
            .collect()
    };
    if out.is_exact_instance_of::<PyTuple>() {
        return Ok(Inferred::Tuple(items(out)?));
    }
    if out.is_exact_instance_of::<PyList>() {
        return Ok(Inferred::List(items(out)?));
    }
    if out.cast::<PyTuple>().is_ok() && out.get_type().hasattr("n_sequence_fields")? {
        let name: String = out.get_type().name()?.extract()?;
        return Ok(Inferred::NamedTuple {
            type_name: interned(&name),
            items: items(out)?,
        });
    }
    if is_named_tuple(out)? {
        return Ok(Inferred::NamedTuple {
            type_name: interned(&class_name(&out.get_type())),
            items: items(out)?,
        });
    }
    if let Ok(b) = out.cast_exact::<pyo3::types::PyBool>() {
        return Ok(Inferred::Bool(b.is_true()));
    }
    let size = |n: &Bound<'py, PyAny>| match sized {
        Some(sized) => sized.size(n),
        None => Ok(SymInt::Const(n.extract()?)),
    };
    let torch = py.import("torch")?;
    if out.is_exact_instance(&torch.getattr("Size")?) {
        let dims = out.try_iter()?.map(|n| size(&n?));
        return Ok(Inferred::Size(dims.collect::<PyResult<_>>()?));
    }
    if out.is_exact_instance_of::<pyo3::types::PyInt>()
        || out.is_exact_instance(&torch.getattr("SymInt")?)
    {
        return Ok(Inferred::Int(size(out)?));
    }
    Err(pyo3::exceptions::PyTypeError::new_err(format!(
        "a result of type {}",
        out.get_type().name()?
    )))
}

/// A fake tensor has no scale and no zero point: what is done with it is another thing.
///
/// # Errors
/// For such a tensor.
pub(crate) fn not_quantized(t: &TensorMeta) -> PyResult<()> {
    match t.dtype.is_quantized() {
        true => Err(pyo3::exceptions::PyTypeError::new_err("a quantized tensor")),
        false => Ok(()),
    }
}

fn is_complex(t: &Bound<'_, PyAny>) -> bool {
    t.call_method0("is_complex")
        .and_then(|c| c.extract())
        .unwrap_or(false)
}

/// Whether a result is a named tuple of the program: a tuple with names of its items and nothing else, whose items are
/// taken as those of any tuple.
fn is_named_tuple(out: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = out.get_type();
    if out.cast::<PyTuple>().is_err() || !class.hasattr("_fields")? {
        return Ok(false);
    }
    let plain = out.py().get_type::<PyTuple>();
    for name in ["__getitem__", "__iter__", "__len__"] {
        if !class.getattr(name)?.is(&plain.getattr(name)?) {
            return Ok(false);
        }
    }
    Ok(class.getattr("__dictoffset__")?.extract::<isize>()? == 0)
}

/// By what a result names a class of the program's: its address, which no class of torch has for a name.
fn class_name(class: &Bound<'_, PyType>) -> String {
    format!("{:#x}", class.as_ptr() as usize)
}

/// The program's named tuples in a result, by the names that [`fake_result`] gives their classes.
///
/// # Errors
/// Python's, where a tuple or list can't be gone through.
pub fn named_classes(out: &Bound<'_, PyAny>, found: &mut Vec<(String, Obj)>) -> PyResult<()> {
    if is_named_tuple(out)? {
        let class = out.get_type();
        found.push((class_name(&class), class.into_any().unbind()));
    }
    if out.cast::<PyTuple>().is_ok() || out.is_exact_instance_of::<PyList>() {
        for item in out.try_iter()? {
            named_classes(&item?, found)?;
        }
    }
    Ok(())
}

/// A name that lives as long as the process; there are as many as named types of results.
fn interned(name: &str) -> &'static str {
    static NAMES: std::sync::Mutex<Vec<&'static str>> = std::sync::Mutex::new(Vec::new());
    let mut names = NAMES
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = names.iter().find(|n| **n == name) {
        return known;
    }
    let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.push(leaked);
    leaked
}
