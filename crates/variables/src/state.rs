//! The symbolic state: everything that a graph break has to put back.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Checkpoint, ModuleCall, NodeId, SourceLine, SourceStack};
use guards::SourceId;

use crate::code::CodeInfo;
use crate::contexts::{FunctionMode, Levels, OpenContext};
use crate::{Effects, Key, Obj, ObjId, Var};

/// What happens to the value that an inlined frame returns.
#[derive(Clone, Debug)]
pub enum OnReturn {
    /// push it on the caller's stack
    Push,
    /// `__init__`: must be `None`; push the instance instead
    PushInstance(Var),
    /// ignore it and push nothing (`__setattr__`, `__setitem__` and the like)
    Discard,
    /// end of a nested run: hand it to the Rust caller
    Nested,
    /// the translated frame itself
    Root,
}

/// Module globals that a frame runs in.
#[derive(Clone, Debug)]
pub struct Globals {
    /// the dict
    pub dict: Obj,
    /// how to reach the dict; `None` for the root frame's own globals
    pub source: Option<SourceId>,
}

/// The look-up of an attribute by a descriptor in Python.
pub struct LookUp {
    /// the object
    pub obj: Var,
    /// the attribute
    pub name: std::sync::Arc<str>,
    /// where a break goes back to once the descriptor's frame is left: before the look-up
    pub before: Option<Snapshot>,
}

/// One interpreted frame. A clone is O(1).
#[derive(Clone)]
pub struct Frame {
    /// its code
    pub code: Rc<CodeInfo>,
    /// index of the next instruction; during a step, of the current one until it completes
    pub ip: usize,
    /// operand stack, top last
    pub stack: im::Vector<Var>,
    /// locals, cells, free variables; `None`: unbound. Cell slots hold a cell object
    pub locals: im::Vector<Option<Var>>,
    /// globals
    pub globals: Globals,
    /// cells of the closure, for `COPY_FREE_VARS`
    pub closure: Rc<Vec<Var>>,
    /// what becomes of its result
    pub on_return: OnReturn,
    /// exceptions being handled, innermost last (`sys.exc_info`)
    pub handling: im::Vector<Var>,
    /// the dictionary that `locals()` gave
    pub locals_dict: Option<ObjId>,
    /// the generator object whose frame this is
    pub generator: Option<ObjId>,
    /// the attribute that it looks up, of an object whose class has a `__getattr__`: that answers
    /// where the frame ends with an `AttributeError`
    pub looks_up: Option<Rc<LookUp>>,
    /// the innermost call of a module that it is part of
    pub module: Option<Arc<ModuleCall>>,
    /// the caller, positioned at its call instruction
    pub parent: Option<Rc<Frame>>,
    /// 0 for the root
    pub depth: u32,
}

impl Frame {
    /// The lines that it and its callers are at. Of libraries only the frame that is translated counts.
    pub fn lines(&self) -> SourceStack {
        let mut lines = Vec::new();
        let mut frame = Some(self);
        while let Some(f) = frame {
            if f.depth == 0 || !crate::library::is_library_file(&f.code.filename) {
                lines.push(SourceLine {
                    file: f.code.filename.clone(),
                    line: f.code.line(f.ip),
                    function: f.code.name.clone(),
                });
            }
            frame = f.parent.as_deref();
        }
        lines.reverse();
        SourceStack::from_outermost(lines)
    }
}

/// A suspended generator; replaced, never changed, so that snapshots keep theirs.
pub struct GeneratorState {
    /// its code
    pub code: Rc<CodeInfo>,
    /// the frame; `None` while it runs and once it has finished
    pub frame: Option<Frame>,
    /// whether it has run at all
    pub started: bool,
    /// its `__name__` and `__qualname__`, where the code's may not be right
    pub names: Option<[Var; 2]>,
}

impl std::fmt::Debug for GeneratorState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GeneratorState")
            .field("code", &self.code.qualname)
            .field("suspended", &self.frame.is_some())
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}

/// The whole of it. A clone is O(1).
#[derive(Clone)]
pub struct State {
    /// the innermost frame
    pub frame: Frame,
    /// what was changed
    pub effects: Effects,
    /// objects that were hashed by their own `__hash__`, with their keys
    pub hashed: im::Vector<(ObjId, Key)>,
    /// objects from outside that were told from others by their addresses, of which no guard holds the address
    pub told_apart: im::OrdSet<ObjId>,
    /// what functions under `functools.lru_cache` gave: the function, its arguments, its result
    pub cached: im::Vector<(usize, Vec<Key>, Var)>,
    /// the exceptions that were raised and caught so far: tracebacks exist in plain Python only
    pub caught: im::Vector<ObjId>,
    /// exceptions that were raised so far, with what was handled then (`__context__`); `None`: nothing that these
    /// frames handle
    pub raised_under: im::OrdMap<ObjId, Option<Var>>,
    /// tracebacks that were read of them, of which nothing is known
    pub tracebacks: im::OrdMap<ObjId, Var>,
    /// contexts of torch that the program has entered, innermost last
    pub contexts: im::Vector<OpenContext>,
    /// function modes in force, innermost last: those that the program has entered, and those that were in force
    /// when the frame began, if one of them is the program's
    pub modes: im::Vector<FunctionMode>,
    /// how many of the latter the program has left
    pub left_modes: usize,
    /// whether torch asks no class of tensors about what is done with them
    pub asks_no_class: bool,
    /// levels of torch's function transforms that the program is in
    pub levels: Levels,
    /// nodes whose tensors hold others and see each operation (`__torch_dispatch__`)
    pub wrappers: im::HashMap<u32, Wrapper>,
    /// flags of torch that the program has set, by the function that reads them
    pub flags: im::HashMap<&'static str, Var>,
    /// temporaries for global state changed by the program: grad mode now
    pub grad_enabled: bool,
    /// whether an operation in the graph may raise what the program handles, so that the graph may run again
    pub leads_to_handler: bool,
    /// whether the graph checks more than the program does: where a check fails, the function has to run again
    pub is_checked_with_care: bool,
    /// whether the graph is right only where it runs as it is
    pub needs_as_is: bool,
    /// operations whose sizes depend on data are captured, as torch's `capture_dynamic_output_shape_ops` has it, or since
    /// an operator gave what only the graph knows
    pub captures_shapes: bool,
    /// nodes of tensors that the program has made leaves which record gradients, for a compiler
    pub own_leaves: im::Vector<NodeId>,
    /// whether a tensor may be one of an inference mode
    pub met_inference: bool,
    /// whether a tensor may be one whose class torch asks
    pub met_subclass: bool,
}

impl State {
    /// A frame from outside before its first instruction: no local is bound, nothing is changed.
    pub fn root(code: Rc<CodeInfo>, globals: Obj, grad_enabled: bool) -> State {
        let frame = Frame {
            ip: 0,
            stack: im::Vector::new(),
            locals: code.local_names.iter().map(|_| None).collect(),
            globals: Globals {
                dict: globals,
                source: None,
            },
            closure: Rc::new(Vec::new()),
            on_return: OnReturn::Root,
            handling: im::Vector::new(),
            locals_dict: None,
            looks_up: None,
            generator: None,
            module: None,
            parent: None,
            depth: 0,
            code,
        };
        State {
            frame,
            effects: Effects::default(),
            hashed: im::Vector::new(),
            told_apart: im::OrdSet::new(),
            cached: im::Vector::new(),
            caught: im::Vector::new(),
            raised_under: im::OrdMap::new(),
            tracebacks: im::OrdMap::new(),
            contexts: im::Vector::new(),
            modes: im::Vector::new(),
            left_modes: 0,
            asks_no_class: false,
            levels: Default::default(),
            wrappers: im::HashMap::new(),
            flags: im::HashMap::new(),
            grad_enabled,
            leads_to_handler: false,
            is_checked_with_care: false,
            needs_as_is: false,
            captures_shapes: false,
            own_leaves: im::Vector::new(),
            met_inference: false,
            met_subclass: false,
        }
    }
}

/// What is known of a tensor that holds others.
#[derive(Clone)]
pub struct Wrapper {
    /// a fake tensor of its class, around fake tensors
    pub fake: Obj,
    /// the tensors that it holds, by the names under which they were read, with the fake ones
    pub held: im::HashMap<Arc<str>, (Obj, Var)>,
}

impl Wrapper {
    /// One of which nothing was read.
    pub fn new(fake: Obj) -> Wrapper {
        Wrapper {
            fake,
            held: im::HashMap::new(),
        }
    }
}

/// State to go back to: a clone of it, and how long what is cut back with it was.
#[derive(Clone)]
pub struct Snapshot {
    /// the state
    pub state: State,
    /// how many guards there were
    pub guards: usize,
    /// how many names had been found
    pub touched: usize,
    /// how many inputs the graph had that are tensors
    pub inputs: usize,
    /// how many that are ints
    pub int_inputs: usize,
    /// how many ints the graph computed
    pub int_nodes: usize,
    /// how many inputs were floats
    pub float_inputs: usize,
    /// how much was known of sizes
    pub known_sizes: tensor_meta::Known,
    /// where the graph ended
    pub graph: Checkpoint,
    /// how many instructions had been interpreted
    pub instructions: u64,
}

impl Snapshot {
    /// Whether gradients were recorded.
    pub fn grad_enabled(&self) -> bool {
        self.state.grad_enabled
    }

    /// The innermost frame.
    pub fn frame(&self) -> &Frame {
        &self.state.frame
    }
}
