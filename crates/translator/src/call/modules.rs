//! Modules of which no piece is worth a graph: plain Python calls them whole.

use std::sync::Arc;

use fx_graph::ModuleCall;
use pyo3::prelude::*;
use pyo3::types::PyType;
use torch_abi::modules::has_backward_hooks;
use variables::{ObjId, Origin};

use crate::raw::instance_dict;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// Looks at a module and at what it is called with.
    ///
    /// # Errors
    /// A break for a module with backward hooks, and for a recurrent one over a packed sequence.
    pub(super) fn check_module_call(&mut self, module: ObjId, args: &Args) -> R<()> {
        if self.has_hooks(module)? {
            return Err(Stop::brk(
                "Module with backward hooks",
                "The hooks are called for the autograd node that the module's own operations make, so the module is called in eager mode, between two graphs.",
                "Remove the hooks, or use `Tensor.register_hook` outside of the compiled function.",
            ));
        }
        if self.takes_packed(module, args)? {
            return Err(packed("a recurrent module"));
        }
        Ok(())
    }

    /// Notes that the innermost frame is a call of a module. One that was made inside has no name.
    pub(super) fn note_module(&mut self, module: ObjId) {
        let Origin::Source { obj, source } = self.obj(module).origin.clone() else {
            return;
        };
        let class = self.obj(module).class.clone();
        let call = ModuleCall {
            path: self.facts.sources.path(source),
            module: obj.as_ptr() as usize,
            class: self.handle(&class),
            outer: self.st.frame.module.take(),
        };
        self.st.frame.module = Some(Arc::new(call));
    }

    /// Whether a module that existed before has backward hooks, and gradients are recorded. Where it has
    /// none, its call finds that out, and guards it.
    fn has_hooks(&self, module: ObjId) -> R<bool> {
        let Origin::Source { obj, .. } = &self.obj(module).origin else {
            return Ok(false);
        };
        let module = obj.bind(self.py);
        let Some(attributes) = instance_dict(module).filter(|_| self.st.grad_enabled) else {
            return Ok(false);
        };
        Ok(has_backward_hooks(&attributes)?)
    }

    fn takes_packed(&mut self, module: ObjId, args: &Args) -> R<bool> {
        let class = self.obj(module).class.clone();
        let is_recurrent = self.is_subtype(&class, &self.known.recurrent.clone());
        let Some(input) = args.pos.first().filter(|_| is_recurrent) else {
            return Ok(false);
        };
        let input = self.realize(&input.clone())?;
        let class = self.type_of(&input)?;
        let class = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        Ok(class.name()? == "PackedSequence" && class.module()? == "torch.nn.utils.rnn")
    }
}

/// The break in front of what packs a sequence, or works on a packed one.
pub fn packed(what: &str) -> Stop {
    Stop::brk(
        format!("Packed sequence in {what}"),
        "How many sequences there are at each step depends on the values of their lengths, so it is done in eager mode, between two graphs.",
        "Mask padded positions instead, or pack in front of the compiled function.",
    )
}
