//! The contexts of torch that are open where the frame stands, and what is in force because of them: `torch.autocast`
//! and `torch.inference_mode`, which nodes of the graph enter and leave, labels for the profiler, which a graph has not,
//! the function mode that makes subscripts of a tensor look-ups by tensors, function modes of the program, and devices.
//!
//! Not here: how a program enters and leaves them (the crate `torch-rules`).
//!
//! Invariant: a graph leaves every context that it enters. One that is open where a graph ends is
//! entered by the residual code, as the object that it is.

use fx_graph::{Arg, Kwargs, NodeId};
use operations::contexts::MODULE;
use pyo3::prelude::*;
use torch_abi::names;
use variables::Obj;
use variables::contexts::Effect;

use crate::stop::R;
use crate::tx::Tx;

/// The module of torch with the functions that enter and leave an inference mode.
pub const GRAD_MODE: &str = "torch.autograd.grad_mode";

/// The module of the mode that makes subscripts of a tensor look-ups by tensors.
pub const SUBSCRIPTS: &str = names::TRACE_WRAPPED;

impl Tx<'_> {
    /// The grad mode changes from here on, in the graph as well.
    ///
    /// # Errors
    /// Whatever looking at the function `f` that sets it raises.
    pub fn set_grad_enabled(&mut self, f: &Obj, enabled: bool) -> R<()> {
        // A transform sets it whatever it is.
        if self.st.levels.whole > 0 && self.st.grad_enabled == enabled {
            return Ok(());
        }
        let target = self.target(f, names::SET_GRAD_ENABLED_PATH)?;
        let node = self
            .log
            .graph
            .call_function(target, vec![Arg::Bool(enabled)], Kwargs::new());
        self.log.graph.set_impure(node, true);
        self.st.grad_enabled = enabled;
        Ok(())
    }

    /// Leaves what is still open, innermost first, for the end of the graph.
    ///
    /// # Errors
    /// [`crate::Stop::Internal`] where torch lacks the function.
    pub fn close_contexts(&mut self) -> R<()> {
        for open in self.st.contexts.clone().iter().rev() {
            self.leave_in_graph(&open.effect)?;
            if let Effect::Inference(mode) = open.effect {
                self.st.grad_enabled = mode.grad_enabled;
            }
        }
        Ok(())
    }

    /// Makes the node that leaves a context.
    pub fn leave_in_graph(&mut self, effect: &Effect) -> R<()> {
        match effect {
            Effect::Label
            | Effect::Subscripts
            | Effect::Device
            | Effect::Functions
            | Effect::Classes(_) => {}
            Effect::Cast(cast) => {
                self.autocast_node("_exit_autocast", vec![Arg::Node(cast.node)])?;
            }
            Effect::Inference(mode) => {
                let f = self.py.import(GRAD_MODE)?.getattr("_exit_inference_mode")?;
                self.state_node(&f, GRAD_MODE, vec![Arg::Node(mode.node)])?;
            }
        }
        Ok(())
    }

    /// The node of one of the functions that enter and leave autocast.
    ///
    /// # Errors
    /// As [`Tx::state_node`].
    pub fn autocast_node(&mut self, name: &str, args: Vec<Arg>) -> R<NodeId> {
        let f = self.py.import(MODULE)?.getattr(name)?;
        self.state_node(&f, MODULE, args)
    }

    /// A node that changes torch's state.
    ///
    /// # Errors
    /// Whatever looking at the function raises.
    pub fn state_node(&mut self, f: &Bound<'_, PyAny>, module: &str, args: Vec<Arg>) -> R<NodeId> {
        let name: String = f.getattr("__name__")?.extract()?;
        let target = self.target(&f.clone().unbind(), &format!("{module}.{name}"))?;
        let node = self.log.graph.call_function(target, args, Kwargs::new());
        self.log.graph.set_impure(node, true);
        Ok(node)
    }
}
