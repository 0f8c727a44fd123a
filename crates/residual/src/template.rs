//! The first attributes of an instance, written by copying a dictionary that has their names already.
//!
//! What `__init__` of a dataclass writes is the same names each time, and constants for the most part. A copy
//! of a dictionary is one allocation and takes no look-ups.
//! Invariant: it does what `object.__setattr__` does with each name in turn; where the class has changed, or
//! the object has attributes already, that is what runs.

use std::ptr;
use std::sync::Arc;

use cpython_abi::panics::contained_or_raise;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, Py_ssize_t, PyObject, PyTypeObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyCFunction, PyDict, PyFloat, PyInt, PyString, PyType, PyWeakrefMethods,
    PyWeakrefReference,
};
use variables::{Obj, Var};

use crate::natives::{Definition, definition, dict_place, is_written_by_class};

static FILL: Definition = definition(c"fill", fill);

/// What one place of residual code writes.
#[pyclass(frozen, name = "attributes")]
struct Template {
    /// names in order, with the constants among the values
    attributes: Py<PyDict>,
    /// names of the values that are given, in order
    given: Vec<Py<PyString>>,
    /// the class, compared by its address and version: versions are not used again
    class: usize,
    version: u32,
    /// a weak reference to it
    of: Py<PyWeakrefReference>,
}

/// What an instance of a class gets for names, in order; `None` for what is given at each call.
pub type Attributes = Vec<(Arc<str>, Option<Obj>)>;

/// The version of a class as it is now; `None` where it has none. A change takes it away.
unsafe fn version(class: *mut PyTypeObject) -> Option<u32> {
    // SAFETY: a live class.
    let version = unsafe { (*class).tp_version_tag };
    (version != 0).then_some(version)
}

/// Whether a value is the same each time, and holds nothing that could lead back to the code.
pub(crate) fn is_kept(py: Python<'_>, value: &Var) -> bool {
    let Var::Const(value) = value else {
        return false;
    };
    let value = value.bind(py);
    value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
}

/// As [`make_fill`], of values of the translation.
///
/// # Errors
/// Memory.
pub(crate) fn make(
    py: Python<'_>,
    class: &Obj,
    attributes: &[(Arc<str>, Var)],
) -> PyResult<Option<Obj>> {
    let attributes = attributes.iter().map(|(name, value)| {
        let constant = match value {
            Var::Const(constant) if is_kept(py, value) => Some(constant.clone()),
            _ => None,
        };
        (name.clone(), constant)
    });
    make_fill(py, class, &attributes.collect())
}

/// A builtin that is called with an instance and the values that are not kept; `None` where the class has
/// a descriptor for a name, or its instances have no dictionary in a field of their own.
///
/// # Errors
/// Memory.
pub fn make_fill(py: Python<'_>, class: &Obj, attributes: &Attributes) -> PyResult<Option<Obj>> {
    let class = class.bind(py).cast::<PyType>()?;
    let of = PyWeakrefReference::new(class)?.unbind();
    let class = class.as_type_ptr();
    let dict = PyDict::new(py);
    let mut given = Vec::new();
    for (name, value) in attributes {
        let name = PyString::intern(py, name);
        // SAFETY: a live class and a string.
        if unsafe { is_written_by_class(class, name.as_ptr()) } {
            return Ok(None);
        }
        match value {
            Some(constant) => dict.set_item(&name, constant)?,
            None => {
                dict.set_item(&name, py.None())?;
                given.push(name.unbind());
            }
        }
    }
    // SAFETY: a live class; the definition is a static one, which CPython only reads.
    unsafe {
        let Some(version) = version(class).filter(|_| dict_place(class).is_some()) else {
            return Ok(None);
        };
        let template = Template {
            attributes: dict.unbind(),
            given,
            class: class as usize,
            version,
            of,
        };
        let template = Bound::new(py, template)?;
        let definition = ptr::from_ref(&FILL.0).cast_mut();
        let function = ffi::PyCFunction_NewEx(definition, template.as_ptr(), ptr::null_mut());
        Bound::from_owned_ptr_or_err(py, function).map(|f| Some(f.unbind()))
    }
}

/// The class and the attributes that [`make_fill`] has made a builtin of; `None` for any other object, and where the
/// class has ended.
pub fn fill_parts(builtin: &Bound<'_, PyAny>) -> Option<(Obj, Attributes)> {
    let py = builtin.py();
    let template = builtin.cast_exact::<PyCFunction>().ok()?;
    let template = template.getattr(intern!(py, "__self__")).ok()?;
    let template = template.cast_exact::<Template>().ok()?.get();
    let class = template.of.bind(py).upgrade()?.unbind();
    let names = template.attributes.bind(py).iter();
    let attributes = names.map(|(name, value)| {
        let is_given = template.given.iter().any(|given| given.is(&name));
        let name: String = name.extract().ok()?;
        Some((name.into(), (!is_given).then(|| value.unbind())))
    });
    Some((class, attributes.collect::<Option<_>>()?))
}

unsafe extern "C" fn fill(
    template: *mut PyObject,
    args: *mut *mut PyObject,
    nargs: Py_ssize_t,
) -> *mut PyObject {
    contained_or_raise("`fill` of residual code", || {
        // SAFETY: called by the interpreter with the template that the function was made with.
        unsafe {
            let py = Python::assume_attached();
            let template = Borrowed::from_ptr(py, template);
            let written = match template.cast::<Template>() {
                Ok(template) if nargs as usize == 1 + template.get().given.len() => {
                    let values = std::slice::from_raw_parts(args.add(1), nargs as usize - 1);
                    template.get().fill(py, *args, values)
                }
                _ => Err(PyTypeError::new_err(
                    "unexpected arguments of residual code",
                )),
            };
            match written {
                Ok(()) => ffi::Py_NewRef(ffi::Py_None()),
                Err(error) => {
                    error.restore(py);
                    ptr::null_mut()
                }
            }
        }
    })
}

impl Template {
    /// Writes the attributes of an instance.
    ///
    /// # Safety
    /// Live objects, as many values as are given.
    unsafe fn fill(
        &self,
        py: Python<'_>,
        obj: *mut PyObject,
        values: &[*mut PyObject],
    ) -> PyResult<()> {
        let ok = |status| match status {
            0 => Ok(()),
            _ => Err(PyErr::fetch(py)),
        };
        // SAFETY: as said above. The class says where an instance has its dictionary, which nobody has
        // seen if it is empty.
        unsafe {
            let class = ffi::Py_TYPE(obj);
            let known = class as usize == self.class && version(class) == Some(self.version);
            if let Some(offset) = dict_place(class).filter(|_| known) {
                let place = obj.cast::<u8>().offset(offset).cast::<*mut PyObject>();
                let now = place.read();
                if now.is_null() || ffi::PyDict_Size(now) == 0 {
                    let dict = ffi::PyDict_Copy(self.attributes.as_ptr());
                    if dict.is_null() {
                        return Err(PyErr::fetch(py));
                    }
                    place.write(dict);
                    ffi::Py_XDECREF(now);
                    for (name, value) in self.given.iter().zip(values) {
                        ok(ffi::PyDict_SetItem(dict, name.as_ptr(), *value))?;
                    }
                    return Ok(());
                }
            }
            let mut values = self.given.iter().zip(values).peekable();
            for (name, kept) in self.attributes.bind(py) {
                let value = match values.next_if(|(given, _)| name.is(*given)) {
                    Some((_, value)) => *value,
                    None => kept.as_ptr(),
                };
                ok(ffi::PyObject_GenericSetAttr(obj, name.as_ptr(), value))?;
            }
            Ok(())
        }
    }
}
