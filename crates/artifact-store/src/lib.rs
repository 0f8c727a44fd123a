//! Compiled graphs on disk: text and libraries, found by what they were made from.
//!
//! Lives here: the key, files, their integrity, many processes at once, the bound on their size. Does not live here:
//! what an entry means, and whether it may be used; neither Python nor torch.
//!
//! Invariants: what is read was written by this user's processes and has not changed since (a keyed BLAKE3 digest over
//! all of an entry; the folder and the secret belong to the user, and nobody else can write them). An entry is there
//! as a whole or not at all, whenever its writer ends.

mod key;
mod store;

pub use key::{Key, KeyBuilder};
pub use store::{Entry, Listed, Store, StoreError};
