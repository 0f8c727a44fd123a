//! What a `defaultdict` makes items with.

use variables::{ObjId, Var};

use crate::tx::Tx;

impl Tx<'_> {
    /// A defaultdict's factory.
    pub fn factory_of(&self, id: ObjId) -> Option<Var> {
        let s = self.obj(id);
        s.attrs
            .get("default_factory")
            .or_else(|| s.seen.get("default_factory"))
            .cloned()
            .flatten()
    }
}
