//! Captures on disk: a graph, its guards and its residual code, as data that another process takes instead of
//! translating.
//!
//! Lives here: what is written of a capture, how each object that it names is reached in another process and what it
//! has to be there ([`reach`], [`content`]), and that a capture is found by what it was made for. Does not live here:
//! files and their integrity (`artifact-store`), what is done with a capture that was found (the pipeline), translation.
//!
//! Invariants: what can't be reached or told by its content makes that a capture is not kept, or not taken; two pins
//! are two objects, as they were; nothing of the program runs while a capture is bound. Guards are the pipeline's to
//! check before anything of a capture is used.

mod bind;
mod carry;
mod content;
mod describe;
mod float;
mod keep;
mod key;
mod operator;
mod part;
mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fx_graph::{AotInput, KeptGraph, ShapeGuard};
use guards::{ConstVal, Guard, Source, SourceId};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

pub use bind::{Around, Call, Constant, Loaded, Step};
pub use carry::{carried, files, made_for};
pub use float::{Float, Operation};
pub use keep::{Early, EarlyArg, Fill, GraphCall, Input, Kept, Part, Written};
pub use key::{Keys, Made};
pub use operator::opaque_operator;
pub use part::{GraphPart, MakePart, TakeApart};

use content::Stamp;
use part::KeptObject;
use reach::Reach;

/// A capture in a line of text; `None` where the bytes are none.
pub fn shown(bytes: &[u8]) -> Option<String> {
    let (about, _) = postcard::take_from_bytes::<About>(bytes).ok()?;
    let About {
        function,
        file,
        line,
        operations,
        ..
    } = about;
    Some(format!(
        "{function} ({file}:{line}), {operations} operations"
    ))
}

/// Why a capture is not kept, or not taken.
#[derive(Debug)]
pub struct Why(pub String);

impl From<PyErr> for Why {
    fn from(error: PyErr) -> Why {
        Why(error.to_string())
    }
}

/// An object that guards hold.
#[derive(Serialize, Deserialize)]
struct Pin {
    is_weak: bool,
    /// `None`: no guard names it
    reach: Option<Reach>,
}

/// A constant of residual code.
#[derive(Serialize, Deserialize)]
enum KeptConstant {
    /// of the program's code, by its place there
    OfTemplate(u32),
    /// one that the pipeline makes
    Made(Made),
    Reached(Reach),
    /// what a pin holds
    Pinned(u32),
    /// a weak reference to what is reached
    Weak(Box<KeptConstant>),
    /// what writes the attributes of an instance of a class: names in order, with the constants among the values
    Fill(Reach, Vec<(Arc<str>, Option<ConstVal>)>),
    /// the code of a resume function, or the function itself
    Resume {
        /// the program's code that it goes on in
        user: Reach,
        /// how it is made of that
        recipe: Vec<u8>,
        /// of the function
        globals: Option<Reach>,
    },
    /// a function that runs what breaks the graph, or calls another such
    Step(Box<KeptStep>),
}

/// A step: a function whose code takes the name, file and lines of the program's.
#[derive(Serialize, Deserialize)]
struct KeptStep {
    /// the program's code
    template: Reach,
    globals: Reach,
    code: Code,
    constants: Vec<KeptConstant>,
}

/// A graph break.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Break {
    /// why the graph breaks; more than one where it breaks at another place than it was to
    pub reasons: Vec<String>,
    /// whether residual code calls more than the graph and resume functions
    pub calls_out: bool,
}

/// The residual code without its constants: what of the program's code is replaced.
#[derive(Clone, Serialize, Deserialize)]
pub struct Code {
    /// `co_code`
    pub code: Vec<u8>,
    /// `co_linetable`
    pub lines: Vec<u8>,
    /// `co_exceptiontable`
    pub handlers: Vec<u8>,
    /// `co_stacksize`
    pub stack: u32,
    /// `co_names`
    pub names: Vec<String>,
    /// `co_varnames`
    pub locals: Vec<String>,
    /// `co_cellvars`
    pub cells: Vec<String>,
    /// `co_freevars`
    pub free: Vec<String>,
    /// `co_argcount` of code that takes other arguments than the program's
    pub args: Option<u32>,
}

/// The graph with the objects that it names, and its inputs in order.
#[derive(Serialize, Deserialize)]
struct KeptCall {
    graph: KeptGraph,
    /// `None`: no node names it
    objects: Vec<Option<KeptObject>>,
    inputs: Vec<Input>,
    early: Vec<KeptEarly>,
    described: Vec<AotInput>,
    relied_on: Vec<ShapeGuard>,
    can_run_again: bool,
    is_dynamic: bool,
    needs_as_is: bool,
}

/// What is made before the graph runs: by which function, of what.
#[derive(Serialize, Deserialize)]
struct KeptEarly {
    source: SourceId,
    function: Reach,
    args: Vec<KeptArg>,
}

/// An argument of what is made before the graph runs.
#[derive(Serialize, Deserialize)]
enum KeptArg {
    Source(SourceId),
    Reached(Reach),
}

/// A line of the program: file, line, function.
type Place = (Arc<str>, u32, Arc<str>);

/// What is told to people of a capture.
#[derive(Serialize, Deserialize)]
struct About {
    /// the function that the frame runs
    function: String,
    file: String,
    line: u32,
    /// calls in the graph
    operations: usize,
    /// what it is found by, on any machine
    made_for: [u8; 32],
}

#[derive(Serialize, Deserialize)]
struct Capture {
    about: About,
    sources: Vec<Source>,
    guards: Vec<Guard>,
    /// lines that asked for guards
    places: Vec<Place>,
    /// for each guard which of them, counted from one; 0 for none
    place_of: Vec<u32>,
    pins: Vec<Pin>,
    /// files whose code was told by its place
    by_place: BTreeMap<String, Stamp>,
    /// a module whose parameters are bound
    owner: Option<SourceId>,
    /// classes that abstract ones took for theirs, though they are no bases of them
    registered: Vec<(Reach, Reach)>,
    /// names of the sources of ints and sizes that are known to change
    changing: BTreeSet<String>,
    call: Option<KeptCall>,
    broken: Option<Break>,
    code: Code,
    constants: Vec<KeptConstant>,
}
