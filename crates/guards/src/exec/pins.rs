//! Pins: what keeps the addresses in guards meaningful.
//!
//! A strong pin owns a reference. A weak pin owns a weak reference whose callback clears the set's [`Validity`]
//! when the object dies, so that a reused address can never satisfy a guard.
//!
//! Invariant: while the validity is set, every pinned address is that of the object that was pinned.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyFunction, PyModule, PyType};
use rustc_hash::FxHashMap;

use crate::exec::objects;
use crate::value::ObjRef;

type Hook = Box<dyn FnOnce(Moment) + Send>;

/// Where a flag is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Where any code may run.
    Open,
    /// At the end of a function or its code: CPython's caches may still lead to it, so no other code may run.
    FunctionEnds,
}

/// Whether an entry may still be used; shared by its pins, its watchers and the cache.
#[derive(Clone, Default)]
pub struct Validity(Arc<ValidityInner>);

struct ValidityInner {
    valid: AtomicBool,
    hooks: Mutex<Vec<Hook>>,
}

impl Default for ValidityInner {
    fn default() -> Self {
        Self {
            valid: AtomicBool::new(true),
            hooks: Mutex::new(Vec::new()),
        }
    }
}

impl Validity {
    /// A set flag.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the entry is valid.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.0.valid.load(Ordering::Relaxed)
    }

    /// Clears the flag for good and runs the hooks, once.
    pub fn clear(&self) {
        self.clear_at(Moment::Open);
    }

    fn clear_at(&self, moment: Moment) {
        if self.0.valid.swap(false, Ordering::Relaxed) {
            let hooks = self
                .0
                .hooks
                .lock()
                .map(|mut hooks| std::mem::take(&mut *hooks))
                .unwrap_or_default();
            for hook in hooks {
                hook(moment);
            }
        }
    }

    /// Calls `hook` when the flag is cleared (at once if it is). The hook may run inside the garbage collector:
    /// it must not call user code that expects otherwise.
    pub fn on_clear(&self, hook: impl FnOnce(Moment) + Send + 'static) {
        if !self.is_valid() {
            hook(Moment::Open);
        } else if let Ok(mut hooks) = self.0.hooks.lock() {
            hooks.push(Box::new(hook));
        }
    }
}

/// The callback of weak pins.
#[pyclass(frozen, module = "ferrodyn")]
struct Invalidate {
    validity: Validity,
    moment: Moment,
}

#[pymethods]
impl Invalidate {
    fn __call__(&self, _weakref: &Bound<'_, PyAny>) {
        self.validity.clear_at(self.moment);
    }
}

enum Pin {
    Strong(Py<PyAny>),
    Weak(Py<PyAny>),
}

/// The objects that a guard set holds.
#[derive(Default)]
pub struct Pins {
    pins: Vec<Pin>,
    by_address: FxHashMap<usize, ObjRef>,
    validity: Validity,
    /// Names of classes by address, with their reprs: many pins are of few classes.
    names: FxHashMap<usize, (Arc<str>, Arc<str>)>,
    /// For functions and code, and for everything else.
    callbacks: [Option<Py<Invalidate>>; 2],
}

impl Pins {
    /// No pins.
    pub fn new() -> Self {
        Self::default()
    }

    /// The flag that a dying weak pin clears.
    pub fn validity(&self) -> &Validity {
        &self.validity
    }

    /// How many objects are pinned.
    pub fn len(&self) -> usize {
        self.pins.len()
    }

    /// Whether nothing is pinned.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// Pins an object strongly.
    pub fn pin(&mut self, obj: &Bound<'_, PyAny>) -> ObjRef {
        self.add(obj, |_| Pin::Strong(obj.clone().unbind()))
    }

    /// Pins an object weakly; strongly where it has no weak references.
    pub fn pin_weak(&mut self, obj: &Bound<'_, PyAny>) -> ObjRef {
        if let Some(known) = self.by_address.get(&(obj.as_ptr() as usize)) {
            return known.clone();
        }
        let weak = self.weak_reference(obj);
        self.add(obj, |_| {
            weak.map_or_else(|| Pin::Strong(obj.clone().unbind()), Pin::Weak)
        })
    }

    /// Pins weakly what the user may want to die (instances, functions, classes made at run time) and strongly
    /// what lives as long as the program (modules, builtin types, builtin functions, constants).
    pub fn pin_auto(&mut self, obj: &Bound<'_, PyAny>) -> ObjRef {
        let lasting = obj.is_instance_of::<PyModule>()
            || obj.cast::<PyType>().is_ok_and(|ty| {
                // SAFETY: a live type object.
                unsafe { ffi::PyType_HasFeature(ty.as_type_ptr(), ffi::Py_TPFLAGS_HEAPTYPE) == 0 }
            })
            // SAFETY: a live object.
            || unsafe { ffi::PyCFunction_Check(obj.as_ptr()) != 0 };
        if lasting {
            self.pin(obj)
        } else {
            self.pin_weak(obj)
        }
    }

    fn weak_reference(&mut self, obj: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
        let py = obj.py();
        let moment = match obj.is_instance_of::<PyFunction>() || obj.is_instance_of::<PyCode>() {
            true => Moment::FunctionEnds,
            false => Moment::Open,
        };
        let callback = &mut self.callbacks[usize::from(moment == Moment::Open)];
        if callback.is_none() {
            let validity = self.validity.clone();
            *callback = Py::new(py, Invalidate { validity, moment }).ok();
        }
        let callback = callback.as_ref()?;
        // SAFETY: live objects; a failure (no weak references for this type) is cleared.
        unsafe {
            let weak = ffi::PyWeakref_NewRef(obj.as_ptr(), callback.as_ptr());
            if weak.is_null() {
                ffi::PyErr_Clear();
            }
            Bound::from_owned_ptr_or_opt(py, weak).map(Bound::unbind)
        }
    }

    fn add(&mut self, obj: &Bound<'_, PyAny>, make: impl FnOnce(&Self) -> Pin) -> ObjRef {
        let addr = obj.as_ptr() as usize;
        if let Some(known) = self.by_address.get(&addr) {
            return known.clone();
        }
        let pin = make(self);
        let class = obj.get_type();
        // The class is alive while its name is used: a class that ends has no instance, and the next one at the
        // address would be named like it in messages only.
        let of_class = self.names.entry(class.as_ptr() as usize);
        let (class, type_repr) = of_class.or_insert_with(|| {
            let name = objects::qualified_name(&class);
            let repr = format!("<class '{name}'>");
            (name.into(), repr.into())
        });
        let known = ObjRef {
            addr,
            pin: self.pins.len() as u32,
            repr: objects::repr_of(obj, class).into(),
            type_repr: type_repr.clone(),
        };
        self.pins.push(pin);
        self.by_address.insert(addr, known.clone());
        known
    }

    /// The reference to an object that is pinned already.
    pub fn find(&self, obj: &Bound<'_, PyAny>) -> Option<&ObjRef> {
        self.by_address.get(&(obj.as_ptr() as usize))
    }

    /// Lets go of an object that no guard names any more: its death changes nothing from now on.
    pub fn forget(&mut self, obj: &Bound<'_, PyAny>) {
        if let Some(known) = self.by_address.remove(&(obj.as_ptr() as usize)) {
            self.pins[known.pin as usize] = Pin::Strong(obj.py().None());
        }
    }

    /// Whether an object is pinned by a weak reference.
    pub fn is_weak(&self, obj: &Bound<'_, PyAny>) -> bool {
        self.find(obj)
            .is_some_and(|known| matches!(self.pins[known.pin as usize], Pin::Weak(_)))
    }

    /// Whether a pin is a weak reference.
    pub fn is_weak_pin(&self, pin: u32) -> bool {
        matches!(self.pins.get(pin as usize), Some(Pin::Weak(_)))
    }

    /// Whether a pin holds nothing that a guard could name any more.
    pub fn is_forgotten(&self, py: Python<'_>, pin: u32) -> bool {
        let known = self.get(py, pin).and_then(|obj| self.find(&obj).cloned());
        known.is_some_and(|known| known.pin != pin)
    }

    /// Adds the next pin of a set that was written in another process; `None` for one that was forgotten. Whether it
    /// could be added: each pin holds an object of its own, weakly where it did.
    pub fn add_next(&mut self, obj: Option<&Bound<'_, PyAny>>, weak: bool, py: Python<'_>) -> bool {
        let Some(obj) = obj else {
            self.pins.push(Pin::Strong(py.None()));
            return true;
        };
        let next = self.pins.len() as u32;
        let known = match weak {
            true => self.pin_weak(obj),
            false => self.pin(obj),
        };
        known.pin == next && self.is_weak_pin(next) == weak
    }

    /// The reference to the object of a pin.
    pub fn reference(&self, py: Python<'_>, pin: u32) -> Option<ObjRef> {
        self.find(&self.get(py, pin)?).cloned()
    }

    /// The pinned object, if it is alive.
    pub fn get<'py>(&self, py: Python<'py>, pin: u32) -> Option<Bound<'py, PyAny>> {
        match self.pins.get(pin as usize)? {
            Pin::Strong(obj) => Some(obj.bind(py).clone()),
            // SAFETY: the pin is a weak reference object; the borrowed target is given a reference at once.
            Pin::Weak(weak) => unsafe {
                cpython_abi::objects::weakref_target(weak.as_ptr())
                    .map(|target| Bound::from_borrowed_ptr(py, target))
            },
        }
    }

    /// The pin's own object: the weak reference of a weak pin, the object of a strong one.
    pub(crate) fn raw(&self, pin: u32) -> Option<(*mut ffi::PyObject, bool)> {
        self.pins.get(pin as usize).map(|pin| match pin {
            Pin::Strong(obj) => (obj.as_ptr(), false),
            Pin::Weak(weak) => (weak.as_ptr(), true),
        })
    }
}
