//! Quantized tensors: what makes them, and what makes plain ones of them. Views take them as they are; all else is asked
//! of nobody, since fake tensors have neither a scale nor a zero point.

use crate::call::{Call, In, R, one, tensor, unsupported};
use crate::family::view::format_strides;
use crate::registry::{Entry, rule};
use crate::traits::facts::{QUANTIZES, TAKES_NUMBERS};
use crate::types::{DType, Value, suggest_memory_format};

/// A tensor of the same sizes in the nearest memory format, as all of these make theirs.
fn laid_out(call: &Call<'_>, x: &In<'_>, dtype: DType) -> R {
    let format = suggest_memory_format(&x.shape, &x.strides);
    match format_strides(format, &x.shape)? {
        Some(strides) => one(call.fresh(&x.shape, &strides, dtype, &[x.meta])),
        None => unsupported("memory format"),
    }
}

fn quantize_per_tensor(call: &Call<'_>) -> R {
    let [x, scale, zero_point, dtype] = call.bind(["input", "scale", "zero_point", "dtype"])?;
    let x = tensor(x)?;
    let Value::DType(dtype) = dtype else {
        return unsupported("dtype");
    };
    let range = match dtype {
        DType::QInt8 => -128..=127,
        DType::QUInt8 => 0..=255,
        DType::QInt32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
        _ => return unsupported("dtype"),
    };
    let is_number = match (scale, zero_point) {
        (Value::Float(_) | Value::SymFloat | Value::Int(_), Value::Int(zero)) => {
            range.contains(zero)
        }
        _ => false,
    };
    if x.dtype != DType::Float32 || x.meta.requires_grad || !is_number {
        return unsupported("arguments of quantize_per_tensor");
    }
    laid_out(call, &x, *dtype)
}

fn dequantize(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    match x.dtype {
        DType::QInt8 | DType::QUInt8 | DType::QInt32 => laid_out(call, &x, DType::Float32),
        _ => unsupported("dequantize of a plain tensor"),
    }
}

fn int_repr(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    let dtype = match x.dtype {
        DType::QInt8 => DType::Int8,
        DType::QUInt8 => DType::UInt8,
        DType::QInt32 => DType::Int32,
        _ => return unsupported("int_repr of a plain tensor"),
    };
    laid_out(call, &x, dtype)
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("quantize_per_tensor", "*", "", quantize_per_tensor)
            .does(QUANTIZES | TAKES_NUMBERS)
            .cpu_only(),
        rule("dequantize", "*", "*", dequantize)
            .any_dtype()
            .cpu_only(),
        rule("int_repr", "*", "*", int_repr).any_dtype().cpu_only(),
    ]);
}
