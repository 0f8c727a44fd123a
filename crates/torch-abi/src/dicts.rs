//! Look-ups in dictionaries by the place where a key was found before, and versions of dictionaries.
//!
//! Invariant: a place is a hint. It is used only where the key itself lies there, so what is returned is what a
//! look-up would give.

use std::sync::atomic::{AtomicUsize, Ordering};

use cpython_abi::dict::{self, Kind};
use pyo3::ffi::{self, PyObject};

pub(crate) use cpython_abi::dict::version;

/// Where a key was found last, and before that: calls take turns between a few dictionaries.
pub struct Place([AtomicUsize; 2]);

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl Place {
    /// Nowhere yet.
    pub const fn new() -> Self {
        Self([const { AtomicUsize::new(usize::MAX) }; 2])
    }

    /// The value for a name, borrowed, or null. No exception is left set.
    ///
    /// # Safety
    /// The GIL is held, `dict` is a dictionary whose keys are strings, and `name` an exact interned string.
    #[inline]
    pub unsafe fn get(&self, dict: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
        // SAFETY: the caller's promise, and entries are read up to their number.
        unsafe {
            let kind = dict::kind(dict);
            let (entries, count) = dict::entries(dict);
            for place in &self.0 {
                let at = place.load(Ordering::Relaxed);
                if at >= count || !matches!(kind, Kind::Strings | Kind::Split) {
                    continue;
                }
                let (key, mut value) = match kind {
                    Kind::Strings => {
                        let [key, value] = entries.add(at).read();
                        (key, value)
                    }
                    _ => ((*entries.add(at))[0], std::ptr::null_mut()),
                };
                if kind == Kind::Split {
                    let values = dict::split_values(dict);
                    if !values.is_null() {
                        value = values.add(at).read();
                    }
                }
                if key == name && !value.is_null() {
                    return value;
                }
            }
            self.find(dict, name)
        }
    }

    /// # Safety
    /// As for [`Place::get`].
    #[inline(never)]
    unsafe fn find(&self, dict: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
        // SAFETY: the caller's promise; the layout as in `get`.
        unsafe {
            let value = ffi::PyDict_GetItemWithError(dict, name);
            if value.is_null() {
                if !ffi::PyErr_Occurred().is_null() {
                    ffi::PyErr_Clear();
                }
                return value;
            }
            if matches!(dict::kind(dict), Kind::Strings | Kind::Split) {
                let (entries, count) = dict::entries(dict);
                let entries = std::slice::from_raw_parts(entries, count);
                if let Some(at) = entries.iter().position(|entry| entry[0] == name) {
                    let last = self.0[0].swap(at, Ordering::Relaxed);
                    self.0[1].store(last, Ordering::Relaxed);
                }
            }
            value
        }
    }
}

#[cfg(test)]
mod tests {
    use pyo3::prelude::*;
    use pyo3::types::{PyDict, PyString};

    use super::{Place, version};

    #[test]
    fn a_changed_dictionary_has_another_version() {
        Python::initialize();
        Python::attach(|py| {
            let scope = PyDict::new(py);
            py.run(
                c"class C: pass\nc = C()\nc.a = 1\nd = c.__dict__\nsteps = [lambda: setattr(c, 'a', 2), lambda: setattr(c, 'b', 1), lambda: delattr(c, 'a'), lambda: d.update(x=1), lambda: d.pop('x'), lambda: d.setdefault('y', 1), d.popitem, d.clear, lambda: d.update({'z': 1}), lambda: d.__ior__({'z': 2})]",
                Some(&scope),
                None,
            )
            .expect("an object");
            let get = |name| scope.get_item(name).expect("a look-up").expect("a value");
            let dict = get("d");
            // SAFETY: a live dictionary.
            let now = || unsafe { version(dict.as_ptr()) };
            assert_eq!(now().is_some(), py.version_info() < (3, 13));
            let mut seen = vec![now()];
            for step in get("steps").try_iter().expect("a list") {
                step.expect("an item").call0().expect("a change");
                assert!(now().is_none() || !seen.contains(&now()));
                seen.push(now());
            }
        });
    }

    #[test]
    fn a_place_never_gives_what_a_look_up_would_not() {
        Python::initialize();
        Python::attach(|py| {
            let scope = PyDict::new(py);
            py.run(
                c"class C:\n def __init__(self, n):\n  for i in range(n): setattr(self, f'k{i}', object())\nsplit = [C(n).__dict__ for n in (1, 3, 8, 3)]\nplain = [{f'k{i}': object() for i in order} for order in ([], [0], [2, 1, 0], range(300), [3, 0])]\ngone = [dict(d) for d in plain]\nfor d in gone: d.pop('k0', None)\nmixed = [{1: 2, 'k0': 3}]",
                Some(&scope),
                None,
            )
            .expect("dictionaries");
            let mut dicts = Vec::new();
            for name in ["split", "plain", "gone", "mixed"] {
                let list = scope.get_item(name).expect("a look-up").expect("a list");
                for dict in list.try_iter().expect("a list") {
                    dicts.push(
                        dict.expect("an item")
                            .cast_into::<PyDict>()
                            .expect("a dict"),
                    );
                }
            }
            for key in ["k0", "k1", "k2", "k299", "none"] {
                let key = PyString::intern(py, key);
                let place = Place::new();
                for dict in dicts.iter().chain(dicts.iter().rev()).chain(&dicts) {
                    for _ in 0..2 {
                        // SAFETY: live dictionaries and an interned string; the one key that is no string is
                        // an int, whose comparison runs no code of a program.
                        let found = unsafe { place.get(dict.as_ptr(), key.as_ptr()) };
                        let wanted = dict.get_item(&key).expect("a look-up");
                        assert_eq!(found, wanted.map_or(std::ptr::null_mut(), |w| w.as_ptr()));
                    }
                }
            }
        });
    }
}
