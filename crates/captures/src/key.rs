//! What captures are found by: the code that they were made for, and what else decides how it is translated.

use artifact_store::{Key, KeyBuilder};
use pyo3::prelude::*;
use pyo3::types::PyCode;
use serde::{Deserialize, Serialize};

use crate::Why;
use crate::content::Digests;

/// Goes up whenever what is written changes its meaning.
const FORMAT: u64 = 14;
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
    /// what makes a tensor of a number
    NumberTensor,
}

/// The keys under which the captures of a code object may lie.
pub struct Keys {
    /// what they were made for, on any machine
    pub made_for: [u8; 32],
    /// the machine and its files
    surroundings: [u8; 32],
}

impl Keys {
    /// Those of a code object under a configuration, in words; of what a recipe makes of it, where that is not empty.
    /// `surroundings`: what tells this machine and its files from others.
    ///
    /// # Errors
    /// Why there are none: it has constants that can't be told by their content.
    pub fn of(
        code: &Bound<'_, PyCode>,
        recipe: &[u8],
        configuration: &[&str],
        surroundings: &str,
    ) -> Result<Keys, Why> {
        let mut made_for = KeyBuilder::new();
        made_for.part(Digests::default().code(code)?).number(FORMAT);
        made_for.part(recipe).part(env!("CARGO_PKG_VERSION"));
        for text in configuration {
            made_for.part(text);
        }
        Ok(Keys::here(made_for.finish().bytes(), surroundings))
    }

    /// Those on this machine, of captures that were made for something, perhaps on another one.
    pub fn here(made_for: [u8; 32], surroundings: &str) -> Keys {
        let surroundings = KeyBuilder::new().part(surroundings).finish().bytes();
        Keys {
            made_for,
            surroundings,
        }
    }

    /// The keys, in the order in which they are used.
    pub fn all(&self) -> impl Iterator<Item = Key> + '_ {
        (0..MOST).map(|number| {
            KeyBuilder::new()
                .part("capture")
                .part(self.made_for)
                .part(self.surroundings)
                .number(number)
                .finish()
        })
    }
}
