//! What a translation has of its own: objects that the program's call would make anew, and that exist while
//! tracing only. A class that the function makes is one; so is what stands for an object in C whose methods
//! are followed in Python.
//!
//! Nobody can tell as long as such an object stays inside: what it was used for is in the graph and in the
//! effects. Where the residual code would hand it out, the translation goes back to the instruction that made
//! the first one, which plain Python runs then.
//!
//! Invariant: no constant of residual code is private, nor holds what is.

use guards::{Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict, PyFunction, PyTuple, PyType};
use pyo3::types::{PyInt, PyString, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::FxHashSet;
use variables::Obj;

use crate::retreat::Retreat;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl<'py> Tx<'py> {
    /// Keeps a class inside of the translation, with what belongs to it alone.
    ///
    /// # Errors
    /// Those of reading its attributes.
    pub fn keep_private(&mut self, class: &Bound<'py, PyType>) -> R<()> {
        self.mark_place();
        let mut keep = |o: &Bound<'py, PyAny>| {
            self.facts.private.insert(o.as_ptr() as usize);
        };
        keep(class.as_any());
        keep(class.mro().as_any());
        let attributes = class.getattr("__dict__")?;
        for name in attributes.try_iter()? {
            let own = attributes.get_item(name?)?;
            // Texts, numbers and the empty tuple are everybody's.
            let shared = own.hash().is_ok() && !own.is_truthy().unwrap_or(true)
                || own.is_instance_of::<PyString>()
                || own.is_instance_of::<PyInt>();
            if !shared {
                keep(&own);
                // A static method, a class method.
                if let Ok(function) = own.getattr("__func__") {
                    keep(&function);
                }
            }
        }
        Ok(())
    }

    /// Remembers where the first of what is kept inside is made.
    pub fn mark_place(&mut self) {
        if self.ways.first_private.is_none() {
            self.ways.first_private = self.ways.place();
        }
    }

    /// Refuses constants of residual code that are private.
    ///
    /// # Errors
    /// [`Retreat::Private`].
    pub fn check_constants(&self, constants: &[Obj]) -> R<()> {
        if self.facts.private.is_empty() {
            return Ok(());
        }
        let mut seen = FxHashSet::default();
        for constant in constants {
            if self.holds_private(constant.bind(self.py), &mut seen)? {
                let stop = Stop::brk(
                    "Object made in the compiled function is needed outside of it",
                    "It is a new one at each call, so it is made in eager mode, between two graphs.",
                    "Make it outside of the compiled function.",
                );
                return Err(stop.or_retreat(Retreat::Private));
            }
        }
        Ok(())
    }

    /// Whether an object is one that this translation keeps inside.
    pub fn is_private(&self, o: &Bound<'py, PyAny>) -> bool {
        self.facts.private.contains(&(o.as_ptr() as usize))
    }

    /// Whether a source leads through something private.
    pub fn is_of_private(&self, source: SourceId) -> bool {
        if self.facts.private.is_empty() {
            return false;
        }
        let (Source::Pinned { pin, .. } | Source::WeakPinned { pin, .. }) =
            self.facts.sources.get(self.facts.sources.root(source))
        else {
            return false;
        };
        let root = self.facts.pins.get(self.py, *pin);
        root.is_some_and(|root| self.is_private(&root))
    }

    fn holds_private(&self, o: &Bound<'py, PyAny>, seen: &mut FxHashSet<usize>) -> R<bool> {
        if self.is_private(o) {
            return Ok(true);
        }
        if !seen.insert(o.as_ptr() as usize) {
            return Ok(false);
        }
        let parts: Vec<Bound<'py, PyAny>> = if let Ok(tuple) = o.cast_exact::<PyTuple>() {
            tuple.iter().collect()
        } else if let Ok(code) = o.cast_exact::<PyCode>() {
            vec![code.getattr("co_consts")?]
        } else if let Ok(function) = o.cast_exact::<PyFunction>() {
            vec![function.getattr("__code__")?]
        } else if let Ok(reference) = o.cast_exact::<PyWeakrefReference>() {
            reference.upgrade().into_iter().collect()
        } else if o.is_instance_of::<PyType>() || o.cast_exact::<PyDict>().is_ok() {
            Vec::new()
        } else {
            // A bound method, a view of a class's names: what it holds is one step away.
            let held = self.py.import("gc")?.call_method1("get_referents", (o,))?;
            return Ok(held
                .try_iter()?
                .any(|o| o.is_ok_and(|o| self.is_private(&o))));
        };
        for part in &parts {
            if self.holds_private(part, seen)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
