//! The Python text of a guard set, run as Python.
//!
//! The helper callables of the text (`___check_type_id`, `___check_tensors`, ...) are written in Python and share
//! no code with the native checks, so that the two can be held against each other. Meant for tests: unlike the
//! check program, Python text may run user code (a `__getattribute__`, a property).
//!
//! Invariant: an expression that raises counts as false, as a missing value does natively.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::exec::check::{CheckEnv, CheckProgram};
use crate::guard::GuardKind;
use crate::source::{NameStyle, Source, import_alias};

/// Source of the helpers.
const PRELUDE: &std::ffi::CStr = c_prelude();

const fn c_prelude() -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(concat!(include_str!("prelude.py"), "\0").as_bytes())
    {
        Ok(text) => text,
        Err(_) => panic!("the prelude has a NUL"),
    }
}

/// The helper callables, by name. `torch` and `utils_device` are in it too.
///
/// # Errors
/// Whatever Python raises.
fn guard_helpers(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let scope = PyDict::new(py);
    py.run(PRELUDE, Some(&scope), None)?;
    Ok(scope)
}

impl CheckProgram {
    /// The namespace in which [`crate::GuardSet::guard_code`] (explicit names) can be evaluated for a call: the
    /// helpers, `L`, `G` and what the set pins.
    ///
    /// # Errors
    /// Whatever Python raises.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    unsafe fn text_namespace<'py>(
        &self,
        py: Python<'py>,
        env: &CheckEnv<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let scope = guard_helpers(py)?;
        let set = self.set();
        let (local, global) = (PyDict::new(py), PyDict::new(py));
        // SAFETY: live objects or null.
        let object = |ptr: *mut ffi::PyObject| unsafe { Bound::from_borrowed_ptr_or_opt(py, ptr) };
        if let Some(closure) = object(env.closure) {
            scope.set_item("___closure", closure)?;
        }
        if let Some(globals) = object(env.globals) {
            global.update(globals.cast::<PyDict>()?.as_mapping())?;
        }
        if let Some(builtins) = object(env.builtins) {
            global.set_item("__builtins_dict__", builtins)?;
        }
        for (_, source) in set.sources().iter() {
            match source {
                Source::Local { index, name } => {
                    if let Some(value) = env.locals.get(*index as usize).copied().and_then(object) {
                        local.set_item(&**name, value)?;
                    }
                }
                Source::Closure { index, name } => {
                    let cell = object(env.closure).and_then(|c| {
                        c.cast_into::<PyTuple>()
                            .ok()?
                            .get_item(*index as usize)
                            .ok()
                    });
                    if let Some(value) = cell.and_then(|cell| cell.getattr("cell_contents").ok()) {
                        local.set_item(&**name, value)?;
                    }
                }
                Source::GlobalsOf { pin, module, .. } => {
                    if let Some(dict) = self.pins().get(py, *pin) {
                        global.set_item(
                            import_alias(module),
                            scope
                                .get_item("___namespace")?
                                .map(|f| f.call1((dict,)))
                                .transpose()?,
                        )?;
                    }
                }
                Source::Pinned { pin, name } | Source::WeakPinned { pin, name } => {
                    if let Some(value) = self.pins().get(py, *pin) {
                        global.set_item(&**name, value)?;
                    }
                }
                _ => {}
            }
        }
        scope.set_item("L", local)?;
        scope.set_item("G", global)?;
        let valid = PyDict::new(py);
        valid.set_item("valid", self.validity().is_valid())?;
        scope.set_item(
            "___guarded_code",
            scope
                .get_item("___namespace")?
                .map(|f| f.call1((valid,)))
                .transpose()?,
        )?;
        self.bind_state(py, &scope)?;
        Ok(scope)
    }

    fn bind_state(&self, py: Python<'_>, scope: &Bound<'_, PyDict>) -> PyResult<()> {
        let set = self.set();
        let specs = PyList::empty(py);
        for (_, spec) in set.tensor_checks() {
            let dims = |dims: &[Option<i64>]| dims.to_vec();
            specs.append((
                spec.pytype.addr,
                spec.keys,
                &*spec.dtype_text,
                crate::exec::objects::device_name((spec.device_type, spec.device_index)),
                spec.requires_grad,
                spec.strided.then(|| dims(&spec.sizes)),
                spec.strided.then(|| dims(&spec.strides)),
            ))?;
        }
        scope.set_item("___tensor_specs", specs)?;
        for guard in set.guards() {
            match &guard.kind {
                GuardKind::GlobalState { state } => {
                    let autocast: Vec<(String, String)> = state
                        .autocast
                        .iter()
                        .map(|(device, _, dtype)| {
                            let name = crate::exec::objects::device_name((*device, -1));
                            (name, crate::exec::objects::dtype_name(*dtype))
                        })
                        .collect();
                    scope.set_item(
                        "___global_state",
                        (
                            state.grad_mode,
                            state.inference_mode,
                            state.torch_function,
                            state.deterministic,
                            state.deterministic_warn_only,
                            crate::exec::objects::dtype_name(state.default_dtype),
                            autocast,
                            state.autocast_cache,
                            state.has_forward_level,
                            state.included_keys,
                            state.excluded_keys,
                        ),
                    )?;
                }
                GuardKind::TorchFunctionModeStack { modes } => {
                    let modes: Vec<(usize, String)> = modes
                        .iter()
                        .map(|mode| (mode.ty.addr, mode.device.to_string()))
                        .collect();
                    scope.set_item("___mode_stack", modes)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Evaluates the set's Python text for a call. False where it raises.
    ///
    /// # Errors
    /// Whatever building the namespace raises, or a syntax error in the text.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    pub unsafe fn check_by_text(&self, py: Python<'_>, env: &CheckEnv<'_>) -> PyResult<bool> {
        // SAFETY: the caller's promise.
        let scope = unsafe { self.text_namespace(py, env)? };
        let code = self.set().guard_code(NameStyle::Explicit);
        let code = std::ffi::CString::new(code).map_err(PyErr::from)?;
        match py.eval(&code, Some(&scope), None) {
            Ok(value) => value.is_truthy(),
            Err(error) if error.is_instance_of::<pyo3::exceptions::PySyntaxError>(py) => Err(error),
            Err(_) => Ok(false),
        }
    }
}
