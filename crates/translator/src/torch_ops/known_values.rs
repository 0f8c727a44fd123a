//! What a program reads of small tensors whose values are known while translating: `torch.tensor(x.size()).tolist()`.
//!
//! Which those are is said in `known_values.rs` of the crate `operations`. Ints that a value follows from are guarded
//! where it is used.

use pyo3::types::PyFloat;
use tensor_meta::Reads;
use variables::Var;

use crate::stop::R;
use crate::tx::Tx;

impl Tx<'_> {
    /// What `t.item()` or `t.tolist()` gives, where it is known.
    ///
    /// # Errors
    /// None of its own.
    pub fn known_data(&mut self, t: &Var, reads: Reads) -> R<Option<Var>> {
        if self.is_seen() || self.asks_class(t) {
            return Ok(None);
        }
        let Var::Tensor(t) = t else { return Ok(None) };
        let Some(values) = self.st.effects.known_values.get(&t.node.0).cloned() else {
            return Ok(None);
        };
        // What the graph has computed it can read as well.
        let exprs = values
            .of
            .iter()
            .filter_map(|size| self.log.sizes.expr(*size));
        let mut sources = exprs.flat_map(|expr| expr.sources());
        if sources.any(|source| self.read_number(source).is_some()) {
            return Ok(None);
        }
        let rank = self.st.effects.meta(t).shape.len();
        if let Some(float) = values.float {
            let asked = matches!(reads, Reads::Number | Reads::List | Reads::Float);
            return Ok(asked.then(|| Var::Const(PyFloat::new(self.py, float).into_any().unbind())));
        }
        let found = match (reads, &values.items[..], rank) {
            (Reads::Number | Reads::Int, [n], _) | (Reads::List, [n], 0) => Some(self.int(*n)),
            (Reads::List, items, 1) => {
                let items = items
                    .iter()
                    .map(|n| self.int(*n))
                    .collect::<im::Vector<_>>();
                Some(self.new_list(items))
            }
            _ => None,
        };
        if found.is_some() {
            for size in values.of.iter() {
                self.fix_size(*size);
            }
        }
        Ok(found)
    }
}
