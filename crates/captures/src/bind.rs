//! Reading a capture: what it names is found again, and compared with what it was.

use std::collections::BTreeSet;
use std::sync::Arc;

use fx_graph::{AotInput, KeptGraph, ShapeGuard};
use guards::exec::{Pins, Reader};
use guards::{Guard, ObjRef, ReadLine, Source, SourceId, SourceTable, UserFrame};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyType, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::FxHashMap;

use crate::content::Digests;
use crate::keep::{Early, EarlyArg, Input, sources_of};
use crate::key::Made;
use crate::part::MakePart;
use crate::reach::{self, Content, Place, Reach};
use crate::{Break, Capture, Code, KeptArg, KeptConstant, KeptEarly, Why};

/// A capture whose objects are those of this process. Its guards were not checked.
pub struct Loaded {
    /// what guards and inputs name
    pub sources: SourceTable,
    /// the guards
    pub guards: Vec<Guard>,
    /// what they hold
    pub pins: Pins,
    /// a module whose parameters are bound
    pub owner: Option<Py<PyAny>>,
    /// names of the sources of ints and sizes that are known to change
    pub changing: BTreeSet<String>,
    /// the call of the graph
    pub call: Option<Call>,
    /// where the graph breaks
    pub broken: Option<Break>,
    /// the residual code
    pub code: Code,
    /// its constants
    pub constants: Vec<Constant>,
}

/// A graph and what it is called with.
pub struct Call {
    /// the graph
    pub graph: KeptGraph,
    /// what it names
    pub objects: Vec<Py<PyAny>>,
    /// its inputs, in order
    pub inputs: Vec<Input>,
    /// what is made before it runs, in order
    pub early: Vec<Early>,
    /// what the frame has for their sources
    pub values: FxHashMap<SourceId, Py<PyAny>>,
    /// what the backend is told of them
    pub described: Vec<AotInput>,
    /// what the backend relied on about them, which is guarded
    pub relied_on: Vec<ShapeGuard>,
    /// whether nobody can tell that all of it ran twice
    pub can_run_again: bool,
    /// whether it serves other sizes and ints than those of the call that it was made for
    pub is_dynamic: bool,
    /// whether it has to run as it is
    pub needs_as_is: bool,
}

/// A constant of residual code.
pub enum Constant {
    /// of the program's code, by its place there
    OfTemplate(usize),
    /// one that the pipeline makes
    Made(Made),
    /// an object
    Object(Py<PyAny>),
    /// what writes the attributes of an instance of a class: names in order, with the constants among the values
    Fill(Py<PyAny>, Vec<(Arc<str>, Option<Py<PyAny>>)>),
    /// the code of a resume function, or the function itself
    Resume {
        /// the program's code that it goes on in
        user: Py<PyAny>,
        /// how it is made of that
        recipe: Vec<u8>,
        /// of the function
        globals: Option<Py<PyAny>>,
    },
    /// a function that runs what breaks the graph, or calls another such
    Step(Box<Step>),
}

/// A step: a function whose code takes the name, file and lines of the program's.
pub struct Step {
    /// the program's code
    pub template: Py<PyAny>,
    /// of the function
    pub globals: Py<PyAny>,
    /// what of the program's code is replaced
    pub code: Code,
    /// its constants
    pub constants: Vec<Constant>,
}

/// What is around a capture that is bound.
pub struct Around<'a, 'py> {
    /// the code of the frame
    pub template: &'a Bound<'py, PyCode>,
    /// the program's code that it runs
    pub own: &'a Bound<'py, PyCode>,
    /// reads the lines that asked for guards
    pub read_line: ReadLine,
    /// makes a module of this package's, by its name; false for any other name
    pub make_module: fn(Python<'_>, &str) -> bool,
    /// makes a graph that an operation is given
    pub make_part: MakePart,
}

/// Reads what a frame and its pins lead to, each source once.
pub(crate) struct Frame<'a, 'py> {
    pub(crate) py: Python<'py>,
    reader: &'a Reader<'a>,
    sources: &'a [Source],
    pub(crate) around: &'a Around<'a, 'py>,
    values: Vec<Option<Bound<'py, PyAny>>>,
    pinned: Vec<Option<Bound<'py, PyAny>>>,
}

impl<'py> Frame<'_, 'py> {
    fn read(&mut self, id: SourceId) -> Option<Bound<'py, PyAny>> {
        if let Some(known) = self.values.get(id.index())? {
            return Some(known.clone());
        }
        let source = &self.sources[id.index()];
        let base = match source.base() {
            // Bases come first.
            Some(base) if base < id => Some(self.read(base)?),
            Some(_) => return None,
            None => None,
        };
        let pinned = &self.pinned;
        let mut of_pin = |pin: u32| pinned.get(pin as usize).cloned().flatten();
        let value = self
            .reader
            .step(self.py, source, base.as_ref(), &mut of_pin)?;
        self.values[id.index()] = Some(value.clone());
        Some(value)
    }

    fn find(&mut self, place: &Place) -> Option<Bound<'py, PyAny>> {
        let py = self.py;
        reach::find_in(py, place, &mut |place| match place {
            Place::Reached(source) => self.read(*source),
            Place::TypeOf(source) => Some(self.read(*source)?.get_type().into_any()),
            Place::OwnCode => Some(self.around.own.clone().into_any()),
            // A module of this package's may not have been made yet.
            Place::Module(root) | Place::Namespace(root) | Place::Named(root, _) => {
                (self.around.make_module)(py, root).then(|| reach::find(py, place))?
            }
            Place::OwnGlobals => self.reader.step(py, &Source::Globals, None, &mut |_| None),
            _ => None,
        })
    }

    /// The constants of code that is made like `template`.
    fn constants(
        &mut self,
        digests: &mut Digests,
        constants: &[KeptConstant],
        template: &Bound<'py, PyCode>,
    ) -> Result<Vec<Constant>, Why> {
        let count = template.getattr("co_consts")?.len()?;
        let constants = constants.iter();
        constants
            .map(|constant| self.constant(digests, constant, count))
            .collect()
    }

    fn constant(
        &mut self,
        digests: &mut Digests,
        constant: &KeptConstant,
        count: usize,
    ) -> Result<Constant, Why> {
        let py = self.py;
        let mut reach = |reach: &Reach| self.reach(digests, reach).map(Bound::unbind);
        Ok(match constant {
            KeptConstant::OfTemplate(at) if (*at as usize) < count => {
                Constant::OfTemplate(*at as usize)
            }
            KeptConstant::OfTemplate(_) => return Err(Why("a constant is not there".into())),
            KeptConstant::Made(made) => Constant::Made(*made),
            KeptConstant::Pinned(pin) => {
                let object = self.pinned.get(*pin as usize).cloned().flatten();
                let object = object.ok_or_else(|| Why("an object is not there".into()))?;
                Constant::Object(object.unbind())
            }
            KeptConstant::Reached(of) => Constant::Object(reach(of)?),
            KeptConstant::Fill(class, attributes) => {
                let class = reach(class)?;
                let attributes = attributes.iter().map(|(name, value)| {
                    let value = value.as_ref().map(|value| reach::value_of(py, value));
                    Ok((name.clone(), value.transpose()?.map(Bound::unbind)))
                });
                Constant::Fill(class, attributes.collect::<PyResult<_>>()?)
            }
            KeptConstant::Weak(of) => match self.constant(digests, of, count)? {
                Constant::Object(of) => {
                    let weak = PyWeakrefReference::new(of.bind(py))?;
                    Constant::Object(weak.into_any().unbind())
                }
                _ => return Err(Why("a reference to no object".into())),
            },
            KeptConstant::Resume {
                user,
                recipe,
                globals,
            } => Constant::Resume {
                user: reach(user)?,
                recipe: recipe.clone(),
                globals: globals.as_ref().map(reach).transpose()?,
            },
            KeptConstant::Step(step) => {
                let template = reach(&step.template)?;
                let globals = reach(&step.globals)?;
                let code = template.bind(py).cast::<PyCode>().map_err(PyErr::from)?;
                Constant::Step(Box::new(Step {
                    constants: self.constants(digests, &step.constants, code)?,
                    code: step.code.clone(),
                    template,
                    globals,
                }))
            }
        })
    }

    /// What is made before the graph runs; nothing is made yet.
    fn early(&mut self, digests: &mut Digests, kept: &[KeptEarly]) -> Result<Vec<Early>, Why> {
        let early = kept.iter().map(|early| {
            let args = early.args.iter().map(|arg| match arg {
                KeptArg::Source(source) => Ok(EarlyArg::Source(*source)),
                KeptArg::Reached(of) => {
                    let object = self.reach(digests, of)?;
                    Ok(EarlyArg::Object(object.unbind()))
                }
            });
            let args = args.collect::<Result<_, Why>>()?;
            Ok(Early {
                source: early.source,
                function: self.reach(digests, &early.function)?.unbind(),
                args,
            })
        });
        early.collect()
    }

    /// A place for who reads why a capture does not fit.
    fn shown(&self, place: &Place) -> String {
        let Some(source) = place.source() else {
            return format!("{place:?}");
        };
        let mut table = SourceTable::new();
        for source in self.sources {
            let mut source = source.clone();
            // Objects that are keys are told apart by their pins.
            source.rebind(&mut |obj| obj.addr = obj.pin as usize);
            table.intern(source);
        }
        match place {
            Place::Reached(_) => table.name(source),
            _ => format!("{place:?} of {}", table.name(source)),
        }
    }

    /// The object of a place, where it is what it was.
    pub(crate) fn reach(
        &mut self,
        digests: &mut Digests,
        reach: &Reach,
    ) -> Result<Bound<'py, PyAny>, Why> {
        let found = self.find(&reach.place);
        let found =
            found.ok_or_else(|| Why(format!("{} is not there", self.shown(&reach.place))))?;
        if matches!(
            (&reach.place, &reach.content),
            (Place::Value(_), Content::Itself)
        ) {
            return Ok(found);
        }
        let is_it = match &reach.content {
            Content::Weak(of) => {
                let weak = found.cast_exact::<PyWeakrefReference>();
                let to = weak.ok().and_then(|weak| weak.upgrade());
                matches!((to, self.find(of)), (Some(to), Some(of)) if to.is(&of))
            }
            Content::Parts(parts) => digests.parts(&found)? == *parts,
            content => reach::content(digests, &found, &reach.place)? == *content,
        };
        match is_it {
            true => Ok(found),
            false => Err(Why(format!("{} is another one", self.shown(&reach.place)))),
        }
    }
}

impl Loaded {
    /// Binds a capture to what a frame reaches.
    ///
    /// # Errors
    /// Why it can't be taken.
    pub fn bind<'py>(
        py: Python<'py>,
        bytes: &[u8],
        reader: &Reader<'_>,
        around: &Around<'_, 'py>,
    ) -> Result<Loaded, Why> {
        let capture: Capture =
            postcard::from_bytes(bytes).map_err(|error| Why(error.to_string()))?;
        let mut frame = Frame {
            py,
            reader,
            values: vec![None; capture.sources.len()],
            pinned: Vec::with_capacity(capture.pins.len()),
            sources: &capture.sources,
            around,
        };
        let digests = &mut Digests::like(capture.by_place);
        let mut pins = Pins::new();
        for pin in &capture.pins {
            let object = match &pin.reach {
                None => None,
                Some(reach) => Some(frame.reach(digests, reach)?),
            };
            if !pins.add_next(object.as_ref(), pin.is_weak, py) {
                return Err(Why("two objects are one now".into()));
            }
            frame.pinned.push(object);
        }
        let call = match capture.call {
            None => None,
            Some(call) => {
                let objects = frame.objects(digests, call.objects)?;
                let early = frame.early(digests, &call.early)?;
                let mut values = FxHashMap::default();
                for source in sources_of(&call.inputs, &early) {
                    if early.iter().any(|early| early.source == source) {
                        continue;
                    }
                    let value = frame.read(source);
                    let value = value.ok_or_else(|| Why("an input is not there".into()))?;
                    values.insert(source, value.unbind());
                }
                Some(Call {
                    inputs: call.inputs,
                    early,
                    values,
                    graph: call.graph,
                    objects,
                    described: call.described,
                    relied_on: call.relied_on,
                    can_run_again: call.can_run_again,
                    is_dynamic: call.is_dynamic,
                    needs_as_is: call.needs_as_is,
                })
            }
        };
        for (class, of) in &capture.registered {
            let (class, of) = (frame.reach(digests, class)?, frame.reach(digests, of)?);
            // What answers is the library's: that was found when the capture was made.
            let class = class.cast::<PyType>().map_err(PyErr::from)?;
            if !class.is_subclass(&of)? {
                return Err(Why(format!(
                    "{} is registered with an abstract class no more",
                    class.name()?
                )));
            }
        }
        let constants = frame.constants(digests, &capture.constants, around.template)?;
        let owner = match capture.owner {
            None => None,
            Some(source) => {
                let owner = frame.read(source);
                Some(
                    owner
                        .ok_or_else(|| Why("a module is not there".into()))?
                        .unbind(),
                )
            }
        };
        let mut is_named = true;
        let mut references: Vec<Option<ObjRef>> = vec![None; capture.pins.len()];
        let mut rename = |obj: &mut ObjRef| {
            let pin = obj.pin;
            let known = references.get_mut(pin as usize).map(|known| {
                if known.is_none() {
                    *known = pins.reference(py, pin);
                }
                known.clone()
            });
            match known.flatten() {
                Some(known) => *obj = known,
                None => is_named = false,
            }
        };
        let mut sources = SourceTable::with_capacity(capture.sources.len());
        for (at, mut source) in capture.sources.into_iter().enumerate() {
            source.rebind(&mut rename);
            if source.base().is_some_and(|base| base.index() >= at)
                || sources.intern(source).index() != at
            {
                return Err(Why("two sources are one now".into()));
            }
        }
        let frames: Vec<_> = capture
            .places
            .into_iter()
            .map(|(file, line, function)| {
                Arc::new(UserFrame::new(file, line, function, around.read_line))
            })
            .collect();
        let mut guards = capture.guards;
        for (guard, place) in guards.iter_mut().zip(&capture.place_of) {
            guard.rebind(&mut rename);
            guard.user_frame = (*place as usize)
                .checked_sub(1)
                .and_then(|at| frames.get(at).cloned());
        }
        if !is_named {
            return Err(Why("an object is not there".into()));
        }
        Ok(Loaded {
            sources,
            guards,
            pins,
            owner,
            changing: capture.changing,
            call,
            broken: capture.broken,
            code: capture.code,
            constants,
        })
    }
}
