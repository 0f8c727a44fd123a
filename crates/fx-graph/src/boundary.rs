//! A graph at the boundary to a backend: what the backend is told of each input, and what it relies on.
//!
//! Only data. Not here: how torch is told (`backends`), how a condition becomes a guard (`residual`).

use serde::{Deserialize, Serialize};

/// What a placeholder stands for, for a backend that traces the graph once more (AOTAutograd).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AotInput {
    /// A tensor.
    Tensor {
        /// Text that tells it from the other inputs, such as `x` or `self.layer.weight`. It ends up
        /// in the backend's cache key, so it must not change from one process to the next.
        source: String,
        /// Dimensions whose size may differ from call to call.
        dynamic_dims: Vec<usize>,
        /// Those among them of whose size nothing is to be known (`mark_unbacked`).
        unbacked_dims: Vec<usize>,
        /// The same for tensors that it holds: the names of the attributes that lead there, and dimensions.
        dynamic_held: Vec<(Vec<String>, Vec<usize>)>,
        /// Of a parameter or a buffer, whose storage stays where it is: how it is reached, `self.layer.weight`.
        parameter: Option<String>,
    },
    /// A size or stride of a tensor input, or where in its storage it begins; an int at run time.
    Layout(ShapeLeaf),
    /// An int that may differ from call to call.
    Int {
        /// As for a tensor.
        source: String,
        /// Whether it is a size of which nothing is to be known.
        is_unbacked: bool,
    },
    /// A float that may differ from call to call: a tensor without dimensions, of double precision, at run time.
    Float {
        /// As for a tensor.
        source: String,
    },
    /// Anything else.
    Other {
        /// As for a tensor.
        source: String,
    },
}

impl AotInput {
    /// Whether something of it may differ from call to call.
    pub fn changes(&self) -> bool {
        match self {
            AotInput::Tensor {
                dynamic_dims,
                dynamic_held,
                ..
            } => !dynamic_dims.is_empty() || !dynamic_held.is_empty(),
            AotInput::Layout(_) | AotInput::Int { .. } | AotInput::Float { .. } => true,
            AotInput::Other { .. } => false,
        }
    }

    /// Whether it is a float.
    pub fn is_float(&self) -> bool {
        matches!(self, AotInput::Float { .. })
    }
}

/// An int of the inputs of a graph. Inputs are positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShapeLeaf {
    /// An input that is an int.
    Int(usize),
    /// `input.size()[dim]`
    Size(usize, u8),
    /// `input.stride()[dim]`
    Stride(usize, u8),
    /// `input.storage_offset()`
    Offset(usize),
    /// One of the last three, of what attributes lead to from the input: `input._base.size()[dim]`, of an input that is
    /// a view.
    Of(Vec<String>, Box<ShapeLeaf>),
}

impl ShapeLeaf {
    /// The input that says it.
    pub fn input(&self) -> usize {
        match self {
            ShapeLeaf::Int(at)
            | ShapeLeaf::Size(at, _)
            | ShapeLeaf::Stride(at, _)
            | ShapeLeaf::Offset(at) => *at,
            ShapeLeaf::Of(_, leaf) => leaf.input(),
        }
    }
}

/// An int computed from inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShapeExpr {
    /// A number.
    Const(i64),
    /// What an input says.
    Leaf(ShapeLeaf),
    /// `-x`
    Negative(Box<ShapeExpr>),
    /// An operation of two.
    Binary(ShapeOperator, Box<(ShapeExpr, ShapeExpr)>),
}

/// What shape expressions do with two ints: Python's operators, and the larger or smaller of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShapeOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `//`
    FloorDivide,
    /// `%`
    Remainder,
    /// `**`
    Power,
    /// `max`
    Max,
    /// `min`
    Min,
}

/// Python's comparisons of two ints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShapeCompare {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `==`
    Equal,
    /// `!=`
    Differ,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What must hold for the compiled graph to be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShapeGuard {
    /// A comparison.
    Compare(ShapeCompare, ShapeExpr, ShapeExpr),
    /// What an input says is what it says now: the backend's condition has no other form here.
    Unchanged(ShapeLeaf),
    /// One of several holds; each is a list of what must hold together.
    Either(Vec<Vec<ShapeGuard>>),
}

impl ShapeCompare {
    /// By the name of the class that Python's parser gives it.
    pub fn of(operator: &str) -> Option<ShapeCompare> {
        Some(match operator {
            "Lt" => Self::Less,
            "LtE" => Self::LessOrEqual,
            "Eq" => Self::Equal,
            "NotEq" => Self::Differ,
            "Gt" => Self::Greater,
            "GtE" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// Whether it holds for two numbers.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Equal => left == right,
            Self::Differ => left != right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }

    /// The comparison that holds where this one does not.
    pub fn negated(self) -> ShapeCompare {
        match self {
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Equal => Self::Differ,
            Self::Differ => Self::Equal,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
}

impl ShapeOperator {
    /// By the name of the class that Python's parser gives it.
    pub fn of(operator: &str) -> Option<ShapeOperator> {
        Some(match operator {
            "Add" => Self::Add,
            "Sub" => Self::Subtract,
            "Mult" => Self::Multiply,
            "FloorDiv" => Self::FloorDivide,
            "Mod" => Self::Remainder,
            "Pow" => Self::Power,
            _ => return None,
        })
    }
}
