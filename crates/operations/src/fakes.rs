//! Arguments of an operation as torch's fake tensors.

use fx_graph::Arg;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};
use tensor_meta::{SymInt, TensorMeta};
use variables::Obj;

use crate::SoFar;
use crate::args::MetaArg;
use crate::fake_result::not_quantized;
use crate::sized_fakes::SizedFakes;

impl<'py> SoFar<'_, 'py> {
    /// An argument of an operation. Tensors become fake ones, which are kept in `fakes` by their nodes.
    ///
    /// # Errors
    /// For what can't be given to fake tensors, and what torch raises.
    pub fn fake_arg(
        &self,
        m: &MetaArg,
        a: &Arg,
        fakes: &mut Vec<(usize, Obj)>,
        sized: Option<&SizedFakes>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let mut all = |metas: &[MetaArg], args: &[Arg]| {
            let pairs = metas.iter().zip(args);
            let each = pairs.map(|(m, a)| self.fake_arg(m, a, fakes, sized));
            each.collect::<PyResult<Vec<_>>>()
        };
        Ok(match (m, a) {
            (MetaArg::Tensor(t), Arg::Node(n)) => {
                if let Some(f) = self.shadow(*n) {
                    fakes.push((n.0 as usize, f.clone()));
                    return Ok(f.bind(py).clone());
                }
                if let Some((_, f)) = fakes.iter().find(|(id, _)| *id == n.0 as usize) {
                    return Ok(f.bind(py).clone());
                }
                let f = self.fake_tensor(t, sized)?;
                fakes.push((n.0 as usize, f.clone().unbind()));
                f
            }
            (MetaArg::List(v), Arg::List(w)) => PyList::new(py, all(v, w)?)?.into_any(),
            (MetaArg::Tuple(v), Arg::Tuple(w)) => PyTuple::new(py, all(v, w)?)?.into_any(),
            (MetaArg::Dict(v), Arg::Dict(w)) => {
                let dict = PyDict::new(py);
                for (m, (key, value)) in v.chunks_exact(2).zip(w) {
                    let [key, value] = [(&m[0], key), (&m[1], value)]
                        .map(|(m, a)| self.fake_arg(m, a, fakes, sized));
                    dict.set_item(key?, value?)?;
                }
                dict.into_any()
            }
            (MetaArg::Slice(v), Arg::Slice(w)) => py
                .get_type::<PySlice>()
                .call1(PyTuple::new(py, all(&v[..], &w[..])?)?)?,
            (MetaArg::RaggedSize(of, dim), _) if let Some(fake) = self.shadow(*of) => {
                fake.bind(py).call_method1("size", (*dim,))?
            }
            (MetaArg::SymInt(n), _) if let Some(sized) = sized => sized.number(py, *n)?,
            (MetaArg::SymFloat, _) if let Some(sized) = sized => sized.float(py)?,
            (MetaArg::Int(i), _) => i.into_pyobject(py)?.into_any(),
            (MetaArg::Float(f), _) => f.into_pyobject(py)?.into_any(),
            (MetaArg::Bool(b), _) => b.into_pyobject(py)?.to_owned().into_any(),
            (MetaArg::None, _) => py.None().into_bound(py),
            (MetaArg::Str(s), _) => s.into_pyobject(py)?.into_any(),
            (MetaArg::Ellipsis, _) => py.Ellipsis().into_bound(py),
            (_, Arg::Opaque { handle, .. }) => self.objects[*handle as usize].bind(py).clone(),
            _ => {
                return Err(pyo3::exceptions::PyTypeError::new_err(
                    "an argument that FakeTensor can't be given",
                ));
            }
        })
    }

    /// A fake tensor of a description, in the mode that is entered.
    ///
    /// # Errors
    /// What torch raises.
    pub fn fake_tensor(
        &self,
        t: &TensorMeta,
        sized: Option<&SizedFakes>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        not_quantized(t)?;
        let torch = self.known.torch.bind(py);
        let int = |i: &SymInt| match sized {
            Some(sized) => sized.number(py, *i),
            None => Ok(i.as_const().unwrap_or(1).into_pyobject(py)?.into_any()),
        };
        let ints = |v: &[SymInt]| v.iter().map(int).collect::<PyResult<Vec<_>>>();
        let kw = PyDict::new(py);
        kw.set_item(
            "dtype",
            torch.getattr(t.dtype.name().trim_start_matches("torch."))?,
        )?;
        kw.set_item("device", t.device.to_string())?;
        let fake = torch.call_method(
            "empty_strided",
            (ints(&t.shape)?, ints(&t.strides)?),
            Some(&kw),
        )?;
        let mut fake = fake;
        if t.requires_grad && t.is_leaf {
            fake.call_method1("requires_grad_", (true,))?;
        } else if t.requires_grad {
            self.make_computed(&fake)?;
        }
        // The flags of lazy views: the strides are those of what is looked at.
        if t.conj {
            fake = fake.call_method0("conj")?;
        }
        if t.neg {
            fake = torch.call_method1("_neg_view", (fake,))?;
        }
        Ok(fake)
    }

    /// Gives a tensor a history, so that it is no leaf: those may not be written in place.
    ///
    /// # Errors
    /// What torch raises.
    pub fn make_computed(&self, fake: &Bound<'py, PyAny>) -> PyResult<()> {
        let torch = self.known.torch.bind(self.py);
        let grad = torch.getattr("enable_grad")?.call0()?;
        grad.call_method0("__enter__")?;
        let done = torch
            .call_method1("zeros", (PyTuple::empty(self.py),))
            .and_then(|zero| zero.call_method1("requires_grad_", (true,)))
            .and_then(|zero| zero.call_method1("to", (fake.getattr("dtype")?,)))
            .and_then(|zero| zero.call_method1("to", (fake.getattr("device")?,)))
            .and_then(|zero| fake.call_method1("add_", (zero,)));
        grad.call_method1("__exit__", (self.py.None(), self.py.None(), self.py.None()))?;
        // Memory that overlaps itself can't be written; such a tensor stays a leaf.
        if done.is_err() {
            fake.call_method1("requires_grad_", (true,))?;
        }
        Ok(())
    }
}
