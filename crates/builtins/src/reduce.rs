//! `sum`, `min`, `max`, `any`, `all`, `sorted`.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{BinaryOp, CompareOp};
use fx_graph::Arg;
use guards::{IntBinary, IntCompare, IntExpr};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::R;
use translator::tx::{Args, Tx};
use translator::values::Changing;
use variables::contexts::{Level, LevelKind};
use variables::{IntVar, Var};

use crate::asked::pure_const;
use crate::numbers::holds;

pub(crate) const RULES: RuleList = &[(
    "builtins",
    &[
        ("sum", sum as Rule),
        ("min", extreme),
        ("max", extreme),
        ("any", any),
        ("all", any),
        ("sorted", sorted),
    ],
)];

fn sum(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["iterable", "start"], 1, 2)?;
    let Some(iterable) = &a[0] else {
        return Ok(None);
    };
    let start = match &a[1] {
        Some(s) => tx.realize(s)?,
        None => tx.int(0),
    };
    if tx.type_name(&start)? == "bytearray" {
        return Ok(None);
    }
    if let Var::Const(o) = &start {
        let b = o.bind(tx.py);
        let other = if b.is_instance_of::<pyo3::types::PyString>() {
            Some("strings [use ''.join(seq) instead]")
        } else if b.is_instance_of::<pyo3::types::PyBytes>() {
            Some("bytes [use b''.join(seq) instead]")
        } else {
            None
        };
        if let Some(what) = other {
            return Err(tx.raise("TypeError", &format!("sum() can't sum {what}")));
        }
    }
    if !matches!(tx.realize(iterable)?, Var::Tuple(_)) {
        // The items of others may be computed between the additions.
        tx.not_seen("sum()")?;
    }
    let items = tx.iterate(iterable)?;
    // Python's own summation of floats is compensated (3.12): it adds constants itself.
    let mut real = Vec::with_capacity(items.len());
    let keeps_ints = are_changing_ints(tx, items.iter().chain([&start]))?;
    for v in items.iter().take_while(|_| !keeps_ints) {
        match pure_const(tx, v)? {
            Some(o) => real.push(o),
            None => break,
        }
    }
    if real.len() == items.len()
        && let Some(s) = pure_const(tx, &start)?
    {
        return value(tx.fold(move |py| {
            py.import("builtins")?
                .call_method1("sum", (pyo3::types::PyList::new(py, real)?, s))
        })?);
    }
    let mut out = start;
    for v in items {
        out = tx.binary_sync(BinaryOp::Add, &out, &v)?;
    }
    value(out)
}

/// Whether all are ints and one of them is no constant: their sum is exact, in whatever order.
fn are_changing_ints<'v>(tx: &mut Tx<'_>, items: impl Iterator<Item = &'v Var>) -> R<bool> {
    let items: Vec<&Var> = items.collect();
    if !items.iter().any(|v| tx.as_dynamic(v).is_some()) {
        return Ok(false);
    }
    for v in items {
        let is_int = match tx.look(v)? {
            Var::Int(_) => true,
            Var::Const(o) => o.bind(tx.py).is_exact_instance_of::<PyInt>(),
            _ => false,
        };
        if !is_int {
            return Ok(false);
        }
    }
    Ok(true)
}

fn extreme(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let key = args.take_kw("key").filter(|k| !k.is_none(tx.py));
    let default = args.take_kw("default");
    if let Some((k, _)) = args.kw.first() {
        return Err(tx.unexpected_keyword(name, &k.clone()));
    }
    let items = match args.pos.len() {
        0 => {
            return Err(tx.raise(
                "TypeError",
                &format!("{name} expected at least 1 argument, got 0"),
            ));
        }
        1 => tx.iterate(&args.pos[0])?,
        _ if default.is_some() => {
            let message =
                format!("Cannot specify a default for {name}() with multiple positional arguments");
            return Err(tx.raise("TypeError", &message));
        }
        _ => args.pos,
    };
    if key.is_none()
        && let Some(v) = extreme_in_operator(tx, name, &items)?
    {
        return value(v);
    }
    if key.is_none()
        && let Some(v) = extreme_of_floats(tx, name, &items)?
    {
        return value(v);
    }
    if key.is_none()
        && let Some(v) = extreme_in_graph(tx, name, &items)?
    {
        return value(v);
    }
    if key.is_none()
        && let Some(v) = extreme_of_ints(tx, name, &items)?
    {
        return value(v);
    }
    let op = if name == "min" {
        CompareOp::Lt
    } else {
        CompareOp::Gt
    };
    if key.is_none()
        && let Some(v) = extreme_tensor(tx, op, &items)?
    {
        return value(v);
    }
    let mut best: Option<(Var, Var)> = None;
    for v in items {
        let k = match &key {
            Some(f) => tx.call_sync(f, Args::pos(vec![v.clone()]))?,
            None => v.clone(),
        };
        let better = match &best {
            Some((b, _)) => {
                let b = b.clone();
                holds(tx, op, &k, &b)?
            }
            None => true,
        };
        if better {
            best = Some((k, v));
        }
    }
    match (best, default) {
        (Some((_, v)), _) => value(v),
        (None, Some(d)) => value(d),
        (None, None) => {
            let message = tx.version().nothing_to_choose_from(name);
            Err(tx.raise("ValueError", &message))
        }
    }
}

fn any(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    let it = tx.get_iter(&v)?;
    let stop_at = name == "any";
    while let Some(v) = tx.iter_next(&it)? {
        if tx.truth(&v)? == stop_at {
            return value(tx.bool(stop_at));
        }
    }
    value(tx.bool(!stop_at))
}

fn sorted(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if args.pos.len() != 1 {
        return Ok(None); // The iterable is positional alone.
    }
    let a = tx.by_name(name, args, &["iterable", "key", "reverse"], 1, 1)?;
    let Some(iterable) = &a[0] else {
        return Ok(None);
    };
    let items = tx.listed(iterable)?;
    let out = crate::sorting::sorted_items(tx, items, a[1].clone(), a[2].clone())?;
    value(tx.new_list(out))
}

/// `min` or `max` of ints of which one follows from what the graph reads: an int that the graph gives. `None` for other
/// values.
fn extreme_in_graph(tx: &mut Tx<'_>, name: &str, items: &[Var]) -> R<Option<Var>> {
    if !tx.ints.captures_scalars || !items.iter().any(|v| tx.follows_from_read(v)) {
        return Ok(None);
    }
    let path = format!("sym_{name}");
    let function = tx.known.torch.getattr(tx.py, &path)?;
    let target = tx.target(&function, &format!("torch.{path}"))?;
    let mut so_far: Option<Arg> = None;
    for v in items {
        let Some(int) = tx.int_operand(v)? else {
            return Ok(None);
        };
        let arg = tx.int_arg(&int.expr)?;
        so_far = Some(match so_far {
            Some(other) => tx.repeatable_call(target.clone(), vec![other, arg]).into(),
            None => arg,
        });
    }
    match so_far {
        Some(Arg::Node(node)) => tx.number_of_node(node, false).map(Some),
        _ => Ok(None),
    }
}

/// `min` or `max` of ints of which one is no constant: an expression, and nothing is guarded. `None` for other values.
fn extreme_of_ints(tx: &mut Tx<'_>, name: &str, items: &[Var]) -> R<Option<Var>> {
    if items.len() < 2 || !items.iter().any(|v| tx.changes(v, Changing::Found)) {
        return Ok(None);
    }
    let (op, is_better) = match name {
        "min" => (IntBinary::Min, IntCompare::Lt),
        _ => (IntBinary::Max, IntCompare::Gt),
    };
    let mut best: Option<(IntVar, Var)> = None;
    for v in items {
        let Some(int) = tx.int_operand(v)?.filter(|_| !tx.follows_from_read(v)) else {
            return Ok(None);
        };
        let Some((so_far, _)) = &best else {
            best = Some((int, v.clone()));
            continue;
        };
        let is_constant = |i: &IntVar| matches!(i.expr, IntExpr::Const(_));
        let is_sure = match is_constant(so_far) && is_constant(&int) {
            true => Some(is_better.holds(&int.value, &so_far.value)),
            false if int.expr == so_far.expr => Some(false),
            false => tx.sure_compare(is_better, &int, so_far),
        };
        best = match is_sure {
            Some(true) => Some((int, v.clone())),
            Some(false) => continue,
            None => {
                let (Some(expr), Some(value)) = (
                    IntExpr::binary(op, &so_far.expr, &int.expr),
                    op.eval(so_far.value, int.value),
                ) else {
                    return Ok(None);
                };
                let made = IntVar { expr, value };
                Some((made.clone(), Var::Int(Rc::new(made))))
            }
        };
    }
    Ok(best.map(|(_, v)| v))
}

/// `min` or `max` of floats of which one is no constant. `None`: it takes comparisons.
fn extreme_of_floats(tx: &mut Tx<'_>, name: &str, items: &[Var]) -> R<Option<Var>> {
    if items.len() < 2 {
        return Ok(None);
    }
    let Some(args) = tx.changing_args(items, Changing::Found)? else {
        return Ok(None);
    };
    for v in &args {
        let value = tx.value_now(v)?;
        if !value.is_some_and(|v| v.is_exact_instance_of::<PyFloat>()) {
            return Ok(None);
        }
    }
    let f = tx.known.builtins.bind(tx.py).getattr(name)?;
    tx.compute(&f, args, false)
}

/// `min` or `max` of tensors, and of numbers beside one, in a function that a control flow operator is given. The operator
/// compiles it outside of compiled code as well, and its compiler takes the larger or smaller elements. `None` elsewhere.
fn extreme_in_operator(tx: &mut Tx<'_>, name: &str, items: &[Var]) -> R<Option<Var>> {
    if tx.stand_ins.is_none() || items.len() < 2 {
        return Ok(None);
    }
    let number = |tx: &Tx<'_>, v: &Var| match v {
        Var::Const(o) => holds_number(o.bind(tx.py)),
        _ => false,
    };
    let (of_two, bound) = match name {
        "min" => ("minimum", "max"),
        _ => ("maximum", "min"),
    };
    let mut best: Option<Var> = None;
    for v in items {
        let v = tx.look(v)?;
        let Some(so_far) = best else {
            best = Some(v);
            continue;
        };
        let is_tensor = |v: &Var| matches!(v, Var::Tensor(_));
        let (function, args) = match (is_tensor(&so_far), is_tensor(&v)) {
            (true, true) => (of_two, Args::pos(vec![so_far, v])),
            (true, false) if number(tx, &v) => ("clamp", bounded(so_far, bound, v)),
            (false, true) if number(tx, &so_far) => ("clamp", bounded(v, bound, so_far)),
            _ => return Ok(None),
        };
        let function = Var::py(tx.known.torch.getattr(tx.py, function)?);
        best = Some(tx.call_sync(&function, args)?);
    }
    Ok(best)
}

fn bounded(of: Var, name: &str, bound: Var) -> Args {
    Args {
        pos: vec![of],
        kw: vec![(Arc::from(name), bound)],
    }
}

fn holds_number(b: &Bound<'_, PyAny>) -> bool {
    b.is_exact_instance_of::<PyInt>() || b.is_exact_instance_of::<PyFloat>()
}

/// `min` or `max` of tensors of one number each: the one that Python would choose. `None` for other values.
fn extreme_tensor(tx: &mut Tx<'_>, op: CompareOp, items: &[Var]) -> R<Option<Var>> {
    // Of a batch nobody asks the truth.
    let in_batches = |l: &Level| !matches!(l.kind, LevelKind::Derivative(_));
    let levels = &tx.st.levels;
    if items.len() < 2
        || tx.has_modes()
        || levels.is_active() && !tx.ints.is_whole
        || levels.entered.iter().any(in_batches)
    {
        return Ok(None);
    }
    let mut tensors = Vec::with_capacity(items.len());
    for v in items {
        let v = tx.realize(v)?;
        let Var::Tensor(t) = &v else { return Ok(None) };
        let meta = tx.st.effects.meta(t);
        let form = (meta.shape.to_vec(), meta.dtype, meta.device);
        // Each gets a gradient, whichever it is.
        let is_recorded = tx.st.grad_enabled && meta.requires_grad && !tx.ints.is_whole;
        let is_one = form.0.iter().all(|size| size.as_const() == Some(1));
        if !is_one || is_recorded || !t.class.is(&tx.known.tensor) {
            return Ok(None);
        }
        tensors.push((v.clone(), form));
    }
    if tensors.windows(2).any(|two| two[0].1 != two[1].1) {
        return Ok(None);
    }
    let choose = Var::py(tx.known.torch.getattr(tx.py, "where")?);
    let mut tensors = tensors.into_iter().map(|(v, _)| v);
    let Some(mut best) = tensors.next() else {
        return Ok(None);
    };
    tx.mark_place();
    for v in tensors {
        let flow = tx.compare(op, &v, &best)?;
        let better = tx.finish_flow(flow)?;
        best = tx.call_sync(&choose, Args::pos(vec![better, v, best]))?;
        // What a level's tensors share is not known.
        if let Var::Tensor(t) = &best
            && !tx.st.levels.is_active()
        {
            tx.log.graph.set_chooses(t.node);
        }
    }
    Ok(Some(best))
}
