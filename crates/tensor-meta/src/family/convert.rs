//! Copies in another dtype, device or layout, and queries.

use crate::call::{
    Call, In, R, bool_or, identity, int, one, opt_device, opt_dtype, raise, tensor, unsupported,
};
use crate::family::view::format_strides;
use crate::iterator::preserved_strides;
use crate::registry::{Entry, rule};
use crate::traits::facts::{MAY_GIVE_SELF, NEVER_RAISES, QUERY, STATE_QUERY, TELLS_LAYOUT, VIEW};
use crate::types::{
    DType, Device, Dims, Inferred, MemoryFormat, SymInt, Value, suggest_memory_format,
};

/// `x.to(...)`: x itself where nothing changes.
pub(crate) fn converted(
    call: &Call<'_>,
    x: &In<'_>,
    dtype: Option<DType>,
    device: Option<Device>,
    copy: bool,
    format: MemoryFormat,
) -> R {
    let (dtype, device) = (dtype.unwrap_or(x.dtype), device.unwrap_or(x.device));
    let wanted = format_strides(format, &x.shape)?;
    let laid = match format {
        MemoryFormat::Preserve => true,
        other => suggest_memory_format(&x.shape, &x.strides) == other,
    };
    if dtype == x.dtype && device == x.device && laid && !copy {
        return Ok(identity(x.meta));
    }
    let strides = wanted.unwrap_or_else(|| preserved_strides(&x.shape, &x.strides));
    let mut meta = call.fresh(&x.shape, &strides, dtype, &[x.meta]);
    meta.device = device;
    one(meta)
}
fn to(call: &Call<'_>) -> R {
    let Some((x, rest)) = call.args.split_first() else {
        return unsupported("arguments of to");
    };
    let x = tensor(x)?;
    let (mut dtype, mut device, mut copy, mut format) = (None, None, false, MemoryFormat::Preserve);
    let mut flags = 0;
    for value in rest {
        match value {
            Value::DType(d) => dtype = Some(*d),
            Value::Device(_) | Value::Str(_) => device = opt_device(value)?,
            Value::Tensor(other) => {
                dtype = Some(other.dtype);
                device = Some(other.device);
            }
            Value::Bool(b) => {
                flags += 1;
                if flags == 2 {
                    copy = *b;
                }
            }
            Value::None => {}
            _ => return unsupported("arguments of to"),
        }
    }
    for (key, value) in call.kwargs {
        match (*key, value) {
            ("dtype", v) => dtype = opt_dtype(v)?,
            ("device", v) => device = opt_device(v)?,
            ("copy", v) => copy = bool_or(v, false)?,
            ("non_blocking", v) => {
                bool_or(v, false)?;
            }
            ("memory_format", Value::MemoryFormat(f)) => format = *f,
            ("memory_format", Value::None) => {}
            ("other", Value::Tensor(other)) => {
                dtype = Some(other.dtype);
                device = Some(other.device);
            }
            _ => return unsupported("keyword argument"),
        }
    }
    converted(call, &x, dtype, device, copy, format)
}
fn cast(call: &Call<'_>, dtype: DType) -> R {
    let [x, format] = call.bind(["input", "memory_format"])?;
    let format = match format {
        Value::None => MemoryFormat::Preserve,
        Value::MemoryFormat(f) => *f,
        _ => return unsupported("memory_format"),
    };
    converted(call, &tensor(x)?, Some(dtype), None, false, format)
}
fn type_as(call: &Call<'_>) -> R {
    let [x, other] = call.bind(["input", "other"])?;
    let other = tensor(other)?;
    converted(
        call,
        &tensor(x)?,
        Some(other.dtype),
        Some(other.device),
        false,
        MemoryFormat::Preserve,
    )
}
fn cpu(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    converted(
        call,
        &tensor(x)?,
        None,
        Some(Device::CPU),
        false,
        MemoryFormat::Preserve,
    )
}
fn type_(call: &Call<'_>) -> R {
    let [x, dtype] = call.bind(["input", "dtype"])?;
    let x = tensor(x)?;
    match dtype {
        Value::DType(d) => converted(call, &x, Some(*d), None, false, MemoryFormat::Preserve),
        Value::None if x.is_cpu() => {
            let name = match x.dtype {
                DType::Float32 => "torch.FloatTensor",
                DType::Float64 => "torch.DoubleTensor",
                DType::Float16 => "torch.HalfTensor",
                DType::BFloat16 => "torch.BFloat16Tensor",
                DType::UInt8 => "torch.ByteTensor",
                DType::Int8 => "torch.CharTensor",
                DType::Int16 => "torch.ShortTensor",
                DType::Int32 => "torch.IntTensor",
                DType::Int64 => "torch.LongTensor",
                DType::Bool => "torch.BoolTensor",
                DType::Complex64 => "torch.ComplexFloatTensor",
                DType::Complex128 => "torch.ComplexDoubleTensor",
                _ => return unsupported("type of this dtype"),
            };
            Ok(Inferred::Str(name.to_owned()))
        }
        _ => unsupported("type by name"),
    }
}
fn clone(call: &Call<'_>) -> R {
    let [x, format] = call.bind(["input", "memory_format"])?;
    let x = tensor(x)?;
    let format = match format {
        Value::None => MemoryFormat::Preserve,
        Value::MemoryFormat(f) => *f,
        _ => return unsupported("memory_format"),
    };
    let strides = match format_strides(format, &x.shape)? {
        Some(strides) => strides,
        None => preserved_strides(&x.shape, &x.strides),
    };
    one(call.fresh(&x.shape, &strides, x.dtype, &[x.meta]))
}

fn size(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    per_dim(x, dim, |x| x.shape.clone(), false)
}
fn stride(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    per_dim(x, dim, |x| x.strides.clone(), true)
}
fn per_dim(x: &Value<'_>, dim: &Value<'_>, all: fn(&In<'_>) -> Dims, tuple: bool) -> R {
    let x = tensor(x)?;
    let all = all(&x);
    if dim.is_none() {
        let items = all.iter().map(|s| SymInt::from(*s));
        return Ok(if tuple {
            Inferred::Tuple(items.map(Inferred::Int).collect())
        } else {
            Inferred::Size(items.collect())
        });
    }
    let d = int(dim)?;
    let n = x.dim() as i64;
    if d < -n || d >= n {
        return raise("dimension out of range");
    }
    Ok(Inferred::Int(all[d.rem_euclid(n) as usize].into()))
}
fn query(call: &Call<'_>, answer: fn(&In<'_>) -> Inferred) -> R {
    let [x] = call.bind(["input"])?;
    Ok(answer(&tensor(x)?))
}
fn dim(call: &Call<'_>) -> R {
    query(call, |x| Inferred::Int((x.dim() as i64).into()))
}
fn numel(call: &Call<'_>) -> R {
    query(call, |x| Inferred::Int(x.count().into()))
}
fn is_floating_point(call: &Call<'_>) -> R {
    query(call, |x| Inferred::Bool(x.dtype.is_floating()))
}
fn is_complex(call: &Call<'_>) -> R {
    query(call, |x| Inferred::Bool(x.dtype.is_complex()))
}
fn element_size(call: &Call<'_>) -> R {
    query(call, |x| Inferred::Int((x.dtype.itemsize() as i64).into()))
}
fn storage_offset(call: &Call<'_>) -> R {
    query(call, |x| Inferred::Int(x.start().into()))
}
fn is_contiguous(call: &Call<'_>) -> R {
    let [x, format] = call.bind(["input", "memory_format"])?;
    let x = tensor(x)?;
    Ok(Inferred::Bool(match format {
        Value::None | Value::MemoryFormat(MemoryFormat::Contiguous) => x.contiguous(),
        Value::MemoryFormat(MemoryFormat::ChannelsLast) if x.dim() == 4 => {
            crate::types::is_channels_last_contiguous(&x.shape, &x.strides)
        }
        Value::MemoryFormat(MemoryFormat::ChannelsLast3d) if x.dim() == 5 => {
            crate::types::is_channels_last_contiguous(&x.shape, &x.strides)
        }
        _ => return unsupported("memory_format"),
    }))
}
fn result_type(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["tensor", "other"])?;
    let operands = [
        crate::family::elementwise::Operand::read(a)?,
        crate::family::elementwise::Operand::read(b)?,
    ];
    Ok(Inferred::DType(crate::family::elementwise::common_type(
        call, &operands,
    )?))
}
pub(crate) fn entries(out: &mut Vec<Entry>) {
    let casts: [(&'static str, crate::registry::Rule); 8] = [
        ("float", |c| cast(c, DType::Float32)),
        ("double", |c| cast(c, DType::Float64)),
        ("half", |c| cast(c, DType::Float16)),
        ("bfloat16", |c| cast(c, DType::BFloat16)),
        ("long", |c| cast(c, DType::Int64)),
        ("int", |c| cast(c, DType::Int32)),
        ("short", |c| cast(c, DType::Int16)),
        ("bool", |c| cast(c, DType::Bool)),
    ];
    out.extend(casts.map(|(n, r)| rule(n, "", "*", r).does(NEVER_RAISES | MAY_GIVE_SELF)));
    let lines = [
        rule("to", "", "*", to).does(NEVER_RAISES | VIEW | MAY_GIVE_SELF),
        rule("type_as", "", "*", type_as).does(NEVER_RAISES | VIEW | MAY_GIVE_SELF),
        rule("type", "", "*", type_).does(NEVER_RAISES | MAY_GIVE_SELF),
        rule("cpu", "", "*", cpu).does(NEVER_RAISES | VIEW | MAY_GIVE_SELF),
        rule("clone", "*", "*", clone).does(NEVER_RAISES),
        rule("size", "", "*", size).does(NEVER_RAISES),
        rule("stride", "", "*", stride).does(TELLS_LAYOUT),
        rule("dim", "", "* ndimension", dim).does(NEVER_RAISES),
        rule("numel", "*", "* nelement", numel).does(NEVER_RAISES | QUERY),
        rule("is_floating_point", "*", "*", is_floating_point).does(QUERY),
        rule("is_complex", "*", "*", is_complex).does(QUERY),
        rule("element_size", "", "*", element_size),
        rule("storage_offset", "", "*", storage_offset).does(TELLS_LAYOUT),
        rule("is_contiguous", "", "*", is_contiguous).does(TELLS_LAYOUT),
        rule("result_type", "*", "", result_type).does(QUERY | STATE_QUERY),
    ];
    out.extend(lines);
}
