//! Inputs that share memory, at a compiler.
//!
//! Where the graph writes to one of them, AOTAutograd makes them anew from one tensor that autograd knows to be the base
//! of all. Others it refuses, or takes for tensors that are apart. Invariant: what it makes of a graph is called with
//! inputs that it can make so; with any others the graph runs as it is.

use fx_graph::AotInput;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyList, PyTuple};
use torch_abi::names::NO_CLASS_IS_ASKED;
use torch_abi::{TorchAbi, overlap};

use crate::names;

/// Tensors among the inputs of a graph that share memory with others.
#[derive(Default)]
pub struct SharedInputs {
    /// their positions
    at: Vec<usize>,
}

impl SharedInputs {
    /// Those among the examples for the inputs of a graph, and what AOTAutograd takes for such. Classes are not asked.
    ///
    /// # Errors
    /// Where torch lacks what AOTAutograd asks.
    pub fn of(examples: &Bound<'_, PyList>, inputs: &[AotInput]) -> PyResult<SharedInputs> {
        let Some(abi) = TorchAbi::loaded() else {
            return Ok(SharedInputs::default());
        };
        let is_tensor = |at| {
            let is_tensor = |input| matches!(input, &AotInput::Tensor { .. });
            inputs.get(at).is_none_or(is_tensor)
        };
        let tensors = examples.iter().enumerate().filter(|(at, _)| is_tensor(*at));
        let (at, tensors): (Vec<_>, Vec<_>) = tensors.unzip();
        let tensors: Vec<_> = tensors.iter().collect();
        let shares = overlap::shared(abi, &tensors).unwrap_or_else(|| vec![false; tensors.len()]);
        let shares = overlap::or_shared_to_torch(examples.py(), abi, &tensors, shares)?;
        let shared = at.into_iter().zip(shares).filter(|(_, shares)| *shares);
        Ok(SharedInputs {
            at: shared.map(|(at, _)| at).collect(),
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The base that AOTAutograd makes them anew of, if it does: one storage and one dtype for all, and one tensor that
    /// is the base of all others, and if it finds that they share.
    ///
    /// # Errors
    /// Whatever torch raises.
    pub fn base<'py>(
        &self,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = arguments.py();
        let torch_c = py.import(intern!(py, names::TORCH_C))?;
        let unasked = torch_c.call_method0(intern!(py, NO_CLASS_IS_ASKED))?;
        unasked.call_method0(intern!(py, "__enter__"))?;
        let found = self.have_one_base(arguments);
        let none = py.None();
        unasked.call_method1(intern!(py, "__exit__"), (&none, &none, &none))?;
        found
    }

    fn have_one_base<'py>(
        &self,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = arguments.py();
        let facts = |tensor: &Bound<'py, PyAny>| -> PyResult<(usize, String)> {
            let storage = tensor.call_method0(intern!(py, "untyped_storage"))?;
            let dtype = tensor.getattr(intern!(py, "dtype"))?.to_string();
            Ok((storage.getattr(intern!(py, "_cdata"))?.extract()?, dtype))
        };
        let mut known: Option<(Bound<'py, PyAny>, (usize, String))> = None;
        let mut has_views = false;
        for &at in &self.at {
            let tensor = arguments.get_item(at)?;
            let base = tensor.getattr(intern!(py, "_base"))?;
            let of_tensor = facts(&tensor)?;
            has_views |= !base.is_none();
            let base = if base.is_none() { tensor } else { base };
            match &known {
                None if facts(&base)? != of_tensor => return Ok(None),
                None => known = Some((base, of_tensor)),
                Some((first, of_first)) if !base.is(first) || of_tensor != *of_first => {
                    return Ok(None);
                }
                Some(_) => {}
            }
        }
        if !has_views || !self.are_shared_to_torch(arguments)? {
            return Ok(None);
        }
        Ok(known.map(|(base, _)| base))
    }

    /// Whether torch finds that all of them share memory: blocks of a matrix that share their corners it takes for
    /// tensors that are apart.
    fn are_shared_to_torch(&self, arguments: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let py = arguments.py();
        let tensors = self.at.iter().map(|at| arguments.get_item(*at));
        let tensors = tensors.collect::<PyResult<Vec<_>>>()?;
        let found = overlap::overlapping(py, &tensors.iter().collect::<Vec<_>>())?;
        Ok(found == self.at.len())
    }

    /// A function that calls `compiled`, which was made with this base, where its arguments are made anew of one like
    /// it, and `graph` otherwise. Both take the same.
    ///
    /// # Errors
    /// Where Python has no memory.
    pub fn choosing(
        self,
        base: &Bound<'_, PyAny>,
        inputs: &[AotInput],
        compiled: Py<PyAny>,
        graph: Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let py = base.py();
        // Its sizes are no input's, so that nothing else guards them. To a compiler that was told of sizes that change
        // they may change, too.
        let layout = match inputs.iter().any(AotInput::changes) {
            true => None,
            false => Some(layout_of(base)?),
        };
        let call = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            let py = args.py();
            let base = self.base(args)?;
            let fits = match (&base, &layout) {
                (Some(base), Some(known)) => layout_of(base)? == *known,
                (base, None) => base.is_some(),
                (None, _) => false,
            };
            match fits {
                true => compiled.call1(py, args),
                false => graph.call1(py, args),
            }
        };
        let function = PyCFunction::new_closure(py, Some(c"with_shared_inputs"), None, call)?;
        Ok(function.into_any().unbind())
    }
}

/// Sizes, strides and storage offset of a tensor that is no subclass's.
fn layout_of(tensor: &Bound<'_, PyAny>) -> PyResult<(Vec<i64>, Vec<i64>, i64)> {
    let py = tensor.py();
    let strides = tensor.call_method0(intern!(py, "stride"))?.extract()?;
    let offset = tensor
        .call_method0(intern!(py, "storage_offset"))?
        .extract()?;
    Ok((
        tensor.getattr(intern!(py, "shape"))?.extract()?,
        strides,
        offset,
    ))
}
