//! The fallback where no rule knows an op: torch's FakeTensor propagation.
//!
//! Importing it costs about a second the first time; rules in `tensor-meta` make it rare.

pub use operations::fake_result::fake_result;
use operations::fake_result::named_classes;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tensor_meta::{Does, Inferred};
use torch_abi::names;
use torch_abi::size_symbols::MayDepend;
use variables::Obj;

use super::args::NodeArgs;
use super::emit::Callee;
use super::sized_fakes::SizedFakes;
use crate::stop::{R, Stop};
use crate::tx::Tx;

/// What depends on what a tensor holds, as torch's fake tensors say.
fn depends_on_data(py: Python<'_>, error: &PyErr) -> Option<MayDepend> {
    let module = py.import(names::FAKE_TENSOR).ok()?;
    let said = [
        ("DynamicOutputShapeException", MayDepend::Sizes),
        ("DataDependentOutputException", MayDepend::Numbers),
    ];
    let is_one = |name| {
        module
            .getattr(name)
            .is_ok_and(|class| error.is_instance(py, &class))
    };
    let found = said.into_iter().find(|(name, _)| is_one(*name));
    found.map(|(_, may)| may)
}

fn words_for(callee: &Callee<'_>) -> String {
    match callee {
        Callee::Function(_, path, _) => (*path).to_string(),
        Callee::Method(name) => format!("Tensor.{name}"),
    }
}

/// What torch's fake tensors can't describe is not asked of them, and no compiler gets it: where such a tensor leaves
/// its graph, it has no scale.
///
/// # Errors
/// A break for an operation that makes quantized tensors.
pub(super) fn makes_no_quantized(callee: &Callee<'_>) -> R<()> {
    match callee.traits().any(Does::QUANTIZES) {
        true => Err(Stop::brk(
            format!(
                "Operation that makes a quantized tensor: {}",
                words_for(callee)
            ),
            "A graph describes tensors by their sizes and dtype, which leaves out the scale and the zero point.",
            "Quantize outside of the compiled function, or use `torch.fake_quantize_per_tensor_affine`.",
        )),
        false => Ok(()),
    }
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
        makes_no_quantized(callee)?;
        let what = words_for(callee);
        let asked = match rule {
            "" => what.clone(),
            uncovered => format!("{what} ({uncovered})"),
        };
        *self.facts.fake_ops.entry(asked).or_default() += 1;
        if let Some(found) = self.infer_with_sizes(callee, args, kept)? {
            return Ok(found);
        }
        if self.ints.has_unbacked && self.has_unbacked(args) {
            return Err(self.needs_backed());
        }
        let fixed = self.fix_args(args);
        let args = fixed.as_ref().unwrap_or(args);
        match self.run_fake(callee, args, None) {
            Ok(v) => Ok(v),
            Err(e)
                if let Some(may) = depends_on_data(self.py, &e)
                    && let Some(found) = self.infer_by_data(callee, args, may)? =>
            {
                Ok(found)
            }
            Err(e) if depends_on_data(self.py, &e) == Some(MayDepend::Sizes) => Err(Stop::brk(
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
            .call1((self.st.grad_enabled && !self.so_far().inference_now(),))?;
        // It logs what fails as an error of its own; here the failure is the answer.
        let log = py
            .import("logging")?
            .call_method1("getLogger", (names::FAKE_TENSOR,))?;
        let silent = log.getattr("disabled")?;
        log.setattr("disabled", true)?;
        let result = mode.call_method0("__enter__").and_then(|_| {
            let mut fakes: Vec<(usize, Obj)> = Vec::new();
            let mut run = |tx: &mut Self| -> PyResult<(Inferred, Obj)> {
                let pos = args
                    .meta_pos
                    .iter()
                    .zip(&args.pos)
                    .map(|(m, a)| tx.so_far().fake_arg(m, a, &mut fakes, sized))
                    .collect::<PyResult<Vec<_>>>()?;
                let kw = PyDict::new(py);
                for ((n, m), (_, a)) in args.meta_kw.iter().zip(&args.kw) {
                    kw.set_item(&**n, tx.so_far().fake_arg(m, a, &mut fakes, sized)?)?;
                }
                // Tensors from outside belong to no level.
                tx.enter_levels(sized)?;
                let allow = tx.allow_leaves(tx.st.levels.makes_leaves)?;
                let contexts = tx.so_far().real_autocasts()?;
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
                let out = out.and_then(|out| {
                    let first = fakes.first().map(|f| f.1.clone());
                    let mut classes = Vec::new();
                    named_classes(&out, &mut classes)?;
                    tx.facts.result_classes.extend(classes);
                    Ok((fake_result(py, &out, first.as_ref(), sized)?, out.unbind()))
                });
                tx.allow_leaves(allow)?;
                tx.leave_levels()?;
                out
            };
            // Torch's kernels in Python leave a number a symbol where those in C++ want it plain.
            let dispatcher = match sized.is_some() && self.st.levels.entered.is_empty() {
                true => Some(
                    py.import(names::PYTHON_DISPATCH)?
                        .call_method0("enable_python_dispatcher")?,
                ),
                false => None,
            };
            if let Some(dispatcher) = &dispatcher {
                dispatcher.call_method0("__enter__")?;
            }
            let r = run(self);
            if let Some(dispatcher) = &dispatcher {
                dispatcher.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
            }
            mode.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
            if sized.is_some() && r.as_ref().is_ok_and(|(_, out)| self.is_wrapper(out)) {
                self.keep_lengths(&fakes);
            }
            r
        });
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
}
