//! Ops that choose among elements or write them: `where`, clamps, interpolation, fills, copies,
//! masked writes. Their layout is that of elementwise ops.

use crate::call::{Call, In, R, bool_or, one, opt_tensor, raise, tensor, unsupported};
use crate::family::elementwise::{
    Operand, check_alpha, common_type, elementwise, floating_or_complex, number, pair, real_number,
};
use crate::iterator::{Layout, output_layout, preserved_strides};
use crate::promote::promote_types;
use crate::registry::{Entry, rule};
use crate::traits::Cast;
use crate::traits::facts::{CONVERTS_NUMBERS, NEVER_RAISES, TAKES_NUMBERS};
use crate::types::{DType, TensorMeta, Value};

fn where_(call: &Call<'_>) -> R {
    let [cond, a, b] = call.bind(["condition", "input", "other"])?;
    if a.is_none() && b.is_none() {
        return unsupported("data-dependent shape");
    }
    select(call, cond, a, b)
}
fn where_method(call: &Call<'_>) -> R {
    let [a, cond, b] = call.bind(["input", "condition", "other"])?;
    select(call, cond, a, b)
}
fn select(call: &Call<'_>, cond: &Value<'_>, a: &Value<'_>, b: &Value<'_>) -> R {
    let cond = tensor(cond)?;
    if cond.dtype != DType::Bool {
        if cond.dtype == DType::UInt8 {
            return unsupported("uint8 condition");
        }
        return raise("condition is not bool");
    }
    let [a, b] = pair(a, b)?;
    let dtype = match (&a, &b) {
        (Operand::Number(_), Operand::Number(_)) => common_type(call, &[a, b])?,
        _ => {
            let pair = [a, b];
            let dtype = common_type(call, &pair)?;
            let [a, b] = pair;
            let converted = |o: Operand<'_>| match o {
                Operand::Tensor(t) => {
                    let strides = if t.dtype != dtype {
                        preserved_strides(&t.shape, &t.strides)
                    } else {
                        t.strides.clone()
                    };
                    (
                        Layout {
                            shape: t.shape.clone(),
                            strides,
                        },
                        Some(t.meta.clone()),
                    )
                }
                Operand::Number(_) => (
                    Layout {
                        shape: Default::default(),
                        strides: Default::default(),
                    },
                    None,
                ),
            };
            let (la, ma) = converted(a);
            let (lb, mb) = converted(b);
            let lc = Layout {
                shape: cond.shape.clone(),
                strides: cond.strides.clone(),
            };
            let out = output_layout(&[lc, la, lb])?;
            let mut inputs: Vec<&TensorMeta> = ma.iter().chain(mb.iter()).collect();
            inputs.push(cond.meta);
            return one(call.fresh(&out.shape, &out.strides, dtype, &inputs));
        }
    };
    let out = preserved_strides(&cond.shape, &cond.strides);
    one(call.fresh(&cond.shape, &out, dtype, &[cond.meta]))
}

fn clamp(call: &Call<'_>) -> R {
    let [x, min, max] = call.bind(["input", "min", "max"])?;
    clamp_of(call, x, &[min, max])
}
fn clamp_min(call: &Call<'_>) -> R {
    let [x, min] = call.bind(["input", "min"])?;
    clamp_of(call, x, &[min])
}
fn clamp_max(call: &Call<'_>) -> R {
    let [x, max] = call.bind(["input", "max"])?;
    clamp_of(call, x, &[max])
}
fn clamp_of(call: &Call<'_>, x: &Value<'_>, bounds: &[&Value<'_>]) -> R {
    let mut operands = vec![Operand::Tensor(tensor(x)?)];
    let mut is_number = false;
    for bound in bounds.iter().filter(|b| !b.is_none()) {
        let operand = Operand::read(bound)?;
        is_number |= matches!(operand, Operand::Number(_));
        operands.push(operand);
    }
    if operands.len() == 1 {
        return raise("clamp needs a bound");
    }
    if is_number
        && operands.len() == 3
        && !operands[1..]
            .iter()
            .all(|o| matches!(o, Operand::Number(_)))
    {
        return unsupported("bounds of two kinds");
    }
    let dtype = common_type(call, &operands)?;
    real_number(dtype)?;
    if bounds
        .iter()
        .any(|b| matches!(b, Value::Int(n) if *n < 0) || matches!(b, Value::SymInt(_)))
        && dtype == DType::UInt8
    {
        return unsupported("negative bound of an unsigned tensor");
    }
    let operands = if is_number {
        operands.truncate(1);
        operands
    } else {
        operands
    };
    one(elementwise(call, &operands, Some(dtype), dtype)?)
}

fn lerp(call: &Call<'_>) -> R {
    let [a, b, w] = call.bind(["input", "end", "weight"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    if a.dtype != b.dtype {
        return raise("lerp needs equal dtypes");
    }
    floating_or_complex(a.dtype)?;
    let dtype = a.dtype;
    let mut operands = vec![Operand::Tensor(a), Operand::Tensor(b)];
    match Operand::read(w)? {
        Operand::Tensor(w) if w.dtype == dtype => operands.push(Operand::Tensor(w)),
        Operand::Tensor(_) => return unsupported("weight of another dtype"),
        Operand::Number(d) if d.is_complex() => return unsupported("complex weight"),
        Operand::Number(_) => {}
    }
    one(elementwise(call, &operands, None, dtype)?)
}
fn addc(call: &Call<'_>, division: bool) -> R {
    let [x, a, b, value] = call.bind(["input", "tensor1", "tensor2", "value"])?;
    let operands = [
        Operand::Tensor(tensor(x)?),
        Operand::Tensor(tensor(a)?),
        Operand::Tensor(tensor(b)?),
    ];
    let dtype = common_type(call, &operands)?;
    if division
        && operands[1].dtype().is_integral_or_bool()
        && operands[2].dtype().is_integral_or_bool()
    {
        return raise("integer division with addcdiv");
    }
    check_alpha(value, dtype)?;
    number(dtype)?;
    one(elementwise(call, &operands, Some(dtype), dtype)?)
}
fn addcmul(call: &Call<'_>) -> R {
    addc(call, false)
}
fn addcdiv(call: &Call<'_>) -> R {
    addc(call, true)
}

fn fill(call: &Call<'_>) -> R {
    let [x, value] = call.bind(["input", "value"])?;
    let x = tensor(x)?;
    if let Value::Tensor(v) = value {
        if v.ndim() != 0 {
            return raise("fill_ needs a 0-dim tensor");
        }
        return written_from(call, &x, &[v]);
    }
    Operand::read(value)?;
    written_from(call, &x, &[])
}
fn zero(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    written_from(call, &tensor(x)?, &[])
}
fn copy(call: &Call<'_>) -> R {
    let [x, src, non_blocking] = call.bind(["input", "src", "non_blocking"])?;
    bool_or(non_blocking, false)?;
    let x = tensor(x)?;
    let Some(src) = opt_tensor(src)? else {
        return raise("copy_ needs a tensor");
    };
    if crate::iterator::broadcast(&x.shape, &src.shape)? != x.shape {
        return raise("copy_ from a larger tensor");
    }
    written_from(call, &x, &[src.meta])
}
/// The metadata of `x`, which requires grad where it or a source does.
fn written_from(call: &Call<'_>, x: &In<'_>, sources: &[&TensorMeta]) -> R {
    let mut inputs = vec![x.meta];
    inputs.extend_from_slice(sources);
    one(call.fresh(&x.shape, &x.strides, x.dtype, &inputs))
}

fn masked_fill(call: &Call<'_>) -> R {
    let [x, mask, value] = call.bind(["input", "mask", "value"])?;
    let (x, mask) = (tensor(x)?, tensor(mask)?);
    if mask.dtype != DType::Bool {
        return raise("mask is not bool");
    }
    let mut inputs = vec![x.meta];
    match value {
        Value::Tensor(v) => {
            if v.ndim() != 0 {
                return raise("masked_fill needs a 0-dim value");
            }
            inputs.push(v);
            if promote_types(x.dtype, v.dtype)? != x.dtype {
                return unsupported("value of another dtype");
            }
        }
        other => {
            let d = Operand::read(other)?.dtype();
            if d.is_complex() && !x.dtype.is_complex() {
                return unsupported("complex value in a real tensor");
            }
            if d.is_floating() && x.dtype.is_integral_or_bool() {
                return unsupported("float value in an integer tensor");
            }
        }
    }
    let shape = crate::iterator::broadcast(&x.shape, &mask.shape)?;
    // The result is a row-major clone of the expanded input.
    one(call.rows(&shape, x.dtype, &inputs))
}

fn masked_scatter(call: &Call<'_>) -> R {
    let [x, mask, source] = call.bind(["input", "mask", "source"])?;
    let (x, mask, source) = (tensor(x)?, tensor(mask)?, tensor(source)?);
    if mask.dtype != DType::Bool || source.dtype != x.dtype {
        return raise("dtypes of masked_scatter");
    }
    // How many values are needed is known only when the program runs.
    let shape = crate::iterator::broadcast(&x.shape, &mask.shape)?;
    one(call.rows(&shape, x.dtype, &[x.meta, source.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("where", "*", "", where_).does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS),
        rule("where_method", "", "where", where_method)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS),
        rule("clamp", "* torch.clip", "* clip", clamp)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS)
            .inplace("torch.clip_", "clip_"),
        rule("clamp_min", "*", "*", clamp_min)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS)
            .inplace("", ""),
        rule("clamp_max", "*", "*", clamp_max)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS)
            .inplace("", ""),
        rule("lerp", "*", "*", lerp)
            .does(NEVER_RAISES | TAKES_NUMBERS)
            .inplace("", ""),
        rule("addcmul", "*", "*", addcmul)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS)
            .cast_on(Cast::None, Cast::NotDescribed)
            .scales("value", Some("mul"), "add")
            .inplace("", ""),
        rule("addcdiv", "*", "*", addcdiv)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS)
            .cast_on(Cast::None, Cast::NotDescribed)
            .scales("value", Some("div"), "add")
            .inplace("", ""),
        rule("masked_fill", "*", "*", masked_fill)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS)
            .inplace("", ""),
        rule("masked_scatter", "*", "*", masked_scatter).inplace("", ""),
        rule("fill_", "torch.fill_", "fill_", fill)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS)
            .mutates(),
        rule("zero_", "torch.zero_", "zero_", zero)
            .does(NEVER_RAISES)
            .mutates(),
        rule("copy_", "", "copy_", copy)
            .does(NEVER_RAISES)
            .mutates(),
    ]);
}
