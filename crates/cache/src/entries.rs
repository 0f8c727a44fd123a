//! The entries of one code object.
//!
//! Invariants: most recent hit first; an entry that is no longer valid is never offered and is dropped at the
//! next chance; no entry is dropped while the list is borrowed; with the GIL held, a nested call (from a
//! finalizer) at worst skips a reordering or an insertion.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use cpython_abi::later::later;
use guards::exec::explain::Failure;
use guards::exec::{CheckEnv, Moment};
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::FxHashMap;

use crate::entry::{CompileId, GuardedCode};
use crate::message::{CodeName, most_failing_line, recompile_limit_warning};
use crate::selector::Selector;

/// Limits on compilations of one code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many entries a code object may have.
    pub recompile_limit: usize,
    /// How often it may be compiled, entries that were dropped included.
    pub accumulated_recompile_limit: usize,
    /// Whether reasons are wanted of every call, also once a limit was reached and told.
    pub explain_all: bool,
    /// Whether every call beyond a limit is told, not the first one only.
    pub tell_always: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            recompile_limit: 8,
            accumulated_recompile_limit: 256,
            explain_all: false,
            tell_always: false,
        }
    }
}

/// An entry that was tried in vain.
#[derive(Clone, Debug)]
pub struct Miss {
    /// The entry.
    pub id: CompileId,
    /// Its first guard that failed.
    pub failure: Failure,
}

/// What to do for a call.
pub enum Decision {
    /// Run this entry.
    Hit(Arc<GuardedCode>),
    /// Compile: no entry fits. Empty reasons mean that there was none.
    Miss(Vec<Miss>),
    /// Run plain Python: there are as many entries as may be.
    LimitReached {
        /// Why the entries do not fit.
        misses: Vec<Miss>,
        /// The warning to log, unless it was given before.
        warning: Option<String>,
    },
}

/// What numbers a call was made with, by the names of their sources.
#[derive(Clone, Debug, Default)]
pub struct FirstCall {
    /// sizes of tensors
    pub sizes: FxHashMap<String, Vec<Option<i64>>>,
    /// ints
    pub ints: FxHashMap<String, i64>,
}

struct Inner {
    name: CodeName,
    frame: u32,
    list: RefCell<Vec<Arc<GuardedCode>>>,
    compiled: Cell<u32>,
    warned: Cell<bool>,
    stale: Cell<bool>,
    /// Names of values that were seen to change.
    changing: RefCell<BTreeSet<String>>,
    /// a call that ran in eager mode in front of the first compilation
    first_call: RefCell<Option<FirstCall>>,
    /// How many translations have come to where something is set up.
    set_ups: Cell<u32>,
    /// Weak references to modules that entries were made for.
    owners: RefCell<Vec<Py<PyAny>>>,
    /// Finds the right one of several entries.
    selector: RefCell<Selector>,
    /// Whether the last call hit another entry than the one before.
    alternates: Cell<bool>,
    /// Guards that failed, and how often.
    failed: RefCell<Vec<(String, u64)>>,
}

// SAFETY: every access needs the GIL (methods take `Python`, hooks attach), and no borrow is held while the GIL
// could be released.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// The entries of one code object.
#[derive(Clone)]
pub struct Entries(Arc<Inner>);

static NEXT_FRAME: AtomicU32 = AtomicU32::new(0);
static ALL: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

impl Entries {
    /// No entries yet. The frame number is taken at once.
    pub fn new(name: CodeName) -> Self {
        let inner = Arc::new(Inner {
            name,
            frame: NEXT_FRAME.fetch_add(1, Ordering::Relaxed),
            list: RefCell::new(Vec::new()),
            compiled: Cell::new(0),
            warned: Cell::new(false),
            stale: Cell::new(false),
            changing: RefCell::default(),
            first_call: RefCell::default(),
            set_ups: Cell::new(0),
            owners: RefCell::default(),
            selector: RefCell::new(Selector::new()),
            alternates: Cell::new(false),
            failed: RefCell::new(Vec::new()),
        });
        if let Ok(mut all) = ALL.lock() {
            if all.len().is_multiple_of(256) {
                all.retain(|weak| weak.strong_count() > 0);
            }
            all.push(Arc::downgrade(&inner));
        }
        Self(inner)
    }

    /// The code object's name.
    pub fn name(&self) -> &CodeName {
        &self.0.name
    }

    /// The number that the next compilation gets. Each call takes one.
    pub fn next_id(&self, _py: Python<'_>) -> CompileId {
        let compile = self.0.compiled.get();
        self.0.compiled.set(compile + 1);
        CompileId {
            frame: self.0.frame,
            compile,
        }
    }

    /// Names of values that compilations found to change, as they were left here.
    pub fn changing(&self, _py: Python<'_>) -> BTreeSet<String> {
        self.0.changing.borrow().clone()
    }

    /// Leaves names for the next compilation; a reset forgets them.
    pub fn set_changing(&self, _py: Python<'_>, names: BTreeSet<String>) {
        self.0.changing.replace(names);
    }

    /// Keeps what a call was made with, unless one is kept; gives whether it was the first.
    pub fn remember_call(&self, _py: Python<'_>, call: impl FnOnce() -> FirstCall) -> bool {
        if self.0.first_call.borrow().is_some() {
            return false;
        }
        let call = call();
        self.0.first_call.replace(Some(call));
        true
    }

    /// What the first call was made with, if that was kept.
    pub fn first_call(&self, _py: Python<'_>) -> Option<FirstCall> {
        self.0.first_call.borrow().clone()
    }

    /// Notes that a translation has come to where something is set up; how many had before, since a
    /// reset.
    pub fn meets_set_up(&self, _py: Python<'_>) -> u32 {
        let before = self.0.set_ups.get();
        self.0.set_ups.set(before.saturating_add(1));
        before
    }

    /// Notes that an entry holds tensors of a module, and goes with it.
    pub fn belongs_to(&self, module: &Bound<'_, PyAny>) {
        if let Ok(weak) = PyWeakrefReference::new(module)
            && let Ok(mut owners) = self.0.owners.try_borrow_mut()
        {
            owners.push(weak.into_any().unbind());
        }
    }

    /// Whether a module that an entry was made for is gone: the code has outlived it.
    pub fn outlived_a_module(&self, py: Python<'_>) -> bool {
        let Ok(owners) = self.0.owners.try_borrow() else {
            return false;
        };
        owners.iter().any(|weak| {
            let weak = weak.bind(py).cast::<PyWeakrefReference>();
            weak.is_ok_and(|weak| weak.upgrade().is_none())
        })
    }

    /// How many entries there are.
    pub fn len(&self, _py: Python<'_>) -> usize {
        self.0.list.borrow().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self, py: Python<'_>) -> bool {
        self.len(py) == 0
    }

    /// What is there as text: a line for the code object, and one for each entry, most recent hit first.
    pub fn listing(&self, py: Python<'_>) -> String {
        let mut text = format!(
            "{}: {} of {} compilations",
            self.0.name,
            self.len(py),
            self.0.compiled.get()
        );
        for entry in self.entries(py) {
            let _ = write!(text, "\n  {entry}");
        }
        if let Some(most) = self.most_failing(py) {
            let _ = write!(text, "\n  {}", most_failing_line(&most));
        }
        text
    }

    /// The entries, most recent hit first.
    pub fn entries(&self, _py: Python<'_>) -> Vec<Arc<GuardedCode>> {
        self.0.list.borrow().clone()
    }

    /// The entry that fits a call, if any. Moves it to the front. The fast path: gives no reasons.
    ///
    /// # Safety
    /// Every non-null pointer of `env` is live.
    #[inline]
    pub unsafe fn find(&self, py: Python<'_>, env: &CheckEnv<'_>) -> Option<Arc<GuardedCode>> {
        let (index, found) = {
            let list = self.0.list.try_borrow().ok()?;
            // SAFETY: the caller's promise.
            let index = unsafe { self.locate(&list, env) }?;
            (index, list[index].clone())
        };
        found.count_hit();
        if index > 0
            && let Ok(mut list) = self.0.list.try_borrow_mut()
            && list
                .get(index)
                .is_some_and(|entry| Arc::ptr_eq(entry, &found))
        {
            list[..=index].rotate_right(1);
        }
        if self.0.stale.get() {
            self.purge(py);
        }
        Some(found)
    }

    /// What `take` makes of the entry that fits a call. `None` as well where entries wait to be dropped:
    /// nothing is dropped here, so no user code runs, and `take` may run none either.
    ///
    /// # Safety
    /// Every non-null pointer of `env` is live.
    #[inline]
    pub unsafe fn find_with<T>(
        &self,
        _py: Python<'_>,
        env: &CheckEnv<'_>,
        take: impl FnOnce(&Arc<GuardedCode>) -> T,
    ) -> Option<T> {
        if self.0.stale.get() {
            return None;
        }
        let list = self.0.list.try_borrow().ok()?;
        // SAFETY: the caller's promise.
        let index = unsafe { self.locate(&list, env) }?;
        let entry = &list[index];
        entry.count_hit();
        let found = take(entry);
        drop(list);
        if index > 0
            && let Ok(mut list) = self.0.list.try_borrow_mut()
            && index < list.len()
        {
            list[..=index].rotate_right(1);
        }
        Some(found)
    }

    /// The index of an entry that fits a call. A call like the last one is tried with the first entry; where calls
    /// alternate, their looks say which to try.
    ///
    /// # Safety
    /// Every non-null pointer of `env` is live.
    #[inline]
    unsafe fn locate(&self, list: &[Arc<GuardedCode>], env: &CheckEnv<'_>) -> Option<usize> {
        // SAFETY: the caller's promise.
        unsafe {
            let (first, others) = list.split_first()?;
            let alternates = self.0.alternates.get();
            if (others.is_empty() || !alternates) && first.program.check(env) {
                return Some(0);
            }
            if others.is_empty() {
                return None;
            }
            let index = self.locate_by_looks(list, env, !alternates)?;
            self.0.alternates.set(index > 0);
            Some(index)
        }
    }

    /// As [`Entries::locate`], for several entries. `first_failed`: the first does not fit.
    ///
    /// # Safety
    /// As for [`Entries::locate`].
    unsafe fn locate_by_looks(
        &self,
        list: &[Arc<GuardedCode>],
        env: &CheckEnv<'_>,
        first_failed: bool,
    ) -> Option<usize> {
        // SAFETY: the caller's promise; an address is compared, not followed.
        unsafe {
            let Ok(mut selector) = self.0.selector.try_borrow_mut() else {
                return list.iter().position(|entry| entry.program.check(env));
            };
            let looks = selector.look(env);
            let known = looks.map_or(std::ptr::null(), |looks| selector.entry(looks));
            let known = list.iter().position(|entry| Arc::as_ptr(entry) == known);
            if let Some(index) = known
                && list[index].program.check(env)
            {
                return Some(index);
            }
            let index = (usize::from(first_failed)..list.len())
                .find(|&index| Some(index) != known && list[index].program.check(env))?;
            if let Some(looks) = looks {
                selector.remember(looks, Arc::as_ptr(&list[index]));
            }
            Some(index)
        }
    }

    /// What to do for a call: run an entry, compile, or run plain Python.
    ///
    /// # Safety
    /// Every non-null pointer of `env` is live.
    pub unsafe fn decide(&self, py: Python<'_>, env: &CheckEnv<'_>, limits: Limits) -> Decision {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(found) = self.find(py, env) {
                return Decision::Hit(found);
            }
            let warned = self.0.warned.get() && !limits.explain_all && !limits.tell_always;
            if warned && self.reached(py, limits).is_some() {
                return Decision::LimitReached {
                    misses: Vec::new(),
                    warning: None,
                };
            }
            let entries = self.entries(py);
            let misses: Vec<Miss> = entries
                .iter()
                .filter_map(|entry| {
                    let failure = entry.program.explain_failure(py, env)?;
                    Some(Miss {
                        id: entry.id,
                        failure,
                    })
                })
                .collect();
            if let Ok(mut selector) = self.0.selector.try_borrow_mut() {
                selector.learn(&entries, env);
            }
            self.count(&misses);
            drop(entries);
            self.purge(py);
            self.limit(py, limits, misses)
        }
    }

    fn count(&self, misses: &[Miss]) {
        let Ok(mut failed) = self.0.failed.try_borrow_mut() else {
            return;
        };
        for miss in misses {
            match failed.iter_mut().find(|f| f.0 == miss.failure.code) {
                Some(known) => known.1 += 1,
                None => failed.push((miss.failure.code.clone(), 1)),
            }
        }
    }

    /// The guard that failed most often so far, as Python, and how often.
    pub fn most_failing(&self, _py: Python<'_>) -> Option<(String, u64)> {
        let failed = self.0.failed.try_borrow().ok()?;
        failed.iter().max_by_key(|f| f.1).cloned()
    }

    /// The setting that forbids another compilation, and its value.
    fn reached(&self, py: Python<'_>, limits: Limits) -> Option<(&'static str, usize)> {
        let all = limits.accumulated_recompile_limit;
        if self.len(py) >= limits.recompile_limit {
            Some(("recompile_limit", limits.recompile_limit))
        } else if self.0.compiled.get() as usize >= all {
            Some(("accumulated_recompile_limit", all))
        } else {
            None
        }
    }

    fn limit(&self, py: Python<'_>, limits: Limits, misses: Vec<Miss>) -> Decision {
        let Some((setting, limit)) = self.reached(py, limits) else {
            return Decision::Miss(misses);
        };
        let warning = (!self.0.warned.replace(true) || limits.tell_always).then(|| {
            let most = self.most_failing(py);
            recompile_limit_warning(&self.0.name, setting, limit, &misses, most.as_ref())
        });
        Decision::LimitReached { misses, warning }
    }

    /// Adds an entry at the front. It is dropped again as soon as an object that it relies on dies.
    pub fn insert(&self, py: Python<'_>, entry: GuardedCode) -> Arc<GuardedCode> {
        let entry = Arc::new(entry);
        if let Ok(mut list) = self.0.list.try_borrow_mut() {
            list.insert(0, entry.clone());
        }
        let inner = Arc::downgrade(&self.0);
        entry.program.validity().on_clear(move |moment| {
            let purge = move |py: Python<'_>| {
                if let Some(inner) = inner.upgrade() {
                    Entries(inner).purge(py);
                }
            };
            match moment {
                Moment::Open => Python::attach(purge),
                Moment::FunctionEnds => later(purge),
            }
        });
        if !entry.is_valid() {
            self.purge(py);
        }
        entry
    }

    /// Drops the entries that are no longer valid.
    pub fn purge(&self, _py: Python<'_>) {
        let dead = match self.0.list.try_borrow_mut() {
            Ok(mut list) => {
                self.0.stale.set(false);
                let (alive, dead): (Vec<_>, Vec<_>) =
                    list.drain(..).partition(|entry| entry.is_valid());
                *list = alive;
                dead
            }
            Err(_) => {
                self.0.stale.set(true);
                return;
            }
        };
        if !dead.is_empty() {
            self.forget_looks();
        }
        drop(dead);
    }

    /// The selector keeps entries alive, so it goes with any of them.
    fn forget_looks(&self) {
        if let Ok(mut selector) = self.0.selector.try_borrow_mut() {
            let old = std::mem::replace(&mut *selector, Selector::new());
            drop(selector);
            drop(old);
        }
    }

    /// Forgets everything: entries, counts and that a warning was given.
    pub fn reset(&self, _py: Python<'_>) {
        self.0.compiled.set(0);
        self.0.warned.set(false);
        self.0.changing.take();
        self.0.first_call.take();
        self.0.set_ups.set(0);
        let owners = self.0.owners.try_borrow_mut().map(|mut o| o.split_off(0));
        drop(owners);
        if let Ok(mut failed) = self.0.failed.try_borrow_mut() {
            failed.clear();
        }
        self.forget_looks();
        let dropped = match self.0.list.try_borrow_mut() {
            Ok(mut list) => std::mem::take(&mut *list),
            Err(_) => return,
        };
        // Whoever still knows one of them must not run it.
        for entry in &dropped {
            entry.invalidate();
        }
        drop(dropped);
    }
}

/// Resets the entries of every code object, and begins frame numbers anew.
pub fn reset_all(py: Python<'_>) {
    let all = ALL.lock().map(|all| all.clone()).unwrap_or_default();
    for inner in all.iter().filter_map(Weak::upgrade) {
        Entries(inner).reset(py);
    }
    NEXT_FRAME.store(0, Ordering::Relaxed);
}
