//! Operations that scale an operand by a number, where that is a tensor without dimensions: `x.add_(y, alpha=t)`.
//! Eager reads the tensor; a compiler has to have it as a tensor.
//!
//! Invariant: only graphs that a backend compiles are made of other operations than the program's.

use variables::Var;

use super::emit::Callee;
use crate::stop::R;
use crate::tx::{Args, Tx};

/// What is scaled: the second operand, or a combination of the second and the third.
enum Scaled {
    Operand,
    Combined(&'static str),
}

/// Methods, the keyword of their number, what is scaled, and the method that adds it.
const METHODS: [(&str, &str, Scaled, &str); 8] = [
    ("add", "alpha", Scaled::Operand, "add"),
    ("add_", "alpha", Scaled::Operand, "add_"),
    ("sub", "alpha", Scaled::Operand, "sub"),
    ("sub_", "alpha", Scaled::Operand, "sub_"),
    ("addcdiv", "value", Scaled::Combined("div"), "add"),
    ("addcdiv_", "value", Scaled::Combined("div"), "add_"),
    ("addcmul", "value", Scaled::Combined("mul"), "add"),
    ("addcmul_", "value", Scaled::Combined("mul"), "add_"),
];

impl Tx<'_> {
    /// A call of such a method with a tensor for its number; `None` for any other call.
    ///
    /// # Errors
    /// Those of the operations.
    pub(super) fn scaled_by_tensor(&mut self, name: &str, all: &Args) -> R<Option<Var>> {
        if self.runs_as_is {
            return Ok(None);
        }
        let Some((_, keyword, scaled, adding)) = METHODS.iter().find(|m| m.0 == name) else {
            return Ok(None);
        };
        let [(given, factor)] = &all.kw[..] else {
            return Ok(None);
        };
        let Var::Tensor(t) = self.realize(factor)? else {
            return Ok(None);
        };
        if &**given != *keyword || !self.st.effects.meta(&t).shape.is_empty() {
            return Ok(None);
        }
        let factor = Var::Tensor(t);
        let operand = match (scaled, &all.pos[..]) {
            (Scaled::Operand, [_, operand]) => operand.clone(),
            (Scaled::Combined(how), [_, a, b]) => {
                self.emit(&Callee::Method(how), &Args::pos(vec![a.clone(), b.clone()]))?
            }
            _ => return Ok(None),
        };
        let by = Args::pos(vec![operand, factor]);
        let product = self.emit(&Callee::Method("mul"), &by)?;
        let sum = Args::pos(vec![all.pos[0].clone(), product]);
        self.emit(&Callee::Method(adding), &sum).map(Some)
    }
}
