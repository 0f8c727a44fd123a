//! Autocast: what it makes of the arguments of a rule.
//!
//! What it does with which operation stands in the rows of the table ([`Cast`]): as torch registers them for the
//! device's key (`aten/src/ATen/autocast_mode.cpp`). What is written in place is left alone.
//! Invariant: `tests/against_torch.rs` runs the cases of every rule under autocast too.

use crate::call::{Call, R, unsupported};
use crate::iterator::preserved_strides;
use crate::registry::Rule;
use crate::traits::{Cast, Traits};
use crate::types::{Alias, Autocast, DType, DeviceKind, SymInt, TensorMeta, Value};

/// What autocast casts the arguments of a rule to; `None` where it leaves them alone.
fn cast_to(cast: Cast, call: &Call<'_>, lower: DType) -> R<Option<DType>> {
    let named = || {
        let dtypes = call.args.iter().chain(call.kwargs.iter().map(|k| &k.1));
        dtypes.filter(|v| matches!(v, Value::DType(_))).count() > 0
    };
    Ok(match cast {
        Cast::NotDescribed => return unsupported("an operation that autocast sees in parts"),
        Cast::Lower => Some(lower),
        Cast::Single => Some(DType::Float32),
        Cast::SingleResult if !named() => Some(DType::Float32),
        Cast::SingleResult | Cast::None => None,
    })
}

/// What a rule gives under autocast.
pub(crate) fn apply(traits: &Traits, rule: Rule, call: &Call<'_>) -> R {
    let (device, cast, lower) = match call.ctx.autocast {
        Autocast::Off => return rule(call),
        Autocast::Cpu(dtype) => (DeviceKind::Cpu, traits.on_cpu, dtype),
        Autocast::Cuda(dtype) => (DeviceKind::Cuda, traits.on_cuda, dtype),
        Autocast::Other => return unsupported("autocast"),
    };
    let Some(to) = cast_to(cast, call, lower)? else {
        return rule(call);
    };
    let mut casts = Vec::new();
    let kwargs = call.kwargs.iter().map(|(_, value)| value);
    for value in call.args.iter().chain(kwargs) {
        cast_all(call, value, device, to, &mut casts);
    }
    let mut casts = casts.iter();
    let args: Vec<_> = call.args.iter().map(|v| replaced(v, &mut casts)).collect();
    let kwargs: Vec<_> = call
        .kwargs
        .iter()
        .map(|(k, v)| (*k, replaced(v, &mut casts)))
        .collect();
    rule(&Call {
        args: &args,
        kwargs: &kwargs,
        ctx: call.ctx,
    })
}

/// Collects what becomes of each tensor, in order.
fn cast_all(
    call: &Call<'_>,
    value: &Value<'_>,
    device: DeviceKind,
    to: DType,
    casts: &mut Vec<TensorMeta>,
) {
    match value {
        Value::Tensor(x) => casts.push(cast(call, x, device, to)),
        Value::List(items) | Value::Tuple(items) => {
            for item in items {
                cast_all(call, item, device, to, casts);
            }
        }
        _ => {}
    }
}

/// `x.to(dtype)`, of floats on the device that are no doubles.
fn cast(call: &Call<'_>, x: &TensorMeta, device: DeviceKind, to: DType) -> TensorMeta {
    let mut out = x.clone();
    let eligible = x.device.kind == device && x.dtype.is_floating() && x.dtype != DType::Float64;
    if !eligible || x.dtype == to {
        return out;
    }
    let read = crate::call::In::new(x);
    let strides = preserved_strides(&read.shape, &read.strides);
    out.strides = strides.into_iter().map(SymInt::from).collect();
    out.dtype = to;
    out.storage_offset = SymInt::Const(0);
    out.requires_grad = call.grad(to, &[x]);
    out.is_leaf = !out.requires_grad;
    out.alias = Alias::Fresh;
    out
}

fn replaced<'a>(value: &Value<'a>, casts: &mut std::slice::Iter<'a, TensorMeta>) -> Value<'a> {
    match value {
        Value::Tensor(x) => Value::Tensor(casts.next().unwrap_or(x)),
        Value::List(items) => Value::List(items.iter().map(|v| replaced(v, casts)).collect()),
        Value::Tuple(items) => Value::Tuple(items.iter().map(|v| replaced(v, casts)).collect()),
        other => other.clone(),
    }
}
