//! What torch has a say in around the hook: its own hook, its marks on functions, stances, and what calls of modules
//! end in.

use std::any::Any;

use eval_frame::context::CompileContext;
use eval_frame::entry::Entry;
use eval_frame::surroundings::{Marked, Measured, MethodTarget, Surroundings, Way};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use torch_abi::modules::{Forward, ModuleCalls};
use torch_abi::profiler::Span;
use torch_abi::stance;

use cpython_abi::symbols::{PyMethod_Function, PyMethod_Self, PyMethod_Type};

use crate::in_stance::in_stance;
use crate::{foreign, module_call};

/// The span of a look-up of compiled code, by torch's name for it.
pub(crate) const LOOK_UP: &str = "TorchDynamo Cache Lookup";

/// torch.
pub(crate) struct Torch;

impl Surroundings for Torch {
    fn suspend(&self) -> *mut PyObject {
        foreign::suspend()
    }

    unsafe fn resume(&self, suspended: *mut PyObject) {
        // SAFETY: required of the caller.
        unsafe { foreign::resume(suspended) };
    }

    unsafe fn marked(&self, attributes: *mut PyObject) -> Marked {
        // SAFETY: required of the caller.
        unsafe { foreign::marked(attributes) }
    }

    #[inline]
    fn leaves_calls_alone(&self, py: Python<'_>) -> bool {
        stance::leaves_calls_alone(py)
    }

    fn way(&self, _py: Python<'_>, entry: &Entry, settings: &CompileContext) -> Way {
        in_stance(entry, settings)
    }

    fn span(&self, py: Python<'_>, measured: Measured<'_>) -> Option<Box<dyn Any>> {
        let span = Span::begin(py, || match measured {
            Measured::LookUp => LOOK_UP.to_owned(),
            Measured::Region(id) => format!("Torch-Compiled Region: {id}"),
        });
        Some(Box::new(span))
    }

    unsafe fn method_target(
        &self,
        function: *mut PyObject,
        receiver: *mut PyObject,
    ) -> MethodTarget {
        let Some(calls) = ModuleCalls::loaded().filter(|calls| calls.call() == function) else {
            return MethodTarget::Itself;
        };
        // SAFETY: required of the caller.
        unsafe {
            let forward = module_call::loaded_abi().and_then(|abi| calls.forward(abi, receiver));
            match forward {
                Some(Forward::OfClass(forward)) => MethodTarget::Behind(forward, receiver),
                Some(Forward::Own(own)) if ffi::Py_TYPE(own) == &raw mut PyMethod_Type => {
                    MethodTarget::Behind(PyMethod_Function(own), PyMethod_Self(own))
                }
                Some(Forward::Own(own)) => MethodTarget::Behind(own, std::ptr::null_mut()),
                None => MethodTarget::Unknown,
            }
        }
    }

    fn mark_disabled(&self, entry: &Bound<'_, PyAny>) -> PyResult<()> {
        foreign::mark_disabled(entry)
    }
}
