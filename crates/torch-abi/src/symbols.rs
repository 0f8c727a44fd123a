//! C functions of torch, found by name in the libraries that the process has already loaded.
//!
//! Invariant: nothing is loaded that `import torch` did not load; a symbol that every supported torch has must be
//! there, or start-up fails with its name.

use std::ffi::{CString, c_void};

use crate::AbiError;
use crate::names::c;

/// `bool f()`.
pub type BoolFn = unsafe extern "C" fn() -> bool;
/// `int8_t f()` (an enum or scalar type).
pub type ByteFn = unsafe extern "C" fn() -> i8;
/// `int32_t f()`.
pub type IntFn = unsafe extern "C" fn() -> i32;
/// `int64_t f()`.
pub type LongFn = unsafe extern "C" fn() -> i64;
/// `object& f()`.
pub type AddressFn = unsafe extern "C" fn() -> *const u8;
/// `bool f(const object&)`.
pub type MethodFn = unsafe extern "C" fn(*const c_void) -> bool;
/// `bool f(DeviceType)`.
pub type DeviceBoolFn = unsafe extern "C" fn(i8) -> bool;
/// `ScalarType f(DeviceType)`.
pub type DeviceByteFn = unsafe extern "C" fn(i8) -> i8;
/// Stable C ABI getter of a pointer.
pub type GetPtr = unsafe extern "C" fn(*const c_void, *mut *const i64) -> i32;
/// Stable C ABI getter of a 64-bit number.
pub type GetLong = unsafe extern "C" fn(*const c_void, *mut i64) -> i32;
/// Stable C ABI getter of a 32-bit number.
pub type GetInt = unsafe extern "C" fn(*const c_void, *mut i32) -> i32;

/// The functions of the stable C ABI that read a tensor.
pub struct StableAbi {
    /// Sizes.
    pub sizes: GetPtr,
    /// Strides.
    pub strides: GetPtr,
    /// Number of dimensions.
    pub dim: GetLong,
    /// `ScalarType` number.
    pub dtype: GetInt,
    /// `DeviceType` number.
    pub device_type: GetInt,
    /// Device index, -1 for none.
    pub device_index: GetInt,
    /// Offset into the storage, in elements.
    pub storage_offset: GetLong,
    /// Address of the first element.
    pub data_ptr: GetPtr,
}

/// Functions that only some torch may have: what they are for can be done without them.
#[derive(Clone, Copy)]
pub struct ThreadSymbols {
    /// Sets grad mode of the thread.
    pub set_grad_mode: unsafe extern "C" fn(bool),
    /// Where the thread keeps grad mode and inference mode.
    pub autograd: AddressFn,
    /// Sets the state of `__torch_function__` in this thread (a C enum).
    pub set_torch_function: unsafe extern "C" fn(i32),
    /// Where the thread keeps that state and the mode stack.
    pub torch_function: AddressFn,
}

/// Every symbol in use.
pub struct Symbols {
    libraries: [*mut c_void; 2],
    /// Stable C ABI readers.
    pub stable: StableAbi,
    /// `TensorImpl::requires_grad`.
    pub requires_grad: MethodFn,
    /// Grad mode of the thread.
    pub grad_mode: BoolFn,
    /// Inference mode of the thread.
    pub inference_mode: BoolFn,
    /// Default dtype.
    pub default_dtype: ByteFn,
    /// `at::Context`, a process-wide object.
    pub context: *const c_void,
    /// Deterministic algorithms, of the context.
    pub deterministic: MethodFn,
    /// Whether they only warn, of the context.
    pub deterministic_warn: MethodFn,
    /// Autocast of a device type in this thread.
    pub autocast_enabled: DeviceBoolFn,
    /// Its dtype.
    pub autocast_dtype: DeviceByteFn,
    /// Whether casts are cached.
    pub autocast_cache: BoolFn,
    /// State of `__torch_function__` in this thread (a C enum).
    pub torch_function_state: IntFn,
    /// Length of the torch function mode stack of this thread.
    pub torch_function_stack: LongFn,
    /// Where the thread's modes are, where torch says so.
    pub thread: Option<ThreadSymbols>,
}

// SAFETY: function pointers and process-wide addresses that live as long as the process; torch is never unloaded.
unsafe impl Send for Symbols {}
// SAFETY: as above; nothing is written after construction.
unsafe impl Sync for Symbols {}

struct Loader<'a> {
    version: &'a str,
    libraries: [*mut c_void; 2],
}

impl Loader<'_> {
    fn address(&self, name: &str) -> Result<*mut c_void, AbiError> {
        find(&self.libraries, name).ok_or_else(|| AbiError::UnknownInternals {
            version: self.version.to_owned(),
            what: format!("symbol {name} is missing"),
        })
    }

    /// # Safety
    /// `F` must be a function pointer type that fits the symbol.
    unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, AbiError> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = self.address(name)?;
        // SAFETY: the caller's promise, and equal sizes.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
    }
}

impl Loader<'_> {
    fn thread(&self) -> Result<ThreadSymbols, AbiError> {
        // SAFETY: as for `Symbols::load`.
        unsafe {
            Ok(ThreadSymbols {
                set_grad_mode: self.function(c::SET_GRAD_MODE)?,
                autograd: self.function(c::AUTOGRAD_STATE)?,
                set_torch_function: self.function(c::SET_TORCH_FUNCTION_STATE)?,
                torch_function: self.function(c::TORCH_FUNCTION_TLS)?,
            })
        }
    }
}

fn open(name: &str) -> *mut c_void {
    let suffix = if cfg!(target_os = "macos") {
        "dylib"
    } else {
        "so"
    };
    let Ok(file) = CString::new(format!("{name}.{suffix}")) else {
        return std::ptr::null_mut();
    };
    // SAFETY: a NUL-terminated name; with NOLOAD nothing is loaded and no initialiser runs.
    unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) }
}

fn find(libraries: &[*mut c_void], name: &str) -> Option<*mut c_void> {
    let symbol = CString::new(name).ok()?;
    libraries.iter().find_map(|&library| {
        if library.is_null() {
            return None;
        }
        // SAFETY: a live handle and a NUL-terminated name.
        let address = unsafe { libc::dlsym(library, symbol.as_ptr()) };
        (!address.is_null()).then_some(address)
    })
}

impl Symbols {
    /// Looks every symbol up in the loaded libraries.
    ///
    /// # Errors
    /// [`AbiError::UnknownInternals`] naming the first that is missing.
    pub fn load(version: &str) -> Result<Self, AbiError> {
        let loader = Loader {
            version,
            libraries: [open(c::C10), open(c::TORCH_CPU)],
        };
        // SAFETY: each name is paired with the type that torch's headers give it (2.10 to 2.15).
        unsafe {
            let global_context: unsafe extern "C" fn() -> *const c_void =
                loader.function(c::GLOBAL_CONTEXT)?;
            loader.address(c::LOCAL_KEYS)?;
            Ok(Self {
                stable: StableAbi {
                    sizes: loader.function(c::GET_SIZES)?,
                    strides: loader.function(c::GET_STRIDES)?,
                    dim: loader.function(c::GET_DIM)?,
                    dtype: loader.function(c::GET_DTYPE)?,
                    device_type: loader.function(c::GET_DEVICE_TYPE)?,
                    device_index: loader.function(c::GET_DEVICE_INDEX)?,
                    storage_offset: loader.function(c::GET_STORAGE_OFFSET)?,
                    data_ptr: loader.function(c::GET_DATA_PTR)?,
                },
                requires_grad: loader.function(c::REQUIRES_GRAD)?,
                grad_mode: loader.function(c::GRAD_MODE)?,
                inference_mode: loader.function(c::INFERENCE_MODE)?,
                default_dtype: loader.function(c::DEFAULT_DTYPE)?,
                context: global_context(),
                deterministic: loader.function(c::DETERMINISTIC)?,
                deterministic_warn: loader.function(c::DETERMINISTIC_WARN)?,
                autocast_enabled: loader.function(c::AUTOCAST_ENABLED)?,
                autocast_dtype: loader.function(c::AUTOCAST_DTYPE)?,
                autocast_cache: loader.function(c::AUTOCAST_CACHE)?,
                torch_function_state: loader.function(c::TORCH_FUNCTION_STATE)?,
                torch_function_stack: loader.function(c::TORCH_FUNCTION_STACK)?,
                thread: loader.thread().ok(),
                libraries: loader.libraries,
            })
        }
    }

    /// Address of the calling thread's raw dispatch key sets (two words: included, excluded).
    pub(crate) fn local_keys(&self) -> *const u64 {
        find(&self.libraries, c::LOCAL_KEYS)
            .map_or(std::ptr::null(), |address| address.cast_const().cast())
    }
}
