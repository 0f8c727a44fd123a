//! Views of dictionaries, and what a `defaultdict` makes items with.

use variables::{Body, DictView, ObjId, Var};

use crate::stop::R;
use crate::tx::Tx;
use variables::iter_class::IterClass;

impl Tx<'_> {
    /// A live view of a tracked dict.
    ///
    /// # Errors
    /// None in practice.
    pub fn dict_view(&mut self, id: ObjId, view: DictView) -> R<Var> {
        let class = IterClass::of_view(view).get(self.py)?;
        Ok(Var::Obj(self.new_object(class, Body::DictView(id, view))))
    }

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
