//! `torch._check` and what goes with it: what the program says of numbers that the graph reads from tensors.
//!
//! The graph checks it, and what comes behind relies on it: sizes that were not known are known well enough. Of
//! numbers that are known, the functions are followed as any other.

use bytecode::op::{BinaryOp, CompareOp};
use fx_graph::{Arg, NodeId};
use guards::{IntBinary, IntCompare};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use translator::raw::derives_from;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Var};

use crate::higher_order::is_plain_number;
use crate::read_arithmetic::{Kind, as_number, either, number_arg, sym_float, sym_int};

pub(crate) const RULES: RuleList = &[(
    "torch",
    &[
        ("_check", check as Rule),
        ("_check_value", check),
        ("_check_index", check),
        ("_check_is_size", check_is_size),
        ("sym_not", sym_not),
        ("sym_ite", either),
        ("sym_float", sym_float),
        ("sym_int", sym_int),
    ],
)];

/// `not a` of a condition that the graph computes.
fn sym_not(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match (args.pos.as_slice(), args.kw.is_empty()) {
        ([condition], true) => Ok(negated(tx, condition)?.map(Flow::Value)),
        _ => Ok(None),
    }
}

/// `sym_and` and `sym_or`: all of the conditions, or one of them.
///
/// Not among the listed rules: looking their module up would import SymPy.
pub(crate) fn all_or_one(tx: &mut Tx<'_>, name: &str, args: &Args) -> Given {
    let op = match name {
        "sym_and" => BinaryOp::And,
        _ => BinaryOp::Or,
    };
    let Some((first, others)) = args.pos.split_first().filter(|_| args.kw.is_empty()) else {
        return Ok(None);
    };
    let mut made = first.clone();
    for other in others {
        made = tx.binary_sync(op, &made, other)?;
    }
    Ok(Some(Flow::Value(made)))
}

fn done(tx: &Tx<'_>) -> Given {
    Ok(Some(Flow::Value(tx.none())))
}

/// The function of this name, as the graph calls it.
fn function<'py>(tx: &Tx<'py>, name: &str) -> R<Bound<'py, PyAny>> {
    Ok(tx.known.torch.bind(tx.py).getattr(name)?)
}

fn check(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some(condition) = args.pos.first().or(args.named("cond")).cloned() else {
        return Ok(None);
    };
    let check = function(tx, name)?;
    match in_graph(tx, &check, &condition)? {
        true => done(tx),
        false => Ok(None),
    }
}

fn check_is_size(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let Some(size) = args.pos.first().or(args.named("i")).cloned() else {
        return Ok(None);
    };
    if !tx.follows_from_read(&size) {
        return Ok(None);
    }
    // The one keyword beside the message is the most that it may be.
    let mut bound = args
        .kw
        .iter()
        .filter(|(name, _)| !matches!(&**name, "i" | "message"));
    let most = bound.next().map(|(_, most)| most.clone());
    let (most, least) = (most.filter(|most| !most.is_none(tx.py)), tx.int(0));
    let mut bounds = vec![(CompareOp::Ge, least)];
    bounds.extend(most.map(|most| (CompareOp::Le, most)));
    let check = function(tx, "_check")?;
    for (op, bound) in bounds {
        let Flow::Value(condition) = tx.compare(op, &size, &bound)? else {
            return Ok(None);
        };
        let is_sure = matches!(&condition, Var::Const(o) if o.is_truthy(tx.py)?);
        if !is_sure && !in_graph(tx, &check, &condition)? {
            return Ok(None);
        }
    }
    done(tx)
}

/// What `guard_or_false` and the like answer for a condition that is not known; `None` where the graph has to end.
///
/// # Errors
/// As [`Tx::check_in_graph`].
pub(crate) fn answer_unknown(tx: &mut Tx<'_>, name: &str, condition: &Var) -> R<Option<bool>> {
    if !is_condition(tx, condition) {
        return Ok(None);
    }
    Ok(match name {
        "guard_or_true" => Some(true),
        "guard_or_false" | "statically_known_true" => Some(false),
        "expect_true" => {
            let check = function(tx, "_check")?;
            in_graph(tx, &check, condition)?.then_some(true)
        }
        _ => None,
    })
}

/// The function of `operator` that joins conditions.
fn joining(both: bool) -> &'static str {
    let op = if both { IntBinary::And } else { IntBinary::Or };
    op.function()
}

/// The conditions that a condition is of: whether both have to hold, and which they are.
fn combined(tx: &Tx<'_>, v: &Var) -> Option<(bool, [Var; 2])> {
    let Var::Computed(c) = v else { return None };
    let [a, b] = &c.args[..] else { return None };
    let both = [true, false]
        .into_iter()
        .find(|both| tx.is_made_by(c, joining(*both)))?;
    let parts = is_condition(tx, a) && is_condition(tx, b);
    parts.then(|| (both, [a.clone(), b.clone()]))
}

/// Whether a value is a condition over numbers that the graph reads.
pub(crate) fn is_condition(tx: &Tx<'_>, v: &Var) -> bool {
    tx.condition(v).is_some() || combined(tx, v).is_some() || alone(tx, v).is_some()
}

/// `not`, in `operator`.
const NOT: &str = "not_";

/// A condition of which nothing is known but its node.
enum Alone {
    /// a comparison of numbers that are not both ints
    Compared(IntCompare, [Var; 2]),
    /// `not` of one
    Not(Var),
}

fn alone(tx: &Tx<'_>, v: &Var) -> Option<Alone> {
    let Var::Computed(c) = v else { return None };
    let is = |name: &str| tx.is_made_by(c, name);
    match &c.args[..] {
        [of] if is(NOT) && alone(tx, of).is_some() => Some(Alone::Not(of.clone())),
        [a, b] if tx.follows_from_read(a) || tx.follows_from_read(b) => {
            let is_number = |v: &Var| matches!(v, Var::Int(_) | Var::Float(_) | Var::Const(_));
            let op = IntCompare::ALL.into_iter().find(|op| is(op.function()))?;
            let are_numbers = is_number(a) && is_number(b);
            let are_ints = matches!((a, b), (Var::Int(_), Var::Int(_)));
            (are_numbers && !are_ints).then(|| Alone::Compared(op, [a.clone(), b.clone()]))
        }
        _ => None,
    }
}

/// `a op b` of numbers that are not both ints, of which one follows from what the graph reads. `None` for other values.
pub(crate) fn compare_read(tx: &mut Tx<'_>, op: IntCompare, a: &Var, b: &Var) -> R<Option<Var>> {
    let (Some(a), Some(b)) = (as_number(tx, a)?, as_number(tx, b)?) else {
        return Ok(None);
    };
    if [a.1, b.1].contains(&Kind::Bool) {
        return Ok(None);
    }
    tx.condition_of(op.function(), vec![a.0, b.0], true)
}

/// The truth of a number, or of a tensor or an array of one, as a condition. `None` where the graph reads none.
pub(crate) fn truth_read(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    if !tx.ints.captures_scalars {
        return Ok(None);
    }
    let v = match tx.look(v)? {
        v @ Var::Tensor(_) => match tx.read_in_graph(&v)? {
            Some(read) => read,
            None => return Ok(None),
        },
        v if tx.array_id(&v).is_some() => {
            let method = tx.rules.arrays.method;
            match method(tx, &v, "item", &Args::default())? {
                Some(read) => tx.finish_flow(read)?,
                None => return Ok(None),
            }
        }
        v => v,
    };
    if is_condition(tx, &v) {
        return Ok(Some(v));
    }
    if !tx.follows_from_read(&v) {
        return Ok(None);
    }
    let zero = tx.int(0);
    match tx.compare(CompareOp::Ne, &v, &zero)? {
        Flow::Value(condition) => Ok(Some(condition)),
        _ => Ok(None),
    }
}

/// Whether an item is one of several, as a condition, where the graph reads one of them or compares tensors. `None` where
/// not all are numbers or tensors.
pub(crate) fn contains_read(tx: &mut Tx<'_>, container: &Var, item: &Var) -> R<Option<Var>> {
    if !tx.ints.captures_scalars {
        return Ok(None);
    }
    let items = match tx.look(container)? {
        of @ Var::Tensor(_) => return element_read(tx, &of, item),
        of if tx.array_id(&of).is_some() => return element_read(tx, &of, item),
        Var::Tuple(t) if t.class.is_none() => t.items.clone(),
        Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyTuple>() => {
            let items = o.bind(tx.py).try_iter()?;
            items
                .map(|item| Ok(Var::Const(item?.unbind())))
                .collect::<PyResult<_>>()?
        }
        Var::Obj(id) => match &tx.obj(id).body {
            Body::List(items) => items.iter().cloned().collect(),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let is_tensor = |v: &Var| matches!(v, Var::Tensor(_));
    let tensor = tx.known.tensor.bind(tx.py);
    let will_be_tensor = |v: &Var| match v {
        Var::Lazy(l) => derives_from(l.obj.bind(tx.py), tensor),
        v => is_tensor(v),
    };
    let of_tensors = will_be_tensor(item) || items.iter().any(will_be_tensor);
    if !of_tensors && !tx.follows_from_read(item) {
        return Ok(None);
    }
    let item = tx.look(item)?;
    let mut found = tx.bool(false);
    for other in &items {
        let same = match (&item, tx.look(other)?) {
            (Var::Tensor(a), Var::Tensor(b)) if a.node == b.node => tx.bool(true),
            (item, other) => {
                for v in [item, &other] {
                    if !is_tensor(v) && as_number(tx, v)?.is_none() {
                        return Ok(None);
                    }
                }
                let Flow::Value(same) = tx.compare(CompareOp::Eq, item, &other)? else {
                    return Ok(None);
                };
                match is_tensor(&same) {
                    true => match truth_read(tx, &same)? {
                        Some(same) => same,
                        None => return Ok(None),
                    },
                    false => same,
                }
            }
        };
        found = match join(tx, BinaryOp::Or, &found, &same)? {
            Some(joined) => joined,
            None => match (&found, &same) {
                (Var::Const(o), Var::Const(_)) if o.is_truthy(tx.py)? => found,
                (Var::Const(_), Var::Const(_)) => same,
                _ => return Ok(None),
            },
        };
    }
    Ok(Some(found))
}

/// Whether a tensor or an array of NumPy has an element of a value, as a condition: `(of == item).any()`, which follows
/// `torch.Tensor.__contains__` and `array_contains` of NumPy. `None` where the graph reads none.
fn element_read(tx: &mut Tx<'_>, of: &Var, item: &Var) -> R<Option<Var>> {
    let item = tx.look(item)?;
    let is_array = |tx: &Tx<'_>, v: &Var| tx.array_id(v).is_some();
    let is_operand = match &item {
        Var::Tensor(_) => true,
        Var::Const(o) => {
            let numbers = tx.py.import("numbers")?;
            o.bind(tx.py).is_instance(&numbers.getattr("Number")?)?
        }
        item => is_array(tx, item) || as_number(tx, item)?.is_some(),
    };
    if !is_operand {
        return Ok(None);
    }
    let Flow::Value(same) = tx.compare(CompareOp::Eq, of, &item)? else {
        return Ok(None);
    };
    let method = tx.rules.arrays.method;
    let any = match is_array(tx, &same) {
        true => method(tx, &same, "any", &Args::default())?,
        false if matches!(same, Var::Tensor(_)) => {
            Some(tx.tensor_method(&same, "any", Args::default())?)
        }
        false => None,
    };
    let Some(any) = any else { return Ok(None) };
    let any = tx.finish_flow(any)?;
    truth_read(tx, &any)
}

/// `a & b` and `a | b` of conditions, of which one may be known. `None` for other values.
pub(crate) fn join(tx: &mut Tx<'_>, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
    let both = match op {
        BinaryOp::And => true,
        BinaryOp::Or => false,
        _ => return Ok(None),
    };
    for (known, other) in [(a, b), (b, a)] {
        if let Var::Const(o) = known
            && let Ok(known) = o.bind(tx.py).cast_exact::<PyBool>()
            && (is_condition(tx, other) || tx.is_answer(other))
        {
            let decides = known.is_true() != both;
            let found = if decides {
                tx.bool(!both)
            } else {
                other.clone()
            };
            return Ok(Some(found));
        }
    }
    let is_answer = |v: &Var| {
        let is_bool = matches!(v, Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyBool>());
        is_bool || tx.is_answer(v)
    };
    let are_answers = is_answer(a) && is_answer(b);
    if are_answers && (tx.is_answer(a) || tx.is_answer(b)) {
        let function = tx.known.operator.bind(tx.py).getattr(joining(both))?;
        return tx.compute(&function, vec![a.clone(), b.clone()], false);
    }
    if !is_condition(tx, a) || !is_condition(tx, b) {
        return Ok(None);
    }
    let (Var::Computed(x), Var::Computed(y)) = (a, b) else {
        return Ok(None);
    };
    let (x, y) = (x.value.is_truthy(tx.py)?, y.value.is_truthy(tx.py)?);
    let holds = if both { x && y } else { x || y };
    tx.condition_of(joining(both), vec![a.clone(), b.clone()], holds)
}

/// `not v` of a condition. `None` for other values.
///
/// # Errors
/// None of its own.
pub(crate) fn negated(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    if let Some((both, [a, b])) = combined(tx, v) {
        let op = if both { BinaryOp::Or } else { BinaryOp::And };
        return match (negated(tx, &a)?, negated(tx, &b)?) {
            (Some(a), Some(b)) => join(tx, op, &a, &b),
            _ => Ok(None),
        };
    }
    if tx.is_answer(v) {
        let not = tx.known.operator.bind(tx.py).getattr(NOT)?;
        return tx.compute(&not, vec![v.clone()], false);
    }
    if let Some(of) = alone(tx, v) {
        return match of {
            Alone::Not(of) => Ok(Some(of)),
            Alone::Compared(..) => tx.condition_of(NOT, vec![v.clone()], false),
        };
    }
    let (Var::Computed(c), Some((relation, (a, b)))) = (v, tx.condition(v)) else {
        return Ok(None);
    };
    let op = relation.op.negated();
    tx.condition_of(op.function(), c.args.clone(), op.holds(&a, &b))
}

/// The node of a condition. `None` for other values.
///
/// # Errors
/// A break for what the graph does not compute.
pub(crate) fn condition_node(tx: &mut Tx<'_>, v: &Var) -> R<Option<NodeId>> {
    if let Some((relation, _)) = tx.condition(v) {
        let (a, b) = (&relation.left, &relation.right);
        let args = vec![tx.int_arg(a)?, tx.int_arg(b)?];
        return tx.number_node(relation.op.function(), args).map(Some);
    }
    match alone(tx, v) {
        Some(Alone::Compared(op, [a, b])) => {
            let args = vec![number_arg(tx, &a)?, number_arg(tx, &b)?];
            return tx.number_node(op.function(), args).map(Some);
        }
        Some(Alone::Not(of)) => {
            let Some(of) = condition_node(tx, &of)? else {
                return Ok(None);
            };
            return sym_node(tx, "sym_not", of.into()).map(Some);
        }
        None => {}
    }
    let Some((both, [a, b])) = combined(tx, v) else {
        return Ok(None);
    };
    let (a, b) = (condition_node(tx, &a)?, condition_node(tx, &b)?);
    let (Some(a), Some(b)) = (a, b) else {
        return Ok(None);
    };
    let args = vec![a.into(), b.into()];
    tx.number_node(joining(both), args).map(Some)
}

/// The node of a comparison of ints that are no constants, or of what is made of such, of which nothing is guarded yet.
/// `None` for other values.
///
/// # Errors
/// A break for what the graph does not compute.
pub(crate) fn answer_node(tx: &mut Tx<'_>, v: &Var) -> R<Option<NodeId>> {
    let Var::Computed(c) = v else { return Ok(None) };
    if !tx.is_answer(v) {
        return Ok(None);
    }
    let is = |name: &str| tx.is_made_by(c, name);
    let is_number = |v: &Var| match v {
        Var::Const(o) => is_plain_number(tx, o),
        v => matches!(v, Var::Int(_) | Var::Float(_)),
    };
    let op = IntCompare::ALL.into_iter().find(|op| is(op.function()));
    match (op, &c.args[..]) {
        (Some(op), [Var::Int(a), Var::Int(b)]) => {
            let args = vec![tx.int_arg(&a.expr)?, tx.int_arg(&b.expr)?];
            tx.number_node(op.function(), args).map(Some)
        }
        // A compiler makes a tensor of a float.
        (Some(op), [a, b]) if tx.runs_as_is && is_number(a) && is_number(b) => {
            let args = vec![number_arg(tx, a)?, number_arg(tx, b)?];
            tx.st.needs_as_is = true;
            tx.number_node(op.function(), args).map(Some)
        }
        (None, [of]) if is(NOT) => {
            let of = answer_node(tx, of)?;
            of.map(|of| sym_node(tx, "sym_not", of.into())).transpose()
        }
        (None, [a, b]) => {
            let joined = [BinaryOp::And, BinaryOp::Or]
                .into_iter()
                .find(|op| is(joining(matches!(op, BinaryOp::And))));
            let (Some(op), Some(a), Some(b)) = (joined, answer_node(tx, a)?, answer_node(tx, b)?)
            else {
                return Ok(None);
            };
            let name = joining(matches!(op, BinaryOp::And));
            tx.number_node(name, vec![a.into(), b.into()]).map(Some)
        }
        _ => Ok(None),
    }
}

/// A node that calls one of torch's functions of a number.
pub(crate) fn sym_node(tx: &mut Tx<'_>, name: &str, of: Arg) -> R<NodeId> {
    let function = function(tx, name)?.unbind();
    let target = tx.target(&function, &format!("torch.{name}"))?;
    Ok(tx.repeatable_call(target, vec![of]))
}

/// Has the graph check a condition by `check`, which raises where it does not hold; it is relied on from here on.
/// `false` where the graph has to end: it could not be run again from its start.
///
/// # Errors
/// A break for what the graph does not compute.
fn in_graph(tx: &mut Tx<'_>, check: &Bound<'_, PyAny>, condition: &Var) -> R<bool> {
    if let Some((relation, values)) = tx.condition(condition) {
        return tx.check_relation(check, &relation, values);
    }
    match combined(tx, condition) {
        Some((true, [a, b])) => Ok(in_graph(tx, check, &a)? && in_graph(tx, check, &b)?),
        None if alone(tx, condition).is_none() => Ok(false),
        _ => tx.check_node(check, |tx| condition_node(tx, condition)),
    }
}

/// The same by `torch._check`.
///
/// # Errors
/// As above.
pub(crate) fn check_condition(tx: &mut Tx<'_>, condition: &Var) -> R<bool> {
    let check = function(tx, "_check")?;
    in_graph(tx, &check, condition)
}
