//! Start-up self-check: every layout that is used, compared with objects whose contents are known.
//!
//! Reads stay inside the smallest size that the objects can have, so a wrong
//! offset gives a wrong value and an error, never a crash.

mod objects;

use std::cell::RefCell;
use std::ffi::{CStr, c_int};

use crate::panics::contained;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi::{self, PyObject, PyThreadState};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::code::{CODE_UNIT_BYTES, RawCode, first_unit};
use super::frame::{OWNED_BY_THREAD, RawFrame, unstarted_instr};
use super::stack_ref::StackRef;
use super::symbols::{install_eval, installed_eval};
use super::thread::{Chunk, data_stack};
use super::thread_end::evaluate_by_default;

/// Why this Python cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// Built for another minor version than the one running.
    #[error(
        "ferrodyn's extension is built for CPython 3.{built} and was loaded by Python {running}: \
         install the wheel for that version (CPython 3.11 to 3.15 are supported)"
    )]
    Version {
        /// Minor version of the build.
        built: u32,
        /// `platform.python_version()` of the interpreter.
        running: String,
    },
    /// A debug or free-threaded build.
    #[error(
        "ferrodyn does not support {kind} builds of CPython (this is Python {running}): \
         use a release build of CPython 3.11 to 3.15 with the GIL"
    )]
    Build {
        /// "debug" or "free-threaded".
        kind: &'static str,
        /// `platform.python_version()` of the interpreter.
        running: String,
    },
    /// A field is not where this version keeps it.
    #[error(
        "ferrodyn does not know the memory layout of Python {running}: {field} was not found \
         where CPython 3.{built} keeps it"
    )]
    Field {
        /// What was compared.
        field: &'static str,
        /// Minor version of the build.
        built: u32,
        /// `platform.python_version()` of the interpreter.
        running: String,
    },
    /// The check itself could not run.
    #[error("ferrodyn could not check the memory layout of Python {running}: {error}")]
    Probe {
        /// The Python exception.
        error: String,
        /// `platform.python_version()` of the interpreter.
        running: String,
    },
}

const PROBE: &CStr = c"
def make(free):
    def probe(first, /, second, third=3, *rest, only=5, **named):
        inner = [first, second]
        return lambda: (inner, third, rest, only, named, free)
    return probe
probe = make(0)
def other(a, b):
    c = a
    d = b
    e = c, d
    return e
";

/// Compares every layout with known objects; run once, at import, with the GIL held.
pub fn self_check(py: Python<'_>) -> Result<(), LayoutError> {
    let running = Python::version_str()
        .split(' ')
        .next()
        .unwrap_or_default()
        .to_owned();
    let info = py.version_info();
    if (info.major, u32::from(info.minor)) != (3, super::MINOR) {
        return Err(LayoutError::Version {
            built: super::MINOR,
            running,
        });
    }
    let probe_error = |error: PyErr| LayoutError::Probe {
        error: error.to_string(),
        running: running.clone(),
    };
    if let Some(kind) = unsupported_build(py).map_err(probe_error)? {
        return Err(LayoutError::Build { kind, running });
    }
    let field = check_fields(py).map_err(probe_error)?;
    match field {
        None => Ok(()),
        Some(field) => Err(LayoutError::Field {
            field,
            built: super::MINOR,
            running,
        }),
    }
}

fn unsupported_build(py: Python<'_>) -> PyResult<Option<&'static str>> {
    let sys = py.import("sys")?;
    if sys.hasattr("gettotalrefcount")? {
        return Ok(Some("debug"));
    }
    let threaded = py
        .import("sysconfig")?
        .call_method1("get_config_var", ("Py_GIL_DISABLED",))?;
    if threaded.is_truthy()? {
        return Ok(Some("free-threaded"));
    }
    Ok(None)
}

fn check_fields(py: Python<'_>) -> PyResult<Option<&'static str>> {
    let names = PyDict::new(py);
    py.run(PROBE, Some(&names), None)?;
    let get = |name: &str| names.get_item(name)?.ok_or_else(|| missing(name));
    let (probe, other) = (get("probe")?, get("other")?);
    for function in [&probe, &other] {
        if let Some(field) = check_code(function)? {
            return Ok(Some(field));
        }
        if let Some(field) = check_function(function)? {
            return Ok(Some(field));
        }
    }
    if let Some(field) = objects::check(py)? {
        return Ok(Some(field));
    }
    if let Some(field) = check_thread(py)? {
        return Ok(Some(field));
    }
    check_frame(py, &probe)
}

fn missing(name: &str) -> PyErr {
    PyRuntimeError::new_err(format!("the probe did not define {name}"))
}

fn check_code(function: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let code = function.getattr("__code__")?;
    let int = |name: &str| code.getattr(name)?.extract::<c_int>();
    let tuple_len = |name: &str| code.getattr(name)?.len();
    let raw_ptr = code.as_ptr().cast::<RawCode>();
    // SAFETY: a code object is larger than `RawCode` on every version, and its head is plain data.
    let raw = unsafe { &*raw_ptr };
    let counts = [
        ("co_flags", raw.flags, int("co_flags")?),
        ("co_argcount", raw.argcount, int("co_argcount")?),
        (
            "co_posonlyargcount",
            raw.posonly,
            int("co_posonlyargcount")?,
        ),
        ("co_kwonlyargcount", raw.kwonly, int("co_kwonlyargcount")?),
        ("co_stacksize", raw.stacksize, int("co_stacksize")?),
        ("co_firstlineno", raw.firstlineno, int("co_firstlineno")?),
        ("co_nlocals", raw.nlocals, int("co_nlocals")?),
        (
            "co_ncellvars",
            raw.ncellvars,
            tuple_len("co_cellvars")? as c_int,
        ),
        (
            "co_nfreevars",
            raw.nfreevars,
            tuple_len("co_freevars")? as c_int,
        ),
    ];
    for (name, found, expected) in counts {
        if found != expected {
            return Ok(Some(name));
        }
    }
    let varnames: Vec<String> = code.getattr("co_varnames")?.extract()?;
    let cells: Vec<String> = code.getattr("co_cellvars")?.extract()?;
    let plain_cells = cells.iter().filter(|cell| !varnames.contains(cell)).count();
    let nlocalsplus = varnames.len() + plain_cells + raw.nfreevars as usize;
    if raw.nlocalsplus as usize != nlocalsplus {
        return Ok(Some("co_nlocalsplus"));
    }
    if raw.frame_words() != raw.computed_frame_words() {
        return Ok(Some("co_framesize"));
    }
    let bytes = code.getattr("co_code")?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    // SAFETY: the code units lie inside the object, which ends after them; the code is fresh, so
    // that its instructions are those of `co_code`.
    let units = unsafe { std::slice::from_raw_parts(first_unit(raw_ptr), bytes.len().min(4)) };
    // Code unit 0 is an inline cache, which `co_code` shows empty.
    let same = |(found, shown): (&[u8], &[u8])| shown == [0, 0] || found == shown;
    let pairs = units
        .chunks(CODE_UNIT_BYTES)
        .zip(bytes.chunks(CODE_UNIT_BYTES));
    if !pairs.into_iter().all(same) {
        return Ok(Some("co_code_adaptive"));
    }
    // SAFETY: read as an address only; it is compared before it is used.
    let names = unsafe { (*raw_ptr).localsplusnames };
    let first = code.getattr("co_varnames")?.get_item(0)?;
    if !is_tuple_starting_with(names, &first, nlocalsplus) {
        return Ok(Some("co_localsplusnames"));
    }
    Ok(None)
}

fn is_tuple_starting_with(tuple: *mut PyObject, first: &Bound<'_, PyAny>, len: usize) -> bool {
    if tuple.is_null() || !(tuple as usize).is_multiple_of(align_of::<usize>()) {
        return false;
    }
    // SAFETY: in every supported version the word at this offset holds an owned object; a patch
    // release does not change the layout, and minor versions were told apart before.
    unsafe {
        ffi::PyTuple_CheckExact(tuple) != 0
            && ffi::PyTuple_GET_SIZE(tuple) as usize == len
            && ffi::PyTuple_GET_ITEM(tuple, 0) == first.as_ptr()
    }
}

fn check_function(function: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let raw = function.as_ptr().cast::<ffi::PyFunctionObject>();
    // SAFETY: a function object is as large as PyO3's declaration of it.
    let (code, globals, closure) =
        unsafe { ((*raw).func_code, (*raw).func_globals, (*raw).func_closure) };
    let expected_closure = function.getattr("__closure__")?;
    let closure_ok = if expected_closure.is_none() {
        closure.is_null()
    } else {
        closure == expected_closure.as_ptr()
    };
    Ok(if code != function.getattr("__code__")?.as_ptr() {
        Some("func_code")
    } else if globals != function.getattr("__globals__")?.as_ptr() {
        Some("func_globals")
    } else if !closure_ok {
        Some("func_closure")
    } else {
        None
    })
}

fn check_thread(py: Python<'_>) -> PyResult<Option<&'static str>> {
    // SAFETY: the GIL is held; the fields lie inside a thread state on every version.
    let tstate = unsafe { ffi::PyThreadState_Get() };
    // SAFETY: as above; the pointers are compared as numbers before the chunk is read.
    let stack = unsafe { &*data_stack(tstate) };
    let (chunk, top, limit) = (
        stack.chunk as usize,
        stack.top as usize,
        stack.limit as usize,
    );
    let data = chunk.wrapping_add(std::mem::offset_of!(Chunk, data));
    let plausible = chunk != 0
        && chunk.is_multiple_of(align_of::<Chunk>())
        && data <= top
        && top <= limit
        && limit - chunk < 1 << 40;
    // SAFETY: `chunk` is the start of the block that contains `top`.
    if !plausible || unsafe { (*stack.chunk).size } != limit - chunk {
        return Ok(Some("datastack_chunk"));
    }
    if super::thread::COUNTS_C_CALLS {
        let remaining = super::thread::c_recursion_remaining(tstate);
        // SAFETY: an int inside the thread state; the calls change only the counter.
        let (before, inside, after) = unsafe {
            let before = remaining.read();
            if ffi::Py_EnterRecursiveCall(c" in ferrodyn's self-check".as_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
            let inside = remaining.read();
            ffi::Py_LeaveRecursiveCall();
            (before, inside, remaining.read())
        };
        if inside != before - 1 || after != before {
            return Ok(Some("c_recursion_remaining"));
        }
    }
    Ok(None)
}

/// What the probe evaluator saw in the first frame that it was given.
struct Seen {
    code: usize,
    func: usize,
    globals: usize,
    builtins: usize,
    locals: usize,
    frame_obj: usize,
    instr: usize,
    expected_instr: usize,
    words: usize,
    owner: std::ffi::c_char,
    arguments: Vec<StackRef>,
    on_top: bool,
}

thread_local! {
    static SEEN: RefCell<Option<Seen>> = const { RefCell::new(None) };
}

const PROBE_SLOTS: usize = 6;

unsafe extern "C" fn record_first_frame(
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    // What was not seen is missed by the check.
    contained(
        "the check of layouts",
        || (),
        || {
            SEEN.with_borrow_mut(|seen| {
                if seen.is_none() {
                    // SAFETY: the interpreter passes a frame with its header and, for the probe function,
                    // at least `PROBE_SLOTS` words of locals; the thread state is the current one.
                    *seen = Some(unsafe {
                        let raw = &*frame;
                        let locals = RawFrame::locals_of(frame);
                        Seen {
                            code: raw.code() as usize,
                            func: raw.func() as usize,
                            globals: raw.globals as usize,
                            builtins: raw.builtins as usize,
                            locals: raw.locals as usize,
                            frame_obj: raw.frame_obj as usize,
                            instr: raw.instr as usize,
                            expected_instr: unstarted_instr(raw.code()) as usize,
                            words: RawFrame::words_in_use(frame),
                            owner: raw.owner,
                            arguments: (0..PROBE_SLOTS).map(|i| locals.add(i).read()).collect(),
                            on_top: {
                                let top = (*data_stack(tstate)).top as usize;
                                top.wrapping_sub(frame as usize) < 1 << 20
                            },
                        }
                    });
                }
            })
        },
    );
    // SAFETY: the frame is passed on as it came.
    unsafe { evaluate_by_default(tstate, frame, throwflag) }
}

fn check_frame(py: Python<'_>, probe: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let (first, second, rest) = ("first".into_pyobject(py)?, PyDict::new(py), PyDict::new(py));
    let named = PyDict::new(py);
    named.set_item("word", &rest)?;
    SEEN.set(None);
    // SAFETY: the GIL is held, and the evaluator that was there is put back before anything else
    // can run in this thread.
    let result = unsafe {
        let interp = ffi::PyInterpreterState_Get();
        let before = installed_eval(interp);
        install_eval(interp, record_first_frame);
        let result = probe.call((&first, &second), Some(&named));
        install_eval(interp, before);
        result
    };
    result?;
    let Some(seen) = SEEN.take() else {
        return Ok(Some("the frame evaluation hook"));
    };
    let code = probe.getattr("__code__")?;
    // SAFETY: `check_code` has found the head of this object as declared.
    let raw = unsafe { &*code.as_ptr().cast::<RawCode>() };
    let globals = probe.getattr("__globals__")?;
    let builtins = probe.getattr("__builtins__")?;
    let third = probe.getattr("__defaults__")?.get_item(0)?;
    let only = probe.getattr("__kwdefaults__")?.get_item("only")?;
    let known = [
        first.as_ptr(),
        second.as_ptr(),
        third.as_ptr(),
        only.as_ptr(),
    ];
    // The number among them lives for ever, where anything does: its word has the tag of such objects.
    // SAFETY: live objects; the words are compared and not released.
    let words = known.map(|object| unsafe { StackRef::owning(object) });
    let checks = [
        ("frame code", seen.code == code.as_ptr() as usize),
        ("frame function", seen.func == probe.as_ptr() as usize),
        ("frame globals", seen.globals == globals.as_ptr() as usize),
        (
            "frame builtins",
            seen.builtins == builtins.as_ptr() as usize,
        ),
        ("f_locals", seen.locals == 0),
        ("frame_obj", seen.frame_obj == 0),
        ("instruction pointer", seen.instr == seen.expected_instr),
        (
            "the end of the operand stack",
            seen.words == raw.nlocalsplus as usize,
        ),
        ("frame owner", seen.owner == OWNED_BY_THREAD),
        (
            "localsplus",
            (seen.arguments.iter().zip(known)).all(|(word, object)| word.object() == object),
        ),
        ("tags of references", seen.arguments[..4] == words),
        ("datastack_top", seen.on_top),
        ("argument slots", raw.argument_slots() == PROBE_SLOTS),
    ];
    Ok(checks
        .into_iter()
        .find(|(_, holds)| !holds)
        .map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_python_is_one_of_those_that_are_known() {
        Python::attach(|py| self_check(py).unwrap_or_else(|error| panic!("{error}")));
    }
}
