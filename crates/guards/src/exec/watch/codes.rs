//! One number for the changes of all functions' codes, where functions report nothing (3.11).
//!
//! Python code gives a function another code through the attribute `__code__` of its type, and CPython has no other
//! way. So its setter is replaced by one that counts and then does what it did: while the number stays, no function
//! has got another code, and a model's many functions need not be looked at one by one.
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
/// What assigns; `None` where it was not found, and nothing is counted.
static SETTER: OnceLock<Option<Setter>> = OnceLock::new();

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
            Some(Some(set)) => unsafe { set(function, code, closure) },
            // Nothing was put in place then.
            _ => -1,
        };
        ASSIGNED.fetch_add(1, Ordering::Relaxed);
        status
    })
}

/// Begins to count, and finds out whether that works.
fn install() -> Option<Setter> {
    // SAFETY: the GIL is held by whoever checks guards. The table of a static type ends with an entry without a
    // name, and lives as long as the type; the interpreter reads its setter at each assignment.
    unsafe {
        let mut entry = ffi::PyFunction_Type.tp_getset;
        if entry.is_null() {
            return None;
        }
        while !(*entry).name.is_null() {
            if CStr::from_ptr((*entry).name) == c"__code__" {
                return (*entry).set.replace(count_and_set);
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
