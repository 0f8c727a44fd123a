//! What a call of an `nn.Module` comes to, found without running its Python.
//!
//! Follows `Module._wrapped_call_impl` and `_call_impl`: where no hook is registered, nothing is being
//! traced and nothing of the way is overridden, a call of a module is a call of its `forward`.
//!
//! Invariant: looking runs no user code; whatever is not as in a plain module gives `None`.

use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use cpython_abi::symbols::_PyType_Lookup;
use pyo3::exceptions::PyLookupError;
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::dicts::{self, Place};
use crate::{TorchAbi, names};

/// The `forward` that a call of a module runs; borrowed from the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// A function of its class, which takes the module.
    OfClass(*mut PyObject),
    /// A callable that was set on the module itself.
    Own(*mut PyObject),
}

/// Whether a module has hooks that are called in the backward pass. Of no other object.
///
/// # Errors
/// Whatever comparing keys raises.
pub fn has_backward_hooks(attributes: &Bound<'_, PyDict>) -> PyResult<bool> {
    for name in names::BACKWARD_HOOKS {
        if let Some(hooks) = attributes.get_item(name)?
            && hooks.is_truthy()?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many classes and modules are remembered.
const CLASSES: usize = 64;
const MODULES: usize = 16;

/// What a dictionary held at one of its versions.
#[derive(Clone, Copy)]
struct Seen {
    dict: *mut PyObject,
    version: u64,
    /// The dictionaries of hooks.
    hooks: [*mut PyObject; 4],
    /// `forward`, or null.
    forward: *mut PyObject,
}

impl Seen {
    const NOTHING: Self = Self {
        dict: ptr::null_mut(),
        version: 0,
        hooks: [ptr::null_mut(); 4],
        forward: ptr::null_mut(),
    };

    /// Whether there is no hook.
    ///
    /// # Safety
    /// The dictionary is as it was seen, which keeps those of the hooks alive.
    #[inline]
    unsafe fn has_no_hook(&self) -> bool {
        // SAFETY: the caller's promise; what is remembered are dictionaries.
        let items = |hooks: &*mut PyObject| unsafe { (*hooks.cast::<ffi::PyDictObject>()).ma_used };
        self.hooks
            .iter()
            .map(items)
            .fold(0, |all, items| all | items)
            == 0
    }
}

/// The parts of `nn.Module` that a call goes through.
pub struct ModuleCalls {
    module: Py<PyType>,
    call: Py<PyAny>,
    call_impl: Py<PyAny>,
    getattribute: Py<PyAny>,
    ordered_dict: Py<PyAny>,
    globals: Py<PyDict>,
    global_hooks: [(Py<PyString>, Place); 4],
    own_hooks: [(Py<PyString>, Place); 4],
    call_name: Py<PyString>,
    call_impl_name: Py<PyString>,
    compiled_name: Py<PyString>,
    getattribute_name: Py<PyString>,
    forward_name: (Py<PyString>, Place),
    /// The versions of classes that were found to be plain, which no other class or later state of them has, and
    /// their `forward`, which they keep.
    plain: [(AtomicU32, AtomicPtr<PyObject>); CLASSES],
    /// What was found in dictionaries of modules, by their addresses, and in `globals`.
    seen: [Cell<Seen>; MODULES],
    seen_globals: Cell<Seen>,
    /// The dispatch key that is included while `torch.jit.trace` records.
    tracer_key: u64,
}

// SAFETY: Python objects, touched with the GIL held.
unsafe impl Send for ModuleCalls {}
// SAFETY: as above; only what is remembered changes after construction.
unsafe impl Sync for ModuleCalls {}

static CALLS: OnceLock<Option<ModuleCalls>> = OnceLock::new();

impl ModuleCalls {
    /// The parts; `None` where this torch's modules are not made of them.
    pub fn get(py: Python<'_>) -> Option<&'static ModuleCalls> {
        if let Some(known) = CALLS.get() {
            return known.as_ref();
        }
        let learnt = Self::learn(py).ok();
        CALLS.get_or_init(|| learnt).as_ref()
    }

    /// The parts, where [`ModuleCalls::get`] has found them before.
    #[inline]
    pub fn loaded() -> Option<&'static ModuleCalls> {
        CALLS.get()?.as_ref()
    }

    fn learn(py: Python<'_>) -> PyResult<Self> {
        let defining = py.import(names::NN_MODULE)?;
        let module = defining.getattr("Module")?.cast_into::<PyType>()?;
        let torch_c = py.import(names::TORCH_C)?;
        // The enumeration of keys leaves this one out: it is known by the name of its bit.
        let key_set = torch_c.getattr(names::DISPATCH_KEY_SET)?;
        let text = torch_c.getattr(names::DISPATCH_KEYSET_TO_STRING)?;
        let named = |bit: &u32| -> PyResult<bool> {
            let set = key_set.call_method1("from_raw_repr", (1u64 << bit,))?;
            text.call1((set,))?.eq(names::TRACER_KEY_SET)
        };
        let tracer = (0..64).find(|bit| named(bit).unwrap_or(false));
        let tracer = tracer.ok_or_else(|| PyLookupError::new_err(names::TRACER_KEY_SET))?;
        let intern = |name: &str| PyString::intern(py, name).unbind();
        let placed = |name: &str| (intern(name), Place::new());
        let object = py.import("builtins")?.getattr("object")?;
        Ok(Self {
            call: module.getattr("__call__")?.unbind(),
            call_impl: module.getattr(names::CALL_IMPL)?.unbind(),
            getattribute: object.getattr("__getattribute__")?.unbind(),
            ordered_dict: py.import("collections")?.getattr("OrderedDict")?.unbind(),
            globals: defining.dict().unbind(),
            global_hooks: names::GLOBAL_HOOKS.map(placed),
            own_hooks: names::MODULE_HOOKS.map(placed),
            call_name: intern("__call__"),
            call_impl_name: intern(names::CALL_IMPL),
            compiled_name: intern(names::COMPILED_CALL_IMPL),
            getattribute_name: intern("__getattribute__"),
            forward_name: placed("forward"),
            plain: std::array::from_fn(|_| Default::default()),
            seen: [const { Cell::new(Seen::NOTHING) }; MODULES],
            seen_globals: Cell::new(Seen::NOTHING),
            tracer_key: 1 << tracer,
            module: module.unbind(),
        })
    }

    /// The function `Module.__call__` of torch.
    #[inline]
    pub fn call(&self) -> *mut PyObject {
        self.call.as_ptr()
    }

    /// What a call of `module` through torch's `Module.__call__` runs and nothing else.
    ///
    /// # Safety
    /// The GIL is held and `module` is a live instance of `nn.Module`.
    #[inline]
    pub unsafe fn forward(&self, abi: &TorchAbi, module: *mut PyObject) -> Option<Forward> {
        // SAFETY: required of the caller; classes and dictionaries are read without running code, for
        // their keys are strings.
        unsafe {
            let of_class = self.plain_forward(ffi::Py_TYPE(module))?;
            if abi.local_keys().0 & self.tracer_key != 0 {
                return None;
            }
            let globals = self.globals.as_ptr();
            let seen = self.seen(globals, &self.seen_globals, &self.global_hooks, |_| {
                Some(ptr::null_mut())
            })?;
            if !seen.has_no_hook() {
                return None;
            }
            let dict = ffi::PyObject_GenericGetDict(module, ptr::null_mut());
            if dict.is_null() {
                ffi::PyErr_Clear();
                return None;
            }
            let memo = &self.seen[(dict as usize >> 6) % MODULES];
            let seen = self.seen(dict, memo, &self.own_hooks, |dict| self.own_forward(dict));
            // The module holds its dictionary.
            ffi::Py_DECREF(dict);
            let seen = seen.filter(|seen| seen.has_no_hook())?;
            Some(match seen.forward.is_null() {
                true => Forward::OfClass(of_class),
                false => Forward::Own(seen.forward),
            })
        }
    }

    /// The dictionaries of hooks that a dictionary holds, and its `forward`; `None` where it holds others.
    #[inline]
    unsafe fn seen(
        &self,
        dict: *mut PyObject,
        memo: &Cell<Seen>,
        hooks: &[(Py<PyString>, Place); 4],
        forward: impl FnOnce(*mut PyObject) -> Option<*mut PyObject>,
    ) -> Option<Seen> {
        // SAFETY: a live dictionary, which keeps what it holds at a version alive for as long as it has that version.
        unsafe {
            let version = dicts::version(dict);
            let known = memo.get();
            if known.dict == dict && Some(known.version) == version {
                return Some(known);
            }
            let mut seen = Seen {
                dict,
                version: version.unwrap_or_default(),
                forward: forward(dict)?,
                ..Seen::NOTHING
            };
            for (at, (name, place)) in seen.hooks.iter_mut().zip(hooks) {
                *at = place.get(dict, name.as_ptr());
                if !self.is_dict(*at) {
                    return None;
                }
            }
            if version.is_some() {
                memo.set(seen);
            }
            Some(seen)
        }
    }

    /// `forward` of a class whose instances are called as `nn.Module` has it, borrowed.
    #[inline]
    unsafe fn plain_forward(&self, class: *mut PyTypeObject) -> Option<*mut PyObject> {
        // SAFETY: a live class. Whatever changes what it or a base of it has for a name takes its version away, and
        // no version is given twice. Only with the GIL held are the two looked at and stored.
        unsafe {
            let known = (*class).tp_version_tag;
            let (version, forward) = &self.plain[known as usize % self.plain.len()];
            if known != 0 && known == version.load(Ordering::Relaxed) {
                return Some(forward.load(Ordering::Relaxed));
            }
            let found = self.find_plain_forward(class)?;
            let known = (*class).tp_version_tag;
            let (version, forward) = &self.plain[known as usize % self.plain.len()];
            version.store(known, Ordering::Relaxed);
            forward.store(found, Ordering::Relaxed);
            Some(found)
        }
    }

    #[inline(never)]
    unsafe fn find_plain_forward(&self, class: *mut PyTypeObject) -> Option<*mut PyObject> {
        // SAFETY: a live class, whose names are looked up without running code.
        unsafe {
            let of_class = |name: &Py<PyString>| {
                let found = _PyType_Lookup(class, name.as_ptr());
                if found.is_null() && !ffi::PyErr_Occurred().is_null() {
                    ffi::PyErr_Clear();
                }
                found
            };
            let whole = self.module.as_ptr().cast::<PyTypeObject>();
            let plain = _PyType_Lookup(whole, self.call_name.as_ptr()) == self.call.as_ptr()
                && of_class(&self.call_impl_name) == self.call_impl.as_ptr()
                && of_class(&self.compiled_name) == ffi::Py_None()
                && of_class(&self.getattribute_name) == self.getattribute.as_ptr();
            let forward = of_class(&self.forward_name.0);
            // Anything but a function may be a descriptor that comes before the instance.
            let is_function =
                !forward.is_null() && ffi::Py_TYPE(forward) == &raw mut ffi::PyFunction_Type;
            (plain && is_function).then_some(forward)
        }
    }

    /// `forward` in the dictionary of a module, or null; `None` where the module is not called in the plain way.
    unsafe fn own_forward(&self, dict: *mut PyObject) -> Option<*mut PyObject> {
        // SAFETY: an instance dictionary.
        unsafe {
            let plain = ffi::PyDict_CheckExact(dict) != 0
                && item(dict, &self.compiled_name).is_null()
                && item(dict, &self.call_impl_name).is_null();
            let (name, place) = &self.forward_name;
            plain.then(|| place.get(dict, name.as_ptr()))
        }
    }

    /// Whether this is a dictionary as those of hooks are, and no null.
    #[inline]
    unsafe fn is_dict(&self, object: *mut PyObject) -> bool {
        if object.is_null() {
            return false;
        }
        // SAFETY: a live object.
        let class = unsafe { ffi::Py_TYPE(object) };
        class == &raw mut ffi::PyDict_Type
            || class == self.ordered_dict.as_ptr().cast::<PyTypeObject>()
    }
}

/// A value by an interned name, borrowed, or null.
#[inline]
unsafe fn item(dict: *mut PyObject, name: &Py<PyString>) -> *mut PyObject {
    // SAFETY: `dict` is a dictionary; the name is a string with its hash known.
    unsafe {
        let found = ffi::PyDict_GetItemWithError(dict, name.as_ptr());
        if found.is_null() && !ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_Clear();
        }
        found
    }
}
