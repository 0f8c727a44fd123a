//! What captures are found by: the code that they were made for, and what else decides how it is translated.

use artifact_store::{Key, KeyBuilder};
use pyo3::prelude::*;
use pyo3::types::PyCode;
use serde::{Deserialize, Serialize};

use crate::Why;
use crate::content::Digests;

/// Goes up whenever what is written changes its meaning.
const FORMAT: u64 = 5;
/// How many captures are kept of one code object under one configuration.
const MOST: u64 = 8;

/// Constants of residual code that the pipeline makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Made {
    /// what calls the graph
    Graph,
    /// what says that a continuation follows
    Continuation,
    /// the program's code, for who runs it as plain Python
    Plain,
    /// what is asked whether a graph that raised left no trace
    LeftNoTrace,
    /// one of the builtins of residual code, by its number
    Native(u8),
    /// what calls a step, and whatever that asks for
    Driver,
}

/// The keys under which the captures of a code object may lie.
pub struct Keys([u8; 32]);

impl Keys {
    /// Those of a code object under a configuration, in words; of what a recipe makes of it, where that is not empty.
    ///
    /// # Errors
    /// Why there are none: it has constants that can't be told by their content.
    pub fn of(
        code: &Bound<'_, PyCode>,
        recipe: &[u8],
        configuration: &[&str],
    ) -> Result<Keys, Why> {
        Ok(Keys(
            *blake3::hash(&{
                let mut parts = Digests::default().code(code)?.to_vec();
                parts.extend(FORMAT.to_le_bytes());
                parts.extend((recipe.len() as u64).to_le_bytes());
                parts.extend(recipe);
                for text in [&env!("CARGO_PKG_VERSION")]
                    .into_iter()
                    .chain(configuration)
                {
                    parts.extend((text.len() as u64).to_le_bytes());
                    parts.extend(text.as_bytes());
                }
                parts
            })
            .as_bytes(),
        ))
    }

    /// The keys, in the order in which they are used.
    pub fn all(&self) -> impl Iterator<Item = Key> + '_ {
        (0..MOST).map(|number| {
            KeyBuilder::new()
                .part("capture")
                .part(self.0)
                .number(number)
                .finish()
        })
    }
}
