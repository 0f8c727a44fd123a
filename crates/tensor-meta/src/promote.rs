//! Type promotion: torch's table for two dtypes, and the three priorities of dimensioned tensors,
//! 0-dim tensors and Python numbers.

use crate::call::{R, raise, unsupported};
use crate::types::{Ctx, DType};

/// Who brings a dtype to a promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// A tensor with dimensions.
    Dimensioned,
    /// A 0-dim tensor.
    ZeroDim,
    /// A Python number.
    Number,
}

fn is_wide_unsigned(d: DType) -> bool {
    matches!(d, DType::UInt16 | DType::UInt32 | DType::UInt64)
}

/// `torch.promote_types`.
pub(crate) fn promote_types(a: DType, b: DType) -> R<DType> {
    use DType::*;
    if a == b {
        return Ok(a);
    }
    let known = |d: DType| {
        (d.is_integral_or_bool() || d.is_floating() || d.is_complex())
            && !matches!(d, BComplex32 | Float4E2m1fnX2)
    };
    if !known(a) || !known(b) {
        return unsupported("promotion of an unusual dtype");
    }
    if a.is_float8() || b.is_float8() {
        return raise("float8 types do not promote");
    }
    let kind = |d: DType| match d {
        Bool => 0,
        d if d.is_integral() => 1,
        d if d.is_floating() => 2,
        _ => 3,
    };
    let (low, high) = if kind(a) <= kind(b) { (a, b) } else { (b, a) };
    match (kind(low), kind(high)) {
        (0, _) | (1, 2 | 3) => Ok(high),
        (1, 1) => {
            if is_wide_unsigned(a) || is_wide_unsigned(b) {
                let unsigned = |d| is_wide_unsigned(d) || d == UInt8;
                if unsigned(a) && unsigned(b) {
                    return Ok(if a.itemsize() > b.itemsize() { a } else { b });
                }
                return raise("signed and wide unsigned integers do not promote");
            }
            if a.itemsize() == b.itemsize() {
                return Ok(Int16);
            }
            // uint8 meets a wider signed type, or two signed types meet.
            Ok(if a.itemsize() > b.itemsize() { a } else { b })
        }
        (2, 2) => Ok(match (a, b) {
            (Float16, BFloat16) | (BFloat16, Float16) => Float32,
            _ if a.itemsize() > b.itemsize() => a,
            _ => b,
        }),
        (2, 3) => Ok(match (low, high) {
            (Float64, _) | (_, Complex128) => Complex128,
            (Float32 | BFloat16, _) | (_, Complex64) => Complex64,
            _ => Complex32,
        }),
        _ => Ok(if a.itemsize() > b.itemsize() { a } else { b }),
    }
}

fn promote_opt(a: Option<DType>, b: Option<DType>) -> R<Option<DType>> {
    Ok(match (a, b) {
        (Some(a), Some(b)) => Some(promote_types(a, b)?),
        (a, b) => a.or(b),
    })
}

fn combine(higher: Option<DType>, lower: Option<DType>) -> R<Option<DType>> {
    let (Some(h), Some(l)) = (higher, lower) else {
        return Ok(higher.or(lower));
    };
    if h.is_complex() {
        return Ok(Some(h));
    }
    if h.is_floating() {
        if l.is_complex() {
            return match h.to_complex() {
                Some(c) => Ok(Some(c)),
                None => unsupported("promotion of an unusual dtype"),
            };
        }
        return Ok(Some(h));
    }
    if h == DType::Bool || l.is_floating() || l.is_complex() {
        return promote_opt(Some(h), Some(l));
    }
    Ok(Some(h))
}

/// `torch.result_type` of any number of operands.
pub(crate) fn result_type(ctx: &Ctx, operands: impl Iterator<Item = (DType, Rank)>) -> R<DType> {
    let (mut dim, mut zero, mut number) = (None, None, None);
    for (dtype, rank) in operands {
        match rank {
            Rank::Dimensioned => dim = promote_opt(dim, Some(dtype))?,
            Rank::ZeroDim => zero = promote_opt(zero, Some(dtype))?,
            Rank::Number => {
                let dtype = if dtype.is_complex() {
                    match ctx.default_dtype.to_complex() {
                        Some(c) => c,
                        None => return unsupported("promotion of an unusual dtype"),
                    }
                } else if dtype.is_floating() {
                    ctx.default_dtype
                } else {
                    dtype
                };
                number = promote_opt(number, Some(dtype))?;
            }
        }
    }
    match combine(dim, combine(zero, number)?)? {
        Some(dtype) => Ok(dtype),
        None => unsupported("no operand"),
    }
}

/// `torch.can_cast(from, to)`: which results an in-place op may store.
pub(crate) fn can_cast(from: DType, to: DType) -> bool {
    if from.is_complex() && !to.is_complex() {
        return false;
    }
    if from.is_floating() && to.is_integral_or_bool() {
        return false;
    }
    !(from != DType::Bool && to == DType::Bool)
}
