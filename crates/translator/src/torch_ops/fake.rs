//! The fallback where no rule knows an op: torch's FakeTensor propagation.
//!
//! Importing it costs about a second the first time; rules in `tensor-meta` make it rare.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};
use tensor_meta::{Alias, Does, Inferred, SymDims, SymInt, TensorMeta};
use torch_abi::TorchAbi;
use torch_abi::names;
use variables::Obj;

use super::args::{MetaArg, NodeArgs};
use super::emit::Callee;
use super::sized_fakes::SizedFakes;
use crate::stop::{R, Stop};
use crate::tx::Tx;

/// Whether torch's fake tensors say that a size depends on what a tensor holds.
fn is_about_data(py: Python<'_>, error: &PyErr) -> bool {
    let class = py
        .import(names::FAKE_TENSOR)
        .and_then(|module| module.getattr("DynamicOutputShapeException"));
    class.is_ok_and(|class| error.is_instance(py, &class))
}

impl<'py> Tx<'py> {
    /// Runs the op on fake tensors. `rule` says what its rule does not cover; empty where it has none.
    ///
    /// # Errors
    /// A break for data-dependent results and for what FakeTensor rejects.
    pub fn infer_fake(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        rule: &'static str,
    ) -> R<Inferred> {
        self.infer_on_fakes(callee, args, rule, false).map(|r| r.0)
    }

    /// The same, with the fake result.
    ///
    /// # Errors
    /// As [`Tx::infer_fake`].
    pub fn infer_fake_result(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        rule: &'static str,
    ) -> R<(Inferred, Obj)> {
        self.infer_on_fakes(callee, args, rule, true)
    }

    fn infer_on_fakes(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        rule: &'static str,
        kept: bool,
    ) -> R<(Inferred, Obj)> {
        let what = match callee {
            Callee::Function(_, path, _) => (*path).to_string(),
            Callee::Method(name) => format!("Tensor.{name}"),
        };
        if callee.traits().any(Does::QUANTIZES) {
            return Err(Stop::brk(
                format!("Operation that makes a quantized tensor: {what}"),
                "A graph describes tensors by their sizes and dtype, which leaves out the scale and the zero point.",
                "Quantize outside of the compiled function, or use `torch.fake_quantize_per_tensor_affine`.",
            ));
        }
        let asked = match rule {
            "" => what.clone(),
            uncovered => format!("{what} ({uncovered})"),
        };
        *self.facts.fake_ops.entry(asked).or_default() += 1;
        if let Some(found) = self.infer_with_sizes(callee, args, kept)? {
            return Ok(found);
        }
        let fixed = self.fix_args(args);
        let args = fixed.as_ref().unwrap_or(args);
        match self.run_fake(callee, args, None) {
            Ok(v) => Ok(v),
            Err(e)
                if is_about_data(self.py, &e)
                    && let Some(found) = self.infer_by_data(callee, args)? =>
            {
                Ok(found)
            }
            Err(e) if is_about_data(self.py, &e) => Err(Stop::brk(
                format!("Operation whose result's size depends on data: {what}"),
                "How large the result is depends on the values of a tensor, which are known only when the graph runs.",
                "Set `config.capture_dynamic_output_shape_ops`, which keeps it in the graph; or keep the size fixed (`torch.where(mask, x, 0)` in place of `x[mask]`, a sum of the mask in place of a count of what it selects); or do this before or after the compiled function.",
            )),
            Err(e) => Err(Stop::brk(
                format!("Operation that can't be described without running it: {what}"),
                format!("FakeTensor propagation of {what} failed: {e}"),
                "Its result depends on data, or its arguments are wrong; call it outside the compiled function.",
            )),
        }
    }

    pub(super) fn run_fake(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        sized: Option<&SizedFakes>,
    ) -> PyResult<(Inferred, Obj)> {
        let py = self.py;
        let mode = match sized {
            Some(sized) => sized.mode(py),
            None => self.fake_mode()?,
        };
        let mode = mode.bind(py);
        let grad = py
            .import("torch")?
            .getattr("set_grad_enabled")?
            .call1((self.st.grad_enabled && !self.inference_now(),))?;
        // It logs what fails as an error of its own; here the failure is the answer.
        let log = py
            .import("logging")?
            .call_method1("getLogger", (names::FAKE_TENSOR,))?;
        let silent = log.getattr("disabled")?;
        log.setattr("disabled", true)?;
        let result = (|| {
            mode.call_method0("__enter__")?;
            let mut fakes: Vec<(usize, Obj)> = Vec::new();
            let mut run = |tx: &Self| -> PyResult<(Inferred, Obj)> {
                let pos = args
                    .meta_pos
                    .iter()
                    .zip(&args.pos)
                    .map(|(m, a)| tx.fake_arg(m, a, &mut fakes, sized))
                    .collect::<PyResult<Vec<_>>>()?;
                let kw = PyDict::new(py);
                for ((n, m), (_, a)) in args.meta_kw.iter().zip(&args.kw) {
                    kw.set_item(&**n, tx.fake_arg(m, a, &mut fakes, sized)?)?;
                }
                let contexts = tx.real_autocasts()?;
                for c in &contexts {
                    c.call_method0("__enter__")?;
                }
                let out = match callee {
                    Callee::Function(f, _, _) => f.bind(py).call(PyTuple::new(py, pos)?, Some(&kw)),
                    Callee::Method(name) => {
                        pos[0].call_method(*name, PyTuple::new(py, &pos[1..])?, Some(&kw))
                    }
                };
                for c in contexts.iter().rev() {
                    c.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
                }
                let out = out?;
                let first = fakes.first().map(|f| f.1.clone());
                Ok((fake_result(py, &out, first.as_ref(), sized)?, out.unbind()))
            };
            self.enter_levels(sized)?;
            let r = run(self);
            self.leave_levels()?;
            mode.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
            if sized.is_some() && r.as_ref().is_ok_and(|(_, out)| self.is_wrapper(out)) {
                self.keep_lengths(&fakes);
            }
            r
        })();
        log.setattr("disabled", silent)?;
        // `set_grad_enabled` is a context manager that acts when made: leaving it restores.
        grad.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        result
    }

    /// The mode of all fake tensors that are kept.
    ///
    /// # Errors
    /// What torch raises.
    pub fn fake_mode(&mut self) -> PyResult<Obj> {
        if let Some(m) = &self.facts.fake_mode {
            return Ok(m.clone());
        }
        let class = self
            .py
            .import(names::FAKE_TENSOR)?
            .getattr("FakeTensorMode")?;
        let kw = PyDict::new(self.py);
        kw.set_item("allow_non_fake_inputs", true)?;
        let m = class.call((), Some(&kw))?.unbind();
        self.facts.fake_mode = Some(m.clone());
        Ok(m)
    }

    fn fake_arg(
        &self,
        m: &MetaArg,
        a: &fx_graph::Arg,
        fakes: &mut Vec<(usize, Obj)>,
        sized: Option<&SizedFakes>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let torch = self.known.torch.bind(py);
        Ok(match (m, a) {
            (MetaArg::Tensor(t), fx_graph::Arg::Node(n)) => {
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
            (MetaArg::List(v), fx_graph::Arg::List(w)) => PyList::new(
                py,
                v.iter()
                    .zip(w)
                    .map(|(m, a)| self.fake_arg(m, a, fakes, sized))
                    .collect::<PyResult<Vec<_>>>()?,
            )?
            .into_any(),
            (MetaArg::Tuple(v), fx_graph::Arg::Tuple(w)) => PyTuple::new(
                py,
                v.iter()
                    .zip(w)
                    .map(|(m, a)| self.fake_arg(m, a, fakes, sized))
                    .collect::<PyResult<Vec<_>>>()?,
            )?
            .into_any(),
            (MetaArg::Slice(v), fx_graph::Arg::Slice(w)) => {
                let parts = v
                    .iter()
                    .zip(w.iter())
                    .map(|(m, a)| self.fake_arg(m, a, fakes, sized))
                    .collect::<PyResult<Vec<_>>>()?;
                py.get_type::<PySlice>().call1(PyTuple::new(py, parts)?)?
            }
            (MetaArg::SymInt(n), _) if let Some(sized) = sized => sized.number(py, *n)?,
            (MetaArg::Int(i), _) => i.into_pyobject(py)?.into_any(),
            (MetaArg::Float(f), _) => f.into_pyobject(py)?.into_any(),
            (MetaArg::Bool(b), _) => b.into_pyobject(py)?.to_owned().into_any(),
            (MetaArg::None, _) => py.None().into_bound(py),
            (MetaArg::Str(s), _) => s.into_pyobject(py)?.into_any(),
            (MetaArg::Ellipsis, _) => py.Ellipsis().into_bound(py),
            (_, fx_graph::Arg::Opaque { handle, .. }) => {
                self.facts.objects[*handle as usize].bind(py).clone()
            }
            _ => {
                let _ = torch;
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

/// What a fake result is like; `first` is the first argument.
///
/// # Errors
/// Where that can't be described.
pub fn fake_result<'py>(
    py: Python<'py>,
    out: &Bound<'py, PyAny>,
    first: Option<&Obj>,
    sized: Option<&SizedFakes>,
) -> PyResult<Inferred> {
    if out.is_none() {
        return Ok(Inferred::None);
    }
    let abi =
        TorchAbi::get(py).map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))?;
    if abi.classify(out) != torch_abi::TensorClass::No {
        let strided = match sized {
            Some(_) => abi
                .is_strided(py, out)
                .and_then(|is| Ok(is || abi.is_jagged(py, out)?)),
            None => abi.is_strided(py, out),
        };
        if !strided.map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))? {
            // Sizes and strides don't say what the next op makes of it.
            return Err(pyo3::exceptions::PyTypeError::new_err(
                "a sparse, nested or MKL-DNN tensor",
            ));
        }
        let int = |n: Bound<'py, PyAny>| -> PyResult<SymInt> {
            match sized {
                Some(sized) => sized.size(&n),
                None if n.is_exact_instance_of::<pyo3::types::PyInt>() => {
                    Ok(SymInt::Const(n.extract()?))
                }
                None => Err(pyo3::exceptions::PyValueError::new_err(
                    "the result's shape depends on data",
                )),
            }
        };
        let ints = |n: &str| -> PyResult<SymDims> {
            let all = out.call_method0(n)?;
            all.try_iter()?.map(|n| int(n?)).collect()
        };
        let dtype = tensor_meta::DType::from_name(&out.getattr("dtype")?.str()?.to_string());
        let device = tensor_meta::Device::parse(&out.getattr("device")?.str()?.to_string());
        let (Some(dtype), Some(device)) = (dtype, device) else {
            return Err(pyo3::exceptions::PyValueError::new_err(
                "unknown dtype or device",
            ));
        };
        let mut meta = TensorMeta::strided(&[], &[], dtype, device)
            .with_grad(out.getattr("requires_grad")?.extract()?);
        (meta.shape, meta.strides) = (ints("size")?, ints("stride")?);
        meta.is_leaf = out.getattr("is_leaf")?.extract()?;
        meta.alias = if first.is_some_and(|f| f.is(out)) {
            Alias::Identity
        } else {
            Alias::View
        };
        if meta.dtype.is_complex() {
            meta.conj = out.call_method0("is_conj")?.extract()?;
        }
        if meta.dtype.is_complex() || first.is_some_and(|f| is_complex(f.bind(py))) {
            meta.neg = out.call_method0("is_neg")?.extract()?;
        }
        not_quantized(&meta)?;
        meta.storage_offset = int(out.call_method0("storage_offset")?)?;
        return Ok(Inferred::Tensor(meta));
    }
    let items = |o: &Bound<'py, PyAny>| -> PyResult<Vec<Inferred>> {
        o.try_iter()?
            .map(|i| fake_result(py, &i?, first, sized))
            .collect()
    };
    if out.is_exact_instance_of::<PyTuple>() {
        return Ok(Inferred::Tuple(items(out)?));
    }
    if out.is_exact_instance_of::<PyList>() {
        return Ok(Inferred::List(items(out)?));
    }
    if out.cast::<PyTuple>().is_ok() && out.get_type().hasattr("n_sequence_fields")? {
        let name: String = out.get_type().name()?.extract()?;
        return Ok(Inferred::NamedTuple {
            type_name: interned(&name),
            items: items(out)?,
        });
    }
    if let Ok(b) = out.cast_exact::<pyo3::types::PyBool>() {
        return Ok(Inferred::Bool(b.is_true()));
    }
    let size = |n: &Bound<'py, PyAny>| match sized {
        Some(sized) => sized.size(n),
        None => Ok(SymInt::Const(n.extract()?)),
    };
    let torch = py.import("torch")?;
    if out.is_exact_instance(&torch.getattr("Size")?) {
        let dims = out.try_iter()?.map(|n| size(&n?));
        return Ok(Inferred::Size(dims.collect::<PyResult<_>>()?));
    }
    if out.is_exact_instance_of::<pyo3::types::PyInt>()
        || out.is_exact_instance(&torch.getattr("SymInt")?)
    {
        return Ok(Inferred::Int(size(out)?));
    }
    Err(pyo3::exceptions::PyTypeError::new_err(format!(
        "a result of type {}",
        out.get_type().name()?
    )))
}

/// A fake tensor has no scale and no zero point: what is done with it is another thing.
fn not_quantized(t: &TensorMeta) -> PyResult<()> {
    match t.dtype.is_quantized() {
        true => Err(pyo3::exceptions::PyTypeError::new_err("a quantized tensor")),
        false => Ok(()),
    }
}

fn is_complex(t: &Bound<'_, PyAny>) -> bool {
    t.call_method0("is_complex")
        .and_then(|c| c.extract())
        .unwrap_or(false)
}

/// A name that lives as long as the process; there are as many as torch has named result types.
fn interned(name: &str) -> &'static str {
    static NAMES: std::sync::Mutex<Vec<&'static str>> = std::sync::Mutex::new(Vec::new());
    let mut names = NAMES
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = names.iter().find(|n| **n == name) {
        return known;
    }
    let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.push(leaked);
    leaked
}
