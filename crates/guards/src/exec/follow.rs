//! What one step of a source yields on live objects, for who has no program yet.
//!
//! Invariant: as in a check, no user code runs and no exception is left set; what a check could not read is not read
//! here either.

use std::sync::atomic::AtomicIsize;

use cpython_abi::dict::is_dictionary;
use cpython_abi::iterators;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyType};
use torch_abi::TorchAbi;

use crate::exec::check::CheckEnv;
use crate::exec::objects::{self, Found};
use crate::source::Source;
use crate::value::Key;

/// A call about to happen, whose values are read one step at a time.
pub struct Reader<'a> {
    abi: &'a TorchAbi,
    env: CheckEnv<'a>,
}

impl<'a> Reader<'a> {
    /// Reads what the call reaches.
    ///
    /// # Safety
    /// As for [`crate::exec::CheckProgram::check`], as long as the reader is used.
    pub unsafe fn new(abi: &'a TorchAbi, env: CheckEnv<'a>) -> Reader<'a> {
        Reader { abi, env }
    }

    /// What a source yields, of which `base` is what its own base yields; `None` where it can't be read. `pinned` gives
    /// the object of a pin.
    pub fn step<'py>(
        &self,
        py: Python<'py>,
        source: &Source,
        base: Option<&Bound<'py, PyAny>>,
        pinned: &mut dyn FnMut(u32) -> Option<Bound<'py, PyAny>>,
    ) -> Option<Bound<'py, PyAny>> {
        let text = |name: &str| PyString::intern(py, name);
        let base = base.map_or(std::ptr::null_mut(), Bound::as_ptr);
        if source.base().is_some() && base.is_null() {
            return None;
        }
        // SAFETY: the environment is what the constructor's caller has promised, and `base` is alive; each arm checks a
        // type before it reads what only that type has.
        let found = unsafe {
            match source {
                Source::Local { index, .. } => *self.env.locals.get(*index as usize)?,
                Source::Closure { index, .. } => {
                    let (closure, index) = (self.env.closure, *index as isize);
                    if closure.is_null() || index >= ffi::PyTuple_GET_SIZE(closure) {
                        return None;
                    }
                    objects::cell_contents(ffi::PyTuple_GET_ITEM(closure, index))
                }
                Source::Cells => self.env.closure,
                Source::Globals => self.env.globals,
                Source::Global { name } => self.item(self.env.globals, &text(name))?,
                Source::Builtin { name } => self.item(self.env.builtins, &text(name))?,
                Source::GlobalsOf { pin, name, .. } => {
                    self.item(pinned(*pin)?.as_ptr(), &text(name))?
                }
                Source::Pinned { pin, .. } | Source::WeakPinned { pin, .. } => return pinned(*pin),
                Source::FunctionMode { .. } | Source::Early { .. } => return None,
                Source::Attr { name, .. } => {
                    match objects::attribute(self.abi, base, text(name).as_ptr()) {
                        Found::None => return None,
                        Found::Borrowed(value) | Found::Field(value) => value,
                        Found::Owned(value) => return Bound::from_owned_ptr_or_opt(py, value),
                    }
                }
                Source::InstanceDict { .. } => objects::made_instance_dict(base),
                Source::InstanceDictItem { name, .. } => {
                    self.item(objects::instance_dict(base), &text(name))?
                }
                Source::DictItem { key, .. } => match key {
                    Key::Str(name) => self.item(base, &text(name))?,
                    Key::Int(number) => lookup(base, PyInt::new(py, *number).as_any(), true)?,
                    Key::Obj(obj) => lookup(base, &pinned(obj.pin)?, false)?,
                    _ => return None,
                },
                Source::DictKeyAt { index, .. } if is_dictionary(base) => {
                    objects::key_at(base, *index)
                }
                Source::DictKeyAt { .. } => return None,
                Source::ListItem { index, .. } => {
                    let index = *index as isize;
                    if objects::is_deque(base) {
                        let value = ffi::PySequence_GetItem(base, index);
                        if value.is_null() {
                            ffi::PyErr_Clear();
                        }
                        return Bound::from_owned_ptr_or_opt(py, value);
                    }
                    if ffi::PyList_Check(base) == 0 || index >= ffi::PyList_GET_SIZE(base) {
                        return None;
                    }
                    ffi::PyList_GET_ITEM(base, index)
                }
                Source::TupleItem { index, .. } => {
                    let index = *index as isize;
                    if ffi::PyTuple_Check(base) == 0 || index >= ffi::PyTuple_GET_SIZE(base) {
                        return None;
                    }
                    ffi::PyTuple_GET_ITEM(base, index)
                }
                Source::CellContents { .. } => objects::cell_contents(base),
                Source::Under { .. } => iterators::under(base),
                Source::TypeOf { .. } => ffi::Py_TYPE(base).cast(),
                Source::MroAttr { name, .. } => {
                    if ffi::PyType_Check(base) == 0 {
                        return None;
                    }
                    objects::mro_lookup(base.cast(), text(name).as_ptr())
                }
                Source::FuncDefaults { .. }
                | Source::FuncKwDefaults { .. }
                | Source::FuncClosure { .. }
                | Source::FuncCode { .. } => {
                    if ffi::PyFunction_Check(base) == 0 {
                        return None;
                    }
                    let function = &*base.cast::<ffi::PyFunctionObject>();
                    let field = match source {
                        Source::FuncDefaults { .. } => function.func_defaults,
                        Source::FuncKwDefaults { .. } => function.func_kwdefaults,
                        Source::FuncClosure { .. } => function.func_closure,
                        _ => function.func_code,
                    };
                    match field.is_null() {
                        true => ffi::Py_None(),
                        false => field,
                    }
                }
            }
        };
        // SAFETY: a borrowed reference to what the environment or `base` holds, or null.
        unsafe { Bound::from_borrowed_ptr_or_opt(py, found) }
    }

    /// # Safety
    /// `dict` is alive or null.
    unsafe fn item(
        &self,
        dict: *mut PyObject,
        name: &Bound<'_, PyString>,
    ) -> Option<*mut PyObject> {
        // SAFETY: the type is checked first.
        unsafe {
            (!dict.is_null() && is_dictionary(dict))
                .then(|| objects::dict_get_str(dict, name.as_ptr()))
        }
    }
}

/// # Safety
/// `dict` is alive.
unsafe fn lookup(
    dict: *mut PyObject,
    key: &Bound<'_, PyAny>,
    is_plain: bool,
) -> Option<*mut PyObject> {
    // SAFETY: the type is checked first.
    unsafe {
        is_dictionary(dict)
            .then(|| objects::dict_scan(dict, key.as_ptr(), is_plain, &AtomicIsize::new(0)))
    }
}

/// What the classes that a class is made of have for a name, with nothing bound.
pub fn member<'py>(
    class: &Bound<'py, PyType>,
    name: &Bound<'py, PyString>,
) -> Option<Bound<'py, PyAny>> {
    // SAFETY: a live class and an exact text; what is found is held by the class.
    unsafe {
        let found = objects::mro_lookup(class.as_type_ptr(), name.as_ptr());
        Bound::from_borrowed_ptr_or_opt(class.py(), found)
    }
}
