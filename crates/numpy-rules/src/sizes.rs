//! Sizes that are no constants, as NumPy is asked with them, and those that data decides.
//!
//! Invariant: what NumPy gives for the sizes of this call is only taken for other sizes where it gives the same for
//! other ones, in the sizes that torch says it has; or else the sizes are guarded.

use std::rc::Rc;

use guards::{IntExpr, IntLeaf};
use pyo3::prelude::*;
use tensor_meta::{SymInt, TensorMeta};
use translator::stop::{R, Stop};
use translator::torch_ops::args::MetaArg;
use translator::tx::Tx;
use variables::{IntVar, TensorVar, Var};

/// With which sizes NumPy is asked, where some are no constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SizesAt {
    /// those of this call, which are guarded
    Fixed,
    /// those of this call
    Now,
    /// those of another call, which are so many times as large
    Other(i64),
}

/// How many times as large as in this call the sizes of another one are: what divides these divides those. NumPy
/// refuses some of them: an array of 24 items has two rows and six, but not nine.
pub(crate) const TIMES: [i64; 4] = [3, 2, 5, 4];

impl SizesAt {
    /// What is known of a tensor, with all sizes as numbers.
    pub(crate) fn meta(self, tx: &mut Tx<'_>, tensor: &Rc<TensorVar>) -> R<TensorMeta> {
        let args = translator::Args::pos(vec![Var::Tensor(tensor.clone())]);
        let args = tx.node_args(&args)?;
        let fixed = match self {
            SizesAt::Fixed => tx.fix_args(&args),
            SizesAt::Now | SizesAt::Other(_) => None,
        };
        match fixed.as_ref().unwrap_or(&args).meta_pos.first() {
            Some(MetaArg::Tensor(meta)) => self.of_meta(tx, meta),
            _ => Err(Stop::Internal("a tensor that is none".into())),
        }
    }

    /// A description of a tensor with all sizes as numbers.
    pub(crate) fn of_meta(self, tx: &mut Tx<'_>, meta: &TensorMeta) -> R<TensorMeta> {
        let mut meta = meta.clone();
        for size in meta.shape.iter_mut().chain(&mut meta.strides) {
            *size = SymInt::Const(self.number(tx, *size)?);
        }
        meta.storage_offset = SymInt::Const(self.number(tx, meta.storage_offset)?);
        Ok(meta)
    }

    /// A size.
    pub(crate) fn number(self, tx: &mut Tx<'_>, size: SymInt) -> R<i64> {
        match (size.as_const(), tx.sym_int(size)?) {
            (Some(n), _) => Ok(n),
            (None, v @ Var::Int(_)) if self == SizesAt::Fixed => {
                let v = tx.realize(&v)?;
                match tx.int_operand(&v)? {
                    Some(int) => Ok(int.value),
                    None => Err(Stop::Internal("a size that is no number".into())),
                }
            }
            (None, Var::Int(int)) => self.int(tx, &int),
            (None, _) => Err(Stop::unsupported("a size that is too large an expression")),
        }
    }

    /// An int that is no constant.
    pub(crate) fn int(self, tx: &Tx<'_>, int: &IntVar) -> R<i64> {
        let SizesAt::Other(times) = self else {
            return Ok(int.value);
        };
        let other = |leaf: IntLeaf| {
            let expr = match leaf {
                IntLeaf::Value(source) => IntExpr::Source(source),
                IntLeaf::Dim(source, extent, dim) => IntExpr::Dim(source, extent, dim),
            };
            let value = tx.value_of(&expr)?;
            value.checked_mul(times)
        };
        let value = int.expr.eval(&other);
        value.ok_or_else(|| Stop::unsupported("a size whose value is not known"))
    }
}

/// Whether data decides how large a tensor is.
///
/// # Errors
/// Those of asking for a size.
pub(crate) fn decided_by_data(tx: &mut Tx<'_>, meta: &TensorMeta) -> R<bool> {
    for size in meta.shape.iter().filter(|size| size.as_const().is_none()) {
        let size = tx.sym_int(*size)?;
        if tx.follows_from_read(&size) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an array looks like a tensor, but for the sizes that data decides.
///
/// # Errors
/// What NumPy raises.
pub(crate) fn fits_but_for_data(real: &Bound<'_, PyAny>, meta: &TensorMeta) -> R<bool> {
    let shape: Vec<i64> = real.getattr("shape")?.extract()?;
    let item: i64 = real.getattr("itemsize")?.extract()?;
    let strides: Vec<i64> = real.getattr("strides")?.extract()?;
    // Of what is as large as a size that data decides, NumPy says how large it is in its array.
    let number = |n: &SymInt| {
        let same = meta.shape.iter().position(|size| size == n);
        n.as_const().or_else(|| shape.get(same?).copied())
    };
    let sizes: Option<Vec<i64>> = meta.shape.iter().map(number).collect();
    let own = meta.strides.iter().map(|s| Some(number(s)? * item));
    let own: Option<Vec<i64>> = own.collect();
    // The strides of a row are recorded where they are others.
    Ok(sizes.as_ref() == Some(&shape) && (own == Some(strides) || shape.len() == 1))
}
