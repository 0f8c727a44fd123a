//! What torch is told of a tensor's sizes, before it makes a fake of it: which are symbols, and which kind.
//!
//! Does not live here: which sizes may differ from call to call (the translator says so).
//!
//! Invariant: a view's base, and what a wrapper holds, is told of as well.

use fx_graph::ShapeLeaf;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList};

use crate::aot::{Torch, dict};
use crate::names;
use crate::ragged;

/// Names of attributes that lead to a tensor which another one holds, and dimensions of it.
pub(crate) type Held = (Vec<String>, Vec<usize>);

/// The dimensions of a tensor whose sizes may differ from call to call.
#[derive(Clone, Copy)]
pub(crate) struct DynamicDims<'a> {
    /// all of its own
    pub dims: &'a [usize],
    /// those among them of whose size nothing is to be known
    pub unbacked: &'a [usize],
    /// those of tensors that it holds
    pub held: &'a [Held],
    /// dimensions whose strides may differ, and do not follow from sizes
    pub strides: &'a [usize],
}

/// None.
pub(crate) const CONSTANT: DynamicDims<'static> = DynamicDims {
    dims: &[],
    unbacked: &[],
    held: &[],
    strides: &[],
};

impl<'a> DynamicDims<'a> {
    /// These of its own.
    pub fn of(dims: &'a [usize]) -> Self {
        DynamicDims { dims, ..CONSTANT }
    }
}

impl<'py> Torch<'py> {
    /// Sizes and strides of these dimensions symbolic, of the tensor and of those that it holds, all others constant or
    /// what follows from sizes.
    pub(crate) fn symbolic_context(
        &self,
        tensor: &Bound<'py, PyAny>,
        source: &Bound<'py, PyAny>,
        dynamic: DynamicDims<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = tensor.py();
        let kinds = self.shapes.getattr("DimDynamic")?;
        let kind = |name: &str| kinds.getattr(name);
        let (changes, fixed, unknown) = (kind("DYNAMIC")?, kind("STATIC")?, kind("UNBACKED")?);
        let shape: Vec<Bound<'py, PyAny>> = tensor.getattr("shape")?.extract()?;
        // The size of rows that differ in length is no number; all others of such a tensor follow from those of the
        // tensors that it holds.
        let is_ragged = shape.iter().any(|n| !n.is_exact_instance_of::<PyInt>());
        let kind_of = |dim: usize| match is_ragged || dynamic.dims.contains(&dim) {
            _ if dynamic.unbacked.contains(&dim) => &unknown,
            true => &changes,
            false => &fixed,
        };
        let sizes: Vec<_> = (0..shape.len()).map(kind_of).collect();
        let kwargs = dict(py, "dynamic_sizes", PyList::new(py, sizes)?)?;
        kwargs.set_item("tensor_source", source)?;
        if !dynamic.strides.is_empty() {
            let follows = kind("INFER_STRIDE")?;
            let kind_of = |dim: usize| match dynamic.strides.contains(&dim) {
                true => &changes,
                false => &follows,
            };
            let strides: Vec<_> = (0..shape.len()).map(kind_of).collect();
            kwargs.set_item("dynamic_strides", PyList::new(py, strides)?)?;
        }
        if tensor.call_method0("_is_view")?.is_truthy()? {
            let base = tensor.getattr("_base")?;
            let source = self.source.call_method1("AttrSource", (source, "_base"))?;
            let dims: Vec<usize> = match dynamic.dims.is_empty() && dynamic.strides.is_empty() {
                true if is_ragged => ragged::dims_of_values(tensor, &base, dynamic.held)?,
                true => Vec::new(),
                false => (0..base.call_method0("dim")?.extract()?).collect(),
            };
            let context = self.symbolic_context(&base, &source, DynamicDims::of(&dims))?;
            kwargs.set_item("view_base_context", context)?;
        }
        let class = match self.inner_contexts(tensor, source, dynamic.held)? {
            Some(inner) => {
                kwargs.set_item("inner_contexts", inner)?;
                "SubclassSymbolicContext"
            }
            None => "StatefulSymbolicContext",
        };
        self.shapes.call_method(class, (), Some(&kwargs))
    }

    /// A symbol for an int, or for a size that is an input without its tensor (`is_unbacked`).
    pub(crate) fn int_symbol(
        &self,
        shape_env: &Bound<'py, PyAny>,
        value: i64,
        source: &Bound<'py, PyAny>,
        is_unbacked: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kinds = self.shapes.getattr("DimDynamic")?;
        if !is_unbacked {
            let create = "create_unspecified_symint_and_symbol";
            return shape_env.call_method1(create, (value, source, kinds.getattr("DYNAMIC")?));
        }
        let kind = kinds.getattr("UNBACKED")?;
        let symbol = shape_env.call_method1("create_symbol", (value, source, kind))?;
        let kwargs = dict(shape_env.py(), "hint", shape_env.py().None())?;
        kwargs.set_item("source", source)?;
        shape_env.call_method("create_symintnode", (symbol,), Some(&kwargs))
    }

    /// A number of a tensor's own layout and its source; `None` for a leaf that is something else.
    pub(crate) fn layout_symbol(
        &self,
        tensor: &Bound<'py, PyAny>,
        source: &Bound<'py, PyAny>,
        leaf: &ShapeLeaf,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let (method, property, dim) = match leaf {
            ShapeLeaf::Size(_, dim) => ("size", "SIZE", Some(*dim)),
            ShapeLeaf::Stride(_, dim) => ("stride", "STRIDE", Some(*dim)),
            ShapeLeaf::Offset(_) => ("storage_offset", "STORAGE_OFFSET", None),
            ShapeLeaf::Int(_) | ShapeLeaf::Of(..) => return Ok(None),
        };
        let number = match dim {
            Some(dim) => tensor.call_method1(method, (dim,))?,
            None => tensor.call_method0(method)?,
        };
        let property = self.source.getattr("TensorProperty")?.getattr(property)?;
        let arguments = (source, property, dim);
        let source = self
            .source
            .call_method1("TensorPropertySource", arguments)?;
        Ok(Some((number, source)))
    }

    /// The contexts of the tensors that a wrapper subclass's holds, by their names.
    fn inner_contexts(
        &self,
        tensor: &Bound<'py, PyAny>,
        source: &Bound<'py, PyAny>,
        dynamic: &[Held],
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        if tensor.get_type().is(&self.tensor) || !tensor.hasattr(names::FLATTEN)? {
            return Ok(None);
        }
        let contexts = PyDict::new(tensor.py());
        let account = tensor.call_method0(names::FLATTEN)?;
        for name in account.get_item(0)?.try_iter()? {
            let name = name?.extract::<String>()?;
            let inner = tensor.getattr(&*name)?;
            if !inner.is_instance(&self.tensor)? {
                continue;
            }
            let source = self.source.call_method1("AttrSource", (source, &name))?;
            let within: Vec<Held> = dynamic
                .iter()
                .filter(|(path, _)| path.first() == Some(&name))
                .map(|(path, dims)| (path[1..].to_vec(), dims.clone()))
                .collect();
            let own = within.iter().find(|(path, _)| path.is_empty());
            let own = own.map_or(&[][..], |(_, dims)| dims);
            contexts.set_item(
                &name,
                self.symbolic_context(
                    &inner,
                    &source,
                    DynamicDims {
                        held: &within,
                        ..DynamicDims::of(own)
                    },
                )?,
            )?;
        }
        Ok(Some(contexts))
    }
}
