//! Views of dictionaries, and what a `defaultdict` makes items with.

use variables::{Body, DictView, ObjId, Var};

use crate::stop::R;
use crate::tx::{Args, Flow, Tx};
use crate::values::IterClass;

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

    /// A method of a dict view.
    pub(super) fn view_method(&mut self, id: ObjId, name: &str, args: Args) -> R<Option<Flow>> {
        let Body::DictView(d, view) = self.obj(id).body.clone() else {
            return Ok(None);
        };
        match name {
            "__reversed__" => {
                self.positional(name, args, 0, 0)?;
                self.reversed_dict(d, view).map(|v| Some(Flow::Value(v)))
            }
            "isdisjoint" if view != DictView::Values => {
                let other = self.one(name, args)?;
                let mine = self.iterate(&Var::Obj(id))?;
                let mine = self.set_map(mine)?;
                let theirs = self.iterate(&other)?;
                let theirs = self.set_map(theirs)?;
                let apart = mine.entries().all(|(k, _, _)| !theirs.contains(k));
                Ok(Some(Flow::Value(self.bool(apart))))
            }
            _ => Ok(None),
        }
    }
}
