//! Operations that scale an operand by a number, or fill a tensor with it, where that is a tensor without dimensions:
//! `x.add_(y, alpha=t)`, `torch.full(sizes, t)`. Eager reads the tensor, and so does a graph that runs as it is; a
//! compiler has to have what scales as a tensor.
//!
//! Invariant: only graphs that a backend compiles are made of other operations than the program's.

use pyo3::prelude::*;
use variables::Var;

use super::emit::Callee;
use crate::stop::R;
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// The arguments of an operation that fills a tensor, with the number read of the tensor that is given for it; `None`
    /// for any other operation.
    ///
    /// # Errors
    /// Those of reading the number.
    pub(super) fn filled_by_tensor(&mut self, callee: &Callee<'_>, all: &Args) -> R<Option<Args>> {
        let Some((position, name)) = callee.traits().fills else {
            return Ok(None);
        };
        let Some(given) = all.pos.get(position).or_else(|| all.named(name)) else {
            return Ok(None);
        };
        let Some(given) = self.tensor_for_number(given)? else {
            return Ok(None);
        };
        // Eager refuses one that gradients are recorded of.
        if self.so_far().records_gradients(&given) {
            return Ok(None);
        }
        let Some(number) = self.read_in_graph(&given)? else {
            return Ok(None);
        };
        let mut values: Vec<Var> = all.values().cloned().collect();
        let at = match position < all.pos.len() {
            true => Some(position),
            false => all
                .kw
                .iter()
                .position(|(n, _)| &**n == name)
                .map(|at| at + all.pos.len()),
        };
        if let Some(value) = at.and_then(|at| values.get_mut(at)) {
            *value = number;
        }
        Ok(Some(all.with_values(&values)))
    }

    /// A tensor without dimensions that is given for a number; `None` for anything else, which is left as it is: to look
    /// at one of NumPy's numbers makes it a constant.
    fn tensor_for_number(&mut self, given: &Var) -> R<Option<Var>> {
        if let Var::Lazy(l) = given
            && !l
                .obj
                .bind(self.py)
                .is_instance(self.known.tensor.bind(self.py))?
        {
            return Ok(None);
        }
        let given = self.look(given)?;
        let is_one = matches!(&given, Var::Tensor(t) if self.st.effects.meta(t).shape.is_empty());
        Ok(is_one.then_some(given))
    }

    /// A call of such a method with a tensor for its number; `None` for any other call.
    ///
    /// # Errors
    /// Those of the operations.
    pub(super) fn scaled_by_tensor(&mut self, name: &str, all: &Args) -> R<Option<Var>> {
        let Some(scale) = tensor_meta::method_traits(name).scales else {
            return Ok(None);
        };
        let [(given, factor)] = &all.kw[..] else {
            return Ok(None);
        };
        let Some(factor) = self.tensor_for_number(factor)? else {
            return Ok(None);
        };
        if &**given != scale.keyword {
            return Ok(None);
        }
        if self.runs_as_is {
            let Some(number) = self.read_in_graph(&factor)? else {
                return Ok(None);
            };
            let kw = vec![(given.clone(), number)];
            let pos = all.pos.clone();
            return (self.emit(&Callee::Method(name), &Args { pos, kw })).map(Some);
        }
        let operand = match (scale.combined, &all.pos[..]) {
            (None, [_, operand]) => operand.clone(),
            (Some(how), [_, a, b]) => {
                self.emit(&Callee::Method(how), &Args::pos(vec![a.clone(), b.clone()]))?
            }
            _ => return Ok(None),
        };
        let by = Args::pos(vec![operand, factor]);
        let product = self.emit(&Callee::Method("mul"), &by)?;
        let sum = Args::pos(vec![all.pos[0].clone(), product]);
        self.emit(&Callee::Method(scale.adds), &sum).map(Some)
    }
}
