//! Operations that write what they give to tensors which they are given: `out=`.
//!
//! Invariant: a tensor that they would resize, or that autograd knows of, is left to Python.

use std::rc::Rc;

use tensor_meta::Inferred;
use variables::{TensorVar, TupleVar, Var};

use super::emit::{Callee, STANDING_IN};
use super::raising;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// An operation with `out=`: what it would give fits the tensor that is given, which it then is.
    ///
    /// # Errors
    /// A break where the tensor would be resized or its autograd history matters.
    pub(super) fn emit_into(&mut self, callee: &Callee<'_>, mut args: Args) -> R<Var> {
        self.not_seen_with(STANDING_IN, &args)?;
        let Callee::Function(_, path, _) = callee else {
            return Err(Stop::Internal("a method with out=".into()));
        };
        let unfit = || {
            Stop::unsupported(format!(
                "{path} with out= of another shape or with autograd"
            ))
        };
        let Some(at) = args.kw.iter().position(|(n, _)| &**n == "out") else {
            return Err(unfit());
        };
        let (name, out) = args.kw.remove(at);
        let out = self.realize(&out)?;
        let given = match &out {
            Var::Tuple(t) => t.items.clone(),
            one => vec![one.clone()],
        };
        let mut tensors = Vec::new();
        for v in given {
            match self.realize(&v)? {
                Var::Tensor(t) => tensors.push(t),
                _ => return Err(unfit()),
            }
        }
        if self.st.effects.shows_tensors || self.st.levels.records() {
            return Err(unfit());
        }
        let mut node_args = self.node_args(&args)?;
        let inferred = self.infer(callee, &node_args)?;
        let (results, class) = match (inferred, &out) {
            (one @ Inferred::Tensor(_), Var::Tensor(_)) => (vec![one], None),
            (Inferred::Tuple(items), Var::Tuple(_)) => (items, None),
            (Inferred::NamedTuple { type_name, items }, Var::Tuple(_)) => {
                (items, Some(self.return_type(type_name)?))
            }
            _ => return Err(unfit()),
        };
        let fits = |t: &TensorVar, result: &Inferred| {
            let Inferred::Tensor(result) = result else {
                return false;
            };
            let meta = self.st.effects.meta(t);
            meta.shape == result.shape
                && meta.device == result.device
                && !meta.requires_grad
                && !result.requires_grad
        };
        let all_fit = tensors.len() == results.len()
            && tensors
                .iter()
                .zip(&results)
                .all(|(t, result)| fits(t, result));
        if !all_fit {
            return Err(unfit());
        }
        let is_cast = |t: &TensorVar, result: &Inferred| match result {
            Inferred::Tensor(result) => self.st.effects.meta(t).dtype != result.dtype,
            _ => false,
        };
        if tensors
            .iter()
            .zip(&results)
            .any(|(t, result)| is_cast(t, result))
        {
            // Which results torch casts, and to what, its fakes say.
            args.kw.push((name.clone(), out.clone()));
            let with_out = self.node_args(&args)?;
            self.infer_fake(callee, &with_out, "out= of another dtype")
                .map_err(|_| unfit())?;
            args.kw.pop();
        }
        node_args.kw.push((name, self.node_arg(&out)?.0));
        let mut shared = false;
        for (at, t) in tensors.iter().enumerate() {
            self.lets_write(t)?;
            shared |= self.so_far().memory_is_shared(t, &args.pos);
            // What is written last would decide.
            let others: Vec<Var> = tensors[..at].iter().cloned().map(Var::Tensor).collect();
            let is_given_twice = tensors[..at].iter().any(|other| other.node == t.node);
            if is_given_twice || at > 0 && self.so_far().memory_is_shared(t, &others) {
                return Err(unfit());
            }
        }
        let node = self.add_node(callee, node_args.pos, node_args.kw)?;
        self.log.graph.set_impure(node, true);
        if shared && raising::raises_early(&self.log.graph, node) {
            self.log.graph.set_may_refuse_write(node);
        }
        self.leads_to_handlers(node)?;
        Ok(match &out {
            Var::Tuple(_) => Var::Tuple(Rc::new(TupleVar {
                items: tensors.into_iter().map(Var::Tensor).collect(),
                class,
                origin: None,
            })),
            _ => out,
        })
    }
}
