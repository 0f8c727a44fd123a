//! What a graph names: objects, graphs that its operations are given (branches, what is checkpointed, hooks), and
//! functions that a function of Ferrodyn's has made, which say so themselves.
//!
//! Does not live here: the class of those graphs, which is the backends': they take one apart and make it.

use fx_graph::{Graph, KeptGraph};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use torch_abi::made::made_of;

use crate::Why;
use crate::bind::Frame;
use crate::content::Digests;
use crate::describe::Describer;
use crate::reach::Reach;

/// A graph that an operation of another one is given.
pub struct GraphPart {
    /// the graph
    pub graph: Graph,
    /// what it names
    pub objects: Vec<Py<PyAny>>,
    /// what it is called in the graph around it, but for a number
    pub name: String,
    /// whether it is a module wherever it runs
    pub is_module: bool,
}

/// Takes such a graph apart; `None` for any other object.
pub type TakeApart = fn(&Bound<'_, PyAny>) -> Option<GraphPart>;

/// Makes such a graph of a kept one: with what it names, what it is called, whether it is a module.
pub type MakePart = fn(Python<'_>, KeptGraph, &[Py<PyAny>], &str, bool) -> Result<Py<PyAny>, Why>;

/// What a graph names.
#[derive(Serialize, Deserialize)]
pub(crate) enum KeptObject {
    Reached(Reach),
    Graph(Box<KeptPart>),
    Made(Box<KeptMade>),
}

/// What a function of Ferrodyn's makes of arguments.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeptMade {
    by: Reach,
    args: Vec<KeptObject>,
}

/// A graph that an operation is given.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeptPart {
    graph: KeptGraph,
    objects: Vec<Option<KeptObject>>,
    name: String,
    is_module: bool,
}

/// A graph with what it names; `None` for what no node names.
pub(crate) type KeptWithObjects = (KeptGraph, Vec<Option<KeptObject>>);

impl<'py> Describer<'_, 'py> {
    /// A graph with the objects that it names. The classes of the modules that it was made in may be missing.
    pub(crate) fn graph(
        &mut self,
        graph: &Graph,
        objects: &[Py<PyAny>],
    ) -> Result<KeptWithObjects, Why> {
        let mut named = FxHashSet::default();
        for (_, node) in graph.iter() {
            node.for_each_handle(|handle| {
                named.insert(handle);
            });
        }
        let objects = (0..).zip(objects).map(|(handle, object)| {
            match (self.named(object.bind(self.py)), named.contains(&handle)) {
                (Ok(object), _) => Ok(Some(object)),
                (Err(_), false) => Ok(None),
                (Err(why), true) => Err(why),
            }
        });
        let objects = objects.collect::<Result<Vec<_>, Why>>()?;
        let is_kept = |handle: u32| matches!(objects.get(handle as usize), Some(Some(_)));
        Ok((KeptGraph::of(graph, is_kept), objects))
    }

    fn named(&mut self, object: &Bound<'py, PyAny>) -> Result<KeptObject, Why> {
        if let Some(of) = made_of(object) {
            let args = of.iter().skip(1).map(|arg| self.named(&arg));
            return Ok(KeptObject::Made(Box::new(KeptMade {
                args: args.collect::<Result<_, Why>>()?,
                by: self.free(&of.get_item(0)?)?,
            })));
        }
        let Some(part) = (self.kept.take_apart)(object) else {
            return self.free(object).map(KeptObject::Reached);
        };
        let (graph, objects) = self.graph(&part.graph, &part.objects)?;
        Ok(KeptObject::Graph(Box::new(KeptPart {
            graph,
            objects,
            name: part.name,
            is_module: part.is_module,
        })))
    }
}

impl<'py> Frame<'_, 'py> {
    /// What a graph names; None in place of what no node names.
    pub(crate) fn objects(
        &mut self,
        digests: &mut Digests,
        objects: Vec<Option<KeptObject>>,
    ) -> Result<Vec<Py<PyAny>>, Why> {
        let py = self.py;
        let objects = objects.into_iter().map(|object| match object {
            None => Ok(py.None()),
            Some(object) => self.object(digests, object),
        });
        objects.collect()
    }

    fn object(&mut self, digests: &mut Digests, object: KeptObject) -> Result<Py<PyAny>, Why> {
        match object {
            KeptObject::Reached(of) => Ok(self.reach(digests, &of)?.unbind()),
            KeptObject::Made(made) => {
                let by = self.reach(digests, &made.by)?;
                let args = made.args.into_iter().map(|arg| self.object(digests, arg));
                let args = args.collect::<Result<Vec<_>, Why>>()?;
                Ok(by.call1(PyTuple::new(self.py, args)?)?.unbind())
            }
            KeptObject::Graph(part) => {
                let KeptPart {
                    graph,
                    objects,
                    name,
                    is_module,
                } = *part;
                let objects = self.objects(digests, objects)?;
                (self.around.make_part)(self.py, graph, &objects, &name, is_module)
            }
        }
    }
}
