//! Questions about torch's state and about tensors that translation answers itself.

use crate::contexts::{autocast_cache, autocast_now};
use pyo3::prelude::*;
use torch_abi::names;
use translator::raw::type_lookup;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::{Obj, Var};

pub(crate) const RULES: RuleList = &[
    (
        "torch",
        &[
            ("is_grad_enabled", is_grad_enabled as Rule),
            ("is_inference_mode_enabled", is_inference_mode_enabled),
            ("is_autocast_enabled", is_autocast_enabled),
            ("get_autocast_dtype", get_autocast_dtype),
            ("is_autocast_cpu_enabled", is_autocast_cpu_enabled),
            ("get_autocast_gpu_dtype", get_autocast_gpu_dtype),
            ("get_autocast_cpu_dtype", get_autocast_cpu_dtype),
            ("is_autocast_cache_enabled", is_autocast_cache_enabled),
            ("is_floating_point", of_a_tensor),
            ("is_complex", of_a_tensor),
            ("numel", of_a_tensor),
            ("is_signed", of_a_tensor),
        ],
    ),
    (
        names::TORCH_C,
        &[
            ("_is_any_autocast_enabled", is_any_autocast_enabled as Rule),
            ("_has_torch_function", has_torch_function),
            ("_has_torch_function_unary", has_torch_function),
            ("_has_torch_function_variadic", has_torch_function),
        ],
    ),
];

fn is_grad_enabled(tx: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    value(tx.bool(tx.st.grad_enabled))
}

fn is_inference_mode_enabled(tx: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    value(tx.bool(tx.so_far().inference_now()))
}

/// What holds on a device: whether its operations are cast, and to which dtype. `None` outside of every autocast of the
/// program.
fn on_device(tx: &mut Tx<'_>, device: Option<Obj>) -> R<Option<(bool, Obj)>> {
    let Some(device) = device.and_then(|d| d.extract::<String>(tx.py).ok()) else {
        return Ok(None);
    };
    match tx.so_far().in_autocast() {
        true => autocast_now(tx, &device).map(Some),
        false => Ok(None),
    }
}

/// The first argument, where it is a constant.
fn first(tx: &mut Tx<'_>, args: &Args) -> R<Option<Obj>> {
    match args.pos.first() {
        Some(v) => tx.as_const(&v.clone()),
        None => Ok(None),
    }
}

fn is_autocast_enabled(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let device = match args.pos.is_empty() {
        true => Some(device_text(tx, "cuda")),
        false => first(tx, &args)?,
    };
    match on_device(tx, device)? {
        Some((enabled, _)) => value(tx.bool(enabled)),
        None => Ok(None),
    }
}

fn get_autocast_dtype(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let device = first(tx, &args)?;
    match on_device(tx, device)? {
        Some((_, dtype)) => value(Var::Const(dtype)),
        None => Ok(None),
    }
}

fn is_autocast_cpu_enabled(tx: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    let device = device_text(tx, "cpu");
    match on_device(tx, Some(device))? {
        Some((enabled, _)) => value(tx.bool(enabled)),
        None => Ok(None),
    }
}

fn get_autocast_gpu_dtype(tx: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    dtype_on(tx, "cuda")
}

fn get_autocast_cpu_dtype(tx: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    dtype_on(tx, "cpu")
}

fn dtype_on(tx: &mut Tx<'_>, device: &str) -> Given {
    let device = device_text(tx, device);
    match on_device(tx, Some(device))? {
        Some((_, dtype)) => value(Var::Const(dtype)),
        None => Ok(None),
    }
}

fn is_autocast_cache_enabled(tx: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    value(tx.bool(autocast_cache(tx)?))
}

fn is_any_autocast_enabled(tx: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    match tx.so_far().in_autocast() {
        true => value(tx.bool(tx.so_far().autocasts() != tensor_meta::Autocast::Off)),
        false => Ok(None),
    }
}

/// What a method of the same name says of a tensor.
fn of_a_tensor(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let t = match (&args.pos[..], &args.kw[..]) {
        ([t], []) => t,
        ([], [(keyword, t)]) if &**keyword == "input" => t,
        _ => return Ok(None),
    };
    let t = tx.realize(t)?;
    match t {
        Var::Tensor(_) => tx.tensor_method(&t, name, Args::default()).map(Some),
        _ => Ok(None),
    }
}

fn has_torch_function(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    value(overrides_torch(tx, &args)?)
}

/// Whether arguments have a `__torch_function__`: tensors that are captured have torch's own.
///
/// # Errors
/// A break where another object has one.
fn overrides_torch(tx: &mut Tx<'_>, args: &Args) -> R<Var> {
    if tx.is_seen() {
        return Ok(tx.bool(true));
    }
    for arg in &args.pos {
        let arg = tx.look(arg)?;
        let one = std::slice::from_ref(&arg);
        let asked = match &arg {
            Var::Tuple(t) => &t.items[..],
            _ => one,
        };
        for v in asked {
            let v = tx.look(v)?;
            if tx.asks_class(&v) {
                return Ok(tx.bool(true));
            }
            if matches!(v, Var::Tensor(_) | Var::Const(_)) {
                continue;
            }
            let class = tx.type_of(&v)?;
            let class = class.bind(tx.py).cast().map_err(PyErr::from)?;
            if type_lookup(class, "__torch_function__").is_some() {
                return Err(Stop::unsupported(format!(
                    "`__torch_function__` of {}",
                    tx.describe(&v)
                )));
            }
        }
    }
    Ok(tx.bool(false))
}

fn device_text(tx: &Tx<'_>, name: &str) -> Obj {
    pyo3::types::PyString::new(tx.py, name).into_any().unbind()
}
