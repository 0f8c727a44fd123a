//! Decode, assemble and disassemble CPython bytecode of 3.11 to 3.13.
//!
//! [`decode`] turns a code object's fields ([`CodeFields`]) into a [`Body`] of normalised
//! instructions ([`op::Op`]), [`assemble`] turns a body into the bytes of a code object. What is
//! decoded and not changed is assembled to equal bytes. Between the two, bodies can be built
//! ([`BodyBuilder`]), analysed ([`Cfg`], [`stack_depths`], [`live_locals`]), checked ([`verify`])
//! and printed ([`disassemble`]).
//!
//! Invariants: no Python interpreter is needed; no Python object is held; no function panics
//! whatever bytes it is given.
pub mod op;
pub mod wire;

mod assemble;
mod body;
mod builder;
mod cfg;
mod code;
mod decode;
mod depth;
mod disasm;
mod effect;
mod exception_table;
mod flow;
mod liveness;
mod location;
mod lower;
mod opcode;
mod operand;
mod varint;
mod verify;

pub use assemble::{AsmError, AsmInfo, Assembled, assemble};
pub use body::{Body, CallLocs, Enc, ExceptEntry, Instr};
pub use builder::{BodyBuilder, BuildError, Import};
pub use cfg::{Block, Cfg};
pub use code::{CodeFields, Version, kinds};
pub use decode::{DecodeError, decode};
pub use depth::stack_depths;
pub use disasm::{Names, describe, disassemble};
pub use effect::{stack_effect, stack_needs};
pub use flow::LocalUse;
pub use liveness::{LiveLocals, live_locals};
pub use location::{LineEntry, LineTableError, Location, read_line_table};
pub use opcode::{opcode_name, opcode_number};
pub use verify::{Limits, VerifyError, verify};
