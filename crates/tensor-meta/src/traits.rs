//! What is known of an operation beside its result: the columns of the table of operations.
//!
//! Not here: the rows (`family`), and how one is found (`registry`).

use std::ops::BitOr;

/// Facts about an operation that hold or do not, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Does(u32);

macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident)*) => {
        /// The facts by number.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $($name),* }

        impl Does {
            $($(#[$doc])* pub const $name: Does = Does(1 << Number::$name as u32);)*
        }

        /// The facts, for the rows.
        pub(crate) mod facts {
            $(pub(crate) const $name: super::Does = super::Does::$name;)*
        }
    };
}

facts! {
    /// Writes to its first argument.
    WRITES
    /// Gives a view of its first argument, or may.
    VIEW
    /// Gives several views of its first argument: autograd lets none of them be written to.
    VIEWS
    /// Shares memory with its first argument, but not its gradients.
    SHARES_DATA
    /// Cuts its first argument off its history.
    DETACHES
    /// May give its first argument back without writing to it.
    MAY_GIVE_SELF
    /// Raises for no values of its tensors: sizes, dtypes and devices alone decide.
    NEVER_RAISES
    /// Raises for values where an index is made of tensors.
    INDEXES
    /// Takes any number to compute with, so that one need not be a constant.
    TAKES_NUMBERS
    /// Counts elements with ints that need not be constants: its rule computes with sizes, and finds
    /// for which of them eager raises.
    TAKES_SIZES
    /// Takes nothing but sizes and places beside its first argument.
    ONLY_SIZES
    /// Makes a tensor of sizes alone, its first argument included.
    MADE_OF_SIZES
    /// Makes a number one of the dtype of its result, or of its operand, before it computes.
    CONVERTS_NUMBERS
    /// Computes with a number in the dtype of its first operand.
    KEEPS_DTYPE
    /// Draws random numbers; where it has an argument `training`, only if that is on.
    DRAWS
    /// Its result depends on data, or it acts outside a graph: the graph breaks.
    BREAKS
    /// Takes callables, changes global state, looks at data, or is Python code that is better seen operation
    /// by operation: not captured whole.
    TAKEN_APART
    /// Answers a question about types or state instead of computing a tensor.
    QUERY
    /// The answer to the question is the same for the whole process, or is part of torch's global state.
    STATE_QUERY
    /// Its result has tangents, of which fake tensors know nothing.
    TANGENTS
    /// Goes over a sequence: a compiler takes it apart into the operations of each step.
    LOOPS
    /// Makes a tensor of numbers in nested sequences.
    FROM_DATA
    /// Reads the tensors among the numbers in its sequences.
    READS_ELEMENTS
    /// Gives its first argument other memory.
    MOVES
    /// Gives its first argument other sizes or strides, or may, in the memory that it has.
    LAYS_OUT
    /// Finds out whether a number is NumPy's.
    SEES_NUMPY
    /// Only checks something, and gives nothing.
    CHECKS
    /// Says how a tensor lies in memory.
    TELLS_LAYOUT
    /// A number that is NumPy's as well as Python's decides about its result.
    SEES_NUMPY_FLOATS
    /// Gives a quantized tensor, which a fake tensor does not show.
    QUANTIZES
}

impl Does {
    /// Whether it does any of these.
    pub const fn any(self, of: Does) -> bool {
        self.0 & of.0 != 0
    }

    pub(crate) const fn and(self, more: Does) -> Does {
        Does(self.0 | more.0)
    }
}

impl BitOr for Does {
    type Output = Does;

    fn bitor(self, more: Does) -> Does {
        self.and(more)
    }
}

/// What autocast does with the arguments of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Cast {
    /// nothing
    #[default]
    None,
    /// casts them to the low precision that the program chose
    Lower,
    /// casts them to float32
    Single,
    /// has it give float32 where the call names no dtype
    SingleResult,
    /// casts them to the widest of their dtypes, refuses them, or casts those of the operations that this one is made
    /// of, one by one: not described here
    NotDescribed,
}

/// An argument that decides something: where it stands, and its name.
pub type Switch = (usize, &'static str);

/// How an operation scales an operand by a number that it is given by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// the name of the number
    pub keyword: &'static str,
    /// the method that makes what is scaled of the second and the third argument; `None` where the second is
    pub combined: Option<&'static str>,
    /// the method that adds what was scaled to the first argument
    pub adds: &'static str,
}

/// What an operation reads of a tensor's data, where translation may know it or the graph may read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// the one number that it holds
    Number,
    /// the same, as an int
    Int,
    /// the same, as a float
    Float,
    /// its numbers as nested lists
    List,
    /// where the data lies
    Address,
    /// its data as an array of NumPy
    Array,
}

/// What an operation computes of small tensors of ints, whose values are followed while translating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// its first argument as a tensor
    Data,
    /// its second argument as a tensor
    NewData,
    /// a tensor of its first argument; a number there is a size
    LegacyData,
    /// the ints of a range
    Range,
    /// the sizes of its argument
    Shape,
    /// an element
    Item,
    /// a sum
    Add,
    /// a difference
    Subtract,
    /// a product
    Multiply,
    /// a quotient that is rounded down
    FloorDivide,
    /// a quotient that is rounded as it is told by name
    Divide,
    /// the lesser
    Minimum,
    /// the greater
    Maximum,
}

/// The columns of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// what it does
    pub does: Does,
    /// what autocast does on a CPU
    pub on_cpu: Cast,
    /// what autocast does on a CUDA device
    pub on_cuda: Cast,
    /// it draws random numbers only if this argument is given and on
    pub draws_if: Option<Switch>,
    /// where its argument `training` stands, if it has one: it draws none where that is off
    pub training_at: Option<usize>,
    /// where its argument `inplace` stands, if it has one
    pub inplace_at: Option<usize>,
    /// it writes to more arguments than its first, unless this one is off
    pub writes_unless: Option<Switch>,
    /// it fills a tensor with this number
    pub fills: Option<Switch>,
    /// it scales an operand
    pub scales: Option<Scale>,
    /// what it computes of values that are known
    pub folds: Option<Fold>,
    /// what it reads of its first argument's data
    pub reads: Option<Reads>,
}

impl Traits {
    /// Those of an operation of which nothing is known.
    pub const NONE: Traits = Traits {
        does: Does(0),
        on_cpu: Cast::None,
        on_cuda: Cast::None,
        draws_if: None,
        training_at: None,
        inplace_at: None,
        writes_unless: None,
        fills: None,
        scales: None,
        folds: None,
        reads: None,
    };

    /// What the name of an operation says: `add_` writes to its first argument, `__add__` does not.
    pub(crate) fn named(name: &str) -> Traits {
        let mut traits = Traits::NONE;
        if name.ends_with('_') && !name.ends_with("__") {
            traits.does = Does::WRITES;
        }
        traits
    }

    /// Whether it does any of these.
    pub const fn any(&self, of: Does) -> bool {
        self.does.any(of)
    }

    /// Whether autocast casts its arguments to the low precision on some device. The casts of
    /// parameters are kept from call to call, so what the operation gets is not known from its arguments
    /// alone: after the precision was changed, a kept cast of the other one makes it raise.
    pub const fn takes_kept_casts(&self) -> bool {
        matches!(self.on_cpu, Cast::Lower) || matches!(self.on_cuda, Cast::Lower)
    }

    /// Those of the variant in place.
    pub(crate) const fn in_place(mut self) -> Traits {
        self.does = self.does.and(Does::WRITES);
        self.folds = None;
        if let Some(mut scale) = self.scales {
            scale.adds = match scale.adds.as_bytes() {
                b"sub" => "sub_",
                _ => "add_",
            };
            self.scales = Some(scale);
        }
        self
    }
}
