//! Builtin functions and constructors, by the address of the callable.
//!
//! Lives here: one rule for each callable of Python's own C code, and for the few Python functions
//! of the standard library that a rule serves better than inlining. Does not live here: methods
//! (`methods`), operators (`values`), torch.
//!
//! Invariant: a rule does what the callable does, raises what it raises, or breaks.
//!
//! A rule is written with:
//! - `positional`, `one`, `by_name` (`methods/binding`): arguments, or CPython's `TypeError`;
//! - `realize`: the value behind an argument, with its guards, to be matched on (`variables::Var`);
//! - `special`, and `special_sync` to call what it found: a special method, the user's or C's;
//! - `iterate`, `truth`, `index_obj`, `compare`, `binary`, `getattr_sync`, `getitem_sync`: what the
//!   interpreter does at such an operation;
//! - `real_args` and `fold`: Python itself, on constants;
//! - `call_sync`: a function of the program, run to its end; `tensor_method`: a node of the graph;
//! - `raise`: an exception of the program; `Stop::unsupported` and `Stop::brk`: a break;
//! - `value(v)`: the result; `Ok(None)`: no rule for this call, which is treated as any other.

mod arrays;
mod collections;
mod compilers;
mod containers;
mod copying;
mod core;
mod functools;
mod heapq;
mod inspection;
mod iterators;
mod itertools;
mod lru_cache;
mod numbers;
pub(crate) mod numpy;
mod operator;
mod outside;
mod pure;
mod random;
mod receivers;
mod reduce;
mod regex;
mod torch_python;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use rustc_hash::FxHashMap;
use variables::{Obj, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// What a rule gave: `None` where it does not apply and the callable is to be treated as any other.
pub(crate) type Given = R<Option<Flow>>;

/// A rule; its second argument is the name under which it is listed.
pub(crate) type Rule = fn(&mut Tx<'_>, &'static str, Args) -> Given;

/// Rules of one module: module, names, rule for each.
pub(crate) type Rules = &'static [(&'static str, &'static [(&'static str, Rule)])];

/// Address of a callable to its rule. The objects belong to modules that are never unloaded.
type Table = FxHashMap<usize, (&'static str, Rule)>;

static TABLE: PyOnceLock<Table> = PyOnceLock::new();

fn table(py: Python<'_>) -> &'static Table {
    // The table outlives every interpreter state that a test may make: it is never dropped.
    TABLE.get_or_init(py, || {
        let mut table = Table::default();
        let all: &[Rules] = &[
            core::RULES,
            numbers::RULES,
            reduce::RULES,
            containers::RULES,
            iterators::RULES,
            itertools::RULES,
            functools::RULES,
            lru_cache::RULES,
            heapq::RULES,
            operator::RULES,
            collections::RULES,
            compilers::RULES,
            copying::RULES,
            inspection::RULES,
            crate::torch_ops::transforms::RULES,
            crate::torch_ops::vmap::RULES,
            crate::torch_ops::higher_order::RULES,
            crate::torch_ops::checkpoint::RULES,
            crate::torch_ops::flags::RULES,
            crate::torch_ops::subclasses::RULES,
            outside::RULES,
            random::RULES,
            arrays::RULES,
            torch_python::RULES,
            regex::RULES,
        ];
        let mut add = |module: &str, name: &'static str, rule: Rule| {
            // A name that this version of Python does not have has no rule.
            let found = py
                .import(module)
                .and_then(|m| name.split('.').try_fold(m.into_any(), |o, n| o.getattr(n)));
            if let Ok(o) = found {
                let o = o.unbind();
                let addr = o.as_ptr() as usize;
                // Held for ever: an address in the table stays taken.
                std::mem::forget(o);
                table.entry(addr).or_insert((name, rule));
            }
        };
        for rules in all {
            for (module, list) in *rules {
                for (name, rule) in *list {
                    add(module, name, *rule);
                }
            }
        }
        pure::add_all(py, &mut add);
        numpy::add_all(py, &mut add);
        table
    })
}

/// A rule's result.
pub(crate) fn value(v: Var) -> Given {
    Ok(Some(Flow::Value(v)))
}

/// Whether a callable has a rule.
pub(crate) fn has_rule(callable: &Bound<'_, PyAny>) -> bool {
    table(callable.py()).contains_key(&(callable.as_ptr() as usize))
}

impl<'py> Tx<'py> {
    /// Calls a builtin; `None` where it has no rule.
    ///
    /// # Errors
    /// Whatever the builtin raises; a break where its rule does not apply.
    pub fn call_builtin(&mut self, callable: &Obj, args: Args) -> R<Option<Flow>> {
        let py = self.py;
        if let Some((name, rule)) = table(py).get(&(callable.as_ptr() as usize)) {
            return rule(self, name, args);
        }
        let b = callable.bind(py).clone();
        let ty = b.get_type();
        if ty.is(self.known.builtin_function.bind(py)) {
            let receiver = b.getattr("__self__")?;
            let name: String = b.getattr("__name__")?.extract()?;
            // A static method: it has no receiver.
            let owner = py.get_type::<pyo3::types::PyString>();
            let class = match name.as_str() {
                "maketrans" if receiver.is_none() => &owner,
                _ => match receiver.cast::<PyType>() {
                    Ok(class) => class,
                    Err(_) => return random::call_bound(self, callable, &receiver, &name, &args),
                },
            };
            return self.class_call(class, &name, &b, args);
        }
        if b.is_instance_of::<PyType>() {
            return Ok(None);
        }
        self.call_helper_object(&b, args)
    }

    /// `cls.__new__` and class methods of C classes.
    fn class_call(
        &mut self,
        class: &Bound<'py, PyType>,
        name: &str,
        f: &Bound<'py, PyAny>,
        mut args: Args,
    ) -> Given {
        let py = self.py;
        let cls = class.clone().into_any().unbind();
        match name {
            "__new__" => {
                if args.pos.is_empty() {
                    return Ok(None);
                }
                let target = args.pos.remove(0);
                let Some(target) = self.realize(&target)?.as_obj().cloned() else {
                    return Ok(None);
                };
                self.new_instance(
                    &cls,
                    target.bind(py).cast::<PyType>().map_err(PyErr::from)?,
                    args,
                )
            }
            "fromkeys" if class.is_subclass(self.known.dict.bind(py))? => {
                let ordered = class.is_subclass(self.known.ordered_dict.bind(py))?;
                let given = ordered.then(|| args.take_kw("value")).flatten();
                args.pos.extend(given);
                let a = self.positional("fromkeys", args, 1, 2)?;
                value(self.dict_fromkeys(cls, &a[0], a.get(1).cloned())?)
            }
            "apply"
                if class.is_subclass(
                    self.known
                        .torch_c
                        .bind(py)
                        .getattr("_FunctionBase")?
                        .as_any(),
                )? =>
            {
                self.apply_function(cls, args).map(Some)
            }
            "from_iterable" if class.name()? == "chain" => {
                let outer = self.one("from_iterable", args)?;
                value(itertools::chain_of(self, cls, &outer)?)
            }
            "from_bytes" | "fromhex" | "maketrans" => {
                let Some((pos, kw)) = self.real_args(&args)? else {
                    return Ok(None);
                };
                let f = f.clone();
                value(self.fold(move |py| f.call(PyTuple::new(py, pos)?, kw.as_ref()))?)
            }
            "mro" => {
                self.guard_mro(&cls);
                let f = f.clone();
                value(self.fold(move |_| f.call0())?)
            }
            "__init_subclass__" | "__subclasshook__" if cls.is(&self.known.object) => {
                value(self.none())
            }
            _ => Ok(None),
        }
    }

    /// `base.__new__(target, ...)` for a builtin `base`.
    fn new_instance(&mut self, base: &Obj, target: &Bound<'py, PyType>, args: Args) -> Given {
        let k = self.known.clone();
        if base.is(&k.tuple) {
            let items = match args.pos.first() {
                Some(v) => self.iterate(v)?,
                None => Vec::new(),
            };
            let class = target.clone().into_any().unbind();
            let class = (!class.is(&k.tuple)).then_some(class);
            return value(Var::Tuple(std::rc::Rc::new(variables::TupleVar {
                items,
                class,
                origin: None,
            })));
        }
        let same = target.is(base.bind(self.py));
        if same && self.is_builtin_container(base) {
            // `dict.__new__(dict, ...)` makes an empty one; `frozenset.__new__` fills it.
            let args = if base.is(&k.frozenset) {
                args
            } else {
                Args::default()
            };
            return self.call_builtin(base, args);
        }
        if same && self.known.is_const_type(base.bind(self.py)) {
            return self.call_builtin(base, args);
        }
        if target.is_subclass(k.frozenset.bind(self.py))? {
            return Err(Stop::unsupported("an instance of a frozenset subclass"));
        }
        if base.is(&k.object) && !self.is_plain_layout(target)? {
            // `object.__new__` refuses a class that needs an allocator of its own.
            return Ok(None);
        }
        if base.is(&k.object) && !(args.pos.is_empty() && args.kw.is_empty()) {
            // Only for a class with an `__init__` of its own that takes them.
            let object = k.object.bind(self.py);
            let is_objects = |name: &str| -> PyResult<bool> {
                Ok(target.getattr(name)?.is(&object.getattr(name)?))
            };
            if !is_objects("__new__")? || is_objects("__init__")? {
                return Ok(None);
            }
        }
        Ok(self.allocate(target, &args)?.map(Flow::Value))
    }

    /// Callables that are instances of small C classes: `operator.itemgetter(...)`,
    /// functions under `functools.lru_cache`.
    fn call_helper_object(&mut self, b: &Bound<'py, PyAny>, args: Args) -> Given {
        let ty = b.get_type();
        let module = ty.module()?.to_string();
        let name = ty.name()?.to_string();
        match (module.as_str(), name.as_str()) {
            ("operator", "itemgetter" | "attrgetter" | "methodcaller") => {
                operator::call_getter(self, &name, b, args)
            }
            ("functools", "_lru_cache_wrapper") => functools::call_cached(self, b, args),
            _ => Ok(None),
        }
    }
}
