//! Python functions of torch that a rule serves better than inlining them, or than a graph break.
//!
//! Each rule has the effect of the function without what only matters outside a graph: labels for a
//! profiler, hooks for other tracers.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyRange};
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Var};

pub(crate) const RULES: RuleList = &[
    (
        "torch.autograd.profiler",
        &[
            ("record_function.__enter__", label_entered as Rule),
            ("record_function.__exit__", left),
        ],
    ),
    (
        "torch.optim.optimizer",
        &[("Optimizer.zero_grad", zero_grad as Rule)],
    ),
    (
        "torch.utils._contextlib",
        &[("_set_stack_frame_name", name_frames as Rule)],
    ),
    (
        "torch.distributions.distribution",
        &[("_all_true_or_runtime_assert", assert_all as Rule)],
    ),
    (
        "torch",
        &[
            ("_check_tensor_all", check_all as Rule),
            ("get_default_device", default_device),
            ("_shape_as_tensor", shape_as_tensor),
        ],
    ),
    (
        "torch.distributions.utils",
        &[("lazy_property.__get__", lazy_property as Rule)],
    ),
    (
        "torch.cuda",
        &[
            ("is_available", device_question as Rule),
            // Its variable is read, and guarded: a program starts CUDA when it wants.
            ("is_initialized", inlined),
            ("device_count", device_question),
            ("is_bf16_supported", device_question),
        ],
    ),
    (
        "torch.cuda.amp.common",
        &[("amp_definitely_not_available", no_amp as Rule)],
    ),
    (
        "torch.compiler",
        &[("cudagraph_mark_step_begin", mark_step as Rule)],
    ),
    (
        names::TORCH_C,
        &[("_group_tensors_by_device_and_dtype", group_tensors as Rule)],
    ),
    (
        "torch",
        &[
            ("Tensor", legacy_tensor as Rule),
            ("FloatTensor", legacy_tensor),
            ("DoubleTensor", legacy_tensor),
            ("HalfTensor", legacy_tensor),
            ("BFloat16Tensor", legacy_tensor),
            ("ByteTensor", legacy_tensor),
            ("CharTensor", legacy_tensor),
            ("ShortTensor", legacy_tensor),
            ("IntTensor", legacy_tensor),
            ("LongTensor", legacy_tensor),
            ("BoolTensor", legacy_tensor),
        ],
    ),
    (
        "torch.autograd.grad_mode",
        &[
            ("inference_mode.__enter__", inference_entered as Rule),
            ("inference_mode.__exit__", left),
        ],
    ),
    ("torch.autograd.variable", &[("Variable", variable as Rule)]),
    (
        "torch.nn.utils.rnn",
        &[
            ("pack_padded_sequence", packs as Rule),
            ("pad_packed_sequence", packs),
        ],
    ),
    (
        "torch.distributed",
        &[
            ("is_available", inlined as Rule),
            ("is_initialized", inlined),
        ],
    ),
    (
        "torch.distributed.distributed_c10d",
        &[
            ("_WorldMeta.WORLD.fget", inlined as Rule),
            ("_World.default_pg.fget", inlined),
        ],
    ),
    (
        "torch.functional",
        &[("broadcast_shapes", broadcast_shapes as Rule)],
    ),
    (names::TORCH_C, &[("_infer_size", broadcast_shapes as Rule)]),
    (
        names::CUSTOM_OPS,
        &[("CustomOpDef.__call__", inlined as Rule)],
    ),
    (
        "torch.amp.autocast_mode",
        &[
            ("autocast.__enter__", autocast_entered as Rule),
            ("autocast.__exit__", left),
        ],
    ),
    (
        "torch.overrides",
        &[
            ("TorchFunctionMode.__enter__", mode_entered as Rule),
            ("TorchFunctionMode.__exit__", mode_left),
            ("handle_torch_function", handled_by_mode),
        ],
    ),
];

/// torch keeps its own tracer out of it, though nothing in it needs that.
fn zero_grad(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let module = tx.py.import("torch.optim.optimizer")?.into_any();
    let function = name.split('.').try_fold(module, |o, n| o.getattr(n))?;
    let Ok(inner) = function.getattr("__wrapped__") else {
        return Ok(None);
    };
    let takes_away = match args.named("set_to_none").or(args.pos.get(1)).cloned() {
        Some(v) => tx.truth(&v)?,
        None => true,
    };
    // Inside of a mode or a transform to take a gradient away that is not there may be seen, or break the graph.
    let function = match takes_away && tx.outer_modes == 0 && !tx.st.levels.is_active() {
        true => crate::substitutes::zero_grad(tx.py)?,
        false => inner,
    };
    tx.call(&Var::py(function.unbind()), args).map(Some)
}

/// A decorator's wrapper gets the decorator's name in tracebacks: that of one that was made here is
/// not told.
fn name_frames(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(Var::Func(_)) => value(tx.none()),
        _ => Ok(None),
    }
}

fn label_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => crate::contexts::enter_label(tx, context).map(Some),
        None => Ok(None),
    }
}

fn autocast_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => crate::contexts::enter_autocast(tx, context).map(Some),
        None => Ok(None),
    }
}

fn inference_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => crate::contexts::enter_inference_mode(tx, context).map(Some),
        None => Ok(None),
    }
}

fn mode_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(mode) => crate::contexts::enter_function_mode(tx, mode),
        None => Ok(None),
    }
}

fn mode_left(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(mode) => crate::contexts::leave_function_mode(tx, mode),
        None => Ok(None),
    }
}

fn handled_by_mode(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    crate::function_modes::handled_by_mode(tx, &args)
}

/// A question about numbers, which torch answers with its own configuration at hand, where they are constants.
fn broadcast_shapes(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if args.kw.is_empty()
        && let Some(sizes) = broadcast_sizes(tx, &args.pos)?
    {
        return value(sizes);
    }
    let Some((shapes, None)) = tx.real_args(&args)? else {
        return Ok(None);
    };
    let module = match name {
        "_infer_size" => names::TORCH_C,
        _ => "torch.functional",
    };
    let f = tx.py.import(module)?.getattr(name)?;
    value(tx.fold(move |py| f.call1(pyo3::types::PyTuple::new(py, shapes)?))?)
}

/// The sizes that shapes with dynamic ones are broadcast to; `None` where all are constants, or do not fit.
fn broadcast_sizes(tx: &mut Tx<'_>, shapes: &[Var]) -> R<Option<Var>> {
    let (mut all, mut dynamic) = (Vec::new(), false);
    for shape in shapes {
        let shape = tx.look(shape)?;
        let mut sizes = match &shape {
            Var::Int(_) | Var::Const(_) => vec![shape],
            Var::Tuple(sizes) => sizes.items.clone(),
            _ => return Ok(None),
        };
        for size in &mut sizes {
            *size = tx.look(size)?;
            dynamic |= size.is_dynamic_number();
            let is_size = match &*size {
                Var::Int(n) => n.value >= 0,
                Var::Const(n) => n.bind(tx.py).extract::<u32>().is_ok(),
                _ => false,
            };
            if !is_size {
                return Ok(None);
            }
        }
        all.push(sizes);
    }
    if !dynamic {
        return Ok(None);
    }
    let one = tx.int(1);
    let rank = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = vec![one.clone(); rank];
    for sizes in &all {
        let places = out.iter_mut().skip(rank - sizes.len());
        for (place, size) in places.zip(sizes) {
            if tx.equals(size, &one)? || tx.equals(size, place)? {
                continue;
            }
            if !tx.equals(place, &one)? {
                return Ok(None);
            }
            *place = size.clone();
        }
    }
    Ok(Some(Var::Tuple(std::rc::Rc::new(variables::TupleVar {
        items: out,
        class: Some(tx.known.size.clone()),
        origin: None,
    }))))
}

fn left(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => crate::contexts::leave_context(tx, context).map(Some),
        None => Ok(None),
    }
}

/// Arguments of a distribution are checked by the graph itself, as in an exported one: what it raises is another
/// exception, unless the function can run again as plain Python. A handler is not to miss it.
fn assert_all(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    tx.not_seen("a check")?;
    let given = tx.by_name(name, args, &["valid", "error_message"], 2, 2)?;
    let [Some(valid), Some(message)] = &given[..] else {
        return Ok(None);
    };
    if tx.may_be_handled() && !tx.can_raise_unseen()? {
        return Ok(None);
    }
    assert_in_graph(tx, valid, message)?;
    value(tx.bool(true))
}

/// The graph raises the error where the condition does not hold, unless the program handles it.
fn check_all(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    tx.not_seen("a check")?;
    let given = tx.by_name(name, args, &["cond", "message"], 1, 2)?;
    let Some(Some(cond)) = given.first() else {
        return Ok(None);
    };
    let cond = tx.realize(cond)?;
    let Var::Tensor(t) = &cond else {
        return Ok(None);
    };
    let message = given.get(1).cloned().flatten();
    if tx.st.effects.meta(t).dtype != tensor_meta::DType::Bool
        || message.is_some_and(|m| !m.is_none(tx.py))
        || tx.may_be_handled() && !tx.can_raise_unseen()?
    {
        return Ok(None);
    }
    let Some(message) = default_message(tx)? else {
        return Ok(None);
    };
    assert_in_graph(tx, &cond, &message)?;
    value(tx.none())
}

/// Fake tensors have no data for `_shape_as_tensor` to fill: a compiler gets a tensor that is made of the sizes.
fn shape_as_tensor(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if tx.runs_as_is {
        return Ok(None);
    }
    let given = tx.by_name(name, args, &["self"], 1, 1)?;
    let Some(tensor) = given.into_iter().next().flatten() else {
        return Ok(None);
    };
    let tensor = tx.realize(&tensor)?;
    if !matches!(tensor, Var::Tensor(_)) {
        return Ok(None);
    }
    let Flow::Value(sizes) = tx.tensor_method(&tensor, "size", Args::pos(Vec::new()))? else {
        return Ok(None);
    };
    let torch = tx.known.torch.bind(tx.py).clone();
    let mut args = Args::pos(vec![sizes]);
    let dtype = Var::constant(torch.getattr("int64")?);
    args.kw.push(("dtype".into(), dtype));
    tx.call(&Var::py(torch.getattr("tensor")?.unbind()), args)
        .map(Some)
}

fn packs(_: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    Err(translator::call::modules::packed(name))
}

/// What torch says of a failed check where the program says nothing.
fn default_message(tx: &Tx<'_>) -> PyResult<Option<Var>> {
    let constants = tx
        .known
        .torch
        .bind(tx.py)
        .getattr("_check_with")?
        .getattr("__code__")?
        .getattr("co_consts")?;
    for constant in constants.try_iter()? {
        let constant = constant?;
        if let Ok(text) = constant.cast::<pyo3::types::PyString>()
            && text
                .to_string_lossy()
                .starts_with("Expected cond to be True")
        {
            return Ok(Some(Var::constant(constant)));
        }
    }
    Ok(None)
}

fn assert_in_graph(tx: &mut Tx<'_>, cond: &Var, message: &Var) -> R<()> {
    let torch = tx.known.torch.clone();
    let function = |n: &str| -> PyResult<Var> { Ok(Var::py(torch.getattr(tx.py, n)?)) };
    let (all, check) = (function("_is_all_true")?, function("_assert_async")?);
    let all = tx.call_sync(&all, Args::pos(vec![cond.clone()]))?;
    tx.call_sync(&check, Args::pos(vec![all, message.clone()]))?;
    Ok(())
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

/// `torch.autocast("cuda")` asks it; without a GPU it looks for other packages.
fn no_amp(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let Some(Flow::Value(Var::Const(available))) = device_question(tx, "is_available", args)?
    else {
        return Ok(None);
    };
    match available.is_truthy(tx.py)? {
        true => value(tx.bool(false)),
        false => Ok(None),
    }
}

/// What `with torch.device(...)` and `torch.set_default_device` have said; the modes are guarded.
fn default_device(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    if !args.pos.is_empty() || !args.kw.is_empty() || tx.is_seen() {
        return Ok(None);
    }
    Ok(crate::entered_device::default_device(tx)?.map(Flow::Value))
}

/// A function that only looks, in a module whose others act outside a graph.
fn inlined(_: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    Ok(None)
}

/// `torch.Tensor(2, 3)`, `torch.LongTensor([1, 2])`: a tensor of these sizes, or of these numbers.
fn legacy_tensor(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    if !args.kw.is_empty() {
        return Ok(None);
    }
    if let [size] = &args.pos[..]
        && let Var::Tuple(t) = tx.realize(size)?
        && t.class.as_ref().is_some_and(|c| c.is(&tx.known.size))
    {
        if t.items.is_empty() {
            // Without arguments it would have no elements.
            return Ok(None);
        }
        args.pos = t.items.clone();
    }
    if let [data] = &args.pos[..]
        && let Var::Const(o) = tx.realize(data)?
        && o.bind(tx.py).is_exact_instance_of::<PyRange>()
    {
        args.pos = vec![Var::tuple(tx.iterate(&Var::Const(o))?)];
    }
    let mut sizes = true;
    for v in &args.pos {
        let v = tx.realize(v)?;
        sizes &= matches!(&v, Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyInt>());
    }
    let fits = sizes || args.pos.len() == 1 && is_data(tx, &args.pos[0])?;
    if !fits {
        return Ok(None);
    }
    let class = tx.known.torch.getattr(tx.py, name)?;
    tx.graph_call(&class, args).map(Some)
}

/// Whether a value is a list or a tuple of plain numbers, or of such.
fn is_data(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
    let v = tx.realize(v)?;
    let items: Vec<Var> = match &v {
        // A `torch.Size` stands for sizes.
        Var::Tuple(t) if t.class.is_none() => t.items.clone(),
        Var::Obj(id) => match &tx.obj(*id).body {
            Body::List(items) => items.iter().cloned().collect(),
            _ => return Ok(false),
        },
        _ => return Ok(false),
    };
    for item in &items {
        let item = tx.realize(item)?;
        let number = matches!(&item, Var::Const(o) if {
            let b = o.bind(tx.py);
            b.is_exact_instance_of::<PyInt>()
                || b.is_exact_instance_of::<PyFloat>()
                || b.is_exact_instance_of::<PyBool>()
                || tx.known.is_numpy_scalar(b.get_type().as_any())
        });
        if !number && !is_data(tx, &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `Variable(t)`: `t` without its history, as of the time when variables and tensors were two things.
fn variable(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    tx.not_seen_with("Variable()", &args)?;
    let names = ["data", "requires_grad", "volatile"];
    let a = tx.by_name(name, args, &names, 0, 3)?;
    let Some(data) = &a[0] else {
        return Ok(None);
    };
    for flag in a[1..].iter().flatten() {
        let flag = tx.realize(flag)?;
        let off = matches!(&flag, Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyBool>()
            && !o.bind(tx.py).is_truthy()?);
        if !off {
            return Ok(None);
        }
    }
    match tx.realize(data)? {
        t @ Var::Tensor(_) => tx.tensor_method(&t, "detach", Args::default()).map(Some),
        _ => Ok(None),
    }
}

/// A note for backends that replay whole graphs.
fn mark_step(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let function = tx.py.import("torch.compiler")?.getattr(name)?.unbind();
    tx.defer(Var::py(function), args, false).map(Some)
}
