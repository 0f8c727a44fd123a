//! A code object as plain data: what `decode` reads. Holds no Python object.

use crate::op::Op;

/// A CPython version whose bytecode this crate knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// 3.11
    V311,
    /// 3.12
    V312,
    /// 3.13
    V313,
    /// 3.14
    V314,
    /// 3.15
    V315,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Version; 5] = [
        Version::V311,
        Version::V312,
        Version::V313,
        Version::V314,
        Version::V315,
    ];

    /// The version with this minor number (`3.minor`), if known.
    pub fn from_minor(minor: u8) -> Option<Self> {
        match minor {
            11 => Some(Self::V311),
            12 => Some(Self::V312),
            13 => Some(Self::V313),
            14 => Some(Self::V314),
            15 => Some(Self::V315),
            _ => None,
        }
    }

    /// The minor number: 11 to 15.
    pub fn minor(self) -> u8 {
        match self {
            Self::V311 => 11,
            Self::V312 => 12,
            Self::V313 => 13,
            Self::V314 => 14,
            Self::V315 => 15,
        }
    }

    /// What stands at the end of a loop, where its iterator is exhausted.
    pub fn loop_end(self) -> &'static [Op] {
        match self {
            Self::V311 => &[],
            Self::V312 => &[Op::EndFor],
            Self::V313 => &[Op::EndFor, Op::PopTop],
            Self::V314 | Self::V315 => &[Op::EndFor, Op::PopIter],
        }
    }

    /// How many values on the stack an iterator takes in a loop, and what is sent to: 2 where an
    /// index (or `NULL`) is above it.
    pub fn iterator_slots(self) -> u32 {
        if self >= Self::V315 { 2 } else { 1 }
    }

    /// How many values on the stack a `with` statement keeps to call `__exit__`: 2 where they are a
    /// method and its `self` (or `NULL`).
    pub fn exit_slots(self) -> u32 {
        if self >= Self::V314 { 2 } else { 1 }
    }

    /// Whether `generator.throw` takes a class, an exception and a traceback without a warning, as `contextlib` gives
    /// them.
    pub fn throws_in_parts(self) -> bool {
        self < Self::V312
    }

    /// Whether a call with unpacked arguments always has a place for keywords on the stack.
    pub fn call_ex_has_kwargs(self) -> bool {
        self >= Self::V314
    }

    /// Whether `SEND` leaves the receiver that has returned on the stack, for an instruction that takes it.
    pub fn send_keeps_receiver(self) -> bool {
        self > Self::V311
    }

    /// Where the `NULL` of a call without `self` stands: below the callable (3.11, 3.12) or above.
    pub fn null_first(self) -> bool {
        self < Self::V313
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "3.{}", self.minor())
    }
}

/// Bits of [`CodeFields::localspluskinds`] (CPython's `CO_FAST_*`).
pub mod kinds {
    /// bound only inside an inlined comprehension (3.12+)
    pub const HIDDEN: u8 = 0x10;
    /// a local or an argument
    pub const LOCAL: u8 = 0x20;
    /// a cell that nested functions see
    pub const CELL: u8 = 0x40;
    /// a free variable
    pub const FREE: u8 = 0x80;
}

/// The fields of a code object that bytecode is read with. Names are those of `PyCodeObject`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFields {
    /// which CPython made it
    pub version: Version,
    /// positional parameters, the positional-only ones included
    pub argcount: u32,
    /// positional-only parameters
    pub posonlyargcount: u32,
    /// keyword-only parameters
    pub kwonlyargcount: u32,
    /// stack slots that a frame has
    pub stacksize: u32,
    /// `CO_*` flags
    pub flags: u32,
    /// line of the definition
    pub firstlineno: u32,
    /// `co_code`: neither specialised nor instrumented, caches zeroed
    pub code: Vec<u8>,
    /// `co_linetable`
    pub linetable: Vec<u8>,
    /// `co_exceptiontable`
    pub exceptiontable: Vec<u8>,
    /// `co_names`
    pub names: Vec<String>,
    /// names of locals, cells and free variables
    pub localsplusnames: Vec<String>,
    /// what each of them is: [`kinds`]
    pub localspluskinds: Vec<u8>,
    /// length of `co_consts`
    pub n_consts: u32,
}
