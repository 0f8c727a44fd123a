//! Pure functions of numbers that the graph reads from its tensors: `float(n)`, `n / m`, `math.ceil(f)`.
//!
//! Each is a node, whose number is one that the graph reads as well. Not here: arithmetic of ints and floats that are
//! expressions (`translator::values`), and conditions.
//!
//! Invariants: of which type a number is follows from the types of what it is computed from; where a function raises,
//! the graph raises in its place, before a compiler has computed something else.

use fx_graph::{Arg, NodeId};
use guards::IntCompare;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use torch_abi::names;
use translator::rules::Given;
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use translator::values::Changing;
use variables::Var;

use crate::conditions::{condition_node, is_condition};

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// a condition, which counts as 0 or 1
    Bool,
    Int,
    Float,
}

/// The type of what a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    Int,
    /// of a condition as well
    Float,
    /// the float with so many digits
    Digits,
    /// a float if one of the arguments is
    Wider,
    /// a float if one of the arguments is, which compilers compute by ints
    Quotient,
    /// one of the arguments
    OneOf,
    /// that of a power, which is for some arguments no number of the graph's
    Power,
}

/// For which arguments a function raises nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Domain {
    All,
    NotNegative,
    Positive,
    /// the last argument is not zero
    Divisor,
    /// floats are smaller than this, and larger than its negative
    Below(f64),
}

/// No infinity and not NaN; what is larger is no int of a compiler's.
const FINITE: Domain = Domain::Below(9.2e18);

/// What the graph calls.
#[derive(Clone, Copy, Debug)]
enum Called {
    /// a function of `operator`
    Operator(&'static str),
    /// one of a module
    Of(&'static str, &'static str),
}

/// A function as the program calls it, and as the graph does.
struct Function {
    module: &'static str,
    name: &'static str,
    arguments: usize,
    gives: Gives,
    domain: Domain,
    called: Called,
}

impl Function {
    const fn of(
        (module, name): (&'static str, &'static str),
        called: Called,
        arguments: usize,
        gives: Gives,
        domain: Domain,
    ) -> Function {
        Function {
            module,
            name,
            arguments,
            gives,
            domain,
            called,
        }
    }

    /// One that the graph calls as the program does.
    const fn same(
        module: &'static str,
        name: &'static str,
        arguments: usize,
        gives: Gives,
        domain: Domain,
    ) -> Function {
        let called = Called::Of(module, name);
        Function::of((module, name), called, arguments, gives, domain)
    }

    /// One of `math`, which gives a float.
    const fn math(name: &'static str, in_torch: &'static str, domain: Domain) -> Function {
        let called = Called::Of("torch", in_torch);
        Function::of(("math", name), called, 1, Gives::Float, domain)
    }

    /// An operator of two numbers.
    const fn operator(name: &'static str, gives: Gives, domain: Domain) -> Function {
        Function::of(
            ("_operator", name),
            Called::Operator(name),
            2,
            gives,
            domain,
        )
    }
}

const FLOAT: Function = Function::of(
    ("builtins", "float"),
    Called::Of("torch", "sym_float"),
    1,
    Gives::Float,
    Domain::All,
);

const INT: Function = Function::of(
    ("builtins", "int"),
    Called::Of("torch", "sym_int"),
    1,
    Gives::Int,
    FINITE,
);

const SYM_ITE: Called = Called::Of("torch", "sym_ite");

const FUNCTIONS: &[Function] = &[
    FLOAT,
    INT,
    Function::same("builtins", "round", 1, Gives::Int, FINITE),
    Function::same("builtins", "round", 2, Gives::Digits, Domain::All),
    Function::same("builtins", "abs", 1, Gives::Wider, Domain::All),
    Function::of(
        ("builtins", "max"),
        Called::Of("torch", "sym_max"),
        2,
        Gives::OneOf,
        FINITE,
    ),
    Function::of(
        ("builtins", "min"),
        Called::Of("torch", "sym_min"),
        2,
        Gives::OneOf,
        FINITE,
    ),
    Function::same("math", "ceil", 1, Gives::Int, FINITE),
    Function::same("math", "floor", 1, Gives::Int, FINITE),
    Function::same("math", "trunc", 1, Gives::Int, FINITE),
    Function::math("sqrt", names::SYM_SQRT, Domain::NotNegative),
    Function::math("sin", names::SYM_SIN, FINITE),
    Function::math("cos", names::SYM_COS, FINITE),
    Function::math("tan", names::SYM_TAN, FINITE),
    Function::math("tanh", names::SYM_TANH, Domain::All),
    Function::math("atan", names::SYM_ATAN, Domain::All),
    Function::math("log2", names::SYM_LOG2, Domain::Positive),
    Function::operator("add", Gives::Wider, Domain::All),
    Function::operator("sub", Gives::Wider, Domain::All),
    Function::operator("mul", Gives::Wider, Domain::All),
    Function::operator("truediv", Gives::Float, Domain::Divisor),
    Function::operator("floordiv", Gives::Quotient, Domain::Divisor),
    Function::operator("mod", Gives::Wider, Domain::Divisor),
    Function::operator("pow", Gives::Power, Domain::All),
];

/// `function(*args)` of numbers of which one follows from what the graph reads. `None` where it is none that a graph
/// computes.
///
/// # Errors
/// A break for what the graph does not compute.
pub(crate) fn compute_read(
    tx: &mut Tx<'_>,
    called: &Bound<'_, PyAny>,
    args: &[Var],
) -> R<Option<Var>> {
    match find(tx, called, args.len()) {
        Some(function) => compute(tx, function, args),
        None => Ok(None),
    }
}

fn compute(tx: &mut Tx<'_>, function: &Function, args: &[Var]) -> R<Option<Var>> {
    let mut numbers = Vec::with_capacity(args.len());
    for v in args {
        match as_number(tx, v)? {
            Some(number) => numbers.push(number),
            None => return Ok(None),
        }
    }
    let of_floats = numbers.iter().any(|(_, kind)| *kind == Kind::Float);
    let widest = if of_floats { Kind::Float } else { Kind::Int };
    for (number, kind) in &mut numbers {
        if *kind == Kind::Bool && function.gives != Gives::Float {
            *kind = widest;
            *number = as_zero_or_one(tx, number, widest)?;
        }
    }
    let is_first_int = numbers[0].1 == Kind::Int;
    if function.gives == Gives::Int && is_first_int {
        return Ok(Some(numbers[0].0.clone()));
    }
    let same = numbers.windows(2).all(|two| two[0].1 == two[1].1);
    let (kind, domain) = match function.gives {
        // The digits of a rounded int make another int.
        Gives::Digits if is_first_int => return Ok(None),
        // Compilers make ints of what is too large for one.
        Gives::Quotient if of_floats && !tx.runs_as_is => return Ok(None),
        // Which of them it is decides of which type it is.
        Gives::OneOf if !same => return Ok(None),
        Gives::Int => (Kind::Int, function.domain),
        Gives::Float | Gives::Digits => (Kind::Float, function.domain),
        Gives::Wider | Gives::Quotient | Gives::OneOf => (widest, function.domain),
        Gives::Power => match power(tx, &numbers) {
            Some(found) => found,
            None => return Ok(None),
        },
    };
    let mut nodes = Vec::with_capacity(numbers.len());
    for (number, _) in &numbers {
        nodes.push(number_arg(tx, number)?);
    }
    if !check_domain(tx, domain, &numbers, &nodes)? {
        return Ok(None);
    }
    let node = call(tx, function.called, nodes, domain)?;
    tx.number_of_node(node, kind == Kind::Float).map(Some)
}

fn find(tx: &Tx<'_>, called: &Bound<'_, PyAny>, arguments: usize) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| {
        let of = tx.py.import(function.module);
        let found = of.and_then(|module| module.getattr(function.name));
        function.arguments == arguments && found.is_ok_and(|found| found.is(called))
    })
}

/// A value as a number, and its type.
pub(crate) fn as_number(tx: &mut Tx<'_>, v: &Var) -> R<Option<(Var, Kind)>> {
    if is_condition(tx, v) {
        return Ok(Some((v.clone(), Kind::Bool)));
    }
    let v = &match tx.as_changing(v, Changing::Found) {
        Some(number) => number,
        None => tx.realize(v)?,
    };
    Ok(match v {
        Var::Int(_) => Some((v.clone(), Kind::Int)),
        Var::Float(_) => Some((v.clone(), Kind::Float)),
        Var::Const(o) => {
            let b = o.bind(tx.py);
            match (
                b.is_exact_instance_of::<PyInt>(),
                b.is_exact_instance_of::<PyFloat>(),
            ) {
                (true, _) if b.extract::<i64>().is_ok() => Some((v.clone(), Kind::Int)),
                (_, true) => Some((v.clone(), Kind::Float)),
                _ => None,
            }
        }
        _ => None,
    })
}

/// A number as the argument of a node.
pub(crate) fn number_arg(tx: &mut Tx<'_>, v: &Var) -> R<Arg> {
    match v {
        Var::Int(int) => tx.int_arg(&int.expr),
        Var::Float(float) => match tx.follows_from_read(v) {
            true => tx.float_arg(&float.expr),
            false => Ok(tx.float_input(float).into()),
        },
        v => match condition_node(tx, v)? {
            Some(node) => Ok(node.into()),
            None => tx.node_arg(v).map(|(arg, _)| arg),
        },
    }
}

/// The type of a power, and for which numbers it is that; `None` where it depends on more.
fn power(tx: &Tx<'_>, numbers: &[(Var, Kind)]) -> Option<(Kind, Domain)> {
    let [(base, of), (exponent, by)] = numbers else {
        return None;
    };
    let known = |v: &Var| match v {
        Var::Const(o) => o.bind(tx.py).extract::<f64>().ok(),
        _ => None,
    };
    let below = |most: f64| Domain::Below(most * 0.99);
    match (of, by, known(base), known(exponent)) {
        (Kind::Int, Kind::Int, _, Some(by)) if by >= 0.0 => Some((Kind::Int, Domain::All)),
        (Kind::Float, _, _, Some(by)) if by >= 0.0 && by.fract() == 0.0 => {
            Some((Kind::Float, below(f64::MAX.powf(1.0 / by.max(1.0)))))
        }
        // Of a negative base a fraction makes a complex number.
        (_, Kind::Float, _, Some(by)) | (Kind::Float, _, _, Some(by)) if by.is_finite() => {
            Some((Kind::Float, Domain::Positive))
        }
        (_, Kind::Float, Some(base), None) if base > 1.0 => {
            Some((Kind::Float, below(f64::MAX.log(base))))
        }
        _ => None,
    }
}

/// A condition as the number that Python takes it for, beside floats or ints.
fn as_zero_or_one(tx: &mut Tx<'_>, condition: &Var, beside: Kind) -> R<Var> {
    let condition = number_arg(tx, condition)?;
    let is_float = beside == Kind::Float;
    // Compilers know no floats that are one of two.
    let node = match is_float {
        true => call(tx, FLOAT.called, vec![condition], Domain::All)?,
        false => {
            let args = vec![condition, Arg::Int(1), Arg::Int(0)];
            call(tx, SYM_ITE, args, Domain::All)?
        }
    };
    tx.number_of_node(node, is_float)
}

/// Has the graph check that a function raises nothing; `false` where it can't. A graph that runs as it is calls the
/// function itself, which raises: only a power becomes something else.
fn check_domain(
    tx: &mut Tx<'_>,
    domain: Domain,
    numbers: &[(Var, Kind)],
    nodes: &[Arg],
) -> R<bool> {
    let is_node = |arg: &&Arg| matches!(arg, Arg::Node(_));
    let first = || nodes.first().filter(is_node);
    let zero = Arg::Int(0);
    let (compare, bound, checked): (_, _, Vec<&Arg>) = match domain {
        Domain::All => return Ok(true),
        Domain::Divisor => match nodes.last() {
            Some(Arg::Int(0)) => return Ok(false),
            Some(Arg::Float(by)) if *by == 0.0 => return Ok(false),
            by => (
                IntCompare::Ne,
                zero,
                by.filter(is_node).into_iter().collect(),
            ),
        },
        Domain::NotNegative => (IntCompare::Ge, zero, first().into_iter().collect()),
        Domain::Positive => (IntCompare::Gt, zero, first().into_iter().collect()),
        Domain::Below(most) => {
            let floats = nodes.iter().zip(numbers);
            let floats = floats.filter(|(arg, (_, kind))| is_node(arg) && *kind == Kind::Float);
            let floats = floats.map(|(arg, _)| arg).collect();
            (IntCompare::Lt, Arg::Float(most), floats)
        }
    };
    if checked.is_empty() {
        return Ok(true);
    }
    // A power of a number that may be negative is looked at in any graph.
    let is_power = domain == Domain::Positive && numbers.len() == 2;
    if tx.runs_as_is && !is_power {
        return tx.can_check_in_graph();
    }
    // A check refuses more than what raises, and then the program has to run without it.
    if !tx.can_check_and_run_again()? {
        return Ok(tx.ints.is_whole && !is_power);
    }
    tx.st.is_checked_with_care = true;
    let check = tx.known.torch.bind(tx.py).getattr("_check")?;
    for arg in checked {
        let is_checked = tx.check_node(&check, |tx| {
            let arg = match domain {
                Domain::Below(_) => tx.number_node("abs", vec![arg.clone()])?.into(),
                _ => arg.clone(),
            };
            tx.number_node(compare.function(), vec![arg, bound.clone()])
                .map(Some)
        })?;
        if !is_checked {
            return Ok(false);
        }
    }
    Ok(true)
}

fn call(tx: &mut Tx<'_>, called: Called, args: Vec<Arg>, domain: Domain) -> R<NodeId> {
    let (module, name) = match called {
        Called::Operator(name) => return tx.number_node(name, args),
        Called::Of(module, name) => (module, name),
    };
    let function = tx.py.import(module)?.getattr(name)?.unbind();
    let target = tx.target(&function, &format!("{module}.{name}"))?;
    let node = tx.repeatable_call(target, args);
    if domain != Domain::All {
        tx.log.graph.set_may_refuse_arguments(node);
    }
    Ok(node)
}

/// `torch.sym_float` of a number that the graph reads.
pub(crate) fn sym_float(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    of_read(tx, &FLOAT, &args)
}

/// `torch.sym_int` of one.
pub(crate) fn sym_int(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    of_read(tx, &INT, &args)
}

fn of_read(tx: &mut Tx<'_>, function: &Function, args: &Args) -> Given {
    match (&args.pos[..], args.kw.is_empty()) {
        ([v], true) if tx.follows_from_read(v) => {
            let made = compute(tx, function, std::slice::from_ref(v))?;
            Ok(made.map(Flow::Value))
        }
        _ => Ok(None),
    }
}

/// `torch.sym_ite` of a condition over such numbers, and two ints or two floats.
pub(crate) fn either(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let ([condition, a, b], true) = (&args.pos[..], args.kw.is_empty()) else {
        return Ok(None);
    };
    let Some(condition) = condition_node(tx, condition)? else {
        return Ok(None);
    };
    let (Some((a, kind)), Some((b, other))) = (as_number(tx, a)?, as_number(tx, b)?) else {
        return Ok(None);
    };
    if kind != other {
        return Ok(None);
    }
    let args = vec![condition.into(), number_arg(tx, &a)?, number_arg(tx, &b)?];
    let node = call(tx, SYM_ITE, args, Domain::All)?;
    let number = tx.number_of_node(node, kind == Kind::Float)?;
    Ok(Some(Flow::Value(number)))
}
