//! Elementwise ops: unary, binary, ternary, comparisons, logic; anything whose result is the
//! broadcast of its inputs in TensorIterator's layout.

mod rows;

use crate::call::{
    Call, In, R, bool_or, identity, int, int_or, one, raise, string, tensor, unsupported,
};
use crate::iterator::{Layout, output_layout, preserved_strides};
use crate::promote::{Rank, result_type};
use crate::registry::{Entry, rule};
use crate::types::{DType, Inferred, TensorMeta, Value};

pub(crate) use rows::entries;

/// A tensor or a Python number as an operand. Few live at a time, and nearly all are tensors.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Operand<'a> {
    Tensor(In<'a>),
    Number(DType),
}

impl<'a> Operand<'a> {
    pub fn read(value: &Value<'a>) -> R<Operand<'a>> {
        Ok(match value {
            Value::Int(_) | Value::SymInt(_) => Operand::Number(DType::Int64),
            Value::Float(_) | Value::SymFloat => Operand::Number(DType::Float64),
            Value::Bool(_) => Operand::Number(DType::Bool),
            Value::Complex(..) => Operand::Number(DType::Complex128),
            other => Operand::Tensor(tensor(other)?),
        })
    }

    pub fn dtype(&self) -> DType {
        match self {
            Operand::Tensor(t) => t.dtype,
            Operand::Number(d) => *d,
        }
    }

    pub fn typed(&self) -> (DType, Rank) {
        match self {
            Operand::Tensor(t) if t.dim() > 0 => (t.dtype, Rank::Dimensioned),
            Operand::Tensor(t) => (t.dtype, Rank::ZeroDim),
            Operand::Number(d) => (*d, Rank::Number),
        }
    }
}

/// The promoted type of the operands.
pub(crate) fn common_type(call: &Call<'_>, operands: &[Operand<'_>]) -> R<DType> {
    result_type(call.ctx, operands.iter().map(Operand::typed))
}

/// The result of an elementwise op that computes in `common` (`None`: no conversion of inputs)
/// and returns `dtype`.
pub(crate) fn elementwise(
    call: &Call<'_>,
    operands: &[Operand<'_>],
    common: Option<DType>,
    dtype: DType,
) -> R<TensorMeta> {
    let mut layouts = Vec::with_capacity(operands.len());
    let mut inputs: Vec<&TensorMeta> = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand {
            Operand::Tensor(t) => {
                // On the CPU inputs are converted first, which makes them dense.
                let strides = match common {
                    Some(c) if c != t.dtype && t.is_cpu() => {
                        preserved_strides(&t.shape, &t.strides)
                    }
                    _ => t.strides.clone(),
                };
                layouts.push(Layout {
                    shape: t.shape.clone(),
                    strides,
                });
                inputs.push(t.meta);
            }
            Operand::Number(_) => layouts.push(Layout {
                shape: Default::default(),
                strides: Default::default(),
            }),
        }
    }
    if inputs.is_empty() {
        return unsupported("no tensor operand");
    }
    let out = output_layout(&layouts)?;
    Ok(call.fresh(&out.shape, &out.strides, dtype, &inputs))
}

/// The floating type that integers become in `torch.exp`, `/`, ...
pub(crate) fn to_float(call: &Call<'_>, dtype: DType) -> DType {
    if dtype.is_integral_or_bool() {
        call.ctx.default_dtype
    } else {
        dtype
    }
}

fn unary(call: &Call<'_>, ok: fn(DType) -> R<()>, out: fn(&Call<'_>, DType) -> DType) -> R {
    let [x] = call.bind(["input"])?;
    unary_of(call, x, ok, out)
}

fn unary_of(
    call: &Call<'_>,
    x: &Value<'_>,
    ok: fn(DType) -> R<()>,
    out: fn(&Call<'_>, DType) -> DType,
) -> R {
    let x = tensor(x)?;
    ok(x.dtype)?;
    let dtype = out(call, x.dtype);
    let common = if dtype == DType::Bool {
        None
    } else {
        Some(dtype)
    };
    // |z| is computed in the complex type.
    let common = common.filter(|_| !x.dtype.is_complex());
    one(elementwise(call, &[Operand::Tensor(x)], common, dtype)?)
}

fn any(_: DType) -> R<()> {
    Ok(())
}
fn real(d: DType) -> R<()> {
    if d.is_complex() {
        return raise("not defined for complex tensors");
    }
    Ok(())
}
pub(crate) fn real_number(d: DType) -> R<()> {
    if d == DType::Bool {
        return unsupported("bool argument");
    }
    real(d)
}
pub(crate) fn number(d: DType) -> R<()> {
    if d == DType::Bool {
        return raise("not defined for bool tensors");
    }
    Ok(())
}
fn floating(d: DType) -> R<()> {
    if !d.is_floating() {
        return raise("defined for floating tensors only");
    }
    Ok(())
}
pub(crate) fn floating_or_complex(d: DType) -> R<()> {
    if !d.is_differentiable() {
        return raise("defined for floating and complex tensors only");
    }
    Ok(())
}
fn whole(d: DType) -> R<()> {
    if !d.is_integral_or_bool() {
        return raise("defined for integers only");
    }
    Ok(())
}
fn keep(_: &Call<'_>, d: DType) -> DType {
    d
}
fn boolean(_: &Call<'_>, _: DType) -> DType {
    DType::Bool
}
fn modulus(_: &Call<'_>, d: DType) -> DType {
    d.to_real()
}

/// `int -> default dtype` unary ops that take complex tensors too.
fn float_unary(call: &Call<'_>) -> R {
    unary(call, any, to_float)
}
/// `int -> default dtype` unary ops for real tensors.
fn real_float_unary(call: &Call<'_>) -> R {
    unary(call, real, to_float)
}
fn neg(call: &Call<'_>) -> R {
    unary(call, number, keep)
}
fn positive(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    number(x.dtype)?;
    Ok(identity(x.meta))
}
fn conj_like(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() {
        return unsupported("complex tensor");
    }
    Ok(identity(x.meta))
}
fn abs(call: &Call<'_>) -> R {
    unary(call, number, modulus)
}
fn rounding(call: &Call<'_>) -> R {
    unary(call, real_number, keep)
}
fn round(call: &Call<'_>) -> R {
    let [x, decimals] = call.bind(["input", "decimals"])?;
    int_or(decimals, 0)?;
    unary_of(call, x, real_number, keep)
}
fn frac(call: &Call<'_>) -> R {
    unary(call, floating, keep)
}
fn sign(call: &Call<'_>) -> R {
    unary(call, real, keep)
}
fn sgn(call: &Call<'_>) -> R {
    unary(call, any, keep)
}
fn square(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    let operands = [Operand::Tensor(x), Operand::Number(DType::Int64)];
    let dtype = common_type(call, &operands)?;
    one(elementwise(call, &operands, Some(dtype), dtype)?)
}
fn bitwise_not(call: &Call<'_>) -> R {
    unary(call, whole, keep)
}
fn predicate(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    unary_of(call, x, any, boolean)
}
fn real_predicate(call: &Call<'_>) -> R {
    unary(call, real, boolean)
}
fn nan_to_num(call: &Call<'_>) -> R {
    let [x, _, _, _] = call.bind(["input", "nan", "posinf", "neginf"])?;
    unary_of(call, x, any, keep)
}
fn logit(call: &Call<'_>) -> R {
    let [x, _] = call.bind(["input", "eps"])?;
    unary_of(call, x, real, to_float)
}

/// Reads the operands of a binary op and checks each one's dtype.
pub(crate) fn pair<'a>(a: &Value<'a>, b: &Value<'a>) -> R<[Operand<'a>; 2]> {
    Ok([Operand::read(a)?, Operand::read(b)?])
}

fn promoted(call: &Call<'_>, operands: &[Operand<'_>], ok: fn(DType) -> R<()>) -> R {
    let dtype = common_type(call, operands)?;
    ok(dtype)?;
    one(elementwise(call, operands, Some(dtype), dtype)?)
}

pub(crate) fn check_alpha(alpha: &Value<'_>, dtype: DType) -> R<()> {
    match alpha {
        Value::None => Ok(()),
        Value::Int(_) | Value::SymInt(_) => Ok(()),
        Value::Float(_) | Value::SymFloat if dtype.is_differentiable() => Ok(()),
        Value::Float(_) | Value::SymFloat => raise("a float alpha needs a floating result"),
        _ => unsupported("alpha"),
    }
}

fn add(call: &Call<'_>) -> R {
    let [a, b, alpha] = call.bind(["input", "other", "alpha"])?;
    let operands = pair(a, b)?;
    check_alpha(alpha, common_type(call, &operands)?)?;
    promoted(call, &operands, any)
}
fn sub(call: &Call<'_>) -> R {
    let [a, b, alpha] = call.bind(["input", "other", "alpha"])?;
    let operands = pair(a, b)?;
    if operands.iter().any(|o| o.dtype() == DType::Bool) {
        return raise("subtraction of bool");
    }
    check_alpha(alpha, common_type(call, &operands)?)?;
    promoted(call, &operands, any)
}
fn rsub(call: &Call<'_>) -> R {
    let [a, b, alpha] = call.bind(["input", "other", "alpha"])?;
    let operands = pair(b, a)?;
    if operands.iter().any(|o| o.dtype() == DType::Bool) {
        return raise("subtraction of bool");
    }
    check_alpha(alpha, common_type(call, &operands)?)?;
    promoted(call, &operands, any)
}
fn mul(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    product(call, &pair(a, b)?)
}
/// What `mul` gives for two operands.
pub(crate) fn product(call: &Call<'_>, operands: &[Operand<'_>]) -> R {
    promoted(call, operands, any)
}
fn div(call: &Call<'_>) -> R {
    let [a, b, mode] = call.bind(["input", "other", "rounding_mode"])?;
    let operands = pair(a, b)?;
    if !mode.is_none() {
        if !matches!(string(mode)?, "floor" | "trunc") {
            return raise("rounding_mode");
        }
        return promoted(call, &operands, real_number);
    }
    let dtype = to_float(call, common_type(call, &operands)?);
    one(elementwise(call, &operands, Some(dtype), dtype)?)
}
fn whole_division(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    let operands = pair(a, b)?;
    if !common_type(call, &operands)?.is_floating() {
        let on_cpu = matches!(&operands[0], Operand::Tensor(t) if t.is_cpu());
        match b {
            Value::Int(0) if on_cpu => return raise("division of integers by zero"),
            Value::SymInt(_) => {
                return unsupported("division of integers by a number that may be zero");
            }
            _ => {}
        }
    }
    if matches!(b, Value::Int(0)) {
        return unsupported("division by the number zero");
    }
    promoted(call, &operands, real_number)
}
fn pow(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "exponent"])?;
    let operands = pair(a, b)?;
    let dtype = common_type(call, &operands)?;
    if let (Operand::Tensor(t), Value::Int(n)) = (&operands[0], b)
        && t.dtype.is_integral_or_bool()
        && *n < 0
    {
        return raise("integers to negative integer powers");
    }
    if matches!(b, Value::SymInt(_)) && !dtype.is_differentiable() {
        return unsupported("power of integers that may be negative");
    }
    if dtype == DType::Bool {
        return unsupported("bool argument");
    }
    one(elementwise(call, &operands, Some(dtype), dtype)?)
}
fn atan2(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    tensor(a)?;
    tensor(b)?;
    float_power_ops(call)
}
fn float_power_ops(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    let operands = pair(a, b)?;
    let dtype = to_float(call, common_type(call, &operands)?);
    real(dtype)?;
    one(elementwise(call, &operands, Some(dtype), dtype)?)
}
pub(crate) fn real_binary(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    if !matches!((a, b), (Value::Tensor(_), Value::Tensor(_))) {
        return unsupported("number operand");
    }
    promoted(call, &pair(a, b)?, real)
}
fn float_binary(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    if !matches!((a, b), (Value::Tensor(_), Value::Tensor(_))) {
        return unsupported("number operand");
    }
    promoted(call, &pair(a, b)?, floating)
}
fn float_or_complex_binary(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    if !matches!((a, b), (Value::Tensor(_), Value::Tensor(_))) {
        return unsupported("number operand");
    }
    promoted(call, &pair(a, b)?, floating_or_complex)
}
fn bitwise(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    promoted(call, &pair(a, b)?, whole)
}
fn shift(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    let operands = pair(a, b)?;
    let dtype = common_type(call, &operands)?;
    if !dtype.is_integral() {
        return unsupported("shift of a non-integer");
    }
    promoted(call, &operands, whole)
}
fn integer_binary(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    let operands = [Operand::Tensor(tensor(a)?), Operand::Tensor(tensor(b)?)];
    if !common_type(call, &operands)?.is_integral() {
        return unsupported("gcd of a non-integer");
    }
    promoted(call, &operands, whole)
}
fn compare(call: &Call<'_>, ok: fn(DType) -> R<()>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    if matches!(b, Value::None | Value::Str(_)) || matches!(a, Value::None | Value::Str(_)) {
        return unsupported("comparison with an object");
    }
    let operands = pair(a, b)?;
    let dtype = common_type(call, &operands)?;
    ok(dtype)?;
    one(elementwise(call, &operands, Some(dtype), DType::Bool)?)
}
fn equality(call: &Call<'_>) -> R {
    compare(call, any)
}
fn ordering(call: &Call<'_>) -> R {
    compare(call, real)
}
/// `==` up to a tolerance.
fn isclose(call: &Call<'_>) -> R {
    let [a, b, _, _, nan] = call.bind(["input", "other", "rtol", "atol", "equal_nan"])?;
    bool_or(nan, false)?;
    let operands = [Operand::Tensor(tensor(a)?), Operand::Tensor(tensor(b)?)];
    if operands[0].dtype() != operands[1].dtype() {
        return raise("isclose of different dtypes");
    }
    let dtype = operands[0].dtype();
    one(elementwise(call, &operands, Some(dtype), DType::Bool)?)
}
fn float_power(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "exponent"])?;
    let operands = pair(a, b)?;
    let dtype = match operands.iter().any(|o| o.dtype().is_complex()) {
        true => DType::Complex128,
        false => DType::Float64,
    };
    one(elementwise(call, &operands, Some(dtype), dtype)?)
}
/// Operands of one dtype, which nothing converts.
fn heaviside(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "values"])?;
    let operands = [Operand::Tensor(tensor(a)?), Operand::Tensor(tensor(b)?)];
    let dtype = operands[0].dtype();
    if operands[1].dtype() != dtype || dtype.is_complex() {
        return raise("heaviside of different dtypes");
    }
    one(elementwise(call, &operands, Some(dtype), dtype)?)
}
fn polygamma(call: &Call<'_>) -> R {
    let [n, x] = call.bind(["n", "input"])?;
    if int(n)? < 0 {
        return raise("order of polygamma");
    }
    unary_of(call, x, real, to_float)
}
/// Parts between 0.5 and 1, and exponents.
fn frexp(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    floating(x.dtype)?;
    let dtype = x.dtype;
    let operands = [Operand::Tensor(x)];
    let part = |dtype| Ok(Inferred::Tensor(elementwise(call, &operands, None, dtype)?));
    Ok(Inferred::NamedTuple {
        type_name: "frexp",
        items: vec![part(dtype)?, part(DType::Int32)?],
    })
}
fn isreal(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    if tensor(x)?.dtype.is_complex() {
        return unsupported("isreal of complex numbers");
    }
    unary_of(call, x, any, boolean)
}
fn logical(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    let operands = [Operand::Tensor(tensor(a)?), Operand::Tensor(tensor(b)?)];
    let dtype = common_type(call, &operands)?;
    one(elementwise(call, &operands, Some(dtype), DType::Bool)?)
}
