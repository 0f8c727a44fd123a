//! Watchers of dictionaries, types and functions, which 3.12 and later have and PyO3 does not declare.
//!
//! Not here: who watches what.

use std::ffi::c_int;

use pyo3::ffi::{PyObject, PyTypeObject};

/// Is told of an event of a dictionary: which, the dictionary, the key, the new value (both may be null).
pub type DictCallback =
    unsafe extern "C" fn(c_int, *mut PyObject, *mut PyObject, *mut PyObject) -> c_int;
/// Is told of a change of a class.
pub type TypeCallback = unsafe extern "C" fn(*mut PyTypeObject) -> c_int;
/// Is told of an event of a function: which, the function, the new value (may be null).
pub type FunctionCallback = unsafe extern "C" fn(c_int, *mut PyObject, *mut PyObject) -> c_int;
/// Begins or ends to watch an object, for the watcher of a number. Negative where that fails, with an exception.
pub type Watch = unsafe extern "C" fn(c_int, *mut PyObject) -> c_int;

/// The functions. Those that add a watcher give its number, or a negative one with an exception.
pub struct Functions {
    /// `PyDict_AddWatcher`
    pub add_dict: unsafe extern "C" fn(DictCallback) -> c_int,
    /// `PyDict_Watch`
    pub watch_dict: Watch,
    /// `PyDict_Unwatch`
    pub unwatch_dict: Watch,
    /// `PyType_AddWatcher`
    pub add_type: unsafe extern "C" fn(TypeCallback) -> c_int,
    /// `PyType_Watch`
    pub watch_type: Watch,
    /// `PyFunction_AddWatcher`
    pub add_function: unsafe extern "C" fn(FunctionCallback) -> c_int,
}

/// Numbers of `PyDict_WatchEvent`.
pub mod dict_event {
    use std::ffi::c_int;

    /// A key was added.
    pub const ADDED: c_int = 0;
    /// A key got another value.
    pub const MODIFIED: c_int = 1;
    /// A key was removed.
    pub const DELETED: c_int = 2;
    /// The dictionary ends.
    pub const DEALLOCATED: c_int = 5;
}

/// Numbers of `PyFunction_WatchEvent`.
pub mod function_event {
    use std::ffi::c_int;

    /// A function was made.
    pub const CREATED: c_int = 0;
    /// A function ends.
    pub const DESTROYED: c_int = 1;
}

/// The functions of this interpreter.
#[cfg(Py_3_12)]
pub fn functions() -> Option<Functions> {
    unsafe extern "C" {
        fn PyDict_AddWatcher(callback: DictCallback) -> c_int;
        fn PyDict_Watch(id: c_int, dict: *mut PyObject) -> c_int;
        fn PyDict_Unwatch(id: c_int, dict: *mut PyObject) -> c_int;
        fn PyType_AddWatcher(callback: TypeCallback) -> c_int;
        fn PyType_Watch(id: c_int, class: *mut PyObject) -> c_int;
        fn PyFunction_AddWatcher(callback: FunctionCallback) -> c_int;
    }
    Some(Functions {
        add_dict: PyDict_AddWatcher,
        watch_dict: PyDict_Watch,
        unwatch_dict: PyDict_Unwatch,
        add_type: PyType_AddWatcher,
        watch_type: PyType_Watch,
        add_function: PyFunction_AddWatcher,
    })
}

/// The functions of this interpreter, which has none.
#[cfg(not(Py_3_12))]
pub fn functions() -> Option<Functions> {
    None
}
