//! Where the calling thread keeps torch's modes: found once a thread, then read without a call.
//!
//! Invariant: places are read only where start-up has seen each of them follow its mode. Elsewhere torch's
//! getters are called.

use std::cell::Cell;
use std::ptr;

use pyo3::prelude::*;

use crate::names;
use crate::symbols::{Symbols, ThreadSymbols};

/// The modes of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadModes {
    /// The (included, excluded) dispatch key sets, raw.
    pub keys: (u64, u64),
    /// `torch.is_grad_enabled()`.
    pub grad_mode: bool,
    /// `torch.is_inference_mode_enabled()`.
    pub inference_mode: bool,
    /// Whether `__torch_function__` is enabled (0), disabled for subclasses (1) or altogether (2).
    pub torch_function: u8,
    /// How many torch function modes are active.
    pub function_modes: usize,
}

/// Addresses inside the calling thread's storage: good for as long as the thread lives.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    keys: *const u64,
    autograd: *const u8,
    torch_function: *const u8,
}

/// Offset of the byte with grad mode (bit 0) and inference mode (bit 1).
const AUTOGRAD_BITS: usize = 24;
/// Offsets of the bounds of the vector of modes, whose items are shared pointers.
const STACK: [usize; 2] = [8, 16];
const SHARED_POINTER: usize = 16;

thread_local! {
    static PLACES: Cell<Places> = const {
        Cell::new(Places {
            keys: ptr::null(),
            autograd: ptr::null(),
            torch_function: ptr::null(),
        })
    };
}

/// The calling thread's places.
#[inline]
pub(crate) fn places(symbols: &Symbols) -> Places {
    PLACES.with(|cell| {
        let known = cell.get();
        if known.keys.is_null() {
            return find(cell, symbols);
        }
        known
    })
}

#[cold]
#[inline(never)]
fn find(cell: &Cell<Places>, symbols: &Symbols) -> Places {
    let ask = |address: fn(&ThreadSymbols) -> crate::symbols::AddressFn| {
        let Some(symbols) = &symbols.thread else {
            return ptr::null();
        };
        // SAFETY: a function without arguments that gives the address of a thread-local object.
        unsafe { address(symbols)() }
    };
    let found = Places {
        keys: symbols.local_keys(),
        autograd: ask(|symbols| symbols.autograd),
        torch_function: ask(|symbols| symbols.torch_function),
    };
    cell.set(found);
    found
}

impl Places {
    /// The key sets as torch stores them.
    #[inline]
    pub(crate) fn raw_keys(self) -> (u64, u64) {
        // SAFETY: the address of this thread's two words, which live as long as the thread.
        unsafe { (self.keys.read(), self.keys.add(1).read()) }
    }

    /// The modes. Only where [`learn`] has said that they are there.
    #[inline]
    pub(crate) fn modes(self, keys: (u64, u64)) -> ThreadModes {
        // SAFETY: start-up has found these fields at the addresses that torch gives; the vector's bounds are two
        // words.
        unsafe {
            let bits = self.autograd.add(AUTOGRAD_BITS).read();
            let [start, end] = STACK.map(|at| self.torch_function.add(at).cast::<usize>().read());
            ThreadModes {
                keys,
                grad_mode: bits & 1 != 0,
                inference_mode: bits & 2 != 0,
                torch_function: self.torch_function.cast::<i32>().read() as u8,
                function_modes: end.wrapping_sub(start) / SHARED_POINTER,
            }
        }
    }
}

/// Whether each mode is where [`Places::modes`] reads it: every one is changed, and changed back.
pub(crate) fn learn(py: Python<'_>, symbols: &Symbols) -> bool {
    let Some(thread) = &symbols.thread else {
        return false;
    };
    let places = places(symbols);
    if places.autograd.is_null() || places.torch_function.is_null() {
        return false;
    }
    let same = || {
        // SAFETY: no arguments, no exceptions.
        let asked = unsafe {
            (
                (symbols.grad_mode)(),
                (symbols.inference_mode)(),
                (symbols.torch_function_state)(),
                (symbols.torch_function_stack)(),
            )
        };
        let read = places.modes((0, 0));
        asked
            == (
                read.grad_mode,
                read.inference_mode,
                i32::from(read.torch_function),
                read.function_modes as i64,
            )
    };
    let mut good = same();
    // SAFETY: setters of this thread's modes, which raise nothing; what was set before is set again.
    unsafe {
        let grad = (symbols.grad_mode)();
        let state = (symbols.torch_function_state)();
        for other in [!grad, grad] {
            (thread.set_grad_mode)(other);
            good &= same();
        }
        for other in [0, 1, 2, state] {
            (thread.set_torch_function)(other);
            good &= same();
        }
    }
    good && within_modes(py, &same).unwrap_or(false) && same()
}

/// Whether `same` holds with more modes on the stack, and in and out of inference mode.
fn within_modes(py: Python<'_>, same: &dyn Fn() -> bool) -> PyResult<bool> {
    let torch_c = py.import(names::TORCH_C)?;
    let push = torch_c.getattr(names::PUSH_FUNCTION_MODE)?;
    let pop = torch_c.getattr(names::POP_FUNCTION_MODE)?;
    let guard = torch_c.getattr(names::INFERENCE_GUARD)?;
    let mut good = true;
    for depth in 0..3 {
        if let Err(error) = push.call1((&torch_c,)) {
            for _ in 0..depth {
                pop.call0()?;
            }
            return Err(error);
        }
        good &= same();
    }
    for _ in 0..3 {
        pop.call0()?;
        good &= same();
    }
    for on in [true, false] {
        let guard = guard.call1((on,))?;
        guard.call_method0("__enter__")?;
        good &= same();
        guard.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        good &= same();
    }
    Ok(good)
}
