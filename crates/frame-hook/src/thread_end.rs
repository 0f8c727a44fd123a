//! The functions of CPython in which the interpreter may end a thread, until 3.13 (see [`cpython_abi::thread_end`]).
//!
//! Hundreds of places, PyO3's among them, call them. As far as this library does, the linker binds their names to the
//! functions here (`--wrap`, see `build.rs`), which call CPython's own.
//!
//! Not here: evaluators and what else is called by its address (`waits` at these calls); the two functions that
//! `taken` wraps.

use std::ffi::{c_char, c_int};

use pyo3::ffi::{Py_buffer, Py_hash_t, Py_ssize_t, PyCompilerFlags, PyObject};

use cpython_abi::thread_end::waits;

/// Declares each function as the linker knows it, and what this library calls instead.
macro_rules! wrapped {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        mod real {
            use super::*;

            unsafe extern "C-unwind" {
                $(
                    #[link_name = concat!("__real_", stringify!($name))]
                    pub(super) fn $name($($argument: $type),*) $(-> $result)?;
                )*
            }
        }

        $(
            #[expect(non_snake_case, reason = "CPython's name")]
            #[unsafe(export_name = concat!("__wrap_", stringify!($name)))]
            unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: called as `real::$name` is.
                waits(|| unsafe { real::$name($($argument),*) })
            }
        )*
    };
}

include!("thread_end/calls.rs");
