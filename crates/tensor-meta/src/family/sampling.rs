//! Draws from distributions.

use crate::call::{Call, R, bool_or, float_or, one, raise, size, tensor, unsupported};
use crate::registry::{Entry, rule};
use crate::traits::facts::DRAWS;
use crate::types::{DType, Dims, Value};

/// Whether the call names a generator of its own.
fn own_generator(call: &Call<'_>) -> bool {
    let named = call.kwargs.iter().find(|(key, _)| *key == "generator");
    named.is_some_and(|(_, value)| !value.is_none())
}

/// Writes draws with numbers as parameters to its first argument.
fn fill(call: &Call<'_>, fits: fn(DType) -> bool) -> R {
    let Some((x, rest)) = call.args.split_first() else {
        return unsupported("keyword argument");
    };
    let x = tensor(x)?;
    if !fits(x.dtype) || own_generator(call) {
        return unsupported("random numbers of this dtype");
    }
    let named = call.kwargs.iter().filter(|(key, _)| *key != "generator");
    for value in rest.iter().chain(named.map(|(_, value)| value)) {
        float_or(value, 0.0)?;
    }
    one(call.fresh(&x.shape, &x.strides, x.dtype, &[x.meta]))
}
fn floats(call: &Call<'_>) -> R {
    fill(call, DType::is_floating)
}
fn geometric(call: &Call<'_>) -> R {
    match call.args {
        [_, Value::Float(p)] if *p > 0.0 && *p < 1.0 => fill(call, |d| !d.is_complex()),
        _ => unsupported("parameters of a draw"),
    }
}
fn bernoulli_in_place(call: &Call<'_>) -> R {
    match call.args {
        [_] => fill(call, |d| !d.is_complex()),
        [_, Value::Float(p)] if (0.0..=1.0).contains(p) => fill(call, |d| !d.is_complex()),
        _ => unsupported("parameters of a draw"),
    }
}
fn whole(call: &Call<'_>) -> R {
    match call.args {
        [_] => fill(call, |d| !d.is_complex()),
        _ => unsupported("parameters of a draw"),
    }
}

/// One draw for each element of the parameter.
fn each(call: &Call<'_>) -> R {
    let [x, _] = call.bind(["input", "generator"])?;
    let x = tensor(x)?;
    if !x.dtype.is_floating() || own_generator(call) || call.args.len() > 1 {
        return unsupported("parameters of a draw");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}
fn multinomial(call: &Call<'_>) -> R {
    let [x, count, replacement, generator] =
        call.bind(["input", "num_samples", "replacement", "generator"])?;
    let x = tensor(x)?;
    if !generator.is_none() {
        return unsupported("generator");
    }
    let again = bool_or(replacement, false)?;
    let count = size(count)?;
    if !x.dtype.is_floating() || x.dim() == 0 || x.dim() > 2 || count < 1 {
        return raise("arguments of multinomial");
    }
    if x.count() == 0 {
        return unsupported("arguments of multinomial");
    }
    if !again && count > x.shape[x.dim() - 1] {
        return raise("more samples than there are without replacement");
    }
    let mut shape: Dims = x.shape.clone();
    let last = shape.len() - 1;
    shape[last] = count;
    one(call.rows(&shape, DType::Int64, &[x.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("uniform_", "", "* normal_", floats)
            .does(DRAWS)
            .mutates(),
        rule("exponential_", "", "* cauchy_ log_normal_", floats)
            .does(DRAWS)
            .mutates(),
        rule("geometric_", "", "*", geometric).does(DRAWS).mutates(),
        rule("bernoulli_", "", "*", bernoulli_in_place)
            .does(DRAWS)
            .mutates(),
        rule("random_", "", "*", whole).does(DRAWS).mutates(),
        rule("bernoulli", "*", "*", each).does(DRAWS),
        rule("poisson", "*", "", each).does(DRAWS),
        rule("multinomial", "*", "*", multinomial).does(DRAWS),
    ]);
}
