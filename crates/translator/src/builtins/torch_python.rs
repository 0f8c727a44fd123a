//! Python functions of torch that a rule serves better than inlining them, or than a graph break.
//!
//! Each rule has the effect of the function without what only matters outside a graph: labels for a
//! profiler, hooks for other tracers.

use pyo3::prelude::*;
use variables::Var;

use super::{Given, Rule, Rules, value};
use crate::tx::{Args, Tx};

pub(super) const RULES: Rules = &[
    (
        "torch.autograd.profiler",
        &[
            ("record_function.__enter__", label_entered as Rule),
            ("record_function.__exit__", left),
        ],
    ),
    (
        "torch.optim.optimizer",
        &[("Optimizer.zero_grad", undecorated as Rule)],
    ),
    (
        "torch.distributions.distribution",
        &[("_all_true_or_runtime_assert", assert_all as Rule)],
    ),
    (
        "torch.distributions.utils",
        &[("lazy_property.__get__", lazy_property as Rule)],
    ),
    (
        "torch.cuda",
        &[
            ("is_available", device_question as Rule),
            ("is_initialized", device_question),
            ("device_count", device_question),
            ("is_bf16_supported", device_question),
        ],
    ),
    (
        "torch.compiler",
        &[("cudagraph_mark_step_begin", mark_step as Rule)],
    ),
    (
        "torch.utils.checkpoint",
        &[("checkpoint", checkpoint as Rule)],
    ),
    (
        "torch._C",
        &[("_group_tensors_by_device_and_dtype", group_tensors as Rule)],
    ),
    (
        "torch.amp.autocast_mode",
        &[
            ("autocast.__enter__", autocast_entered as Rule),
            ("autocast.__exit__", left),
        ],
    ),
];

/// A function that torch keeps its own tracer out of, though nothing in it needs that.
fn undecorated(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let module = tx.py.import("torch.optim.optimizer")?.into_any();
    let function = name.split('.').try_fold(module, |o, n| o.getattr(n))?;
    let Ok(inner) = function.getattr("__wrapped__") else {
        return Ok(None);
    };
    tx.call(&Var::py(inner.unbind()), args).map(Some)
}

fn label_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => tx.enter_label(context).map(Some),
        None => Ok(None),
    }
}

fn autocast_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => tx.enter_autocast(context).map(Some),
        None => Ok(None),
    }
}

fn left(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => tx.leave_context(context).map(Some),
        None => Ok(None),
    }
}

/// Arguments of a distribution are checked by the graph itself, as in an exported one.
fn assert_all(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let given = tx.by_name(name, args, &["valid", "error_message"], 2, 2)?;
    let [Some(valid), Some(message)] = &given[..] else {
        return Ok(None);
    };
    let torch = tx.known.torch.clone();
    let function = |n: &str| -> PyResult<Var> { Ok(Var::py(torch.getattr(tx.py, n)?)) };
    let (all, check) = (function("_is_all_true")?, function("_assert_async")?);
    let all = tx.call_sync(&all, Args::pos(vec![valid.clone()]))?;
    tx.call_sync(&check, Args::pos(vec![all, message.clone()]))?;
    value(tx.bool(true))
}

/// Read from the class, it gives a new object that only says what it is.
fn lazy_property(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match (args.pos.first(), args.pos.get(1)) {
        (Some(Var::Py(p)), Some(instance)) if instance.is_none(tx.py) => {
            let none = tx.py.None();
            let made = p.obj.call_method1(tx.py, "__get__", (none,))?;
            value(Var::py(made))
        }
        (Some(Var::Obj(id)), Some(instance)) if instance.is_none(tx.py) => {
            let variables::Origin::Source { obj, .. } = tx.obj(*id).origin.clone() else {
                return Ok(None);
            };
            let none = tx.py.None();
            let made = obj.call_method1(tx.py, "__get__", (none,))?;
            value(Var::py(made))
        }
        _ => Ok(None),
    }
}

/// Lists of tensors by device and dtype of the first list's, where these are all the same: a dict
/// with the lists and the positions of their items.
fn group_tensors(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let (Some(lists), indices) = (
        args.pos.first(),
        args.pos.get(1).or(args.kw.first().map(|k| &k.1)),
    ) else {
        return Ok(None);
    };
    let with_indices = match indices {
        Some(v) => tx.truth(&v.clone())?,
        None => false,
    };
    let mut columns = Vec::new();
    for list in tx.iterate(&lists.clone())? {
        columns.push(tx.iterate(&list)?);
    }
    let Some(first) = columns.first().cloned() else {
        return Ok(None);
    };
    if columns
        .iter()
        .any(|c| !c.is_empty() && c.len() != first.len())
    {
        return Ok(None);
    }
    let mut groups: Vec<((tensor_meta::Device, tensor_meta::DType), Vec<usize>)> = Vec::new();
    for (i, v) in first.iter().enumerate() {
        let Var::Tensor(t) = tx.realize(v)? else {
            return Ok(None);
        };
        let meta = tx.st.effects.meta(&t);
        let key = (meta.device, meta.dtype);
        match groups.iter_mut().find(|g| g.0 == key) {
            Some(g) => g.1.push(i),
            None => groups.push((key, vec![i])),
        }
    }
    if groups.len() > 1 {
        // Their order is that of a hash table of torch's.
        return Ok(None);
    }
    let mut map = variables::OrderedMap::default();
    for ((device, dtype), at) in groups {
        let device = tx.known.device.call1(tx.py, (device.to_string(),))?;
        let key_var = Var::tuple(vec![Var::Const(device), tx.dtype_var(dtype)?]);
        let mut parts = Vec::with_capacity(columns.len());
        for column in &columns {
            let part: Vec<Var> = match column.is_empty() {
                true => Vec::new(),
                false => at.iter().map(|i| column[*i].clone()).collect(),
            };
            parts.push(tx.new_list(part));
        }
        let parts = tx.new_list(parts);
        let positions: Vec<Var> = match with_indices {
            true => at.iter().map(|i| tx.int(*i as i64)).collect(),
            false => Vec::new(),
        };
        let positions = tx.new_list(positions);
        let key = tx.key(&key_var)?;
        map.insert(key, key_var, Var::tuple(vec![parts, positions]));
    }
    value(tx.new_dict(map))
}

/// What the machine has does not change while the program runs.
fn device_question(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((pos, kw)) = tx.constants(&args)? else {
        return Ok(None);
    };
    let cuda = tx.py.import("torch.cuda")?;
    let answer = cuda
        .getattr(name)?
        .call(pyo3::types::PyTuple::new(tx.py, pos)?, kw.as_ref())?;
    value(Var::Const(answer.unbind()))
}

/// A note for backends that replay whole graphs.
fn mark_step(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let function = tx.py.import("torch.compiler")?.getattr(name)?.unbind();
    tx.defer(Var::py(function), args, false).map(Some)
}

/// Without autograd there is nothing to keep or to compute again: the function is called.
fn checkpoint(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    if tx.st.grad_enabled || args.pos.is_empty() {
        let function = tx.py.import("torch.utils.checkpoint")?.getattr(name)?;
        return Err(tx.skipped(&function));
    }
    for option in [
        "use_reentrant",
        "context_fn",
        "determinism_check",
        "debug",
        "early_stop",
        "preserve_rng_state",
    ] {
        args.take_kw(option);
    }
    let function = args.pos.remove(0);
    tx.call(&function, args).map(Some)
}
