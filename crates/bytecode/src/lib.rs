//! Decode, assemble and disassemble CPython bytecode. Needs no Python interpreter.
pub mod op;
