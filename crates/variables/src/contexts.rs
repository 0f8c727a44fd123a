//! What of torch is in force where the frame stands: the contexts that are open, function modes, levels of torch's function
//! transforms.
//!
//! Not here: how a program enters and leaves them (`torch-rules`), and what follows for a node (`translator`).

use std::cell::Cell;
use std::rc::Rc;

use fx_graph::NodeId;
use pyo3::prelude::*;

use crate::{IntVar, Obj, Var};

/// A context that was entered in the compiled function.
#[derive(Clone, Debug)]
pub struct OpenContext {
    /// the context: an object, or a device
    pub context: Var,
    /// what it does
    pub effect: Effect,
}

impl OpenContext {
    /// Whether it is a function mode of the program: its own `__enter__` was followed, and is not run again.
    pub fn is_function_mode(&self) -> bool {
        matches!(self.effect, Effect::Functions)
    }

    /// Whether it is this context that was entered.
    pub fn is(&self, context: &Var) -> bool {
        match (&self.context, context) {
            (Var::Obj(a), Var::Obj(b)) => a == b,
            // One device is like another: leaving it leaves the last.
            (Var::Const(_), Var::Const(_)) => true,
            _ => false,
        }
    }
}

/// What entering a context changed.
#[derive(Clone, Debug)]
pub enum Effect {
    /// nothing that a graph could show
    Label,
    /// casts of arguments
    Cast(Rc<Cast>),
    /// whether new tensors are inference tensors
    Inference(Inference),
    /// subscripts are calls of another function
    Subscripts,
    /// factories make tensors on the device that the context is
    Device,
    /// torch asks a mode of the program before it runs a function
    Functions,
    /// torch asks no class of tensors; whether that was so before
    Classes(bool),
}

/// An inference mode.
#[derive(Clone, Copy, Debug)]
pub struct Inference {
    /// the node that entered it
    pub node: NodeId,
    /// whether it is switched on, or off
    pub enabled: bool,
    /// the grad mode to go back to
    pub grad_enabled: bool,
}

/// An autocast context.
#[derive(Debug)]
pub struct Cast {
    /// the node that entered it
    pub node: NodeId,
    /// the device type whose operations are cast
    pub device: String,
    /// whether it is switched on, or off
    pub enabled: bool,
    /// what arguments are cast to
    pub dtype: Obj,
    /// whether casts of parameters are kept
    pub cache: bool,
}

/// What torch asks before it runs a function.
#[derive(Clone, Debug)]
pub enum FunctionMode {
    /// a mode with Python code of its own
    Program(Var),
    /// a device that was entered: factories make tensors there
    Device(Obj),
}

impl FunctionMode {
    /// The device, where it is one.
    pub fn device(&self) -> Option<&Obj> {
        match self {
            FunctionMode::Device(device) => Some(device),
            FunctionMode::Program(_) => None,
        }
    }
}

/// A level of torch's function transforms.
#[derive(Clone)]
pub struct Level {
    /// the node that enters it
    pub node: NodeId,
    /// what happens to tensors in it
    pub kind: LevelKind,
}

/// What a level does.
#[derive(Clone)]
pub enum LevelKind {
    /// It batches tensors: the size and the randomness of the batch.
    Batch(Rc<IntVar>, Obj),
    /// It records derivatives: torch's level, in which the shadows are. It is entered for each operation.
    Derivative(Obj),
}

/// torch's level of forward mode, entered as long as a state has it: tangents of shadows are lost where it is left.
pub struct DualLevel {
    /// leaves it, once
    leave: Cell<Option<Obj>>,
}

impl DualLevel {
    /// The level that has just been entered; `leave` takes no argument.
    pub fn entered(leave: Obj) -> Rc<DualLevel> {
        let leave = Cell::new(Some(leave));
        Rc::new(DualLevel { leave })
    }

    /// Leaves it for good, where it is entered.
    ///
    /// # Errors
    /// What torch raises.
    pub fn leave(&self, py: Python<'_>) -> PyResult<()> {
        match self.leave.take() {
            Some(leave) => leave.call0(py).map(drop),
            None => Ok(()),
        }
    }

    /// Whether it is entered.
    pub fn is_entered(&self) -> bool {
        let leave = self.leave.take();
        let is_entered = leave.is_some();
        self.leave.set(leave);
        is_entered
    }
}

impl Drop for DualLevel {
    fn drop(&mut self) {
        // Nothing can be done about an error here: the level is gone then.
        Python::attach(|py| drop(self.leave(py)));
    }
}

/// The levels that are entered, and the shadows of nodes in them.
#[derive(Clone, Default)]
pub struct Levels {
    /// innermost last
    pub entered: im::Vector<Level>,
    /// fake tensors that torch has wrapped for a level, by node
    pub shadows: im::HashMap<u32, Obj>,
    /// what was wrapped, with its fake tensor: unwrapping gives the same object where nothing moved
    pub wrapped: im::Vector<(Obj, Var)>,
    /// the level of forward mode
    pub dual: Option<Rc<DualLevel>>,
    /// how many calls of transforms are being traced that are captured as a whole or not at all
    pub whole: u32,
    /// the message for hooks on saved tensors, which a transform refuses
    pub refuses_hooks: Option<Var>,
    /// whether tensors in a level may be told to require gradients
    pub makes_leaves: bool,
    /// how many functions are being traced that get gradients: how those lie in memory is not known
    pub gradients: u32,
}

impl Levels {
    /// Whether the program is in a `vmap` or another transform.
    pub fn is_active(&self) -> bool {
        !self.entered.is_empty() || self.dual.is_some()
    }

    /// Whether the program is in a level that records derivatives: what an operation gives is of the level.
    pub fn records(&self) -> bool {
        let mut levels = self.entered.iter();
        self.dual.is_some() || levels.any(|l| matches!(l.kind, LevelKind::Derivative(_)))
    }
}
