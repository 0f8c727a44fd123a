//! What hangs on the interpreter: the form of a rule, and how the rule of a callable is found.
//!
//! Lives here: the types of rules, and [`Rules`], which whoever makes a [`Tx`] hands in. Does not live here: any rule.
//! Those of Python's builtins are the crate `builtins`.
//!
//! Invariant: the interpreter names no callable that has a rule; it asks the table, or a function of [`Rules`].

use guards::SourceId;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rustc_hash::FxHashMap;
use variables::{Obj, ObjId, Var};

use crate::stop::R;
use crate::tx::{Args, Flow, Tx};

/// What a rule gave: `None` where it does not apply and the callable is to be treated as any other.
pub type Given = R<Option<Flow>>;

/// A rule; its second argument is the name under which it is listed.
pub type Rule = fn(&mut Tx<'_>, &'static str, Args) -> Given;

/// Rules of one file: module, names, rule for each.
pub type RuleList = &'static [(&'static str, &'static [(&'static str, Rule)])];

/// Lists a rule: module, name, rule.
pub type List<'a> = dyn FnMut(&str, &'static str, Rule) + 'a;

/// Lists rules of callables that are known only where they are found.
pub type FoundRules = fn(Python<'_>, &mut List<'_>);

/// Address of a callable to its rule. The objects belong to modules that are never unloaded.
type Table = FxHashMap<usize, (&'static str, Rule)>;

/// What the interpreter asks of Python's builtins, besides calls of what is listed.
#[derive(Clone, Copy)]
pub struct Builtins {
    /// a call of a callable of C's that is not listed
    pub call: fn(&mut Tx<'_>, &Obj, Args) -> Given,
    /// a method, by name, of a NumPy array
    pub array_method: fn(&mut Tx<'_>, &Var, &str, &Args) -> Given,
    /// an operator, by the name of its special method, where one of the operands may be a NumPy array
    pub array_operator: fn(&mut Tx<'_>, &str, &[&Var]) -> Given,
    /// an attribute of what may be a NumPy array, reached by a source, that says how large it is
    pub array_size: fn(&mut Tx<'_>, &Obj, SourceId, &str) -> R<Option<Var>>,
    /// a method, by name, of what may be a generator of `random`
    pub draw_method: fn(&mut Tx<'_>, ObjId, &str, &Args) -> Given,
    /// the implementation that a function under `functools.singledispatch` has for a class
    pub single_dispatch:
        for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, Option<SourceId>, &Var) -> Given,
}

/// The rules that translations are made with.
pub struct Rules {
    listed: &'static [&'static [RuleList]],
    found: &'static [FoundRules],
    /// what is asked of Python's builtins
    pub builtins: Builtins,
    table: PyOnceLock<Table>,
}

impl Rules {
    /// Rules by the lists of several crates; where two list one callable, the first has it.
    pub const fn new(
        listed: &'static [&'static [RuleList]],
        found: &'static [FoundRules],
        builtins: Builtins,
    ) -> Rules {
        Rules {
            listed,
            found,
            builtins,
            table: PyOnceLock::new(),
        }
    }

    fn table(&self, py: Python<'_>) -> &Table {
        // The table outlives every interpreter state that a test may make: it is never dropped.
        self.table.get_or_init(py, || {
            let mut table = Table::default();
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
            for list in self.listed.iter().copied().flatten() {
                for (module, names) in *list {
                    for (name, rule) in *names {
                        add(module, name, *rule);
                    }
                }
            }
            for found in self.found {
                found(py, &mut add);
            }
            table
        })
    }

    /// The rule of a callable, and the name under which it is listed.
    pub fn of(&self, callable: &Bound<'_, PyAny>) -> Option<(&'static str, Rule)> {
        let table = self.table(callable.py());
        table.get(&(callable.as_ptr() as usize)).copied()
    }
}

/// A rule's result.
pub fn value(v: Var) -> Given {
    Ok(Some(Flow::Value(v)))
}

impl Tx<'_> {
    /// Calls a builtin; `None` where it has no rule.
    ///
    /// # Errors
    /// Whatever the builtin raises; a break where its rule does not apply.
    pub fn call_builtin(&mut self, callable: &Obj, args: Args) -> Given {
        match self.rules.of(callable.bind(self.py)) {
            Some((name, rule)) => rule(self, name, args),
            None => (self.rules.builtins.call)(self, callable, args),
        }
    }
}
