//! Texts that are made when the program runs.
//!
//! Not here: how the text of a value is made (the crate `builtins`).

use variables::{TextPart, TextVar, Var};

use crate::stop::Stop;
use crate::tx::Tx;

impl Tx<'_> {
    /// Whether a text of tensors is still what the residual code would make it.
    pub(crate) fn is_current(&self, t: &TextVar) -> bool {
        t.parts.iter().all(|p| match p {
            TextPart::Tensor { writes, .. } => *writes == self.st.effects.writes,
            TextPart::Known(_) | TextPart::Value(_) => true,
        })
    }

    /// The break for a value whose text is known only when the program runs.
    pub fn no_text(&self, v: &Var) -> Stop {
        let what = self.describe(v);
        Stop::brk(
            format!("Text of {what}"),
            "The text of a tensor, or of an object made in the compiled function, is known only when the program runs.",
            "Format it outside of the compiled function, or format its shape, dtype or other metadata.",
        )
    }
}
