//! Decode, assemble and disassemble CPython bytecode of 3.11 to 3.15.
//!
//! [`decode`] turns a code object's fields ([`CodeFields`]) into a [`Body`] of normalised
//! instructions ([`op::Op`]), [`assemble`] turns a body into the bytes of a code object. What is
//! decoded and not changed is assembled to equal bytes. Between the two, bodies can be built
//! ([`BodyBuilder`]), analysed ([`Cfg`], [`stack_depths`], [`live_locals`], [`borrowing_loads`]),
//! checked ([`verify`]) and printed ([`disassemble`], as Python by [`decompile`]).
//!
//! # Lowering
//!
//! The plain rule: an [`op::Op`] becomes the opcode of its name. Where the version has none, it
//! becomes a sequence of the same effect:
//!
//! | op | version | becomes |
//! |---|---|---|
//! | `Call` with `kw_names` | 3.13 | `LOAD_CONST`, `CALL_KW` |
//! | `PopJump` on truth | 3.13 | `TO_BOOL` first, unless an exact `bool` is on the stack |
//! | `PopJump` to an earlier place | 3.12+ | the opposite jump over a `JUMP_BACKWARD` |
//! | `JumpIfOrPop` | 3.12+ | `COPY`, `PopJump`, `POP_TOP` |
//! | `ToBool`, `Compare` with `to_bool` | 3.11, 3.12 | `UNARY_NOT` twice (nothing before a jump) |
//! | `LoadClassDeref` | 3.12+ | `LOAD_LOCALS`, `LOAD_FROM_DICT_OR_DEREF` |
//! | `LoadClosure` | 3.13 | `LOAD_FAST` |
//! | `ReturnConst` | 3.11 | `LOAD_CONST`, `RETURN_VALUE` |
//! | `BinarySlice`, `StoreSlice` | 3.11 | `BUILD_SLICE` and the subscript |
//! | `EndSend` | 3.11 | `SWAP`, `POP_TOP` |
//! | `FormatValue` with `conv` | 3.13 | `CONVERT_VALUE`, `FORMAT_*` |
//! | `MakeFunction` with parts | 3.13 | `MAKE_FUNCTION`, `SET_FUNCTION_ATTRIBUTE`s |
//!
//! What has no such sequence is [`AsmError::NoForm`].
//!
//! # Invariants
//!
//! No Python interpreter is needed; no Python object is held; no function panics
//! whatever bytes it is given. Opcode numbers are known to the tables in `opcode` only.
pub mod op;
pub mod wire;

mod assemble;
mod body;
mod borrow;
mod builder;
mod cfg;
mod code;
mod decode;
mod decompile;
mod depth;
mod disasm;
mod effect;
mod exception_table;
mod flow;
mod language;
mod liveness;
mod location;
mod loops;
mod lower;
mod opcode;
mod operand;
mod operators;
mod raises;
mod varint;
mod verify;

pub use assemble::{AsmError, AsmInfo, Assembled, assemble};
pub use body::{Body, CallLocs, Enc, ExceptEntry, Instr};
pub use borrow::borrowing_loads;
pub use builder::{BodyBuilder, BuildError, Import};
pub use cfg::{Block, Cfg};
pub use code::{CodeFields, Version, kinds};
pub use decode::{DecodeError, decode};
pub use decompile::decompile;
pub use depth::stack_depths;
pub use disasm::{Names, describe, disassemble};
pub use effect::{stack_effect, stack_needs};
pub use flow::LocalUse;
pub use liveness::{LiveLocals, live_locals};
pub use location::{LineEntry, LineTableError, Location, read_line_table};
pub use loops::{Loop, behind_loop, has_loop, leads_to, loop_of};
pub use opcode::{is_raise, opcode_name, opcode_number};
pub use raises::only_raises;
pub use verify::{Limits, VerifyError, verify};
