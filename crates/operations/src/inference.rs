//! Which tensors are of an inference mode: outside of one torch lets nobody write to them, nor save them for a backward.

use fx_graph::{Arg, NodeId, OpKind};
use pyo3::prelude::*;
use tensor_meta::{Does, Inferred};
use variables::{TensorVar, Var, raising};

use crate::SoFar;
use crate::args::Args;

impl SoFar<'_, '_> {
    /// Whether an operation may refuse to save one of its tensors for a backward.
    pub fn may_refuse_to_save(&self, args: &Args, inferred: &Inferred) -> PyResult<bool> {
        if !self.state.met_inference || !matches!(inferred, Inferred::Tensor(t) if t.requires_grad)
        {
            return Ok(false);
        }
        for given in args.values() {
            if matches!(given, Var::Tensor(t) if self.is_of_inference(t)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a tensor may be one of an inference mode.
    pub fn is_of_inference(&self, t: &TensorVar) -> PyResult<bool> {
        if !self.state.met_inference {
            return Ok(false);
        }
        let mut node = t.node;
        while let Some(data) = self.graph.get(node) {
            if matches!(data.op, OpKind::Placeholder | OpKind::GetAttr) {
                let input = self.inputs.iter().find(|input| input.node == node);
                let answer = input.map(|i| i.obj.bind(self.py).call_method0("is_inference"));
                return Ok(answer
                    .transpose()?
                    .is_some_and(|a| a.is_truthy().unwrap_or(true)));
            }
            let gives_first =
                raising::traits_of(data).any(Does::VIEW | Does::SHARES_DATA | Does::WRITES);
            match self.graph.inputs(node).first() {
                Some(&first) if gives_first => node = first,
                _ => return Ok(self.inference_at(node)),
            }
        }
        Ok(true)
    }

    /// Whether an inference mode is on where a node stands.
    fn inference_at(&self, node: NodeId) -> bool {
        let mut open = Vec::new();
        for (_, data) in self.graph.iter().take_while(|(id, _)| *id != node) {
            match raising::name_of(data) {
                "_enter_inference_mode" => open.push(data.args.first() == Some(&Arg::Bool(true))),
                "_exit_inference_mode" => drop(open.pop()),
                _ => {}
            }
        }
        open.last().copied().unwrap_or(self.ctx.inference_mode)
    }
}
