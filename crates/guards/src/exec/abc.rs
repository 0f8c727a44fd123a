//! Answers of abstract classes: classes that they do not count as their subclasses.
//!
//! `abc` counts registrations in a token. While the token is the one of the answers, they hold; a check
//! compares no more than that, and only the first guard of a program does. When something was registered,
//! the answers are asked for again, which runs Python code and so is not done by a check.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use super::check::{CheckProgram, is_int};
use super::linked::LinkedOp;

/// A class that an abstract class does not count as a subclass.
pub(crate) struct AbcAnswer {
    /// The class; pinned.
    pub class: *mut PyObject,
    /// The abstract class; pinned.
    pub base: *mut PyObject,
    /// `abc.get_cache_token()` for which all answers of the program hold.
    pub token: Arc<AtomicI64>,
    /// That function, where this is the first answer of the program; null for the others.
    pub ask: *mut PyObject,
}

impl AbcAnswer {
    /// Whether nothing was registered since the answers were given.
    ///
    /// # Safety
    /// The GIL is held.
    pub unsafe fn is_recent(&self) -> bool {
        if self.ask.is_null() {
            return true;
        }
        // SAFETY: a C function that runs no user code, kept by the program; a new reference is released.
        unsafe {
            let now = ffi::PyObject_CallNoArgs(self.ask);
            if now.is_null() {
                ffi::PyErr_Clear();
                return false;
            }
            let same = is_int(now, self.token.load(Ordering::Relaxed));
            ffi::Py_DECREF(now);
            same
        }
    }
}

impl CheckProgram {
    /// Asks abstract classes again for their answers, where something was registered since. `true` where the
    /// answers are what they were: the guards on them hold again.
    ///
    /// # Errors
    /// What a subclass check raises.
    pub fn renew(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.validity().is_valid() {
            return Ok(false);
        }
        let answers = || {
            self.ops().iter().filter_map(|op| match op {
                LinkedOp::NotSubclass { answer } => Some(answer),
                _ => None,
            })
        };
        let Some(first) = answers().next() else {
            return Ok(false);
        };
        let now: i64 = py
            .import("_abc")?
            .call_method0("get_cache_token")?
            .extract()?;
        if first.token.load(Ordering::Relaxed) == now {
            return Ok(false);
        }
        // SAFETY: pinned, and the pins are valid. Each is held from here on: the checks run Python code.
        let held = |object| unsafe { Bound::from_borrowed_ptr(py, object) };
        let asked: Vec<_> = answers().map(|a| (held(a.class), held(a.base))).collect();
        let builtins = py.import("builtins")?;
        for (class, base) in asked {
            if builtins
                .call_method1("issubclass", (class, base))?
                .is_truthy()?
            {
                return Ok(false);
            }
        }
        first.token.store(now, Ordering::Relaxed);
        Ok(true)
    }
}
