//! The attributes of instances, which 3.13 may keep inside the object, where no event sees them.

use std::sync::{Arc, OnceLock};

use cpython_abi::dict::INSTANCES_KEEP_INLINE;
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::exec::watch::events::{DictInterest, Gil, Told, Watched, Watchers};

static INSTANCES_REPORT: OnceLock<bool> = OnceLock::new();

/// Finds out whether watchers see the attributes of instances, which 3.13 may keep inside the object. To be
/// called once, where Python code may run; before that, such attributes are read on each call.
pub fn prepare(py: Python<'_>) {
    let probe = || -> PyResult<bool> {
        let scope = PyDict::new(py);
        py.run(
            c"class C:\n def __init__(self):\n  self.a = self.b = 0\nc = C()\nd = c.__dict__\ndef write(c, n):\n for i in range(n):\n  c.a = i",
            Some(&scope),
            None,
        )?;
        let get = |name: &str| -> PyResult<Bound<'_, PyAny>> {
            scope
                .get_item(name)?
                .ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))
        };
        let (write, c, dict) = (get("write")?, get("c")?, get("d")?);
        write.call1((&c, 100))?;
        // SAFETY: the GIL is held; the dictionary is alive.
        unsafe {
            let Some(watchers) = Watchers::get() else {
                return Ok(false);
            };
            if !leave_inline(dict.as_ptr()) {
                return Ok(false);
            }
            let told = Arc::new(Gil::new(Told::new(1)));
            let what = Watched::Dict(dict.as_ptr());
            let interest = DictInterest {
                all: true,
                ..DictInterest::default()
            };
            let mut sees = watchers.watch(what);
            watchers.tell(what, &told, 0, interest);
            for n in [1, 100] {
                write.call1((&c, n))?;
                sees &= !told.get().is_clean();
                told.get().take_dirty();
                write.call1((&c, 0))?;
                sees &= told.get().is_clean();
            }
            watchers.forget(what, &told);
            Ok(sees)
        }
    };
    INSTANCES_REPORT.get_or_init(|| probe().unwrap_or(false));
}

/// Moves the items of an instance's dictionary out of the object: CPython does that where the last one is taken, which
/// is put back at once.
///
/// Nobody can tell: keys, their order and values stay, and iterators go on. The dictionary is exactly a `dict` with
/// exact strings for keys, so no code of the program runs in between, of the object's class neither; without code no
/// other thread gets the GIL. A watcher of somebody else would be told that the item is gone: a dictionary that has
/// one is left alone. Where memory is short the last item is not taken; to put it back takes none.
///
/// # Safety
/// The GIL is held, and `dict` must be a live dictionary.
unsafe fn leave_inline(dict: *mut PyObject) -> bool {
    // SAFETY: the caller's promise; the item is held while it is out of the dictionary.
    unsafe {
        if !INSTANCES_KEEP_INLINE || !is_split(dict) {
            return true;
        }
        if ffi::PyDict_CheckExact(dict) == 0
            || ffi::PyDict_Size(dict) == 0
            || cpython_abi::dict::is_watched(dict)
            || !cpython_abi::dict::has_room(dict)
        {
            return false;
        }
        let item = Python::attach(|py| {
            let name = pyo3::intern!(py, "popitem");
            ffi::PyObject_CallMethodNoArgs(dict, name.as_ptr())
        });
        if item.is_null() {
            ffi::PyErr_Clear();
            return false;
        }
        let (key, value) = (
            ffi::PyTuple_GET_ITEM(item, 0),
            ffi::PyTuple_GET_ITEM(item, 1),
        );
        let back = ffi::PyDict_SetItem(dict, key, value);
        if back < 0 {
            ffi::PyErr_Clear();
        }
        ffi::Py_DECREF(item);
        back == 0 && !is_split(dict)
    }
}

unsafe fn is_split(dict: *mut PyObject) -> bool {
    // SAFETY: a live dictionary.
    unsafe { !cpython_abi::dict::split_values(dict).is_null() }
}

/// Whether no event would tell of a change of a dictionary's items. Where it can, the items are moved to where
/// events see them.
///
/// # Safety
/// `dict` must be a live dictionary.
pub(super) unsafe fn is_unseen(dict: *mut PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        INSTANCES_KEEP_INLINE
            && !(INSTANCES_REPORT.get() == Some(&true) && leave_inline(dict))
            && is_split(dict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects whose attributes may be inside of them, and what watches what happens to them.
    const PROGRAM: &std::ffi::CStr = c"
import sys, threading

seen = []

class C:
    def __init__(self, n):
        for i in range(n):
            object.__setattr__(self, f'a{i}', [i])

class Watching(C):
    def __getattribute__(self, name):
        seen.append(name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        seen.append(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        seen.append(name)
        object.__delattr__(self, name)

classes = {}

def made(cls, n):
    # Instances share the keys of the first one of their class.
    if (cls, n) not in classes:
        classes[cls, n] = type(cls.__name__, (cls,), {})
    return classes[cls, n](n)

def dict_of(o):
    return object.__getattribute__(o, '__dict__')

class Reader(threading.Thread):
    def __init__(self, objects, n):
        super().__init__()
        self.objects, self.n = objects, n
        self.missed, self.rounds, self.stop = [], 0, False

    def run(self):
        expected = [f'a{i}' for i in range(self.n)]
        last = expected[-1]
        while not self.stop:
            for o in self.objects:
                d = o.__dict__
                if last not in d or list(d) != expected or getattr(o, last, None) is None:
                    self.missed.append(list(d))
            self.rounds += 1
";

    fn with_program(body: impl FnOnce(Python<'_>, &Bound<'_, PyDict>) -> PyResult<()>) {
        Python::initialize();
        Python::attach(|py| {
            if !INSTANCES_KEEP_INLINE {
                return;
            }
            let scope = PyDict::new(py);
            let run = py.run(PROGRAM, Some(&scope), None);
            let done = run.and_then(|()| body(py, &scope));
            done.unwrap_or_else(|error| panic!("{error}"));
        });
    }

    fn made<'py>(scope: &Bound<'py, PyDict>, class: &str, n: usize) -> PyResult<Bound<'py, PyAny>> {
        let scope = scope.as_any();
        let class = scope.get_item(class)?;
        scope.get_item("made")?.call1((class, n))
    }

    fn dict_of<'py>(
        scope: &Bound<'py, PyDict>,
        o: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        scope.as_any().get_item("dict_of")?.call1((o,))
    }

    fn moves(dict: &Bound<'_, PyAny>) -> bool {
        // SAFETY: a live dictionary.
        unsafe {
            assert!(is_split(dict.as_ptr()), "the attributes are inside");
            let moved = leave_inline(dict.as_ptr());
            assert_eq!(moved, !is_split(dict.as_ptr()));
            moved
        }
    }

    #[test]
    fn what_is_in_it_and_iterators_stay() {
        with_program(|py, scope| {
            for n in 1..30 {
                let o = made(scope, "C", n)?;
                let dict = dict_of(scope, &o)?;
                let before: Vec<(String, Bound<'_, PyAny>)> = dict
                    .call_method0("items")?
                    .try_iter()?
                    .map(|item| item?.extract())
                    .collect::<PyResult<_>>()?;
                let list = py.import("builtins")?.getattr("list")?;
                for at in 0..n {
                    let o = made(scope, "C", n)?;
                    let dict = dict_of(scope, &o)?;
                    let forth = dict.call_method0("__iter__")?;
                    let back = dict.call_method0("__reversed__")?;
                    for _ in 0..at {
                        forth.call_method0("__next__")?;
                        back.call_method0("__next__")?;
                    }
                    assert!(moves(&dict));
                    let forth: Vec<String> = list.call1((forth,))?.extract()?;
                    let back: Vec<String> = list.call1((back,))?.extract()?;
                    let name = |i: usize| format!("a{i}");
                    assert_eq!(forth, (at..n).map(name).collect::<Vec<_>>());
                    assert_eq!(back, (0..n - at).rev().map(name).collect::<Vec<_>>());
                }
                assert!(moves(&dict));
                let after: Vec<(String, Bound<'_, PyAny>)> = dict
                    .call_method0("items")?
                    .try_iter()?
                    .map(|item| item?.extract())
                    .collect::<PyResult<_>>()?;
                assert_eq!(before.len(), after.len());
                assert!(
                    before
                        .iter()
                        .zip(&after)
                        .all(|(a, b)| a.0 == b.0 && a.1.is(&b.1))
                );
            }
            Ok(())
        });
    }

    #[test]
    fn a_class_that_watches_its_instances_sees_nothing() {
        with_program(|_, scope| {
            let o = made(scope, "Watching", 4)?;
            let dict = dict_of(scope, &o)?;
            assert!(moves(&dict));
            assert_eq!(scope.as_any().get_item("seen")?.len()?, 0);
            Ok(())
        });
    }

    #[test]
    fn another_thread_never_misses_an_item() {
        with_program(|py, scope| {
            let sys = py.import("sys")?;
            let interval = sys.call_method0("getswitchinterval")?;
            sys.call_method1("setswitchinterval", (1e-6,))?;
            // With 10 items the table is full: putting the last one back needs memory.
            for n in [3, 10] {
                let objects = (0..300).map(|_| made(scope, "C", n));
                let objects = objects.collect::<PyResult<Vec<_>>>()?;
                let list = pyo3::types::PyList::new(py, &objects)?;
                let reader = scope.as_any().get_item("Reader")?.call1((list, n))?;
                reader.call_method0("start")?;
                for o in &objects {
                    let dict = dict_of(scope, o)?;
                    // The other thread gets its turns.
                    py.detach(|| std::thread::sleep(std::time::Duration::from_micros(50)));
                    assert!(moves(&dict));
                }
                reader.setattr("stop", true)?;
                reader.call_method0("join")?;
                assert_eq!(reader.getattr("missed")?.len()?, 0);
                assert!(reader.getattr("rounds")?.extract::<usize>()? > 0);
            }
            sys.call_method1("setswitchinterval", (interval,))?;
            Ok(())
        });
    }

    #[test]
    fn no_item_is_lost_where_memory_is_short() {
        with_program(|py, scope| {
            // Part of CPython's own tests, which not everybody installs.
            let Ok(memory) = py.import("_testcapi") else {
                return Ok(());
            };
            let fail = memory.getattr("set_nomemory")?;
            let stop = memory.getattr("remove_mem_hooks")?;
            let (mut moved, mut failed) = (0, 0);
            for n in 1..30 {
                for failing in 0..12 {
                    let o = made(scope, "C", n)?;
                    let dict = dict_of(scope, &o)?;
                    // From that one on all fail.
                    let which = pyo3::types::PyTuple::new(py, [failing, 0])?;
                    fail.call1(which)?;
                    // SAFETY: a live dictionary.
                    let done = unsafe { leave_inline(dict.as_ptr()) };
                    stop.call0()?;
                    assert_eq!(dict.len()?, n, "{failing}");
                    moved += usize::from(done);
                    failed += usize::from(!done);
                }
            }
            assert!(moved > 100 && failed > 0, "{moved} {failed}");
            Ok(())
        });
    }

    #[test]
    fn what_somebody_else_watches_is_left_alone() {
        with_program(|py, scope| {
            let Ok(watchers) = py.import("_testcapi") else {
                return Ok(());
            };
            let id = watchers.call_method1("add_dict_watcher", (0,))?;
            let o = made(scope, "C", 4)?;
            let dict = dict_of(scope, &o)?;
            watchers.call_method1("watch_dict", (&id, &dict))?;
            assert!(!moves(&dict));
            watchers.call_method1("unwatch_dict", (&id, &dict))?;
            assert!(moves(&dict));
            assert_eq!(watchers.call_method0("get_dict_watcher_events")?.len()?, 0);
            watchers.call_method1("clear_dict_watcher", (&id,))?;
            Ok(())
        });
    }
}
