//! Planning beside other work: a guard set and its program are made in other threads, while the thread that has the GIL
//! calls a backend.
//!
//! What lives here: when that is worth it, the pool of threads, and the splitting of large sets. What does not: what a
//! plan is ([`crate::set`], [`crate::program`]).
//!
//! Invariants: no thread of the pool touches Python; a plan is the same whoever makes it; a process that was forked
//! uses no thread of its parent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::guard::Guard;
use crate::program::Program;
use crate::set::{ConstTypes, GuardSet};
use crate::source::SourceTable;

/// Below so many guards a plan takes no longer than to wake a thread that makes it.
const WORTH_A_THREAD: usize = 256;
/// From so many guards on a set is split between threads.
const WORTH_SPLITTING: usize = 4096;
/// More threads have nothing to do.
const MOST_THREADS: usize = 4;

/// A guard set, and the program that checks it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The set.
    pub set: Arc<GuardSet>,
    /// Its program.
    pub program: Program,
}

impl Plan {
    /// Plans in this thread, and in others of its pool if it is one of a pool and the set is large.
    pub fn new(
        sources: SourceTable,
        guards: impl IntoIterator<Item = Guard>,
        const_types: ConstTypes,
    ) -> Self {
        let set = Arc::new(GuardSet::new(sources, guards, const_types));
        let program = Program::compile(&set);
        Plan { set, program }
    }

    /// As [`Plan::new`], where this thread has nothing else to do.
    pub fn in_pool(
        sources: SourceTable,
        guards: impl IntoIterator<Item = Guard>,
        const_types: ConstTypes,
    ) -> Self {
        let guards: Vec<Guard> = guards.into_iter().collect();
        // One other thread would do what this one waits for.
        let pool = match guards.len() < WORTH_SPLITTING || threads() < 2 {
            true => None,
            false => pool(),
        };
        match pool {
            Some(pool) => pool.install(|| Self::new(sources, guards, const_types)),
            None => Self::new(sources, guards, const_types),
        }
    }
}

/// Whether [`beside`] would make a plan of so many guards.
pub fn is_worth_a_thread(guards: usize) -> bool {
    guards >= WORTH_A_THREAD
}

/// Does `work`, and meanwhile makes a plan of `guards`, each as `finished` gives it, in another thread. No plan where that
/// is not worth a thread, or there is none.
pub fn beside<R>(
    sources: &SourceTable,
    guards: &[Guard],
    finished: impl Fn(usize, &Guard) -> Guard + Sync,
    const_types: ConstTypes,
    work: impl FnOnce() -> R,
) -> (R, Option<Plan>) {
    let pool = match is_worth_a_thread(guards.len()) {
        true => pool(),
        false => None,
    };
    match pool {
        Some(pool) => beside_in(&pool, sources, guards, finished, const_types, work),
        None => (work(), None),
    }
}

/// As [`beside`], with threads of this pool, however few guards there are.
pub fn beside_in<R>(
    pool: &ThreadPool,
    sources: &SourceTable,
    guards: &[Guard],
    finished: impl Fn(usize, &Guard) -> Guard + Sync,
    const_types: ConstTypes,
    work: impl FnOnce() -> R,
) -> (R, Option<Plan>) {
    let mut planned = None;
    let result = pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            let plan = || {
                let guards = guards
                    .iter()
                    .enumerate()
                    .map(|(i, guard)| finished(i, guard));
                Plan::new(sources.clone(), guards, const_types)
            };
            // A panic here is one of whoever plans once more.
            planned = catch_unwind(AssertUnwindSafe(plan)).ok();
        });
        work()
    });
    (result, planned)
}

/// How many threads the pool has: the thread that waits for a plan runs a backend meanwhile.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        (processors - 1).min(MOST_THREADS)
    })
}

static POOL: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);

/// The threads of this process, started at the first call; `None` where there is one processor only.
fn pool() -> Option<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if pool.is_none() {
        if threads() == 0 {
            return None;
        }
        let builder = ThreadPoolBuilder::new()
            .num_threads(threads())
            .thread_name(|i| format!("ferrodyn guards {i}"));
        *pool = Some(Arc::new(builder.build().ok()?));
    }
    pool.clone()
}

/// After a fork only the thread that forked exists: the pool is started anew when it is wanted. The GIL is held, as it
/// was at the fork, so that no thread was in [`pool`].
pub fn after_fork_in_child() {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    // Ending it would wait for its threads.
    std::mem::forget(pool.take());
}

/// Whether a set of so many guards is split here: between the threads of a pool, of which this must be one of several.
pub(crate) fn is_split(guards: usize) -> bool {
    guards >= WORTH_SPLITTING
        && rayon::current_thread_index().is_some()
        && rayon::current_num_threads() > 1
}

/// Does something to all items, in several threads if `split`.
pub(crate) fn for_each<T: Send>(items: &mut [T], split: bool, body: impl Fn(&mut T) + Sync) {
    use rayon::prelude::*;
    /// Items that are not worth another thread.
    const FEW: usize = 1024;
    match split {
        true => items
            .par_chunks_mut(FEW)
            .for_each(|items| items.iter_mut().for_each(&body)),
        false => items.iter_mut().for_each(body),
    }
}
