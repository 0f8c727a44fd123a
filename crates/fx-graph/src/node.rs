//! What a node is: its id, operation, target and the user's source lines that made it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arg::{Arg, Kwargs};

/// A node of one graph: its creation index. Never given to another node of the same graph, except
/// that [`crate::Graph::restore`] frees the ids of the nodes that it drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The creation index as an array index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The operations of `torch.fx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OpKind {
    /// An input of the graph.
    Placeholder,
    /// An attribute of the root module, by qualified name.
    GetAttr,
    /// A call of a free function.
    CallFunction,
    /// A call of a method of the first argument.
    CallMethod,
    /// A call of a submodule, by qualified name.
    CallModule,
    /// What the graph returns: `args[0]`.
    Output,
}

impl OpKind {
    /// All operations.
    pub const ALL: [OpKind; 6] = [
        OpKind::Placeholder,
        OpKind::GetAttr,
        OpKind::CallFunction,
        OpKind::CallMethod,
        OpKind::CallModule,
        OpKind::Output,
    ];

    /// The name of `torch.fx`, such as `call_function`.
    pub fn as_str(self) -> &'static str {
        match self {
            OpKind::Placeholder => "placeholder",
            OpKind::GetAttr => "get_attr",
            OpKind::CallFunction => "call_function",
            OpKind::CallMethod => "call_method",
            OpKind::CallModule => "call_module",
            OpKind::Output => "output",
        }
    }

    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<OpKind> {
        OpKind::ALL.into_iter().find(|op| op.as_str() == name)
    }
}

/// How generated code refers to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FnOrigin {
    /// By its path in torch: `torch.nn.functional.relu(...)`.
    Torch,
    /// A Python builtin, by its bare name: `getattr(...)`.
    Builtin,
    /// A function of the `operator` module: as an operator where Python has one.
    Operator,
    /// By a global made for it: `my_module_fn(...)`.
    Global,
}

/// A function that a `call_function` node calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FnTarget {
    /// Index into the caller's table of Python objects; also what tells two functions apart.
    pub handle: u32,
    /// Its `repr`, as `print_tabular` shows it.
    pub display: Arc<str>,
    /// Qualified name for printed code, such as `torch.abs` or `operator.add`.
    pub path: Arc<str>,
    /// Stem of node names: the function's `__name__`.
    pub hint: Arc<str>,
    /// How generated code refers to it.
    pub origin: FnOrigin,
}

impl FnTarget {
    /// A target whose origin is read off its path: no dot is a builtin, `operator.` (or
    /// `_operator.`) an operator, `torch.` torch (except `torch.Tensor.` and the packages
    /// `torch._dynamo` and `torch._inductor`), anything else a global.
    pub fn new(
        handle: u32,
        display: impl Into<Arc<str>>,
        path: impl Into<Arc<str>>,
        hint: impl Into<Arc<str>>,
    ) -> FnTarget {
        let path = path.into();
        let origin = if !path.contains('.') {
            FnOrigin::Builtin
        } else if path.starts_with("operator.") || path.starts_with("_operator.") {
            FnOrigin::Operator
        } else if path.starts_with("torch.")
            && !path.starts_with("torch.Tensor.")
            && !path.starts_with("torch._dynamo.")
            && !path.starts_with("torch._inductor.")
        {
            FnOrigin::Torch
        } else {
            FnOrigin::Global
        };
        FnTarget {
            handle,
            display: display.into(),
            path,
            hint: hint.into(),
            origin,
        }
    }
}

/// What a node refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The name of an input, a method, a submodule or an attribute; `output` for the output.
    Name(Arc<str>),
    /// A function.
    Function(Arc<FnTarget>),
}

impl Target {
    /// The name, unless the target is a function.
    pub fn name(&self) -> Option<&Arc<str>> {
        match self {
            Target::Name(name) => Some(name),
            Target::Function(_) => None,
        }
    }

    /// The function, unless the target is a name.
    pub fn function(&self) -> Option<&Arc<FnTarget>> {
        match self {
            Target::Name(_) => None,
            Target::Function(target) => Some(target),
        }
    }
}

/// A type annotation of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeExpr {
    /// Index into the caller's table of Python objects.
    pub handle: u32,
    /// How it prints in code, such as `torch.Tensor`.
    pub code: Arc<str>,
}

/// A line of the user's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// File name, as in the code object.
    pub file: Arc<str>,
    /// Line number, from 1.
    pub line: u32,
    /// Name of the function.
    pub function: Arc<str>,
}

/// The user's frames that made a node: a list that shares its outer frames with others, so that a
/// call costs one frame whatever the depth.
#[derive(Clone, Debug, Default)]
pub struct SourceStack(Option<Arc<Frame>>);

#[derive(Debug)]
struct Frame {
    line: SourceLine,
    outer: SourceStack,
}

impl SourceStack {
    /// No frames.
    pub fn empty() -> SourceStack {
        SourceStack(None)
    }

    /// This stack with one more frame inside it.
    pub fn push(&self, line: SourceLine) -> SourceStack {
        SourceStack(Some(Arc::new(Frame {
            line,
            outer: self.clone(),
        })))
    }

    /// A stack of frames given outermost first.
    pub fn from_outermost(lines: impl IntoIterator<Item = SourceLine>) -> SourceStack {
        lines
            .into_iter()
            .fold(SourceStack::empty(), |stack, line| stack.push(line))
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The innermost frame.
    pub fn innermost(&self) -> Option<&SourceLine> {
        self.0.as_deref().map(|frame| &frame.line)
    }

    /// The frames, innermost first.
    pub fn iter(&self) -> impl Iterator<Item = &SourceLine> {
        let mut next = self.0.as_deref();
        std::iter::from_fn(move || {
            let frame = next?;
            next = frame.outer.0.as_deref();
            Some(&frame.line)
        })
    }

    /// The frames, outermost first, as Python prints a traceback.
    pub fn outermost_first(&self) -> Vec<&SourceLine> {
        let mut lines: Vec<_> = self.iter().collect();
        lines.reverse();
        lines
    }

    /// Whether both are the same list (not merely equal ones).
    pub fn ptr_eq(&self, other: &SourceStack) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl PartialEq for SourceStack {
    fn eq(&self, other: &SourceStack) -> bool {
        let (mut a, mut b) = (self, other);
        loop {
            if a.ptr_eq(b) {
                return true;
            }
            match (a.0.as_deref(), b.0.as_deref()) {
                (Some(x), Some(y)) if x.line == y.line => (a, b) = (&x.outer, &y.outer),
                _ => return false,
            }
        }
    }
}

impl Eq for SourceStack {}

/// Frees a long stack in a loop; the derived drop would recurse once a frame.
impl Drop for Frame {
    fn drop(&mut self) {
        let mut next = self.outer.0.take();
        while let Some(frame) = next {
            match Arc::try_unwrap(frame) {
                Ok(mut frame) => next = frame.outer.0.take(),
                Err(_) => break,
            }
        }
    }
}

/// A call of a module that makes nodes.
#[derive(Debug, PartialEq, Eq)]
pub struct ModuleCall {
    /// How the module is reached: `L['self'].layers.0`.
    pub path: String,
    /// Which module it is: its address.
    pub module: usize,
    /// Handle of its class.
    pub class: u32,
    /// The call of a module that makes this one.
    pub outer: Option<Arc<ModuleCall>>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeData {
    /// Its operation.
    pub op: OpKind,
    /// What it refers to.
    pub target: Target,
    /// Positional arguments. An output has one, a placeholder has at most one (its default).
    pub args: Vec<Arg>,
    /// Keyword arguments.
    pub kwargs: Kwargs,
    /// Unique name of the value.
    pub name: Arc<str>,
    /// Type annotation of the value.
    pub type_expr: Option<Arc<TypeExpr>>,
    /// The user's frames that made it.
    pub source: SourceStack,
    /// The innermost call of a module that made it. Not in the text form.
    pub module: Option<Arc<ModuleCall>>,
    /// Whether it has an effect other than its value, so that it is never dead code.
    pub impure: bool,
    /// The dtype that a number among the arguments is computed with, by name, where a tensor of that dtype without
    /// dimensions in its place gives the same. Not in the text form.
    pub number_dtype: Option<&'static str>,
    /// Whether nobody can tell that it ran twice: it writes to no tensor from outside the graph, draws no random
    /// number, and runs nobody's Python code. Not in the text form.
    pub repeatable: bool,
    /// Whether it would be repeatable but for the numbers that it draws from the CPU's generator. Not in the text
    /// form.
    pub draws: bool,
    /// Whether the state of that generator is kept from before the node, for who repeats it. Not in the text form.
    pub keeps_random_state: bool,
    /// Whether it may raise for what its arguments are, although operations of its name raise for no values: a
    /// tensor is of a dtype that many kernels lack, or of an inference mode, or a number may not fit its dtype. Not
    /// in the text form.
    pub may_refuse_arguments: bool,
    /// Whether autograd or the memory of its tensors may refuse the write that it does, which it has not begun
    /// where it raises. Not in the text form.
    pub may_refuse_write: bool,
    /// Whether its value is a tensor that lies in memory which the node allocates. Told while a graph is traced, and
    /// nowhere kept.
    pub owns_memory: bool,
    /// Whether its value is the tensor of its first argument under another Python class, which whoever calls the graph
    /// can give it as well. Not in the text form.
    pub gives_class: bool,
    /// Whether its value stands for the tensor of its second or its third argument: the program has that one, by what
    /// the first says. Told while a graph is traced, and nowhere kept.
    pub chooses: bool,
}

impl NodeData {
    /// Whether nobody can tell that it ran twice, where its random numbers are put back.
    pub fn can_repeat(&self) -> bool {
        self.repeatable || self.draws
    }

    /// Calls `visit` for each node among the arguments, repeats included.
    pub fn for_each_input(&self, mut visit: impl FnMut(NodeId)) {
        for arg in &self.args {
            arg.for_each_node(&mut visit);
        }
        for (_, arg) in &self.kwargs {
            arg.for_each_node(&mut visit);
        }
    }

    /// Calls `visit` for each handle of the caller's object table: target, arguments, type.
    pub fn for_each_handle(&self, mut visit: impl FnMut(u32)) {
        if let Target::Function(target) = &self.target {
            visit(target.handle);
        }
        for arg in &self.args {
            arg.for_each_handle(&mut visit);
        }
        for (_, arg) in &self.kwargs {
            arg.for_each_handle(&mut visit);
        }
        if let Some(type_expr) = &self.type_expr {
            visit(type_expr.handle);
        }
    }
}
