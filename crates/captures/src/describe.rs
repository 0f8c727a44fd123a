//! How the objects that a capture names are reached: where each is, and what it has to be there.
//!
//! Does not live here: what of a capture is written (`keep`), what places and contents are (`reach`). Invariant: the
//! place of a pin leads through pins before it only.

use std::collections::BTreeMap;

use guards::{Guard, GuardKind, Key, ObjRef, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyFunction, PyType, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::content::{self, Digests, Stamp};
use crate::keep::{EarlyArg, Fill, GraphCall, Kept, sources_of};
use crate::reach::{self, Content, Place, Places, Reach};
use crate::{KeptArg, KeptCall, KeptConstant, KeptEarly, Why};

/// Finds out how objects are reached.
pub(crate) struct Describer<'a, 'py> {
    pub(crate) py: Python<'py>,
    /// pins and sources that are guarded as tensors
    tensors: (FxHashSet<u32>, FxHashSet<SourceId>),
    places: Places,
    sources: &'a [Source],
    digests: Digests,
    pub(crate) kept: &'a Kept<'a, 'py>,
    /// code that the frame leads to, by address, once it was asked for
    codes: Option<FxHashMap<usize, Place>>,
}

impl<'a, 'py> Describer<'a, 'py> {
    /// For one capture, with the places that its frame leads to, by address.
    pub(crate) fn new(kept: &'a Kept<'a, 'py>, sources: &'a [Source], places: Places) -> Self {
        Describer {
            py: kept.code.py(),
            tensors: tensors(kept.set.guards(), sources),
            places,
            sources,
            digests: Digests::default(),
            kept,
            codes: None,
        }
    }

    /// A place that the frame leads to.
    pub(crate) fn known(&self, object: &Py<PyAny>) -> impl Iterator<Item = &Place> {
        let known = self.places.get(&(object.as_ptr() as usize));
        known.into_iter().flatten()
    }

    /// The files whose code was told by its place.
    pub(crate) fn by_place(self) -> BTreeMap<String, Stamp> {
        self.digests.by_place()
    }

    /// What a pin holds: by its own name, or as the frame reaches it. `None` where it is only kept alive.
    pub(crate) fn pin(
        &mut self,
        object: &Bound<'py, PyAny>,
        pin: u32,
        guards: &[Guard],
    ) -> Result<Option<Reach>, Why> {
        if let Some(place) = reach::place(object) {
            return self.at(object, place).map(Some);
        }
        let places = self.places.get(&(object.as_ptr() as usize));
        let place = places.into_iter().flatten().find(|place| {
            place
                .source()
                .is_some_and(|source| !self.needs(source, pin))
        });
        let place = match place.cloned() {
            None if object.is_exact_instance_of::<PyCode>() => {
                let place = self.known_code(object)?;
                place.filter(|place| !place.source().is_some_and(|source| self.needs(source, pin)))
            }
            None => self.in_a_class(object, pin),
            place => place,
        };
        let Some(place) = place else {
            return match self.named_by(pin, guards) {
                None => Ok(None),
                Some(named) => Err(Why(format!(
                    "nothing leads to {}, {named}",
                    reach::shown(object)
                ))),
            };
        };
        if let Ok(weak) = object.cast_exact::<PyWeakrefReference>() {
            let content = Content::Weak(Box::new(self.referent(weak, pin)?));
            return Ok(Some(Reach { place, content }));
        }
        let reach = self.at(object, place).map_err(|Why(why)| {
            let named = self.named_by(pin, guards);
            Why(named.map_or(why.clone(), |named| format!("{why}, {named}")))
        })?;
        let is_looked_at = || {
            let source = reach.place.source();
            self.tensors.0.contains(&pin) || source.is_some_and(|of| self.tensors.1.contains(&of))
        };
        match reach.content == Content::Tensor && !is_looked_at() {
            true => Err(Why("a tensor that no guard looks at".into())),
            false => Ok(Some(reach)),
        }
    }

    /// What names a pin, for who reads why it can't be reached.
    fn named_by(&self, pin: u32, guards: &[Guard]) -> Option<String> {
        let table = self.kept.set.sources();
        let of_pin = |source: &&Source| pins_of(source).contains(&Some(pin));
        if let Some(source) = self.sources.iter().find(of_pin) {
            return Some(format!("a source {source:?}"));
        }
        let names = |guard: &&Guard| {
            let mut is_named = false;
            let mut guard = (*guard).clone();
            guard.rebind(&mut |obj: &mut ObjRef| is_named |= obj.pin == pin);
            is_named
        };
        let guard = guards.iter().find(names)?;
        let source = guard.source.map(|source| table.name(source));
        let of = source.map_or(String::new(), |source| format!(" of {source}"));
        Some(format!("which a guard names: {}{of}", guard.kind.name()))
    }

    /// Whether a source leads through a pin, or through one that comes later.
    fn needs(&self, source: SourceId, pin: u32) -> bool {
        let mut at = Some(source);
        while let Some(id) = at {
            let source = &self.sources[id.index()];
            if pins_of(source)
                .into_iter()
                .flatten()
                .any(|other| other >= pin)
            {
                return true;
            }
            at = source.base();
        }
        false
    }

    /// An object that residual code has as a constant.
    pub(crate) fn constant(&mut self, object: &Bound<'py, PyAny>) -> Result<KeptConstant, Why> {
        match (self.free(object), self.kept.pins.find(object)) {
            (Err(_), Some(pin)) => Ok(KeptConstant::Pinned(pin.pin)),
            (free, _) => free.map(KeptConstant::Reached),
        }
    }

    /// Where a function is in a class that guards hold, though its own name leads elsewhere: a named tuple's `__new__`.
    fn in_a_class(&self, object: &Bound<'py, PyAny>, pin: u32) -> Option<Place> {
        object.cast_exact::<PyFunction>().ok()?;
        let py = self.py;
        (0..self.kept.pins.len() as u32).find_map(|other| {
            let class = self.kept.pins.get(py, other)?;
            let class = class.cast_into::<PyType>().ok()?;
            let known = self.places.get(&(class.as_ptr() as usize));
            let mut known = known.into_iter().flatten();
            let place = reach::place(&class).or_else(|| {
                let is_before =
                    |place: &&Place| place.source().is_none_or(|source| !self.needs(source, pin));
                known.find(is_before).cloned()
            })?;
            reach::in_class(&class, &place, object)
        })
    }

    /// What writes attributes, of its parts.
    pub(crate) fn fill(&mut self, fill: &Fill) -> Result<KeptConstant, Why> {
        let class = self.free(fill.class.bind(self.py))?;
        let attributes = fill.attributes.iter().map(|(name, value)| {
            let value = match value {
                Some(value) => Some(
                    guards::exec::read::constant(value.bind(self.py))
                        .ok_or_else(|| Why("an attribute that is no constant".into()))?,
                ),
                None => None,
            };
            Ok((name.clone(), value))
        });
        let attributes = attributes.collect::<Result<_, Why>>()?;
        Ok(KeptConstant::Fill(class, attributes))
    }

    /// Code of the program's, of a function in these globals.
    pub(crate) fn code(
        &mut self,
        code: &Bound<'py, PyCode>,
        globals: Option<&Bound<'py, PyAny>>,
    ) -> Result<Reach, Why> {
        if let Some(place) = self.known_code(code)? {
            return self.at(code, place);
        }
        match reach::named_code(code, globals.unwrap_or(&self.kept.globals)) {
            Some(place) => self.at(code, place),
            None => Err(Why(format!(
                "nothing leads to the code of {}",
                code.getattr("co_qualname")?
            ))),
        }
    }

    /// Where code is that the frame runs or leads to.
    fn known_code(&mut self, code: &Bound<'py, PyAny>) -> Result<Option<Place>, Why> {
        if self.codes.is_none() {
            self.codes = Some(self.kept.codes()?);
        }
        let codes = self.codes.as_ref();
        Ok(codes.and_then(|codes| codes.get(&(code.as_ptr() as usize)).cloned()))
    }

    /// The globals of a function.
    pub(crate) fn globals(&mut self, globals: &Bound<'py, PyAny>) -> Result<Reach, Why> {
        let place = match globals.is(&self.kept.globals) {
            true => Some(Place::OwnGlobals),
            false => reach::place(globals),
        };
        let known = || {
            let places = self.places.get(&(globals.as_ptr() as usize))?;
            places.first().cloned()
        };
        match place.or_else(known) {
            Some(place) => self.at(globals, place),
            None => Err(Why("nothing leads to the globals of a function".into())),
        }
    }

    /// The call of a graph.
    pub(crate) fn call(&mut self, call: &GraphCall<'_>) -> Result<KeptCall, Why> {
        let (graph, objects) = self.graph(call.graph, call.objects)?;
        let is_made = |source| call.early.iter().any(|early| early.source == source);
        let table = self.kept.set.sources();
        let is_early = |source| matches!(table.get(table.root(source)), Source::Early { .. });
        let inputs = sources_of(&call.inputs, &call.early);
        if inputs
            .into_iter()
            .any(|source| is_early(source) && !is_made(source))
        {
            return Err(Why("a part of what is made before the graph runs".into()));
        }
        let early = call.early.iter().map(|early| {
            let args = early.args.iter().map(|arg| match arg {
                EarlyArg::Source(source) => Ok(KeptArg::Source(*source)),
                EarlyArg::Object(object) => self.free(object.bind(self.py)).map(KeptArg::Reached),
            });
            let args = args.collect::<Result<_, Why>>()?;
            Ok(KeptEarly {
                source: early.source,
                function: self.free(early.function.bind(self.py))?,
                args,
            })
        });
        let early = early.collect::<Result<_, Why>>()?;
        Ok(KeptCall {
            graph,
            objects,
            inputs: call.inputs.clone(),
            early,
            described: call.described.to_vec(),
            relied_on: call.relied_on.to_vec(),
            can_run_again: call.can_run_again,
            is_dynamic: call.is_dynamic,
            needs_as_is: call.needs_as_is,
        })
    }

    /// An object that the frame is not needed for.
    pub(crate) fn free(&mut self, object: &Bound<'py, PyAny>) -> Result<Reach, Why> {
        if let Some(place) = reach::place(object) {
            // Nobody has looked into a function that is called as it is, and guards what it closes over.
            if let Ok(function) = object.cast_exact::<PyFunction>()
                && !content::cells(function)?.is_empty()
            {
                let content = Content::Parts(self.digests.parts(object)?);
                return Ok(Reach { place, content });
            }
            return self.at(object, place);
        }
        match guards::exec::read::constant(object) {
            Some(value) => Ok(Reach {
                place: Place::Value(value),
                content: Content::Itself,
            }),
            None => match reach::range(object) {
                Some(place) => self.at(object, place),
                None => Err(Why(format!("{} is a constant of it", reach::shown(object)))),
            },
        }
    }

    /// Where that is to which a weak reference leads that a pin holds.
    fn referent(&self, weak: &Bound<'py, PyWeakrefReference>, pin: u32) -> Result<Place, Why> {
        let of = weak.upgrade();
        let of = of.ok_or_else(|| Why("a reference to what has ended".into()))?;
        let known = self.places.get(&(of.as_ptr() as usize));
        let mut known = known.into_iter().flatten();
        let is_before = |place: &&Place| place.source().is_none_or(|of| !self.needs(of, pin));
        let place = known.find(is_before).cloned();
        place
            .or_else(|| reach::place(&of))
            .ok_or_else(|| Why(format!("a reference to {}", reach::shown(&of))))
    }

    fn at(&mut self, object: &Bound<'py, PyAny>, place: Place) -> Result<Reach, Why> {
        let content = reach::content(&mut self.digests, object, &place)?;
        debug_assert!(
            place.is_of_frame()
                || matches!(
                    place,
                    Place::Value(_) | Place::Range(..) | Place::Getter(..)
                )
                || reach::find(self.py, &place).is_some_and(|found| found.is(object))
        );
        Ok(Reach { place, content })
    }
}

/// The pins and the sources that are guarded as tensors.
fn tensors(guards: &[Guard], sources: &[Source]) -> (FxHashSet<u32>, FxHashSet<SourceId>) {
    let is_tensor = |guard: &&Guard| matches!(guard.kind, GuardKind::TensorMatch { .. });
    let guarded = guards.iter().filter(is_tensor);
    let guarded: FxHashSet<SourceId> = guarded.filter_map(|guard| guard.source).collect();
    let pins = guarded.iter().filter_map(|of| sources[of.index()].pin());
    (pins.collect(), guarded)
}

/// The pins that a source names: what it is, and the key of an item.
fn pins_of(source: &Source) -> [Option<u32>; 2] {
    let key = match source {
        Source::DictItem {
            key: Key::Obj(key), ..
        } => Some(key.pin),
        _ => None,
    };
    [source.pin(), key]
}
