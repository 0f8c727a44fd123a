//! Whether some tool follows frames: a profiler, a debugger, coverage.
//!
//! 3.11 has a tool's function in the thread state. From 3.12 on every tool, `sys.settrace` and `sys.setprofile`
//! included, says in the interpreter state which events it wants (PEP 669, `PyInterpreterState.monitors`). That
//! field is found at import; where it is not, a tool is taken to be there always.

#[cfg(not(Py_3_12))]
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

/// 3.12 and newer: `monitors` of the interpreter state. 3.11: any address but null once the fields are known.
static FOUND: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Whether frames are followed by a tool, in this thread or in any.
#[inline]
pub fn follow_frames() -> bool {
    let found = FOUND.load(Ordering::Relaxed);
    if found.is_null() {
        return true;
    }
    #[cfg(Py_3_12)]
    // SAFETY: `find` saw these bytes, one for each kind of event, in the interpreter state, which outlives this
    // module; two words that overlap in a byte cover them.
    unsafe {
        const LAST: usize = EVENTS - size_of::<u64>();
        (found.cast::<u64>().read_unaligned() | found.add(LAST).cast::<u64>().read_unaligned()) != 0
    }
    #[cfg(not(Py_3_12))]
    // SAFETY: called with the GIL held; `find` saw the fields.
    unsafe {
        tool_functions(ffi::PyThreadState_Get()) != [0, 0]
    }
}

/// `_PY_MONITORING_UNGROUPED_EVENTS`: a byte for each says which tools want it.
#[cfg(Py_3_12)]
const EVENTS: usize = if cfg!(Py_3_14) { 16 } else { 15 };
/// `monitors`, and `monitoring_tool_names` behind it.
#[cfg(Py_3_12)]
const FIELDS: (usize, usize) = if cfg!(Py_3_15) {
    (223_512, 224_768)
} else if cfg!(Py_3_14) {
    (223_240, 224_496)
} else if cfg!(Py_3_13) {
    (193_136, 194_264)
} else {
    (381_744, 382_872)
};

/// Looks whether the fields are where this version has them.
///
/// # Errors
/// What `sys.monitoring` raises.
#[cfg(Py_3_12)]
pub fn find(py: Python<'_>) -> PyResult<()> {
    let monitoring = py.import("sys")?.getattr("monitoring")?;
    let mut free = None;
    for id in 0..6 {
        if monitoring.call_method1("get_tool", (id,))?.is_none() {
            free = Some(id);
        }
    }
    let Some(id) = free else { return Ok(()) };
    let name = pyo3::types::PyString::new(py, "ferrodyn looks for its place");
    let (monitors, names) = FIELDS;
    monitoring.call_method1("use_tool_id", (id, &name))?;
    // SAFETY: the GIL is held. The place of the names lies inside the interpreter state of each release of this
    // version, give or take a few words, which belong to the same static object or heap block.
    let found = unsafe {
        let state = ffi::PyInterpreterState_Get().cast::<u8>();
        let place = state.add(names).cast::<usize>().add(id as usize);
        (place.read() == name.as_ptr() as usize).then(|| state.add(monitors))
    };
    monitoring.call_method1("free_tool_id", (id,))?;
    FOUND.store(found.unwrap_or(ptr::null_mut()), Ordering::Relaxed);
    Ok(())
}

/// `c_profilefunc` and `c_tracefunc`, as numbers.
#[cfg(not(Py_3_12))]
#[inline]
unsafe fn tool_functions(tstate: *mut ffi::PyThreadState) -> [usize; 2] {
    const PROFILE: usize = 64;
    // SAFETY: two words inside every thread state of this version.
    unsafe { tstate.cast::<u8>().add(PROFILE).cast::<[usize; 2]>().read() }
}

/// Looks whether the fields are where this version has them.
///
/// # Errors
/// What `sys.getprofile` raises.
#[cfg(not(Py_3_12))]
pub fn find(py: Python<'_>) -> PyResult<()> {
    unsafe extern "C" fn nothing(
        _: *mut ffi::PyObject,
        _: *mut ffi::PyFrameObject,
        _: c_int,
        _: *mut ffi::PyObject,
    ) -> c_int {
        crate::panics::contained("a profile function", || 0, || 0)
    }
    if !py.import("sys")?.call_method0("getprofile")?.is_none() {
        return Ok(());
    }
    // SAFETY: the GIL is held; no profile function was set, and none is afterwards.
    let found = unsafe {
        let tstate = ffi::PyThreadState_Get();
        ffi::PyEval_SetProfile(Some(nothing), ptr::null_mut());
        let [with, _] = tool_functions(tstate);
        ffi::PyEval_SetProfile(None, ptr::null_mut());
        let [without, _] = tool_functions(tstate);
        with == nothing as *const () as usize && without == 0
    };
    FOUND.store(
        if found {
            ptr::dangling_mut()
        } else {
            ptr::null_mut()
        },
        Ordering::Relaxed,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profiler_is_seen_while_it_is_there() {
        Python::attach(|py| {
            find(py).expect("a look at the tools");
            let profile = |on: &std::ffi::CStr| py.run(on, None, None).expect("a profiler");
            let mut seen = vec![follow_frames()];
            profile(c"import sys; sys.setprofile(lambda *event: None)");
            seen.push(follow_frames());
            profile(c"sys.setprofile(None)");
            seen.push(follow_frames());
            assert_eq!(seen, [false, true, false]);
        });
    }
}
