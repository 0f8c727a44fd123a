//! Classes that the function makes by calls of plain values: `namedtuple("P", "a b")`, `type("T", (), {"k": 3})`.
//!
//! A translation has a class of its own, which it keeps inside (see [`translator::private`]); residual code makes one
//! where it is handed out, by the same call.
//!
//! Does not live here: which calls those are.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple, PyType};
use translator::stop::{R, Stop};
use translator::tx::Tx;
use variables::{Obj, Remade, Var};

/// Classes that translations have made, by calls. They are never handed out, so that others use them again; one
/// translation has each for one call.
static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// The break for a call of other values.
pub(crate) fn refused() -> Stop {
    Stop::brk(
        "Class made in the compiled function",
        "The call that makes it is given something else than names and plain values.",
        "Make the class outside of the compiled function.",
    )
}

/// The name of the module that makes a class now, where it is a constant.
pub(crate) fn module_of(tx: &mut Tx<'_>) -> R<Option<Obj>> {
    let module = tx.load_global(&"__name__".into())?;
    tx.as_const(&module)
}

/// The class that a call makes.
///
/// # Errors
/// A break where it is not known to be the same class for the same text of the call.
pub(crate) fn make<'py>(
    tx: &mut Tx<'py>,
    function: &Bound<'py, PyAny>,
    pos: &Bound<'py, PyTuple>,
    kw: &Bound<'py, PyDict>,
) -> R<Var> {
    if !is_plain(pos.as_any())? || !is_plain(kw.as_any())? {
        return Err(refused());
    }
    let py = tx.py;
    let classes = CLASSES
        .get_or_init(py, || PyDict::new(py).unbind())
        .bind(py);
    let name: String = function.getattr("__name__")?.extract()?;
    let key = (name, pos, kw).into_pyobject(py)?.repr()?;
    let made = match classes.get_item(&key)? {
        Some(made) => made,
        None => {
            let made = PyList::empty(py).into_any();
            classes.set_item(key, &made)?;
            made
        }
    };
    let made = made.cast::<PyList>().map_err(PyErr::from)?;
    let class = match made.iter().find(|class| !tx.is_private(class)) {
        Some(class) => class,
        None => {
            // What it refuses, it refuses in plain Python.
            let class = function.call(pos, Some(kw)).map_err(|_| refused())?;
            made.append(&class)?;
            class
        }
    };
    tx.keep_private(class.cast::<PyType>().map_err(PyErr::from)?)?;
    if let Some(remade) = remade(&class, function, pos, kw)? {
        tx.facts.remade.push(remade);
    }
    Ok(Var::py(class.unbind()))
}

/// The call that makes a class anew. `None` where the class would hold an argument that can be changed.
fn remade<'py>(
    class: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
    pos: &Bound<'py, PyTuple>,
    kw: &Bound<'py, PyDict>,
) -> PyResult<Option<Remade>> {
    let fixed = |arg: Bound<'py, PyAny>| -> PyResult<Option<Obj>> {
        if let Ok(dict) = arg.cast_exact::<PyDict>() {
            // A class has a copy of it.
            let holds_fixed = dict.values().iter().all(|v| v.hash().is_ok());
            return Ok(holds_fixed.then(|| arg.unbind()));
        }
        let arg = match arg.cast_exact::<PyList>() {
            Ok(list) => list.to_tuple().into_any(),
            Err(_) => arg,
        };
        Ok(arg.hash().is_ok().then(|| arg.unbind()))
    };
    let mut remade = Remade {
        class: class.clone().unbind(),
        function: function.clone().unbind(),
        pos: Vec::with_capacity(pos.len()),
        kw: Vec::with_capacity(kw.len()),
    };
    for arg in pos.iter() {
        let Some(arg) = fixed(arg)? else {
            return Ok(None);
        };
        remade.pos.push(arg);
    }
    for (name, arg) in kw.iter() {
        let Some(arg) = fixed(arg)? else {
            return Ok(None);
        };
        remade.kw.push((name.extract::<String>()?.into(), arg));
    }
    Ok(Some(remade))
}

/// Whether a value's text tells it from all others.
fn is_plain(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    if o.is_none()
        || o.is_exact_instance_of::<PyString>()
        || o.is_exact_instance_of::<PyInt>()
        || o.is_exact_instance_of::<PyBool>()
    {
        return Ok(true);
    }
    if let Ok(dict) = o.cast_exact::<PyDict>() {
        return is_plain(dict.items().as_any());
    }
    if !o.is_exact_instance_of::<PyTuple>() && !o.is_exact_instance_of::<PyList>() {
        return Ok(false);
    }
    for item in o.try_iter()? {
        if !is_plain(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}
