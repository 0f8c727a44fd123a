//! Floats that change: how the input of a graph is computed of what a frame has.

use guards::SourceId;
use serde::{Deserialize, Serialize};

/// How a float is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Float {
    /// What the frame has.
    Source(SourceId),
    /// A number.
    Const(f64),
    /// `-x`.
    Negative(Box<Float>),
    /// An operation on two.
    Binary(Operation, Box<[Float; 2]>),
}

/// An operation on two floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

impl Float {
    /// The value; `None` where a source has none.
    pub fn eval(&self, of: &dyn Fn(SourceId) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Float::Source(source) => of(*source)?,
            Float::Const(value) => *value,
            Float::Negative(x) => -x.eval(of)?,
            Float::Binary(operation, ab) => {
                let (a, b) = (ab[0].eval(of)?, ab[1].eval(of)?);
                match operation {
                    Operation::Add => a + b,
                    Operation::Subtract => a - b,
                    Operation::Multiply => a * b,
                    Operation::Divide => a / b,
                }
            }
        })
    }

    /// Calls `f` with each source.
    pub fn for_each_source(&self, f: &mut impl FnMut(SourceId)) {
        match self {
            Float::Source(source) => f(*source),
            Float::Const(_) => {}
            Float::Negative(x) => x.for_each_source(f),
            Float::Binary(_, ab) => ab.iter().for_each(|x| x.for_each_source(f)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_gives() {
        let mut sources = guards::SourceTable::new();
        let x = sources.intern(guards::Source::Globals);
        let float = |x| {
            Box::new([
                Float::Negative(Box::new(Float::Source(x))),
                Float::Const(2.0),
            ])
        };
        for (operation, expected) in [
            (Operation::Add, 1.5),
            (Operation::Subtract, -2.5),
            (Operation::Multiply, -1.0),
            (Operation::Divide, -0.25),
        ] {
            let of = Float::Binary(operation, float(x));
            assert_eq!(of.eval(&|_| Some(0.5)), Some(expected));
            assert_eq!(of.eval(&|_| None), None);
            let mut found = Vec::new();
            of.for_each_source(&mut |source| found.push(source));
            assert_eq!(found, [x]);
        }
    }
}
