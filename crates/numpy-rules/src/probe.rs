//! What NumPy itself says of a call: it is made on arrays that look like the program's and are not.
//!
//! Of the result, the class, the dtype and the sizes are taken, and whether it lies in an argument's memory; of the
//! call, which arguments it writes to. What an array holds counts only where it was made of constants.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tensor_meta::{DType, TensorMeta};
use translator::stop::{R, Stop};
use translator::tx::Tx;
use variables::{Body, Obj, ObjId, Var};

use crate::sizes::SizesAt;
use crate::values::{Array, dtype_name};

/// What stands for an array, a number, or a tensor of the program.
pub(crate) struct Stand<'py> {
    /// the program's
    pub(crate) value: Var,
    /// whether the program may write to it
    pub(crate) is_writeable: bool,
    /// an array of the same looks, with memory of its own; a number of the same class; a tensor on such an array
    pub(crate) real: Bound<'py, PyAny>,
    /// the memory of an array, or of a tensor
    memory: Option<Bound<'py, PyAny>>,
    /// whether it holds what the program's holds
    pub(crate) is_known: bool,
}

impl<'py> Stand<'py> {
    /// One for an array or a number, whose items are `integer` where they are integers.
    ///
    /// # Errors
    /// What NumPy raises.
    pub(crate) fn of_array(
        tx: &mut Tx<'py>,
        array: &Array,
        at: SizesAt,
        integer: u8,
    ) -> R<Stand<'py>> {
        let numpy = tx.py.import("numpy")?;
        let known = array.known(tx);
        let is_known = known.is_some();
        let real = match known {
            Some(known) => numpy.call_method1("copy", (known,))?,
            None => {
                let meta = array.meta(tx, at)?;
                like(&numpy, &meta, array.body.strides.as_deref(), integer)?
            }
        };
        let real = number_in(tx, array.id, real)?;
        Ok(Stand {
            value: Var::Obj(array.id),
            is_writeable: array.body.writeable,
            memory: tx.known.is_ndarray(&real).then(|| real.clone()),
            real,
            is_known,
        })
    }

    /// One for a tensor, likewise.
    ///
    /// # Errors
    /// What NumPy raises.
    pub(crate) fn of_tensor(
        tx: &Tx<'py>,
        value: &Var,
        meta: &TensorMeta,
        integer: u8,
    ) -> R<Stand<'py>> {
        let memory = like(&tx.py.import("numpy")?, meta, None, integer)?;
        let real = (tx.py.import("torch")?).call_method1("from_numpy", (&memory,))?;
        Ok(Stand {
            value: value.clone(),
            is_writeable: true,
            memory: Some(memory),
            real,
            is_known: false,
        })
    }

    /// Whether it is what the program has there.
    pub(crate) fn is_of(&self, v: &Var) -> bool {
        match (&self.value, v) {
            (Var::Obj(a), Var::Obj(b)) => a == b,
            (Var::Tensor(a), Var::Tensor(b)) => std::rc::Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Whether sizes of it are no constants.
    pub(crate) fn changes(&self, tx: &Tx<'_>) -> bool {
        let tensor = match &self.value {
            Var::Tensor(tensor) => tensor,
            Var::Obj(id) => match &tx.obj(*id).body {
                Body::Array(body) => &body.tensor,
                _ => return false,
            },
            _ => return false,
        };
        !tx.st.effects.meta(tensor).is_static()
    }

    fn set_writeable(&self, writeable: bool) -> PyResult<()> {
        match &self.memory {
            Some(memory) => (memory.getattr("flags")?).setattr("writeable", writeable),
            None => Ok(()),
        }
    }
}

/// The number that an array without dimensions holds, where the program has a number.
fn number_in<'py>(tx: &Tx<'py>, id: ObjId, real: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match tx.known.is_exact_ndarray(&tx.obj(id).class) {
        true => Ok(real),
        false => real.get_item(PyTuple::empty(tx.py)),
    }
}

/// An array with the sizes and the dtype of a tensor, and with its strides where no others are given. Where it is square
/// it can be inverted; as a mask it selects all items.
fn like<'py>(
    numpy: &Bound<'py, pyo3::types::PyModule>,
    meta: &TensorMeta,
    strides: Option<&[i64]>,
    integer: u8,
) -> R<Bound<'py, PyAny>> {
    let py = numpy.py();
    let (Some(sizes), Some(of_tensor)) = (meta.sizes(), meta.stride()) else {
        return Err(Stop::Internal("sizes that are not known".into()));
    };
    let dtype = numpy.call_method1("dtype", (dtype_name(meta),))?;
    let item: i64 = dtype.getattr("itemsize")?.extract()?;
    let strides = match strides {
        Some(strides) => strides.to_vec(),
        None => of_tensor.iter().map(|s| s * item).collect(),
    };
    let is_empty = sizes.contains(&0);
    let ends = sizes
        .iter()
        .zip(&strides)
        .map(|(size, stride)| (size - 1) * stride);
    let (below, above) = ends.fold((0, 0), |(below, above), end| {
        (below - end.min(0), above + end.max(0))
    });
    let length = if is_empty { 0 } else { below + above + item };
    let memory = numpy.call_method1("zeros", (length, "uint8"))?;
    let kw = PyDict::new(py);
    kw.set_item("shape", PyTuple::new(py, &sizes)?)?;
    kw.set_item("dtype", dtype)?;
    kw.set_item("buffer", &memory)?;
    if !is_empty {
        kw.set_item("offset", below)?;
        kw.set_item("strides", PyTuple::new(py, strides)?)?;
    }
    let array = numpy.getattr("ndarray")?.call((), Some(&kw))?;
    if meta.dtype == DType::Bool {
        array.call_method1("fill", (true,))?;
    }
    if meta.dtype.is_integral() && integer != 0 {
        array.call_method1("fill", (integer,))?;
    }
    if meta.dtype.is_floating() || meta.dtype.is_complex() {
        array.call_method1("fill", (1,))?;
        if let [.., rows, columns] = sizes[..]
            && rows == columns
        {
            let diagonal = numpy.call_method1("eye", (rows,))?;
            let raised = numpy.call_method1("multiply", (diagonal, rows))?;
            numpy.call_method1("copyto", (&array, raised.call_method1("__add__", (1,))?))?;
        }
    }
    Ok(array)
}

/// A call of NumPy's.
pub(crate) struct Call<'a, 'py> {
    pub(crate) function: &'a Bound<'py, PyAny>,
    pub(crate) pos: &'a Bound<'py, PyTuple>,
    pub(crate) kw: &'a Bound<'py, PyDict>,
    pub(crate) stands: &'a [Stand<'py>],
    /// whether the arguments are those of the program, so that the result is too
    pub(crate) is_known: bool,
}

/// What NumPy says.
pub(crate) struct Probed<'py> {
    pub(crate) result: Bound<'py, PyAny>,
    /// which of the arrays were written to, by their places among the stands
    pub(crate) writes: Vec<usize>,
}

impl<'py> Call<'_, 'py> {
    fn run(&self) -> PyResult<Bound<'py, PyAny>> {
        self.function.call(self.pos, Some(self.kw))
    }

    fn freeze(&self, which: impl Fn(usize) -> bool) -> PyResult<()> {
        for (at, stand) in self.stands.iter().enumerate() {
            stand.set_writeable(!which(at))?;
        }
        Ok(())
    }

    /// Asks NumPy.
    ///
    /// # Errors
    /// A break where NumPy raises, or warns.
    pub(crate) fn probe(&self, name: &str) -> R<Probed<'py>> {
        let py = self.pos.py();
        let quiet = Quiet::enter(py, !self.is_known)?;
        let probed = self.ask();
        quiet.leave()?;
        probed.map_err(|e| refused(py, name, &e))
    }

    fn ask(&self) -> PyResult<Probed<'py>> {
        self.freeze(|_| true)?;
        let frozen = self.run();
        if let Ok(result) = &frozen
            && !self.is_view(result)?
        {
            return Ok(Probed {
                result: result.clone(),
                writes: Vec::new(),
            });
        }
        // Whether the program may write to a view is seen where it may write to what it shows.
        self.freeze(|_| false)?;
        let result = self.run()?;
        let mut writes = Vec::new();
        if frozen.is_err() {
            for at in 0..self.stands.len() {
                self.freeze(|i| i == at)?;
                if self.run().is_err() {
                    writes.push(at);
                }
            }
            self.freeze(|_| false)?;
        }
        Ok(Probed { result, writes })
    }

    /// Whether an array in a result lies in the memory of an argument.
    fn is_view(&self, result: &Bound<'py, PyAny>) -> PyResult<bool> {
        if let Ok(items) = result.cast::<PyTuple>() {
            return any(items.iter().map(|i| self.is_view(&i)));
        }
        if let Ok(items) = result.cast::<PyList>() {
            return any(items.iter().map(|i| self.is_view(&i)));
        }
        shares(result, self.stands)
    }
}

fn any(mut answers: impl Iterator<Item = PyResult<bool>>) -> PyResult<bool> {
    answers.try_fold(false, |found, answer| Ok(found || answer?))
}

/// Whether an array, or a tensor's, lies in the memory of one of the stands.
///
/// # Errors
/// What NumPy raises.
pub(crate) fn shares(array: &Bound<'_, PyAny>, stands: &[Stand<'_>]) -> PyResult<bool> {
    let numpy = array.py().import("numpy")?;
    let array = in_memory(array)?;
    if !array.is_instance(&numpy.getattr("ndarray")?)? {
        return Ok(false);
    }
    let ask = numpy.getattr("may_share_memory")?;
    let memories = stands.iter().filter_map(|s| s.memory.as_ref());
    any(memories.map(|memory| ask.call1((&array, memory))?.is_truthy()))
}

/// The array on a tensor's memory; any other value as it is.
///
/// # Errors
/// What torch raises.
pub(crate) fn in_memory<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let class = value.py().import("torch")?.getattr("Tensor")?;
    match value.is_instance(&class)? {
        true => value.call_method0("detach")?.call_method0("numpy"),
        false => Ok(value.clone()),
    }
}

fn refused(py: Python<'_>, name: &str, e: &PyErr) -> Stop {
    let text = e.value(py).to_string();
    Stop::raises(
        format!("NumPy operation that raises or warns: {name}: {text}"),
        "NumPy raises or warns for arguments of these sizes and dtypes; the operation runs in eager mode so that it does.",
        "Correct the arguments.",
    )
}

/// While this is there NumPy's warnings are exceptions; those about values that no program has are left out.
struct Quiet<'py> {
    entered: Vec<Bound<'py, PyAny>>,
}

impl<'py> Quiet<'py> {
    fn enter(py: Python<'py>, any_values: bool) -> PyResult<Quiet<'py>> {
        let mut quiet = Quiet {
            entered: Vec::new(),
        };
        let warnings = py.import("warnings")?;
        let caught = warnings.call_method0("catch_warnings")?;
        caught.call_method0("__enter__")?;
        quiet.entered.push(caught);
        warnings.call_method1("simplefilter", ("error",))?;
        // NumPy's of tensors, which it tells nobody of by default.
        let deprecated = py.import("builtins")?.getattr("DeprecationWarning")?;
        warnings.call_method1("simplefilter", ("ignore", deprecated))?;
        if any_values {
            let kw = PyDict::new(py);
            kw.set_item("all", "ignore")?;
            let state = (py.import("numpy")?).call_method("errstate", (), Some(&kw))?;
            state.call_method0("__enter__")?;
            quiet.entered.push(state);
        }
        Ok(quiet)
    }

    fn leave(self) -> PyResult<()> {
        for entered in self.entered.iter().rev() {
            let none = entered.py().None();
            entered.call_method1("__exit__", (&none, &none, &none))?;
        }
        Ok(())
    }
}

/// Whether NumPy gives the same for one call and for another of the same arguments in other sizes, but for the sizes.
///
/// # Errors
/// What NumPy raises.
pub(crate) fn is_same_kind(
    (one, its): (&Bound<'_, PyAny>, &[Stand<'_>]),
    (other, others): (&Bound<'_, PyAny>, &[Stand<'_>]),
) -> PyResult<bool> {
    let py = one.py();
    if !one.get_type().is(other.get_type()) {
        return Ok(false);
    }
    let place = |of: &Bound<'_, PyAny>, stands: &[Stand<'_>]| {
        stands.iter().position(|stand| stand.real.is(of))
    };
    if place(one, its) != place(other, others) {
        return Ok(false);
    }
    if one.cast::<PyTuple>().is_ok() || one.cast::<PyList>().is_ok() {
        if one.len()? != other.len()? {
            return Ok(false);
        }
        for (a, b) in one.try_iter()?.zip(other.try_iter()?) {
            if !is_same_kind((&a?, its), (&b?, others))? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let numpy = py.import("numpy")?;
    if !in_memory(one)?.is_instance(&numpy.getattr("ndarray")?)? {
        return Ok(true);
    }
    let (a, b) = (in_memory(one)?, in_memory(other)?);
    let writeable =
        |array: &Bound<'_, PyAny>| array.getattr("flags")?.getattr("writeable")?.is_truthy();
    Ok(a.getattr("dtype")?.eq(b.getattr("dtype")?)?
        && a.getattr("ndim")?.eq(b.getattr("ndim")?)?
        && writeable(&a)? == writeable(&b)?
        && shares(one, its)? == shares(other, others)?)
}

/// The class of a value.
pub(crate) fn class_of(value: &Bound<'_, PyAny>) -> Obj {
    value.get_type().into_any().unbind()
}
