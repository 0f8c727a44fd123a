//! Dict, type and function watchers (CPython 3.12 and later), and who is told of what they see.
//!
//! One watcher of each kind is taken per interpreter, at the first use. What is watched is kept by address: the
//! end of a dictionary or a function is an event too, and removes it; a type is never asked for by its address
//! alone ([`super::memo`] holds a weak reference to each). Nothing here keeps an object alive.
//!
//! Invariants: all of it happens with the GIL held; a callback allocates no Python object, runs no Python code,
//! raises nothing and changes nothing but flags; an event about something that nobody asks for any more ends the
//! watching of it.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_int;
use std::sync::Arc;

use cpython_abi::panics::contained;
use cpython_abi::watchers::{self, Functions, dict_event, function_event};
use pyo3::ffi;
use pyo3::ffi::PyObject;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A value that is used with the GIL held only.
pub(super) struct Gil<T>(T);

// SAFETY: the GIL is held at every use (the functions that reach one say so), so no two threads are in it.
unsafe impl<T> Sync for Gil<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Gil<T> {}

impl<T> Gil<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(value)
    }

    /// # Safety
    /// The GIL is held as long as the reference is used.
    pub(super) unsafe fn get(&self) -> &T {
        &self.0
    }
}

/// What events tell to one memo. Set by callbacks, read at the next check.
pub(super) struct Told {
    /// Nothing happened since the last look.
    clean: Cell<bool>,
    /// An object that the memo relied on is gone: nothing in it may be followed any more.
    dead: Cell<bool>,
    dirty: RefCell<Vec<u32>>,
    is_dirty: Box<[Cell<bool>]>,
}

impl Told {
    pub(super) fn new(deps: usize) -> Self {
        Self {
            clean: Cell::new(true),
            dead: Cell::new(false),
            dirty: RefCell::new(Vec::new()),
            is_dirty: vec![Cell::new(false); deps].into(),
        }
    }

    #[inline]
    pub(super) fn is_clean(&self) -> bool {
        self.clean.get()
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.get()
    }

    pub(super) fn died(&self) {
        self.dead.set(true);
        self.clean.set(false);
    }

    fn changed(&self, dep: u32) {
        self.clean.set(false);
        if let Some(flag) = self.is_dirty.get(dep as usize)
            && !flag.replace(true)
        {
            // A borrow is held only by `take_dirty`, during which nothing is told.
            match self.dirty.try_borrow_mut() {
                Ok(mut dirty) => dirty.push(dep),
                Err(_) => self.dead.set(true),
            }
        }
    }

    /// What changed since the last look, which this is.
    pub(super) fn take_dirty(&self) -> Vec<u32> {
        self.clean.set(true);
        let dirty = std::mem::take(&mut *self.dirty.borrow_mut());
        for dep in &dirty {
            self.is_dirty[*dep as usize].set(false);
        }
        dirty
    }

    /// Says again what was taken.
    pub(super) fn put_back(&self, dirty: &[u32]) {
        for dep in dirty {
            self.changed(*dep);
        }
    }
}

/// Which events of a dictionary matter.
#[derive(Clone, Debug, Default)]
pub(super) struct DictInterest {
    /// Hashes of string keys.
    pub(super) keys: SmallVec<[isize; 4]>,
    /// Keys that come and go.
    pub(super) structure: bool,
    /// Everything.
    pub(super) all: bool,
}

struct User {
    told: Arc<Gil<Told>>,
    dep: u32,
    interest: DictInterest,
}

#[derive(Default)]
struct Registry {
    dicts: FxHashMap<usize, SmallVec<[User; 1]>>,
    types: FxHashMap<usize, SmallVec<[User; 1]>>,
    functions: FxHashMap<usize, SmallVec<[User; 1]>>,
}

impl Registry {
    fn of(&mut self, what: Watched) -> (&mut FxHashMap<usize, SmallVec<[User; 1]>>, usize) {
        match what {
            Watched::Dict(dict) => (&mut self.dicts, dict as usize),
            Watched::Type(ty) => (&mut self.types, ty as usize),
            Watched::Function(function) => (&mut self.functions, function as usize),
        }
    }
}

static REGISTRY: Gil<UnsafeCell<Option<Registry>>> = Gil::new(UnsafeCell::new(None));

/// # Safety
/// The GIL is held, and `body` comes back here in no way.
unsafe fn registry<R>(body: impl FnOnce(&mut Registry) -> R) -> R {
    // SAFETY: the caller's promise makes this the only reference.
    unsafe { body((*REGISTRY.get().get()).get_or_insert_default()) }
}

/// Something that reports its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Watched {
    Dict(*mut PyObject),
    Type(*mut ffi::PyTypeObject),
    Function(*mut PyObject),
}

/// The watchers of this interpreter.
pub(super) struct Watchers {
    functions: Functions,
    dict: c_int,
    type_: Option<c_int>,
    has_functions: bool,
}

static WATCHERS: Gil<UnsafeCell<Option<Option<Watchers>>>> = Gil::new(UnsafeCell::new(None));

impl Watchers {
    /// The watchers, or `None` where there are none (3.11, or all eight are taken).
    ///
    /// # Safety
    /// The GIL is held.
    pub(super) unsafe fn get() -> Option<&'static Self> {
        // SAFETY: written once, before anything refers to it; the GIL is held.
        unsafe {
            let slot = WATCHERS.get().get();
            if (*slot).is_none() {
                *slot = Some(Self::take());
            }
            (*slot).as_ref()?.as_ref()
        }
    }

    unsafe fn take() -> Option<Self> {
        let functions = watchers::functions()?;
        // SAFETY: the GIL is held; ids are returned as they are wanted, and an error (no watcher left) is cleared.
        unsafe {
            let id = |id: c_int| {
                if id < 0 {
                    ffi::PyErr_Clear();
                }
                (id >= 0).then_some(id)
            };
            Some(Self {
                dict: id((functions.add_dict)(on_dict))?,
                type_: id((functions.add_type)(on_type)),
                has_functions: id((functions.add_function)(on_function)).is_some(),
                functions,
            })
        }
    }

    /// Whether functions are watched at all.
    pub(super) fn has_functions(&self) -> bool {
        self.has_functions
    }

    /// Begins to watch, or goes on after an event. False where that is impossible.
    ///
    /// # Safety
    /// The GIL is held, and `what` is live.
    pub(super) unsafe fn watch(&self, what: Watched) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let done = match what {
                Watched::Dict(dict) => (self.functions.watch_dict)(self.dict, dict),
                Watched::Type(ty) => match self.type_ {
                    Some(id) => (self.functions.watch_type)(id, ty.cast()),
                    None => return false,
                },
                Watched::Function(_) => return self.has_functions,
            };
            if done < 0 {
                ffi::PyErr_Clear();
                return false;
            }
            // A type without a version reports nothing.
            match what {
                Watched::Type(ty) => super::versions::type_version(ty) != 0,
                _ => true,
            }
        }
    }

    /// Who is to be told of changes.
    ///
    /// # Safety
    /// The GIL is held, and `what` is live and watched.
    pub(super) unsafe fn tell(
        &self,
        what: Watched,
        told: &Arc<Gil<Told>>,
        dep: u32,
        interest: DictInterest,
    ) {
        let told = told.clone();
        // SAFETY: the caller's promise; the body only inserts.
        unsafe {
            registry(|registry| {
                let (map, at) = registry.of(what);
                map.entry(at).or_default().push(User {
                    told,
                    dep,
                    interest,
                });
            });
        }
    }

    /// Nobody is told for this memo any more. The watching itself ends with the next event.
    ///
    /// # Safety
    /// The GIL is held. `what` may be gone.
    pub(super) unsafe fn forget(&self, what: Watched, told: &Arc<Gil<Told>>) {
        // SAFETY: the caller's promise; what is dropped are counts and vectors.
        unsafe {
            registry(|registry| {
                let (map, at) = registry.of(what);
                if let Some(users) = map.get_mut(&at) {
                    users.retain(|user| !Arc::ptr_eq(&user.told, told));
                    if users.is_empty() {
                        map.remove(&at);
                    }
                }
            });
        }
    }
}

unsafe extern "C" fn on_dict(
    event: c_int,
    dict: *mut PyObject,
    key: *mut PyObject,
    _value: *mut PyObject,
) -> c_int {
    contained("a dict watcher", tell_all, || {
        // SAFETY: called by the interpreter with the GIL held on a live dictionary; the hash of an exact string is
        // computed in C. Nothing below comes back into the registry.
        unsafe {
            let mut nobody = false;
            registry(|registry| {
                let at = dict as usize;
                let Some(users) = registry.dicts.get(&at) else {
                    nobody = true;
                    return;
                };
                match event {
                    dict_event::ADDED | dict_event::MODIFIED | dict_event::DELETED
                        if !key.is_null() && ffi::PyUnicode_CheckExact(key) != 0 =>
                    {
                        let hash = ffi::PyObject_Hash(key);
                        for user in users {
                            let interest = &user.interest;
                            if interest.all
                                || (interest.structure && event != dict_event::MODIFIED)
                                || interest.keys.contains(&hash)
                            {
                                user.told.get().changed(user.dep);
                            }
                        }
                    }
                    dict_event::DEALLOCATED => {
                        for user in users {
                            user.told.get().died();
                        }
                        registry.dicts.remove(&at);
                    }
                    // Cleared, filled from another one, or a key that is not a plain string.
                    _ => {
                        for user in users {
                            user.told.get().changed(user.dep);
                        }
                    }
                }
            });
            if nobody
                && event != dict_event::DEALLOCATED
                && let Some(watchers) = Watchers::get()
            {
                (watchers.functions.unwatch_dict)(watchers.dict, dict);
            }
        }
        0
    })
}

unsafe extern "C" fn on_type(ty: *mut ffi::PyTypeObject) -> c_int {
    contained("a type watcher", tell_all, || {
        // SAFETY: called by the interpreter with the GIL held; only flags are set.
        unsafe {
            registry(|registry| {
                for user in registry.types.get(&(ty as usize)).into_iter().flatten() {
                    user.told.get().changed(user.dep);
                }
            });
        }
        0
    })
}

unsafe extern "C" fn on_function(
    event: c_int,
    function: *mut PyObject,
    _value: *mut PyObject,
) -> c_int {
    contained("a function watcher", tell_all, || {
        if event == function_event::CREATED {
            return 0;
        }
        // SAFETY: called by the interpreter with the GIL held; only flags are set.
        unsafe {
            registry(|registry| {
                let at = function as usize;
                let Some(users) = registry.functions.get(&at) else {
                    return;
                };
                for user in users {
                    if event == function_event::DESTROYED {
                        user.told.get().died();
                    } else {
                        user.told.get().changed(user.dep);
                    }
                }
                if event == function_event::DESTROYED {
                    registry.functions.remove(&at);
                }
            });
        }
        0
    })
}

/// An event was lost: nothing that is remembered may be relied on any more.
#[cold]
fn tell_all() -> c_int {
    // SAFETY: called where a callback has panicked, with the GIL held; its reference to the registry has ended.
    unsafe {
        registry(|registry| {
            let Registry {
                dicts,
                types,
                functions,
            } = std::mem::take(registry);
            for users in [dicts, types, functions].iter().flat_map(FxHashMap::values) {
                for user in users {
                    user.told.get().died();
                }
            }
        });
    }
    0
}

/// How many dictionaries, types and functions somebody is told of.
#[cfg(test)]
pub(super) fn watched() -> usize {
    // SAFETY: tests hold the GIL.
    unsafe {
        registry(|registry| registry.dicts.len() + registry.types.len() + registry.functions.len())
    }
}
