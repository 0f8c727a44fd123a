//! Numbers: constructors and arithmetic functions.

use crate::asked::pure_const;
use bytecode::op::{BinaryOp, CompareOp, UnaryOp};
use guards::IntUnary;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple};
use tensor_meta::Reads;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use translator::values::{Changing, Special};
use variables::{Obj, Var};

use crate::rounded::{Rounding, rounded};

pub(crate) const RULES: RuleList = &[
    (
        "builtins",
        &[
            ("bool", bool_ as Rule),
            ("int", number),
            ("float", number),
            ("complex", number),
            ("bytes", constructor),
            ("range", range),
            ("slice", slice),
            ("abs", abs),
            ("round", round),
            ("divmod", divmod),
            ("pow", pow),
            ("chr", index_text),
            ("bin", index_text),
            ("hex", index_text),
            ("oct", index_text),
            ("ord", constructor),
        ],
    ),
    (
        "math",
        &[
            ("ceil", ceil),
            ("floor", ceil),
            ("trunc", ceil),
            ("prod", prod),
        ],
    ),
];

fn bool_(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 0, 1)?;
    if let [v] = &a[..] {
        if tx.is_answer(v) {
            return value(v.clone());
        }
        // Text is asked at once: mostly a branch follows.
        if (tx.as_dynamic(v).is_some() || tx.as_dynamic_float(v).is_some())
            && !tx.follows_from_read(v)
        {
            let truth = tx.known.operator.bind(tx.py).getattr("truth")?;
            if let Some(answer) = tx.compute(&truth, vec![v.clone()], false)? {
                return value(answer);
            }
        }
    }
    let t = match a.first() {
        Some(v) if let Some(condition) = (tx.rules.torch.truth_read)(tx, v)? => {
            return value(condition);
        }
        Some(v) => tx.truth(v)?,
        None => false,
    };
    value(tx.bool(t))
}

fn builtin(tx: &Tx<'_>, name: &str) -> R<Obj> {
    Ok(tx.known.builtins.bind(tx.py).getattr(name)?.unbind())
}

/// What the callable gives of values that are no constants, computed beside the graph.
fn compute(tx: &mut Tx<'_>, name: &str, args: &Args) -> R<Option<Var>> {
    let f = builtin(tx, name)?;
    tx.compute_call(f.bind(tx.py), args)
}

/// Whether a number is not zero for this call; `None` for anything else.
fn truth_of_number(tx: &mut Tx<'_>, v: &Var) -> R<Option<bool>> {
    let v = tx
        .as_changing(v, Changing::Found)
        .unwrap_or_else(|| v.clone());
    Ok(match tx.value_now(&v)? {
        Some(n) if n.is_exact_instance_of::<PyInt>() || n.is_exact_instance_of::<PyFloat>() => {
            Some(n.is_truthy()?)
        }
        _ => None,
    })
}

/// The callable itself, on arguments that are constants.
fn constructor(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if let Some(v) = compute(tx, name, &args)? {
        return value(v);
    }
    let Some((pos, kw)) = tx.real_args(&args)? else {
        return Ok(None);
    };
    let f = builtin(tx, name)?;
    value(tx.fold(move |py| f.bind(py).call(PyTuple::new(py, pos)?, kw.as_ref()))?)
}

/// Whether a value is a tensor of one int that only the graph knows.
fn holds_unknown_int(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
    let Var::Tensor(tensor) = v else {
        return Ok(false);
    };
    let meta = tx.st.effects.meta(tensor);
    let is_int = meta.dtype.int_elements().is_some();
    let is_one = meta.shape.iter().all(|size| size.as_const() == Some(1));
    Ok(is_int && is_one && tx.known_data(v, Reads::Int)?.is_none())
}

fn number(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let special = match name {
        "int" => "__int__",
        "float" => "__float__",
        _ => "__complex__",
    };
    if args.pos.len() == 1 && args.kw.is_empty() {
        if name == "int"
            && let Some(i) = tx.as_dynamic(&args.pos[0])
        {
            return value(Var::Int(i));
        }
        if name == "int"
            && let Some(v) = rounded(tx, &args.pos[0], Rounding::Down)
        {
            return value(v);
        }
        if let Some(v) = compute(tx, name, &args)? {
            return value(v);
        }
        let mut v = tx.realize(&args.pos[0])?;
        if name == "float" && holds_unknown_int(tx, &v)? {
            // The graph reads a float then, and needs no int.
            let double = tx.tensor_method(&v, "double", Args::default())?;
            v = tx.finish_flow(double)?;
        }
        let read = match tx.array_id(&v) {
            Some(_) => (tx.rules.arrays.method)(tx, &v, "item", &Args::default())?,
            None if matches!(v, Var::Tensor(_)) => {
                Some(tx.tensor_method(&v, "item", Args::default())?)
            }
            None => None,
        };
        if let Some(flow) = read {
            let item = tx.finish_flow(flow)?;
            return match &item {
                Var::Float(_) if name == "float" => value(item),
                Var::Const(_) | Var::Int(_) | Var::Float(_) => {
                    number(tx, name, Args::pos(vec![item]))
                }
                _ => Err(tx.data_dependent(&v)),
            };
        }
        if !matches!(v, Var::Const(_)) {
            let asked: &[&str] = match name {
                "int" => &["__int__", "__index__"],
                "float" => &["__float__", "__index__"],
                _ => &["__complex__", "__float__", "__index__"],
            };
            for &method in asked {
                match tx.special(&v, method)? {
                    Special::User => {
                        let r = tx.special_sync(&v, method, vec![])?;
                        let r = tx.realize(&r)?;
                        let wanted = method.trim_matches('_');
                        let wanted = if wanted == "index" { "int" } else { wanted };
                        // Python refuses others, or takes them with a warning.
                        if !tx.type_of(&r)?.is(&builtin(tx, wanted)?) {
                            return Err(Stop::unsupported(format!(
                                "{method}() that gives a {}",
                                tx.type_name(&r)?
                            )));
                        }
                        return number(tx, name, Args::pos(vec![r]));
                    }
                    Special::Builtin => break,
                    Special::Absent => {}
                }
            }
            if let Some(plain) = tx.plain_value(&v) {
                return number(tx, name, Args::pos(vec![plain]));
            }
        }
    }
    if args.values().any(|v| tx.plain_value(v).is_some()) {
        return Err(Stop::unsupported(format!(
            "{name}() of an object of the program's class"
        )));
    }
    if args
        .pos
        .iter()
        .any(|v| matches!(v, Var::Obj(_) | Var::Tuple(_) | Var::Func(_)))
    {
        let v = args.pos[0].clone();
        let class = tx.type_name(&v)?;
        let message = match name {
            "int" => format!(
                "int() argument must be a string, a bytes-like object or a real number, not '{class}'"
            ),
            "float" => format!("float() argument must be a string or a real number, not '{class}'"),
            _ => format!("complex() first argument must be a string or a number, not '{class}'"),
        };
        if tx.special(&v, special)? == Special::Absent
            && tx.special(&v, "__index__")? == Special::Absent
        {
            return Err(tx.raise("TypeError", &message));
        }
        return Ok(None);
    }
    constructor(tx, name, args)
}

fn range(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 3)?;
    let mut parts = Vec::with_capacity(3);
    for v in &a {
        parts.push(tx.index_obj(v)?);
    }
    let f = tx.known.range.clone();
    value(tx.fold(move |py| f.bind(py).call1(PyTuple::new(py, parts)?))?)
}

fn slice(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 3)?;
    let none = tx.none();
    let parts = match &a[..] {
        [stop] => [none.clone(), stop.clone(), none],
        [start, stop] => [start.clone(), stop.clone(), none],
        _ => [a[0].clone(), a[1].clone(), a[2].clone()],
    };
    value(Var::Slice(std::rc::Rc::new(parts)))
}

fn abs(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    if let Some(i) = tx.as_dynamic(&v)
        && let Some(v) = Tx::int_function(IntUnary::Abs, &i)
    {
        return value(v);
    }
    if let Some(v) = compute(tx, name, &Args::pos(vec![v.clone()]))? {
        return value(v);
    }
    let v = tx.realize(&v)?;
    if tx.array_id(&v).is_some() {
        return (tx.rules.arrays.operator)(tx, "__abs__", &[&v]);
    }
    match &v {
        Var::Tensor(_) => tx.tensor_method(&v, "abs", Args::default()).map(Some),
        Var::Const(_) => constructor(tx, "abs", Args::pos(vec![v])),
        _ => match tx.special(&v, "__abs__")? {
            Special::User => tx.special_flow(&v, "__abs__", vec![]).map(Some),
            Special::Builtin => constructor(tx, "abs", Args::pos(vec![v])),
            Special::Absent => {
                let class = tx.type_name(&v)?;
                Err(tx.raise(
                    "TypeError",
                    &format!("bad operand type for abs(): '{class}'"),
                ))
            }
        },
    }
}

fn round(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["number", "ndigits"], 1, 2)?;
    let Some(v) = &a[0] else { return Ok(None) };
    let given: Vec<Var> = a.iter().flatten().cloned().collect();
    if let [v] = &given[..]
        && let Some(v) = rounded(tx, v, Rounding::Nearest)
    {
        return value(v);
    }
    if let Some(v) = compute(tx, name, &Args::pos(given))? {
        return value(v);
    }
    let v = tx.realize(v)?;
    let digits = match &a[1] {
        Some(d) if !tx.realize(d)?.is_none(tx.py) => Some(d.clone()),
        _ => None,
    };
    if matches!(v, Var::Tensor(_)) && tx.known.tensor.bind(tx.py).hasattr("__round__")? {
        let kw = digits.map(|d| ("decimals".into(), d)).into_iter().collect();
        return tx
            .tensor_method(&v, "round", Args { pos: vec![], kw })
            .map(Some);
    }
    let rest: Vec<Var> = digits.into_iter().collect();
    match tx.special(&v, "__round__")? {
        Special::User => tx.special_flow(&v, "__round__", rest).map(Some),
        Special::Builtin => constructor(
            tx,
            "round",
            Args::pos(std::iter::once(v).chain(rest).collect()),
        ),
        Special::Absent => {
            let class = tx.type_name(&v)?;
            Err(tx.raise(
                "TypeError",
                &format!("type {class} doesn't define __round__ method"),
            ))
        }
    }
}

fn divmod(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let both = |tx: &mut Tx<'_>, x: &Var, y: &Var| {
        let quotient = tx.binary_sync(BinaryOp::FloorDivide, x, y)?;
        let rest = tx.binary_sync(BinaryOp::Remainder, x, y)?;
        value(Var::tuple(vec![quotient, rest]))
    };
    if let [x, y] = &a[..]
        && (tx.changes(x, Changing::Any) || tx.changes(y, Changing::Any))
        && !tx.is_tensor(x)
        && !tx.is_tensor(y)
        && truth_of_number(tx, y)? == Some(true)
    {
        return both(tx, x, y);
    }
    let (x, y) = (tx.realize(&a[0])?, tx.realize(&a[1])?);
    let has_array = tx.array_id(&x).or(tx.array_id(&y)).is_some();
    if has_array && !tx.is_tensor(&x) && !tx.is_tensor(&y) {
        return both(tx, &x, &y);
    }
    if let (Some(_), Some(_)) = (pure_const(tx, &x)?, pure_const(tx, &y)?) {
        return constructor(tx, "divmod", Args::pos(vec![x, y]));
    }
    for (v, w, method) in [(&x, &y, "__divmod__"), (&y, &x, "__rdivmod__")] {
        if !matches!(v, Var::Tensor(_)) && tx.special(v, method)?.is_user() {
            let r = tx.special_sync(v, method, vec![w.clone()])?;
            if !tx.is_not_implemented(&r) {
                return value(r);
            }
        }
    }
    if let Some((x, y)) = tx.plain_values(&x, &y) {
        return divmod(tx, name, Args::pos(vec![x, y]));
    }
    if matches!(x, Var::Tensor(_)) || matches!(y, Var::Tensor(_)) {
        return Err(Stop::unsupported("divmod() of a tensor"));
    }
    if tx.special(&x, "__divmod__")? == Special::Builtin
        && tx.special(&y, "__rdivmod__")? == Special::Builtin
    {
        return Err(Stop::unsupported(format!(
            "divmod() of {} and {}",
            tx.describe(&x),
            tx.describe(&y)
        )));
    }
    let (m, n) = (tx.type_name(&x)?, tx.type_name(&y)?);
    Err(tx.raise(
        "TypeError",
        &format!("unsupported operand type(s) for divmod(): '{m}' and '{n}'"),
    ))
}

fn pow(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["base", "exp", "mod"], 2, 3)?;
    let (Some(x), Some(y)) = (&a[0], &a[1]) else {
        return Ok(None);
    };
    match &a[2] {
        Some(m) if !m.is_none(tx.py) => {
            let base = tx.realize(x)?;
            if tx.special(&base, "__pow__")?.is_user() {
                let given = tx.special_sync(&base, "__pow__", vec![y.clone(), m.clone()])?;
                return match tx.is_not_implemented(&given) {
                    true => Err(Stop::unsupported("`__pow__` that gives NotImplemented")),
                    false => value(given),
                };
            }
            constructor(tx, "pow", Args::pos(vec![x.clone(), y.clone(), m.clone()]))
        }
        _ => tx.binary(BinaryOp::Power, false, x, y).map(Some),
    }
}

/// `bin(i)` and the like: `__index__` first.
fn index_text(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    if let Some(text) = compute(tx, name, &Args::pos(vec![v.clone()]))? {
        return value(text);
    }
    let i = tx.index_obj(&v)?;
    let f = builtin(tx, name)?;
    value(tx.fold(move |py| f.bind(py).call1((i,)))?)
}

/// `math.ceil`, `floor` and `trunc`: a special method of the argument, else of its float.
fn ceil(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    let rounding = match name {
        "ceil" => Rounding::Up,
        _ => Rounding::Down,
    };
    if let Some(v) = rounded(tx, &v, rounding) {
        return value(v);
    }
    if tx.changes(&v, Changing::Found) {
        return crate::pure::call(tx, "math", name, Args::pos(vec![v]));
    }
    let v = tx.realize(&v)?;
    let method = match name {
        "ceil" => "__ceil__",
        "floor" => "__floor__",
        _ => "__trunc__",
    };
    if !matches!(v, Var::Const(_) | Var::Tensor(_)) && tx.special(&v, method)?.is_user() {
        return tx.special_flow(&v, method, vec![]).map(Some);
    }
    crate::pure::call(tx, "math", name, Args::pos(vec![v]))
}

/// `math.prod`: by `*`, so that tensors go into the graph.
fn prod(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["iterable", "start"], 1, 1)?;
    let Some(items) = &a[0] else { return Ok(None) };
    let items = tx.iterate(items)?;
    let mut out = match &a[1] {
        Some(v) => v.clone(),
        None => tx.int(1),
    };
    for v in items {
        out = tx.binary_sync(BinaryOp::Multiply, &out, &v)?;
    }
    value(out)
}

/// `op` of a unary operator function.
pub(crate) fn unary(tx: &mut Tx<'_>, op: UnaryOp, v: &Var) -> Given {
    tx.unary(op, v).map(Some)
}

/// `a < b` and the like as a truth.
pub(crate) fn holds(tx: &mut Tx<'_>, op: CompareOp, a: &Var, b: &Var) -> R<bool> {
    let f = tx.compare(op, a, b)?;
    let r = tx.finish_flow(f)?;
    tx.truth(&r)
}
