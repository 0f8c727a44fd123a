//! torch's state of the calling thread and of the process, read without Python.
//!
//! What lives here: dispatch keys of the thread, grad and inference mode, autocast, `__torch_function__` state,
//! default dtype and device, determinism. Invariant: each read is that of the calling thread, with the GIL held,
//! and runs no user code.

use std::sync::Mutex;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyString};

use crate::dicts::Place;
use crate::symbols::Symbols;
use crate::thread::{self, ThreadModes};
use crate::{AbiError, TorchAbi, names};

/// The thread's key sets are stored relative to constants of torch's build; these are the constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefaultKeys {
    included: u64,
    excluded: u64,
}

impl DefaultKeys {
    pub(crate) fn learn(
        py: Python<'_>,
        version: &str,
        symbols: &Symbols,
    ) -> Result<Self, AbiError> {
        if symbols.local_keys().is_null() {
            return Err(AbiError::UnknownInternals {
                version: version.to_owned(),
                what: "the thread's dispatch keys have no address".into(),
            });
        }
        let torch_c = py.import(names::TORCH_C)?;
        let python = |name: &str| -> PyResult<u64> {
            torch_c
                .getattr(name)?
                .call0()?
                .call_method0("raw_repr")?
                .extract()
        };
        let (included, excluded) = thread::places(symbols).raw_keys();
        Ok(Self {
            included: included ^ python(names::TLS_INCLUDE_SET)?,
            excluded: excluded ^ python(names::TLS_EXCLUDE_SET)?,
        })
    }
}

/// Python objects that hold or answer for state that C has no safe symbol for.
pub(crate) struct Objects {
    /// `__dict__` of `torch.utils._device`.
    device_module: Py<PyDict>,
    current_device: Py<PyString>,
    current_device_at: Place,
    /// `__dict__` of `torch.autograd.forward_ad`.
    forward_module: Py<PyDict>,
    forward_level: Py<PyString>,
    forward_level_at: Place,
    function_stack_at: Py<PyAny>,
    /// Readers of cuBLAS settings, where there is a GPU.
    cublas: Option<[Py<PyAny>; 3]>,
}

impl Objects {
    pub(crate) fn load(py: Python<'_>) -> Result<Self, AbiError> {
        let torch_c = py.import(names::TORCH_C)?;
        // Without a GPU nothing reads these settings; counting devices makes no CUDA context.
        let built: bool = torch_c.getattr("_has_cuda")?.extract()?;
        let cuda = built
            && torch_c
                .getattr(names::CUDA_DEVICE_COUNT)
                .and_then(|count| count.call0()?.extract::<i64>())
                .is_ok_and(|count| count > 0);
        let function = |name: &str| torch_c.getattr(name).map(Bound::unbind);
        Ok(Self {
            device_module: PyModule::import(py, names::UTILS_DEVICE)?.dict().unbind(),
            current_device: PyString::intern(py, names::CURRENT_DEVICE).unbind(),
            current_device_at: Place::new(),
            forward_module: PyModule::import(py, names::FORWARD_AD)?.dict().unbind(),
            forward_level: PyString::intern(py, names::FORWARD_LEVEL).unbind(),
            forward_level_at: Place::new(),
            function_stack_at: function(names::FUNCTION_STACK_AT)?,
            cublas: if cuda {
                Some([
                    function(names::CUBLAS_ALLOW_TF32)?,
                    function(names::CUBLAS_FP16_REDUCTION)?,
                    function(names::CUBLAS_BF16_REDUCTION)?,
                ])
            } else {
                None
            },
        })
    }
}

impl TorchAbi {
    /// The calling thread's (included, excluded) dispatch key sets, raw.
    #[inline]
    pub fn local_keys(&self) -> (u64, u64) {
        self.keys_at(thread::places(&self.symbols))
    }

    /// The calling thread's modes, all at once.
    #[inline]
    pub fn thread_modes(&self) -> ThreadModes {
        let places = thread::places(&self.symbols);
        let keys = self.keys_at(places);
        match self.modes_have_places {
            true => places.modes(keys),
            false => ThreadModes {
                keys,
                grad_mode: self.grad_mode(),
                inference_mode: self.inference_mode(),
                torch_function: self.torch_function_state(),
                function_modes: self.torch_function_stack_len(),
            },
        }
    }

    #[inline]
    fn keys_at(&self, places: thread::Places) -> (u64, u64) {
        let (included, excluded) = places.raw_keys();
        (
            included ^ self.default_keys.included,
            excluded ^ self.default_keys.excluded,
        )
    }

    /// `torch.is_grad_enabled()`.
    #[inline]
    pub fn grad_mode(&self) -> bool {
        // SAFETY: no arguments, no exceptions.
        unsafe { (self.symbols.grad_mode)() }
    }

    /// `torch.is_inference_mode_enabled()`.
    #[inline]
    pub fn inference_mode(&self) -> bool {
        // SAFETY: no arguments, no exceptions.
        unsafe { (self.symbols.inference_mode)() }
    }

    /// Number of `torch.get_default_dtype()`.
    #[inline]
    pub fn default_dtype(&self) -> u8 {
        // SAFETY: no arguments, no exceptions.
        unsafe { (self.symbols.default_dtype)() as u8 }
    }

    /// (enabled, warn only) of deterministic algorithms.
    #[inline]
    pub fn deterministic(&self) -> (bool, bool) {
        // SAFETY: the process-wide context; both functions read one flag.
        unsafe {
            (
                (self.symbols.deterministic)(self.symbols.context),
                (self.symbols.deterministic_warn)(self.symbols.context),
            )
        }
    }

    /// Whether autocast is on for a device type that has an autocast key, and the dtype that it casts to.
    pub fn autocast(&self, device_type: i8) -> (bool, u8) {
        // SAFETY: callers pass device types from `autocast_devices`, for which neither function raises.
        unsafe {
            (
                (self.symbols.autocast_enabled)(device_type),
                (self.symbols.autocast_dtype)(device_type) as u8,
            )
        }
    }

    /// Device types that autocast knows in every supported torch: cpu, cuda, xla, xpu, mps, hpu, ipu, mtia, maia,
    /// privateuseone.
    pub const fn autocast_devices() -> [i8; 10] {
        [0, 1, 8, 9, 12, 13, 15, 18, 19, 20]
    }

    /// `torch.is_autocast_cache_enabled()`.
    #[inline]
    pub fn autocast_cache(&self) -> bool {
        // SAFETY: no arguments, no exceptions.
        unsafe { (self.symbols.autocast_cache)() }
    }

    /// Whether `__torch_function__` is enabled (0), disabled for subclasses (1) or altogether (2).
    #[inline]
    pub fn torch_function_state(&self) -> u8 {
        // SAFETY: no arguments, no exceptions.
        unsafe { (self.symbols.torch_function_state)() as u8 }
    }

    /// How many torch function modes are active in this thread.
    #[inline]
    pub fn torch_function_stack_len(&self) -> usize {
        // SAFETY: no arguments, no exceptions.
        usize::try_from(unsafe { (self.symbols.torch_function_stack)() }).unwrap_or(0)
    }

    /// The torch function mode at a position, outermost first. A new reference; torch's C code only.
    pub fn torch_function_mode<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.objects.function_stack_at.bind(py).call1((index,))
    }

    /// What `torch.utils._device.CURRENT_DEVICE` is now: a borrowed pointer, null if the name is gone.
    #[inline]
    pub fn current_device(&self) -> *mut ffi::PyObject {
        // SAFETY: a live dict and an interned string, with the GIL held; module globals have string keys.
        unsafe {
            self.objects.current_device_at.get(
                self.objects.device_module.as_ptr(),
                self.objects.current_device.as_ptr(),
            )
        }
    }

    /// Whether a level of forward-mode differentiation is active: only then tensors have tangents.
    #[inline]
    pub fn has_forward_level(&self) -> bool {
        // SAFETY: a live dict and an interned string, with the GIL held; module globals have string keys, and what is
        // found is an int, for which nothing is raised.
        unsafe {
            let level = self.objects.forward_level_at.get(
                self.objects.forward_module.as_ptr(),
                self.objects.forward_level.as_ptr(),
            );
            !level.is_null() && ffi::PyLong_CheckExact(level) != 0 && ffi::PyLong_AsLong(level) >= 0
        }
    }

    /// Whether cuBLAS settings can matter: there is a GPU.
    #[inline]
    pub fn has_cublas(&self) -> bool {
        self.objects.cublas.is_some()
    }

    /// cuBLAS settings as (TF32 allowed, reduced precision bits: 1 for fp16, 2 for bf16). All false without a GPU.
    pub fn cublas(&self, py: Python<'_>) -> (bool, u8) {
        let Some(readers) = &self.objects.cublas else {
            return (false, 0);
        };
        let read = |reader: &Py<PyAny>| {
            reader
                .bind(py)
                .call0()
                .and_then(|value| value.is_truthy())
                .unwrap_or(false)
        };
        (
            read(&readers[0]),
            u8::from(read(&readers[1])) | u8::from(read(&readers[2])) << 1,
        )
    }

    /// Whether `torch.jit.trace` is recording in this thread.
    pub fn is_traced_by_jit(&self, py: Python<'_>) -> bool {
        py.import(names::TORCH_C)
            .and_then(|torch_c| torch_c.getattr(names::TRACING_STATE)?.call0())
            .is_ok_and(|state| !state.is_none())
    }

    /// Whether `vmap`, `grad`, `jvp` or another transform of `torch.func` is active in this thread.
    pub fn is_transformed(&self, py: Python<'_>) -> bool {
        py.import(names::TORCH_C)
            .and_then(|torch_c| {
                torch_c
                    .getattr(names::TRANSFORMS_ACTIVE)?
                    .call0()?
                    .is_truthy()
            })
            .unwrap_or(false)
    }

    /// Whether a `TorchDispatchMode` is active in this thread that is to see what the program does: neither
    /// torch's own machinery nor one that asks to be left out of compiled code.
    pub fn is_in_dispatch_mode(&self, py: Python<'_>) -> bool {
        self.seeing_modes(py).unwrap_or(false)
    }

    fn seeing_modes(&self, py: Python<'_>) -> PyResult<bool> {
        let torch_c = py.import(names::TORCH_C)?;
        let depth: usize = torch_c.getattr(names::DISPATCH_MODES)?.call0()?.extract()?;
        for at in 0..depth {
            let mode = torch_c.getattr(names::DISPATCH_MODE_AT)?.call1((at,))?;
            let says = |name: &str| -> PyResult<bool> { mode.call_method0(name)?.is_truthy() };
            if !says(names::IS_INFRA_MODE)? && !says(names::IGNORES_COMPILED)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The C function that gives the innermost hooks on saved tensors, as `(pack, unpack)` or `None`. Its one
    /// argument is whether to give them while tracing too.
    ///
    /// # Errors
    /// Where torch has no such function.
    pub fn saved_tensors_hooks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import(names::TORCH_C)?
            .getattr(names::AUTOGRAD_C)?
            .getattr(names::SAVED_TENSORS_HOOKS)
    }

    /// Until what this gives is dropped, the program's hooks on saved tensors are not called in this thread: operations
    /// on fake tensors are no part of the program, and checkpointing counts what is saved.
    ///
    /// # Errors
    /// Where torch has no such function.
    pub fn saved_tensors_unseen<'py>(py: Python<'py>) -> PyResult<SavedTensorsUnseen<'py>> {
        let set = py
            .import(names::TORCH_C)?
            .getattr(names::AUTOGRAD_C)?
            .getattr(names::SET_HOOKS_TRACING)?;
        let before = set.call1((true,))?;
        Ok(SavedTensorsUnseen { set, before })
    }

    /// Names of a raw key set as `DispatchKeySet(...)` lists them: `CPU, ADInplaceOrView, AutogradCPU`.
    ///
    /// # Errors
    /// Whatever torch raises.
    pub fn key_set_names(&self, py: Python<'_>, keys: u64) -> PyResult<String> {
        // A process sees a handful of sets.
        static NAMES: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());
        const MOST: usize = 64;
        if let Ok(known) = NAMES.lock()
            && let Some((_, names)) = known.iter().find(|(k, _)| *k == keys)
        {
            return Ok(names.clone());
        }
        let names = self.ask_key_set_names(py, keys)?;
        if let Ok(mut known) = NAMES.lock()
            && known.len() < MOST
        {
            known.push((keys, names.clone()));
        }
        Ok(names)
    }

    fn ask_key_set_names(&self, py: Python<'_>, keys: u64) -> PyResult<String> {
        let torch_c = py.import(names::TORCH_C)?;
        let set = torch_c
            .getattr(names::DISPATCH_KEY_SET)?
            .call_method1("from_raw_repr", (keys,))?;
        let text: String = torch_c
            .getattr(names::DISPATCH_KEYSET_TO_STRING)?
            .call1((set,))?
            .extract()?;
        Ok(text
            .trim_start_matches("DispatchKeySet(")
            .trim_end_matches(')')
            .to_owned())
    }
}

/// See [`TorchAbi::saved_tensors_unseen`].
pub struct SavedTensorsUnseen<'py> {
    set: Bound<'py, PyAny>,
    before: Bound<'py, PyAny>,
}

impl Drop for SavedTensorsUnseen<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.set.call1((&self.before,)) {
            error.write_unraisable(self.set.py(), None);
        }
    }
}
