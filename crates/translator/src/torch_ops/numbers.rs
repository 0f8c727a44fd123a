//! Numbers that a tensor may take the place of: torch makes one of each number that is an operand.
//!
//! Only for tensors of 32 or 64 bits on the CPU: they are computed with in their own dtype, whatever the number is.
//! Where gradients are recorded the number's tensor can be seen in the history, so it stays torch's.

use std::sync::Arc;

use pyo3::prelude::*;
use tensor_meta::{DType, DeviceKind, Does, Inferred};
use variables::Var;

use super::emit::Callee;
use crate::stop::R;
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// `t.new_tensor(data)` of numbers that are no constants, as `torch.tensor`, which a compiler can trace.
    pub(super) fn new_tensor_of_numbers(&mut self, t: &Var, args: Args) -> R<Var> {
        let mut made = args;
        made.pos.remove(0);
        for name in ["dtype", "device"] {
            let given = made.kw.iter().position(|(kw, _)| &**kw == name);
            if given.is_none_or(|at| made.kw[at].1.is_none(self.py)) {
                made.kw.retain(|(kw, _)| &**kw != name);
                let own = self.getattr_sync(t, &Arc::from(name))?;
                made.kw.push((Arc::from(name), own));
            }
        }
        let make = Var::py(self.known.torch.getattr(self.py, "tensor")?);
        self.call_sync(&make, made)
    }

    /// The dtype of a tensor without dimensions that gives the same as the number that is the second operand.
    pub(super) fn number_dtype(
        &mut self,
        callee: &Callee<'_>,
        args: &Args,
        result: &Inferred,
    ) -> R<Option<&'static str>> {
        let is_operator = match callee {
            Callee::Function(_, path, _) => {
                path.starts_with("operator.") || path.starts_with("_operator.")
            }
            Callee::Method(_) => false,
        };
        let ([first, _], Inferred::Tensor(result)) = (&args.pos[..], result) else {
            return Ok(None);
        };
        if !(is_operator && callee.traits().any(Does::KEEPS_DTYPE)) || self.st.levels.is_active() {
            return Ok(None);
        }
        // Only tensors are looked at: a dynamic int would become a constant.
        let is_tensor = match first {
            Var::Lazy(lazy) => lazy.obj.bind(self.py).get_type().is(&self.known.tensor),
            first => matches!(first, Var::Tensor(_)),
        };
        if !is_tensor {
            return Ok(None);
        }
        let Var::Tensor(tensor) = self.realize(first)? else {
            return Ok(None);
        };
        let meta = self.st.effects.meta(&tensor);
        let is_plain = tensor.class.is(&self.known.tensor)
            && meta.device.kind == DeviceKind::Cpu
            && !(meta.requires_grad || result.requires_grad || meta.conj || meta.neg);
        let dtype = meta.dtype;
        let fits = is_plain && matches!(dtype, DType::Float32 | DType::Float64);
        Ok(fits.then(|| dtype.name()))
    }
}
