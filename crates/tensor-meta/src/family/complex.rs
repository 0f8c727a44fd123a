//! Complex tensors: their two real halves, and what makes them of real ones.

use crate::call::{Call, In, R, identity, one, raise, tensor, unsupported};
use crate::family::elementwise::{Operand, elementwise, pair, to_float};
use crate::family::view::unnamed;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::traits::facts::VIEW;
use crate::types::{TensorMeta, Value};

/// A view of the pairs of real numbers in a complex tensor.
fn real_pairs(call: &Call<'_>, x: &In<'_>) -> TensorMeta {
    let (mut shape, mut strides) = (x.shape.clone(), x.strides.clone());
    for stride in &mut strides {
        *stride *= 2;
    }
    shape.push(Size::known(2));
    strides.push(Size::ONE);
    let mut view = call.view(x, &shape, &strides, x.start() * 2);
    view.dtype = x.dtype.to_real();
    view
}
fn view_as_real(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if !x.dtype.is_complex() {
        return raise("view_as_real of a real tensor");
    }
    one(real_pairs(call, &x))
}
fn view_as_complex(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    let Some(dtype) = x.dtype.to_complex() else {
        return raise("view_as_complex of this dtype");
    };
    if !x.dtype.is_floating() || x.shape.last().is_none_or(|n| *n != 2) {
        return raise("view_as_complex needs pairs of floats");
    }
    let n = x.dim() - 1;
    let even = |stride: &Size| *stride % 2 == 0;
    if x.strides[n] != 1 || !x.strides[..n].iter().all(even) || !even(&x.start()) {
        return raise("layout of pairs");
    }
    let mut strides = x.strides.clone();
    strides.pop();
    for stride in &mut strides {
        *stride /= 2;
    }
    let mut view = call.view(&x, &x.shape[..n], &strides, x.start() / 2);
    view.dtype = dtype;
    one(view)
}
/// One of the halves: a view.
fn half(call: &Call<'_>, x: &In<'_>, at: i64) -> R {
    let pairs = real_pairs(call, x);
    let pairs = In::new(&pairs);
    let n = x.dim();
    one(call.view(
        &pairs,
        &pairs.shape[..n],
        &pairs.strides[..n],
        pairs.start() + at,
    ))
}
fn real(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    match x.dtype.is_complex() {
        true => half(call, &x, 0),
        false => Ok(identity(x.meta)),
    }
}
fn imag(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    match x.dtype.is_complex() {
        true => half(call, &x, 1),
        false => raise("imag of a real tensor"),
    }
}
/// Two real tensors of one dtype as one complex tensor.
fn of_halves(call: &Call<'_>, a: &Value<'_>, b: &Value<'_>) -> R {
    let operands = pair(a, b)?;
    let dtype = operands[0].dtype();
    if operands.iter().any(|o| matches!(o, Operand::Number(_))) || operands[1].dtype() != dtype {
        return raise("two tensors of one dtype make a complex one");
    }
    match dtype.to_complex() {
        Some(complex) if dtype.is_floating() => {
            one(elementwise(call, &operands, Some(dtype), complex)?)
        }
        _ => raise("a complex tensor is made of floats"),
    }
}
fn complex(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["real", "imag"])?;
    of_halves(call, a, b)
}
fn polar(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["abs", "angle"])?;
    of_halves(call, a, b)
}
fn angle(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() {
        return unsupported("angle of complex numbers");
    }
    let dtype = to_float(call, x.dtype);
    one(elementwise(
        call,
        &[Operand::Tensor(x)],
        Some(dtype),
        dtype,
    )?)
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    let lines = [
        rule("view_as_real", "*", "", view_as_real)
            .does(VIEW)
            .any_dtype(),
        rule("view_as_complex", "*", "", view_as_complex)
            .does(VIEW)
            .cast_on(Cast::NotDescribed, Cast::None),
        rule("real", "*", "", real).does(VIEW).any_dtype(),
        rule("imag", "*", "", imag).does(VIEW).any_dtype(),
        rule("attribute_real", "getattr.real", "", |call| {
            real(&unnamed(call)?)
        })
        .does(VIEW)
        .any_dtype(),
        rule("attribute_imag", "getattr.imag", "", |call| {
            imag(&unnamed(call)?)
        })
        .does(VIEW)
        .any_dtype(),
        rule("complex", "*", "", complex),
        rule("polar", "*", "", polar).cast_on(Cast::Single, Cast::None),
        rule("angle", "*", "*", angle),
    ];
    out.extend(lines);
}
