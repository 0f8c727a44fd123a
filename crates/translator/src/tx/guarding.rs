//! What the compiled code relies on: guards, the sources that they name, and the objects that it holds.
//!
//! Invariant: a guard is there once, with the place in the program that asked for it first.

use std::sync::Arc;

use guards::{Guard, GuardKind, ObjRef, Source, SourceId};
use pyo3::prelude::*;
use rustc_hash::FxHashSet;
use variables::Obj;

use super::{Tx, qualified_name};
use crate::stop::{R, Stop};
use variables::constants::const_val;

impl<'py> Tx<'py> {
    /// Adds a guard once.
    pub fn guard(&mut self, source: SourceId, kind: GuardKind) {
        self.guard_opt(Some(source), kind);
    }

    /// Adds a guard that is about no single source, once.
    pub fn guard_ambient(&mut self, kind: GuardKind) {
        self.guard_opt(None, kind);
    }

    fn guard_opt(&mut self, source: Option<SourceId>, kind: GuardKind) {
        // Nobody else reaches it, and it ends with the translation.
        if source.is_some_and(|source| self.is_of_private(source)) {
            return;
        }
        if self.is_about_early(source, &kind) {
            self.log.early_guard.get_or_insert(self.log.guards.len());
        }
        if self.log.guard_set.insert((source, kind.clone())) {
            self.log.guards.push(Guard {
                source,
                kind,
                user_frame: None,
            });
            let f = &self.st.frame;
            self.log
                .guard_lines
                .push((f.code.clone(), f.code.line(f.ip)));
        }
    }

    /// Holds the code to what a C function without effects gives: of the value of `source`, where
    /// there is one, and of constants.
    ///
    /// # Errors
    /// A break for arguments and results that no guard can name.
    pub fn guard_call(
        &mut self,
        f: &Obj,
        source: Option<SourceId>,
        args: &[Obj],
        value: &Bound<'py, PyAny>,
    ) -> R<()> {
        let constant = |tx: &mut Self, b: &Bound<'py, PyAny>| match const_val(b) {
            Some(c) => Some(c),
            // Constants of which there is one object each, and objects that are nothing but themselves.
            None if b.get_type().is(tx.known.dtype.bind(tx.py))
                || b.get_type().is(tx.known.object.bind(tx.py)) =>
            {
                Some(guards::ConstVal::Obj(tx.pin(&b.clone().unbind(), false)))
            }
            None => None,
        };
        let value_text = qualified_name(value.get_type().as_any());
        let all = args
            .iter()
            .map(|a| constant(self, &a.bind(self.py).clone()))
            .collect::<Option<Vec<_>>>();
        let (Some(args), Some(value)) = (all, constant(self, value)) else {
            return Err(Stop::unsupported(format!(
                "a {value_text} that {} gives",
                qualified_name(f.bind(self.py))
            )));
        };
        let func = self.pin(f, false);
        self.guard_opt(
            source,
            GuardKind::CallMatch {
                func,
                args: Arc::from(args),
                value,
            },
        );
        Ok(())
    }

    /// Whether Python makes a text of an int with many digits is a setting.
    pub(crate) fn guard_digits(&mut self, value: &Bound<'py, PyAny>) -> R<()> {
        // The lowest limit that can be set is one of 640 digits.
        const BITS: u64 = 2126;
        if !value.is_exact_instance_of::<pyo3::types::PyInt>() || value.extract::<i64>().is_ok() {
            return Ok(());
        }
        let bits: u64 = value.call_method0("bit_length")?.extract()?;
        if bits < BITS {
            return Ok(());
        }
        let ask = self.py.import("sys")?.getattr("get_int_max_str_digits")?;
        let limit = ask.call0()?;
        self.guard_call(&ask.unbind(), None, &[], &limit)
    }

    /// Takes guards back.
    pub fn drop_guards(&mut self, mut unwanted: impl FnMut(&Guard) -> bool) {
        let places = std::mem::take(&mut self.log.guard_lines);
        let guards = std::mem::take(&mut self.log.guards);
        for (guard, place) in guards.into_iter().zip(places) {
            if unwanted(&guard) {
                self.log.guard_set.remove(&(guard.source, guard.kind));
            } else {
                self.log.guards.push(guard);
                self.log.guard_lines.push(place);
            }
        }
    }

    /// A name was found: even where nobody looks at its value, it has to be there.
    pub fn touch(&mut self, source: SourceId) {
        self.log.touched.push(source);
    }

    /// Guards the names that were found and whose values nothing holds to what they are.
    pub fn guard_touched(&mut self) {
        let mut held: FxHashSet<SourceId> = FxHashSet::default();
        for guard in &self.log.guards {
            let mut next = guard.source;
            while let Some(source) = next {
                if !held.insert(source) {
                    break;
                }
                next = self.facts.sources.get(source).base();
            }
        }
        for source in self.log.touched.clone() {
            if !held.insert(source) || self.is_early(source) {
                continue;
            }
            match self.facts.sources.get(source).clone() {
                Source::InstanceDictItem { base, name } => {
                    self.guard(
                        base,
                        GuardKind::GenericDictContains {
                            name,
                            present: true,
                        },
                    );
                }
                Source::Attr { base, name } => {
                    self.guard(
                        base,
                        GuardKind::HasAttr {
                            name,
                            present: true,
                        },
                    );
                }
                Source::CellContents { base } => {
                    self.guard(
                        base,
                        GuardKind::HasAttr {
                            name: "cell_contents".into(),
                            present: true,
                        },
                    );
                }
                Source::DictItem { base, key } => {
                    self.guard(base, GuardKind::DictContains { key, present: true });
                }
                Source::Global { name } => {
                    let base = self.source(Source::Globals);
                    let key = guards::Key::Str(name);
                    self.guard(base, GuardKind::DictContains { key, present: true });
                }
                _ => {}
            }
        }
    }

    /// Interns a source.
    pub fn source(&mut self, source: Source) -> SourceId {
        self.facts.sources.intern(source)
    }

    /// Makes the compiled code hold an object (weakly: its death invalidates the code), and names it
    /// for guards.
    pub fn pin(&mut self, obj: &Obj, weak: bool) -> ObjRef {
        let b = obj.bind(self.py);
        // The end of what is private says nothing of the program.
        if weak && !self.is_private(b) {
            self.facts.pins.pin_auto(b)
        } else {
            self.facts.pins.pin(b)
        }
    }

    /// The source of an object that the compiled code itself holds.
    pub fn pinned_source(&mut self, obj: &Obj, weak: bool, name: &str) -> SourceId {
        let r = self.pin(obj, weak);
        let source = if weak {
            Source::WeakPinned {
                pin: r.pin,
                name: name.into(),
            }
        } else {
            Source::Pinned {
                pin: r.pin,
                name: name.into(),
            }
        };
        self.facts.sources.intern(source)
    }
}
