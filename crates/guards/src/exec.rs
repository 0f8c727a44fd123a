//! The executing half: checks in a running interpreter.
//!
//! What lives here: pins ([`pins`]), reading constants and tensors into guard values ([`read`]) and making objects of
//! constants ([`constant`]), linking a program to the interpreter ([`link`]), checking it ([`check`], step by step in
//! [`step`]), watching instead ([`watch`]), saying why it failed ([`explain`]) and what its steps cost (`cost`), reading
//! without a program ([`follow`]), what tells calls apart ([`probe`]) and, for tests, running the Python text (`oracle`).
//! Raw object reads are in [`objects`].
//!
//! Invariants: the GIL is held; a check runs no user code, raises nothing and leaves no Python object behind;
//! every pointer in a linked program is kept valid by the program's pins or is a constant that it owns.

mod abc;
pub mod check;
pub mod constant;
mod cost;
pub mod explain;
mod fields;
pub mod follow;
pub mod link;
mod linked;
pub(crate) mod objects;
pub mod pins;
pub mod probe;
pub mod read;
mod step;
pub mod watch;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod source_tests;
#[cfg(test)]
mod tests;

pub use check::{CheckEnv, CheckProgram};
pub use cost::Costs;
pub use follow::Reader;
pub use link::LinkError;
pub use objects::each_key;
pub use pins::{Moment, Pins, Validity};
