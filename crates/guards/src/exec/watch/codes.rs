//! One number for the changes of all functions' codes, where functions report nothing (3.11).
//!
//! Python code gives a function another code through the attribute `__code__` of its type, and CPython has no other
//! way. So its setter is replaced by one that counts and then does what it did: while the number stays, no function
//! has got another code, and a model's many functions need not be looked at one by one.
//!
//! The setter is found by its name in the table that CPython's own descriptor of the attribute points into. Whoever
//! assigns goes through that table, at the time of the assignment: by the statement, by `setattr`, by the descriptor's
//! `__set__`, in any thread, and in any interpreter. A class can't derive from that of functions, so there is no other
//! descriptor. Another tool that replaces the setter behind this one calls this one; one that puts the former setter
//! back is noticed, and codes are compared from then on.
//!
//! Invariant: equal numbers mean that no function's `__code__` was assigned in between.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use cpython_abi::panics::contained_or_raise;
use pyo3::ffi::{self, PyObject};

use super::memo::Slot;

type Setter = unsafe extern "C" fn(*mut PyObject, *mut PyObject, *mut c_void) -> c_int;

/// What assignments have counted so far: each is counted as it begins and as it ends.
static ASSIGNED: AtomicUsize = AtomicUsize::new(0);
/// What assigns, and where it was found; `None` where it was not, and nothing is counted.
static SETTER: OnceLock<Option<Place>> = OnceLock::new();

/// A place in the table of attributes of functions.
struct Place {
    entry: *mut ffi::PyGetSetDef,
    /// what was there
    set: Setter,
}

// SAFETY: the table of a static type lives forever, and is touched with the GIL held.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

unsafe extern "C" fn count_and_set(
    function: *mut PyObject,
    code: *mut PyObject,
    closure: *mut c_void,
) -> c_int {
    contained_or_raise("the setting of a function's code", || {
        // An audit hook runs before the code is replaced, and callbacks of the old code's weak references behind that:
        // neither may find, or remember, a number that stays.
        ASSIGNED.fetch_add(1, Ordering::Relaxed);
        let status = match SETTER.get() {
            // SAFETY: called by the interpreter in the place of this setter, with what is meant for it.
            Some(Some(place)) => unsafe { (place.set)(function, code, closure) },
            // Nothing was put in place then.
            _ => -1,
        };
        ASSIGNED.fetch_add(1, Ordering::Relaxed);
        status
    })
}

/// Begins to count, and finds out whether that works.
fn install() -> Option<Place> {
    // SAFETY: the GIL is held by whoever checks guards. The table of a static type ends with an entry without a
    // name, and lives as long as the type; the interpreter reads its setter at each assignment.
    unsafe {
        let mut entry = ffi::PyFunction_Type.tp_getset;
        if entry.is_null() {
            return None;
        }
        while !(*entry).name.is_null() {
            if CStr::from_ptr((*entry).name) == c"__code__" {
                let set = (*entry).set.replace(count_and_set)?;
                return Some(Place { entry, set });
            }
            entry = entry.add(1);
        }
        None
    }
}

/// Codes of functions, which are compared where one of any function was assigned since.
pub(super) struct Codes {
    seen: Cell<usize>,
    words: Box<[Slot]>,
}

impl Codes {
    /// `words` are the places of codes as they are now. `None` where nothing is counted.
    pub(super) fn new(words: Vec<Slot>) -> Option<Self> {
        is_counted().then(|| Self {
            seen: Cell::new(ASSIGNED.load(Ordering::Relaxed)),
            words: words.into(),
        })
    }

    /// Whether the codes are as they were.
    ///
    /// # Safety
    /// The functions are alive.
    #[inline]
    pub(super) unsafe fn are_same(&self) -> bool {
        if !is_in_place() {
            // What was assigned meanwhile was not counted, for nobody.
            ASSIGNED.fetch_add(1, Ordering::Relaxed);
        }
        let now = ASSIGNED.load(Ordering::Relaxed);
        if now == self.seen.get() {
            return true;
        }
        // SAFETY: required of the caller.
        let same = self
            .words
            .iter()
            .all(|slot| unsafe { *slot.at == slot.word.get() });
        if same {
            self.seen.set(now);
        }
        same
    }
}

/// Whether nobody has replaced the setter since. Who did may call this one, or not.
#[inline]
fn is_in_place() -> bool {
    let Some(Some(place)) = SETTER.get() else {
        return false;
    };
    // SAFETY: the table lives forever, and whoever checks guards has the GIL.
    let now = unsafe { (*place.entry).set };
    now.is_some_and(|now| std::ptr::fn_addr_eq(now, count_and_set as Setter))
}

/// Whether assignments are counted.
pub(super) fn is_counted() -> bool {
    SETTER.get_or_init(install).is_some()
}

#[cfg(test)]
mod tests {
    use pyo3::prelude::*;

    use super::*;

    #[test]
    fn an_assignment_is_counted_and_done() {
        Python::initialize();
        Python::attach(|py| {
            assert!(is_counted());
            let before = ASSIGNED.load(Ordering::Relaxed);
            let scope = pyo3::types::PyDict::new(py);
            py.run(
                c"def f(): return 1\nf.__code__ = (lambda: 2).__code__\ngiven = f()\ntry:\n    f.__code__ = 3\nexcept TypeError as e:\n    refused = str(e)",
                Some(&scope),
                None,
            )
            .expect("a function");
            assert!(ASSIGNED.load(Ordering::Relaxed) >= before + 2);
            let given = scope.get_item("given").expect("a look-up");
            assert_eq!(given.expect("a number").extract::<i32>().ok(), Some(2));
            let refused = scope.get_item("refused").expect("a look-up");
            assert!(refused.expect("a text").to_string().contains("__code__"));
        });
    }

    fn codes_of(f: &Bound<'_, PyAny>) -> Codes {
        // SAFETY: a live function.
        let at: *const usize =
            unsafe { &raw const (*f.as_ptr().cast::<ffi::PyFunctionObject>()).func_code }.cast();
        // SAFETY: a word of it.
        let word = Cell::new(unsafe { *at });
        Codes::new(vec![Slot { at, word }]).expect("counted")
    }

    #[test]
    fn what_is_remembered_while_a_code_is_assigned_does_not_last() {
        thread_local! {
            static SEEN: std::cell::RefCell<Option<Codes>> = const { std::cell::RefCell::new(None) };
        }
        Python::initialize();
        Python::attach(|py| {
            let function = || py.eval(c"lambda: 1", None, None).expect("a function");
            let (f, code) = (function(), function().getattr("__code__").expect("a code"));
            let hook = pyo3::types::PyCFunction::new_closure(py, None, None, |args, _| {
                let event: String = args.get_item(0)?.extract()?;
                if event != "object.__setattr__" {
                    return PyResult::Ok(());
                }
                let assigned = args.get_item(1)?;
                if assigned.get_item(1)?.eq("__code__")? {
                    let codes = codes_of(&assigned.get_item(0)?);
                    SEEN.with(|seen| seen.borrow_mut().replace(codes));
                }
                PyResult::Ok(())
            });
            let sys = py.import("sys").expect("sys");
            sys.call_method1("addaudithook", (hook.expect("a hook"),))
                .expect("it is taken");
            assert!(is_counted());
            f.setattr("__code__", code).expect("an assignment");
            let seen = SEEN.with(|seen| seen.borrow_mut().take());
            // SAFETY: the function is alive.
            assert!(!unsafe { seen.expect("the hook has run").are_same() });
        });
    }

    /// Whatever assigns is counted, or noticed: each of these gives `f` another code.
    #[test]
    fn every_way_to_assign_is_noticed() {
        let ways = [
            c"f.__code__ = other",
            c"setattr(f, '__code__', other)",
            c"type(f).__dict__['__code__'].__set__(f, other)",
            c"descriptor.__set__(f, other)",
            c"object.__setattr__(f, '__code__', other)",
            c"import threading\nt = threading.Thread(target=setattr, args=(f, '__code__', other))\nt.start()\nt.join()",
        ];
        Python::initialize();
        Python::attach(|py| {
            for way in ways {
                let scope = pyo3::types::PyDict::new(py);
                py.run(
                    c"f = lambda: 1\nother = (lambda: 2).__code__\ndescriptor = type(f).__dict__['__code__']",
                    Some(&scope),
                    None,
                )
                .expect("a function");
                let f = scope.get_item("f").expect("a look-up").expect("f");
                let codes = codes_of(&f);
                // SAFETY: the function is alive.
                assert!(unsafe { codes.are_same() });
                py.run(way, Some(&scope), None).expect("an assignment");
                // SAFETY: as above.
                assert!(!unsafe { codes.are_same() }, "{way:?}");
            }
            let derived = py.run(c"class D(type(lambda: 1)): pass", None, None);
            assert!(derived.is_err(), "a class with another descriptor");
        });
    }

    #[test]
    fn another_thread_that_assigns_all_the_time_is_noticed() {
        Python::initialize();
        Python::attach(|py| {
            let scope = pyo3::types::PyDict::new(py);
            py.run(
                c"import sys, threading\nsys.setswitchinterval(1e-6)\nf, g = lambda: 1, lambda: 2\ncodes = [(lambda: 3).__code__, (lambda: 4).__code__]\nstop = []\ndef assign():\n    n = 0\n    while not stop:\n        n += 1\n        g.__code__ = codes[n & 1]\nthread = threading.Thread(target=assign)\nthread.start()",
                Some(&scope),
                None,
            )
            .expect("a thread");
            let get = |name: &str| scope.get_item(name).expect("a look-up").expect("a value");
            let (f, other) = (get("f"), get("codes").get_item(0).expect("a code"));
            let own = f.getattr("__code__").expect("a code");
            for _ in 0..500 {
                f.setattr("__code__", &own).expect("an assignment");
                let codes = codes_of(&f);
                py.detach(|| std::thread::sleep(std::time::Duration::from_micros(20)));
                // SAFETY: the function is alive.
                assert!(unsafe { codes.are_same() });
                f.setattr("__code__", &other).expect("an assignment");
                py.detach(|| std::thread::sleep(std::time::Duration::from_micros(20)));
                // SAFETY: as above.
                assert!(!unsafe { codes.are_same() });
            }
            py.run(
                c"stop.append(1)\nthread.join()\nsys.setswitchinterval(0.005)",
                Some(&scope),
                None,
            )
            .expect("an end");
        });
    }

    #[test]
    fn a_setter_that_was_put_back_is_noticed() {
        Python::initialize();
        Python::attach(|py| {
            let function = || py.eval(c"lambda: 1", None, None).expect("a function");
            let (f, other) = (function(), function().getattr("__code__").expect("a code"));
            let codes = codes_of(&f);
            let Some(Some(place)) = SETTER.get() else {
                panic!("not counted");
            };
            // SAFETY: the GIL is held; the setter is what CPython had there.
            unsafe { (*place.entry).set = Some(place.set) };
            // SAFETY: the function is alive.
            let are_same = || unsafe { codes.are_same() };
            assert!(are_same());
            f.setattr("__code__", &other).expect("an assignment");
            assert!(!are_same());
            // SAFETY: as above.
            unsafe { (*place.entry).set = Some(count_and_set) };
            assert!(!are_same());
        });
    }

    #[test]
    fn the_codes_of_others_may_change() {
        Python::initialize();
        Python::attach(|py| {
            let function = || py.eval(c"lambda: 1", None, None).expect("a function");
            let (f, g) = (function(), function());
            let codes = codes_of(&f);
            // SAFETY: both functions are alive.
            let are_same = || unsafe { codes.are_same() };
            assert!(are_same());
            let other = function().getattr("__code__").expect("a code");
            g.setattr("__code__", &other).expect("an assignment");
            assert!(are_same());
            let own = f.getattr("__code__").expect("a code");
            f.setattr("__code__", &other).expect("an assignment");
            assert!(!are_same());
            f.setattr("__code__", own).expect("an assignment");
            assert!(are_same());
        });
    }
}
