//! Operations that scale an operand by a number, where that is a tensor without dimensions: `x.add_(y, alpha=t)`.
//! Eager reads the tensor, and so does a graph that runs as it is; a compiler has to have it as a tensor.
//!
//! Invariant: only graphs that a backend compiles are made of other operations than the program's.

use pyo3::prelude::*;
use variables::Var;

use super::emit::Callee;
use crate::stop::R;
use crate::tx::{Args, Tx};

impl Tx<'_> {
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
        // A number is left as it is: to look at one of NumPy's makes it a constant.
        if let Var::Lazy(l) = factor
            && !l
                .obj
                .bind(self.py)
                .is_instance(self.known.tensor.bind(self.py))?
        {
            return Ok(None);
        }
        let Var::Tensor(t) = self.look(factor)? else {
            return Ok(None);
        };
        if &**given != scale.keyword || !self.st.effects.meta(&t).shape.is_empty() {
            return Ok(None);
        }
        let factor = Var::Tensor(t);
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
