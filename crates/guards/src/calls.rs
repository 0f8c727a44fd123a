//! Values that pure C functions give of several sources: `math.exp(-L['x']) < L['y']`.
//!
//! Invariant: the functions have no effects and run no user code on exact numbers and texts, which is what the
//! sources yield.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::source::SourceId;
use crate::value::{ConstVal, ObjRef};

/// How a value is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CallExpr {
    /// What a source yields.
    Source(SourceId),
    /// A constant.
    Const(ConstVal),
    /// What a C function gives.
    Call(ObjRef, Arc<[CallExpr]>),
}

impl CallExpr {
    /// The sources, each once, in the order of their first use.
    pub fn sources(&self) -> SmallVec<[SourceId; 4]> {
        let mut out = SmallVec::new();
        self.add_sources(&mut out);
        out
    }

    /// Whether `part` is this call, or computed for it.
    pub fn computes(&self, part: &Self) -> bool {
        let Self::Call(_, args) = self else {
            return false;
        };
        self == part || args.iter().any(|arg| arg.computes(part))
    }

    fn add_sources(&self, out: &mut SmallVec<[SourceId; 4]>) {
        match self {
            Self::Source(source) if !out.contains(source) => out.push(*source),
            Self::Source(_) | Self::Const(_) => {}
            Self::Call(_, args) => args.iter().for_each(|arg| arg.add_sources(out)),
        }
    }
}
