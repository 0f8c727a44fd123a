//! Writing a capture.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fx_graph::{AotInput, Graph, ShapeGuard};
use guards::exec::Pins;
use guards::{Guard, GuardKind, GuardSet, IntExpr, ObjRef, Source, SourceId, UserFrame};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyFunction, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::describe::Describer;
use crate::float::Float;
use crate::key::Made;
use crate::part::TakeApart;
use crate::reach::{Place, Places};
use crate::{About, Break, Capture, Code, KeptConstant, KeptStep, Pin, Why};

/// An input of a graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Input {
    /// A tensor.
    Tensor {
        /// how the frame reaches it
        source: SourceId,
        /// whether it is the same one at each call
        is_bound: bool,
    },
    /// An int, and how it is computed.
    Int(IntExpr),
    /// A float.
    Float {
        /// how it is computed
        expr: Float,
        /// whether the graph gets a tensor that holds it
        is_tensor: bool,
    },
}

/// The call of a graph.
pub struct GraphCall<'a> {
    /// the graph
    pub graph: &'a Graph,
    /// what it names
    pub objects: &'a [Py<PyAny>],
    /// its inputs, in order
    pub inputs: Vec<Input>,
    /// what is made before it runs, in order
    pub early: Vec<Early>,
    /// what the backend is told of them
    pub described: &'a [AotInput],
    /// what the backend relies on about them, which is guarded
    pub relied_on: &'a [ShapeGuard],
    /// whether nobody can tell that all of it ran twice
    pub can_run_again: bool,
    /// whether it serves other sizes and ints than those of this call
    pub is_dynamic: bool,
    /// whether it has to run as it is
    pub needs_as_is: bool,
}

/// What is made before the graph runs, by a function that does nothing else.
pub struct Early {
    /// what stands for it
    pub source: SourceId,
    /// the function
    pub function: Py<PyAny>,
    /// its arguments
    pub args: Vec<EarlyArg>,
}

/// An argument of what is made before the graph runs.
pub enum EarlyArg {
    /// what the frame reaches, or what was made before
    Source(SourceId),
    /// one that is known
    Object(Py<PyAny>),
}

/// What inputs are computed of, and what is made before the graph.
pub(crate) fn sources_of(inputs: &[Input], early: &[Early]) -> Vec<SourceId> {
    let mut sources = Vec::new();
    for input in inputs {
        match input {
            Input::Tensor { source, .. } => sources.push(*source),
            Input::Int(expr) => sources.extend(expr.sources()),
            Input::Float { expr, .. } => expr.for_each_source(&mut |source| sources.push(source)),
        }
    }
    let args = early.iter().flat_map(|early| &early.args);
    sources.extend(args.filter_map(|arg| match arg {
        EarlyArg::Source(source) => Some(*source),
        EarlyArg::Object(_) => None,
    }));
    sources
}

/// What writes the attributes of an instance of a class, in residual code.
pub struct Fill {
    /// the constant
    pub object: Py<PyAny>,
    /// the class
    pub class: Py<PyAny>,
    /// names in order, with the constants among the values
    pub attributes: Vec<(Arc<str>, Option<Py<PyAny>>)>,
}

/// A function that residual code goes on in where the graph breaks, or the code of one.
pub enum Part {
    /// a resume function
    Resume {
        /// the constant
        object: Py<PyAny>,
        /// the program's code that it goes on in
        user: Py<PyAny>,
        /// how it is made of that
        recipe: Vec<u8>,
        /// of the function, where the constant is no code
        globals: Option<Py<PyAny>>,
    },
    /// a step
    Step {
        /// the constant
        object: Py<PyAny>,
        /// its code
        code: Py<PyCode>,
        /// the program's code whose name, file and lines that has
        template: Py<PyAny>,
        /// of the function
        globals: Py<PyAny>,
    },
}

impl Part {
    fn object(&self) -> &Py<PyAny> {
        match self {
            Part::Resume { object, .. } | Part::Step { object, .. } => object,
        }
    }
}

/// A finished capture.
pub struct Kept<'a, 'py> {
    /// the guards
    pub set: &'a Arc<GuardSet>,
    /// what they hold
    pub pins: &'a Pins,
    /// objects by the sources that they were built from
    pub reached: &'a FxHashMap<SourceId, Py<PyAny>>,
    /// the call of the graph
    pub call: Option<GraphCall<'a>>,
    /// names of the sources of ints and sizes that are known to change
    pub changing: &'a BTreeSet<String>,
    /// the residual code
    pub code: Bound<'py, PyCode>,
    /// the code that it stands for
    pub template: Bound<'py, PyCode>,
    /// the program's code that this is, or is a copy of
    pub own: Bound<'py, PyCode>,
    /// the globals of the frame
    pub globals: Bound<'py, PyAny>,
    /// where the graph breaks
    pub broken: Option<Break>,
    /// among the constants: functions behind the break
    pub parts: &'a [Part],
    /// constants of residual code that the pipeline makes
    pub made: &'a [(Py<PyAny>, Made)],
    /// others of them, of parts
    pub fills: &'a [Fill],
    /// a module whose parameters are bound
    pub owner: Option<&'a Py<PyAny>>,
    /// takes a graph apart that an operation is given
    pub take_apart: TakeApart,
    /// what it is found by, on any machine
    pub made_for: [u8; 32],
    /// classes that abstract ones take for theirs, though they are no bases of them
    pub registered: &'a [(Py<PyAny>, Py<PyAny>)],
}

/// What is written of a capture: nothing of it is of Python.
pub struct Written {
    /// without its guards
    capture: Capture,
    set: Arc<GuardSet>,
}

impl Written {
    /// The same as bytes.
    ///
    /// # Errors
    /// Where there are too many of them.
    pub fn into_bytes(self) -> Result<Vec<u8>, Why> {
        let Written { mut capture, set } = self;
        let guards = set.guards();
        (capture.places, capture.place_of) = lines(guards);
        capture.guards = guards.iter().map(unanswered).collect();
        postcard::to_stdvec(&capture).map_err(|error| Why(error.to_string()))
    }
}

impl<'py> Kept<'_, 'py> {
    /// What is written of the capture.
    ///
    /// # Errors
    /// Why another process could not take it.
    pub fn written(&self) -> Result<Written, Why> {
        Ok(Written {
            capture: self.capture()?,
            set: self.set.clone(),
        })
    }

    fn capture(&self) -> Result<Capture, Why> {
        let py = self.code.py();
        let sources: Vec<Source> = self.set.sources().iter().map(|(_, s)| s.clone()).collect();
        let mut describer = Describer::new(self, &sources, self.places());
        let guards = self.set.guards();
        let mut pins = Vec::with_capacity(self.pins.len());
        for pin in 0..self.pins.len() as u32 {
            let is_weak = self.pins.is_weak_pin(pin);
            let reach = match self.pins.is_forgotten(py, pin) {
                true => None,
                false => {
                    let object = self
                        .pins
                        .get(py, pin)
                        .ok_or_else(|| Why("an object that ended".into()))?;
                    describer.pin(&object, pin, guards)?
                }
            };
            pins.push(Pin { is_weak, reach });
        }
        let call = self.call.as_ref().map(|call| describer.call(call));
        let call = call.transpose()?;
        let constants = self.constants(&mut describer, &self.code, &self.template)?;
        let owner = match self.owner {
            None => None,
            Some(owner) => Some(
                describer
                    .known(owner)
                    .find_map(Place::source)
                    .ok_or_else(|| Why("a module that the frame does not reach".into()))?,
            ),
        };
        let mut seen = FxHashSet::default();
        let once = |pair: &&(Py<PyAny>, Py<PyAny>)| {
            seen.insert((pair.0.as_ptr() as usize, pair.1.as_ptr() as usize))
        };
        let registered = self.registered.iter().filter(once).map(|(class, of)| {
            let [class, of] = [class, of].map(|class| describer.free(class.bind(py)));
            Ok((class?, of?))
        });
        let registered = registered.collect::<Result<_, Why>>()?;
        let by_place = describer.by_place();
        Ok(Capture {
            about: self.about()?,
            sources,
            guards: Vec::new(),
            places: Vec::new(),
            place_of: Vec::new(),
            pins,
            by_place,
            owner,
            registered,
            changing: self.changing.clone(),
            call,
            broken: self.broken.clone(),
            code: code_like(&self.code, &self.template, false)?,
            constants,
        })
    }

    fn about(&self) -> PyResult<About> {
        Ok(About {
            function: self.own.getattr("co_qualname")?.extract()?,
            file: self.own.getattr("co_filename")?.extract()?,
            line: self.own.getattr("co_firstlineno")?.extract()?,
            operations: self.call.as_ref().map_or(0, |call| call.graph.call_count()),
            made_for: self.made_for,
        })
    }

    /// Where the frame reaches objects, by address: those places first that guards name.
    fn places(&self) -> Places {
        let room = self.reached.len() + self.pins.len();
        let mut places = Places::with_capacity_and_hasher(room, FxBuildHasher);
        for (obj, place) in self.named_by_guards() {
            places.entry(obj.addr).or_default().push(place);
        }
        for (source, _) in self.set.sources().iter() {
            if let Some(object) = self.reached.get(&source) {
                let all = places.entry(object.as_ptr() as usize).or_default();
                all.push(Place::Reached(source));
            }
        }
        self.add_globals(&mut places);
        self.add_referents(&mut places);
        places
    }

    /// What weak references lead to.
    fn add_referents(&self, places: &mut Places) {
        let py = self.code.py();
        for pin in 0..self.pins.len() as u32 {
            let Some(object) = self.pins.get(py, pin) else {
                continue;
            };
            let Ok(weak) = object.cast_exact::<PyWeakrefReference>() else {
                continue;
            };
            let place = places.get(&(object.as_ptr() as usize));
            let place = place.and_then(|places| places.first().cloned());
            if let (Some(of), Some(place)) = (weak.upgrade(), place) {
                let known = places.entry(of.as_ptr() as usize).or_default();
                known.push(Place::Referent(Box::new(place)));
            }
        }
    }

    /// Objects that guards name, each with its place.
    fn named_by_guards(&self) -> impl Iterator<Item = (&ObjRef, Place)> {
        self.set.guards().iter().filter_map(|guard| {
            let source = guard.source?;
            Some(match &guard.kind {
                GuardKind::TypeMatch { ty } => (ty, Place::TypeOf(source)),
                GuardKind::IdMatch { obj }
                | GuardKind::FunctionMatch { obj }
                | GuardKind::ModuleMatch { obj } => (obj, Place::Reached(source)),
                GuardKind::ClosureMatch { code } => {
                    (code, Place::CodeOf(Box::new(Place::Reached(source))))
                }
                GuardKind::MroAttr {
                    name,
                    value: Some(obj),
                } => {
                    let class = Box::new(Place::Reached(source));
                    (obj, Place::InClass(class, (**name).into()))
                }
                _ => return None,
            })
        })
    }

    /// Functions that the frame leads to, each with a place.
    fn functions(&self) -> Vec<(Bound<'py, PyAny>, Place)> {
        let py = self.code.py();
        let mut functions = Vec::new();
        let is_function = |object: &Bound<'py, PyAny>| object.is_exact_instance_of::<PyFunction>();
        for (id, source) in self.set.sources().iter() {
            let object = match source {
                Source::Pinned { pin, .. } | Source::WeakPinned { pin, .. } => {
                    self.pins.get(py, *pin)
                }
                _ => self.reached.get(&id).map(|object| object.bind(py).clone()),
            };
            functions.extend(
                object
                    .filter(is_function)
                    .map(|object| (object, Place::Reached(id))),
            );
        }
        for (obj, place) in self.named_by_guards() {
            let Some(object) = self.pins.get(py, obj.pin) else {
                continue;
            };
            if is_function(&object) {
                functions.push((object, place));
                continue;
            }
            // Most guards name classes, which have no functions of their own as descriptors have.
            if object.is_instance_of::<PyType>() {
                continue;
            }
            for part in crate::reach::Part::ALL {
                let function = part.of(&object).filter(is_function);
                let place = || Place::Within(Box::new(place.clone()), part);
                functions.extend(function.map(|function| (function, place())));
            }
        }
        functions
    }

    /// Globals of functions: those of a module that another one has replaced among those that are imported.
    fn add_globals(&self, places: &mut Places) {
        for (function, place) in self.functions() {
            if let Ok(globals) = function.getattr("__globals__") {
                let all = places.entry(globals.as_ptr() as usize).or_default();
                all.push(Place::GlobalsOf(Box::new(place)));
            }
        }
    }

    /// Code that the frame runs or leads to, by address.
    pub(crate) fn codes(&self) -> Result<FxHashMap<usize, Place>, Why> {
        let mut codes = FxHashMap::default();
        add_codes(&mut codes, &self.own, Place::OwnCode)?;
        for (function, place) in self.functions() {
            let code = function.getattr("__code__")?;
            let code = code.cast::<PyCode>().map_err(PyErr::from)?;
            add_codes(&mut codes, code, Place::CodeOf(Box::new(place)))?;
        }
        Ok(codes)
    }

    /// The constants of code that was made like `template`.
    fn constants(
        &self,
        describer: &mut Describer<'_, 'py>,
        code: &Bound<'py, PyCode>,
        template: &Bound<'py, PyCode>,
    ) -> Result<Vec<KeptConstant>, Why> {
        let of = |code: &Bound<'py, PyCode>| -> PyResult<Bound<'py, PyTuple>> {
            Ok(code.getattr("co_consts")?.cast_into()?)
        };
        let template = of(template)?;
        let by_address: FxHashMap<usize, u32> = template
            .iter()
            .enumerate()
            .map(|(i, constant)| (constant.as_ptr() as usize, i as u32))
            .collect();
        let constant = |constant: Bound<'py, PyAny>| {
            if let Some((_, made)) = self.made.iter().find(|(object, _)| object.is(&constant)) {
                return Ok(KeptConstant::Made(*made));
            }
            if let Some(fill) = self.fills.iter().find(|fill| fill.object.is(&constant)) {
                return describer.fill(fill);
            }
            if let Some(part) = self.parts.iter().find(|part| part.object().is(&constant)) {
                return self.part(describer, part);
            }
            match by_address.get(&(constant.as_ptr() as usize)) {
                Some(at) => Ok(KeptConstant::OfTemplate(*at)),
                None => match constant.cast_exact::<PyWeakrefReference>() {
                    Ok(weak) => {
                        let of = weak.upgrade();
                        let of = of.ok_or_else(|| Why("an object that ended".into()))?;
                        let of = describer.constant(&of)?;
                        Ok(KeptConstant::Weak(Box::new(of)))
                    }
                    Err(_) => describer.constant(&constant),
                },
            }
        };
        of(code)?.iter().map(constant).collect()
    }

    fn part(&self, describer: &mut Describer<'_, 'py>, part: &Part) -> Result<KeptConstant, Why> {
        let py = self.code.py();
        match part {
            Part::Resume {
                user,
                recipe,
                globals,
                ..
            } => {
                let globals = globals.as_ref().map(|globals| globals.bind(py));
                let user = user.bind(py).cast::<PyCode>().map_err(PyErr::from)?;
                Ok(KeptConstant::Resume {
                    user: describer.code(user, globals)?,
                    recipe: recipe.clone(),
                    globals: globals.map(|of| describer.globals(of)).transpose()?,
                })
            }
            Part::Step {
                code,
                template,
                globals,
                ..
            } => {
                let (code, globals) = (code.bind(py), globals.bind(py));
                let template = template.bind(py).cast::<PyCode>().map_err(PyErr::from)?;
                Ok(KeptConstant::Step(Box::new(KeptStep {
                    template: describer.code(template, Some(globals))?,
                    globals: describer.globals(globals)?,
                    code: code_like(code, template, true)?,
                    constants: self.constants(describer, code, template)?,
                })))
            }
        }
    }
}

/// Adds code, and the code among its constants, by address.
fn add_codes(
    codes: &mut FxHashMap<usize, Place>,
    code: &Bound<'_, PyCode>,
    place: Place,
) -> Result<(), Why> {
    let constants = code.getattr("co_consts")?;
    let constants = constants.cast_into::<PyTuple>().map_err(PyErr::from)?;
    for (at, constant) in (0..).zip(constants.iter()) {
        if let Ok(inner) = constant.cast_exact::<PyCode>() {
            let place = Place::ConstantOf(Box::new(place.clone()), at);
            add_codes(codes, inner, place)?;
        }
    }
    codes.entry(code.as_ptr() as usize).or_insert(place);
    Ok(())
}

/// What of `template` is another in `code`. That of a step has arguments of its own.
fn code_like(
    code: &Bound<'_, PyCode>,
    template: &Bound<'_, PyCode>,
    is_step: bool,
) -> Result<Code, Why> {
    let get = |name: &str| code.getattr(name);
    for same in [
        "co_argcount",
        "co_posonlyargcount",
        "co_kwonlyargcount",
        "co_flags",
    ] {
        if !is_step && !get(same)?.eq(template.getattr(same)?)? {
            return Err(Why("residual code with other arguments".into()));
        }
    }
    let args = is_step.then(|| get("co_argcount")?.extract());
    Ok(Code {
        code: get("co_code")?.extract()?,
        lines: get("co_linetable")?.extract()?,
        handlers: get("co_exceptiontable")?.extract()?,
        stack: get("co_stacksize")?.extract()?,
        names: get("co_names")?.extract()?,
        locals: get("co_varnames")?.extract()?,
        cells: get("co_cellvars")?.extract()?,
        free: get("co_freevars")?.extract()?,
        args: args.transpose()?,
    })
}

/// A guard for another process. What is registered with abstract classes there is not known: they are asked again.
fn unanswered(guard: &Guard) -> Guard {
    let mut guard = guard.clone();
    if let GuardKind::NotSubclass { token, .. } = &mut guard.kind {
        *token = -1;
    }
    guard
}

/// The lines that asked for guards, and for each guard which of them.
fn lines(guards: &[Guard]) -> (Vec<crate::Place>, Vec<u32>) {
    let mut places: Vec<crate::Place> = Vec::new();
    let mut numbers = BTreeMap::new();
    // Guards of one instruction share it.
    let mut known: FxHashMap<*const UserFrame, u32> = FxHashMap::default();
    let of_guards = guards.iter().map(|guard| {
        let Some(frame) = &guard.user_frame else {
            return 0;
        };
        *known.entry(Arc::as_ptr(frame)).or_insert_with(|| {
            *numbers
                .entry((frame.file.clone(), frame.line, frame.function.clone()))
                .or_insert_with_key(|place| {
                    places.push(place.clone());
                    places.len() as u32
                })
        })
    });
    let of_guards = of_guards.collect();
    (places, of_guards)
}
