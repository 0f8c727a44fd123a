//! Functions under `functools.lru_cache` that the compiled function makes.
//!
//! Nobody else calls them and their caches are empty, so that they are what their parts are: a dictionary and
//! two counters, which follow the calls. The object in C is what plain Python makes where it is handed out
//! (see [`translator::private`]).

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use translator::rules::{Given, Rule, RuleList};
use translator::tx::{Args, Tx};
use variables::{Obj, Var};

pub(crate) const RULES: RuleList = &[("functools", &[("_lru_cache_wrapper", make as Rule)])];

/// What such an object does, in Python: its methods are inlined like any other. The results are in the order
/// of their last use. A key is what C code tells arguments apart by.
const CACHED: &std::ffi::CStr = c"
import functools, types

KIND = functools._lru_cache_wrapper
MARK = (object(),)

class Cached:
    __slots__ = ('__of', '__size', '__typed', '__statistics', '__kept', '__hits', '__misses', '__dict__')

    @property
    def __class__(self):
        return KIND

    def __init__(self, of, size, typed, statistics):
        self.__of = of
        self.__size = size
        self.__typed = typed
        self.__statistics = statistics
        self.__kept = {}
        self.__hits = 0
        self.__misses = 0

    def __call__(self, /, *args, **named):
        if self.__size == 0:
            self.__misses += 1
            return self.__of(*args, **named)
        key = args
        if named:
            key += MARK
            for item in named.items():
                key += item
        if self.__typed:
            key += tuple([type(value) for value in args])
            key += tuple([type(value) for value in named.values()])
        elif len(key) == 1 and type(args[0]) in (int, str):
            key = args[0]
        kept = self.__kept
        unhashable = False
        try:
            found = key in kept
        except TypeError:
            unhashable = True
        if unhashable:
            hash(key)  # Its own error: a dictionary may raise another one.
        if found:
            self.__hits += 1
            result = kept[key]
            if self.__size is not None:
                del kept[key]
                kept[key] = result
            return result
        self.__misses += 1
        result = self.__of(*args, **named)
        if self.__size is None:
            kept[key] = result
        elif key not in kept:
            if len(kept) >= self.__size:
                del kept[next(iter(kept))]
            kept[key] = result
        return result

    def cache_info(self):
        return self.__statistics(self.__hits, self.__misses, self.__size, len(self.__kept))

    def cache_clear(self):
        self.__hits = self.__misses = 0
        self.__kept.clear()

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

Cached.__name__ = 'functools._lru_cache_wrapper'
";

variables::own_module! {
    static MODULE = (CACHED, c"<ferrodyn lru_cache>", c"ferrodyn_lru_cache");
}

static CLASS: PyOnceLock<Obj> = PyOnceLock::new();

fn make(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let parts = ["user_function", "maxsize", "typed", "cache_info_type"];
    let parts = tx.by_name(name, args, &parts, 4, 4)?;
    let class = CLASS.get_or_try_init(tx.py, || -> PyResult<Obj> {
        Ok(MODULE.get(tx.py)?.getattr("Cached")?.unbind())
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
pub(crate) fn stands_for(tx: &Tx<'_>, class: &Obj) -> Option<Obj> {
    let stands_in = CLASS.get(tx.py).is_some_and(|own| own.is(class));
    stands_in.then(|| tx.known.cached_function.clone())
}
