//! A compilation that is done again, because the backend changed what the translation had looked at.
//!
//! A backend imports modules when it first runs, and whatever else it does to the process. Where a guard
//! fails for the call that it was made for, the frame is translated once more, with all that in place.
//! What the backend made is used where the graph is the same.

use std::collections::BTreeSet;

use backends::{Compiled, Gave};
use fx_graph::Graph;
use fx_graph::ShapeGuard;
use guards::exec::CheckProgram;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use translator::{Refusal, Tx};
use variables::{FloatExpr, Obj};

use super::declined::Declined;

/// Which numbers are constants for a backend that could not compile a graph otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constants {
    /// none for that reason
    #[default]
    None,
    /// some floats, which the code's slot names
    SomeFloats,
    /// floats
    Floats,
    /// floats, ints and sizes
    All,
}

/// What a backend did that is a reason to compile the frame again.
pub enum Again {
    /// it gave something else than the graph itself, which the translation had not reckoned with
    Opaque,
    /// it needs to know of sizes of which nothing was to be known
    Backed,
    /// it needs numbers as constants
    Constants(Constants),
    /// it can't compile an operation: what it said, and the exception that it raised
    Without(Declined, PyErr),
}

/// What an attempt to compile a frame knows of the one before.
#[derive(Default)]
pub struct Before {
    /// the operation that the backend refused
    pub refusal: Option<Refusal>,
    /// what the backend made
    pub made: Option<Made>,
    /// whether this attempt is the one that is made because a guard failed
    pub is_redone: bool,
    /// which numbers a backend that traces the graph again gets as constants alone
    pub constants: Constants,
    /// whether sizes of which nothing was to be known have to be known
    pub backs_unbacked: bool,
}

impl Before {
    /// What the attempt knows that follows this one because a guard failed.
    pub fn redone(self, made: Made) -> Before {
        Before {
            refusal: self.refusal,
            made: Some(made),
            is_redone: true,
            constants: self.constants,
            backs_unbacked: self.backs_unbacked,
        }
    }
}

/// What a backend made of a graph.
pub struct Made {
    graph: Graph,
    objects: Vec<Obj>,
    result: BackendResult,
}

/// What a backend gave for example inputs.
pub struct BackendResult {
    /// the example inputs
    pub examples: Vec<Obj>,
    /// takes the graph's inputs
    pub callable: Obj,
    /// where that comes from
    pub gave: Gave,
    /// what it relies on about sizes and ints; `None` where that is nothing that an input says
    pub shape_guards: Option<Vec<ShapeGuard>>,
}

impl BackendResult {
    /// What was compiled for these inputs.
    pub fn of(compiled: Compiled, examples: Vec<Obj>) -> BackendResult {
        BackendResult {
            examples,
            callable: compiled.callable,
            gave: compiled.gave,
            shape_guards: compiled.shape_guards,
        }
    }
}

impl Made {
    /// What was made of the graph of a translation that is given up.
    pub fn of(tx: &mut Tx<'_>, result: BackendResult) -> Made {
        Made {
            graph: std::mem::take(&mut tx.log.graph),
            objects: std::mem::take(&mut tx.facts.objects),
            result,
        }
    }

    /// The result for this graph, if it is the same with the same example inputs.
    pub fn find(self, graph: &Graph, objects: &[Obj], examples: &[Obj]) -> Option<BackendResult> {
        let same =
            |a: &[Obj], b: &[Obj]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b));
        let found = same(&self.objects, objects)
            && same(&self.result.examples, examples)
            && self.graph.iter().eq(graph.iter());
        found.then_some(self.result)
    }
}

/// Has a program look again at answers that may have changed; whether its guards on them hold again.
///
/// # Errors
/// Interrupts only.
pub fn renew_program(py: Python<'_>, program: &CheckProgram) -> PyResult<bool> {
    match program.renew(py) {
        Err(e) if e.is_instance_of::<PyException>(py) => Ok(false),
        renewed => renewed,
    }
}

/// The names of the floats that inputs of the graph are computed from, by their places; of none where one of them is
/// made when the compiled code runs.
pub fn float_names(tx: &Tx<'_>, places: &[usize]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for at in places {
        let node = tx.log.graph.placeholders()[*at];
        let Some(input) = tx.log.float_inputs.iter().find(|of| of.node == node) else {
            continue;
        };
        input.float.expr.for_each_leaf(&mut |leaf| {
            if let FloatExpr::Source(source) = leaf {
                names.insert(tx.facts.sources.name(*source));
            }
        });
    }
    names
}
