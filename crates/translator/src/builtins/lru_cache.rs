//! Functions under `functools.lru_cache` that the compiled function makes.
//!
//! Nobody else calls them and their caches are empty, so that they are what their parts are: a dictionary and
//! two counters, which follow the calls. The object in C is what plain Python makes where it is handed out
//! (see [`crate::private`]).

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyType};
use variables::{Obj, Var};

use super::{Given, Rule, Rules};
use crate::tx::{Args, Tx};

pub(super) const RULES: Rules = &[("functools", &[("_lru_cache_wrapper", make as Rule)])];

/// What such an object does, in Python: its methods are inlined like any other. The results are in the order
/// of their last use. A key is what C code tells arguments apart by.
const CACHED: &std::ffi::CStr = c"
import functools

KIND = functools._lru_cache_wrapper
MARK = (object(),)

class Cached:
    __slots__ = ('of', 'size', 'typed', 'statistics', 'kept', 'hits', 'misses', '__dict__')

    @property
    def __class__(self):
        return KIND

    def __init__(self, of, size, typed, statistics):
        self.of = of
        self.size = size
        self.typed = typed
        self.statistics = statistics
        self.kept = {}
        self.hits = 0
        self.misses = 0

    def __call__(self, /, *args, **named):
        if self.size == 0:
            self.misses += 1
            return self.of(*args, **named)
        key = args
        if named:
            key += MARK
            for item in named.items():
                key += item
        if self.typed:
            key += tuple([type(value) for value in args])
            key += tuple([type(value) for value in named.values()])
        elif len(key) == 1 and type(args[0]) in (int, str):
            key = args[0]
        kept = self.kept
        if key in kept:
            self.hits += 1
            result = kept[key]
            if self.size is not None:
                del kept[key]
                kept[key] = result
            return result
        self.misses += 1
        result = self.of(*args, **named)
        if self.size is None:
            kept[key] = result
        elif key not in kept:
            if len(kept) >= self.size:
                del kept[next(iter(kept))]
            kept[key] = result
        return result

    def cache_info(self):
        return self.statistics(self.hits, self.misses, self.size, len(self.kept))

    def cache_clear(self):
        self.hits = self.misses = 0
        self.kept.clear()

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self
";

static CLASS: PyOnceLock<Obj> = PyOnceLock::new();

fn make(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let parts = ["user_function", "maxsize", "typed", "cache_info_type"];
    let parts = tx.by_name(name, args, &parts, 4, 4)?;
    let class = CLASS.get_or_try_init(tx.py, || -> PyResult<Obj> {
        let (file, module) = (c"<ferrodyn lru_cache>", c"ferrodyn_lru_cache");
        let module = PyModule::from_code(tx.py, CACHED, file, module)?;
        Ok(module.getattr("Cached")?.unbind())
    })?;
    let bound = class
        .bind(tx.py)
        .cast::<PyType>()
        .map_err(PyErr::from)?
        .clone();
    tx.keep_private(&bound)?;
    let parts = Args::pos(parts.into_iter().flatten().collect());
    tx.call(&Var::py(class.clone_ref(tx.py)), parts).map(Some)
}

/// What `type` gives for an object of this class, where that is another one.
pub(super) fn stands_for(tx: &Tx<'_>, class: &Obj) -> Option<Obj> {
    let stands_in = CLASS.get(tx.py).is_some_and(|own| own.is(class));
    stands_in.then(|| tx.known.cached_function.clone())
}
