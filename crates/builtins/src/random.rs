//! Numbers that generators of `random` draw, see [`translator::early`].

use guards::{GuardKind, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyFunction, PyInt, PyTuple};
use translator::early_tensors::early_tensor;
use translator::raw::type_lookup;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use variables::{Body, EarlyArg, EarlyCall, EarlyKind, Obj, ObjId, Origin, Var};

pub(crate) const RULES: RuleList = &[(
    "random",
    &[
        ("Random.randint", draw_between as Rule),
        ("Random.randrange", draw_between),
        ("Random._randbelow_with_getrandbits", draw_between),
        ("Random.choice", draw_item),
        ("Random.uniform", draw_real),
        ("Random.normalvariate", draw_real),
        ("Random.expovariate", draw_real),
        ("Random.seed", seed),
    ],
)];

/// How a method in C is known.
enum Kind {
    Float,
    Int((i64, i64)),
}

/// A call of a method that is bound to its generator: `random.random()`.
pub(crate) fn call_bound(
    tx: &mut Tx<'_>,
    method: &Obj,
    receiver: &Bound<'_, PyAny>,
    name: &str,
    args: &Args,
) -> Given {
    if !receiver.get_type().is(&tx.known.random_generator) {
        return Ok(None);
    }
    let Some((kind, args)) = kind_of(tx, name, args)? else {
        return Ok(None);
    };
    let pos = args.into_iter().map(EarlyArg::Const).collect();
    Ok(Some(Flow::Value(drawn(tx, method.clone(), pos, kind)?)))
}

/// `generator.random()` and `generator.getrandbits(k)`.
pub(crate) fn draw_method(tx: &mut Tx<'_>, id: ObjId, name: &str, args: &Args) -> R<Option<Flow>> {
    let Some(generator) = generator(tx, id)? else {
        return Ok(None);
    };
    let class = tx.obj(id).class.clone();
    let method = type_lookup(class.bind(tx.py).cast().map_err(PyErr::from)?, name);
    let (Some(method), Some((kind, args))) = (method, kind_of(tx, name, args)?) else {
        return Ok(None);
    };
    let mut pos = vec![EarlyArg::Source(generator)];
    pos.extend(args.into_iter().map(EarlyArg::Const));
    Ok(Some(Flow::Value(drawn(tx, method, pos, kind)?)))
}

fn drawn(tx: &mut Tx<'_>, function: Obj, pos: Vec<EarlyArg>, kind: Kind) -> R<Var> {
    let range = match kind {
        Kind::Float => None,
        Kind::Int(range) => Some(range),
    };
    let call = EarlyCall {
        function,
        pos,
        kw: Vec::new(),
        kind: EarlyKind::Draw(range),
    };
    match range {
        Some((least, _)) if tx.can_make_early() => Ok(tx.early_int(call, least)),
        Some((least, _)) => read_of_tensor(tx, call, least),
        None => Ok(tx.early_float(call)),
    }
}

/// An int that a call gives, as one that the graph reads from a tensor: what a compiler has to know of an input is
/// guarded, and no guard can look at what is not drawn yet.
fn read_of_tensor(tx: &mut Tx<'_>, call: EarlyCall, value: i64) -> R<Var> {
    let drawn = tx.add_early(call);
    let function = tx.known.torch.bind(tx.py).getattr("tensor")?;
    let tensor = function.call1((value,))?.unbind();
    let early = tx.add_early(EarlyCall {
        function: function.unbind(),
        pos: vec![EarlyArg::Source(drawn)],
        kw: Vec::new(),
        kind: EarlyKind::Make,
    });
    let tensor = early_tensor(tx, &tensor, early, drawn, Vec::new())?;
    let read = tx.tensor_method(&tensor, "item", Args::default())?;
    tx.finish_flow(read)
}

/// What a method in C draws; `None` where it draws nothing, or raises.
fn kind_of(tx: &mut Tx<'_>, name: &str, args: &Args) -> R<Option<(Kind, Vec<Obj>)>> {
    if !tx.ints.floats_as_inputs || !args.kw.is_empty() {
        return Ok(None);
    }
    Ok(match (name, &args.pos[..]) {
        ("random", []) => Some((Kind::Float, Vec::new())),
        ("getrandbits", [bits]) => {
            let bits = ints(tx, std::slice::from_ref(bits))?;
            match bits.as_deref() {
                Some([bits @ 0..=62]) => {
                    let bits = *bits;
                    let arg = tx.int(bits);
                    let arg = tx.as_const(&arg)?;
                    arg.map(|arg| (Kind::Int((0, (1 << bits) - 1)), vec![arg]))
                }
                _ => None,
            }
        }
        _ => None,
    })
}

/// The source of a generator from outside whose methods are those of its class.
fn generator(tx: &mut Tx<'_>, id: ObjId) -> R<Option<SourceId>> {
    // No class derived from it.
    if !tx.ints.floats_as_inputs || !tx.obj(id).class.is(&tx.known.random_generator) {
        return Ok(None);
    }
    match &tx.obj(id).origin {
        Origin::Source { source, .. } if !tx.st.effects.dirty.contains(&id) => Ok(Some(*source)),
        _ => Ok(None),
    }
}

/// Constant ints; `None` where one is something else.
fn ints(tx: &mut Tx<'_>, args: &[Var]) -> R<Option<Vec<i64>>> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        let Var::Const(o) = tx.realize(arg)? else {
            return Ok(None);
        };
        match o.bind(tx.py).cast_exact::<PyInt>().map(|i| i.extract()) {
            Ok(Ok(i)) => out.push(i),
            _ => return Ok(None),
        }
    }
    Ok(Some(out))
}

/// `randint(a, b)`, `randrange(...)`, and what `choice` and `shuffle` are made of.
fn draw_between(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((generator, rest)) = from_generator(tx, name, &args)? else {
        return Ok(None);
    };
    let Some(numbers) = ints(tx, rest)? else {
        return Ok(None);
    };
    let range = match (name, &numbers[..]) {
        ("Random.randint", [low, high]) => Some((*low, *high)),
        ("Random.randrange", [low, high]) => high.checked_sub(1).map(|high| (*low, high)),
        ("Random.randrange", [low, high, step]) if *step > 0 && low < high => {
            let last = high.checked_sub(1).and_then(|last| last.checked_sub(*low));
            last.map(|width| (*low, low + width / step * step))
        }
        ("Random.randrange" | "Random._randbelow_with_getrandbits", [count]) => {
            count.checked_sub(1).map(|last| (0, last))
        }
        _ => None,
    };
    let Some(range) = range.filter(|(low, high)| low <= high) else {
        return Ok(None);
    };
    value(method_drawn(tx, name, generator, rest, Kind::Int(range))?)
}

/// `uniform(a, b)` and distributions that give floats for all numbers that they take.
fn draw_real(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((generator, rest)) = from_generator(tx, name, &args)? else {
        return Ok(None);
    };
    let mut numbers = Vec::with_capacity(rest.len());
    for arg in rest {
        let Var::Const(o) = tx.realize(arg)? else {
            return Ok(None);
        };
        // Ints of any size would raise where they are no floats.
        let b = o.bind(tx.py);
        let int = b
            .cast_exact::<PyInt>()
            .ok()
            .and_then(|i| i.extract::<i64>().ok());
        let float = b.cast_exact::<PyFloat>().ok().map(|f| f.value());
        match int.map(|i| i as f64).or(float) {
            Some(number) => numbers.push(number),
            None => return Ok(None),
        }
    }
    let fits = match (name, &numbers[..]) {
        ("Random.uniform", [_, _]) => true,
        ("Random.normalvariate", numbers) => numbers.len() <= 2,
        ("Random.expovariate", [rate]) => *rate != 0.0,
        _ => false,
    };
    if !fits {
        return Ok(None);
    }
    value(method_drawn(tx, name, generator, rest, Kind::Float)?)
}

/// `choice(items)` of numbers of one kind: which one it is is not known.
fn draw_item(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((generator, [items])) = from_generator(tx, name, &args)? else {
        return Ok(None);
    };
    let numbers = match tx.realize(items)? {
        Var::Tuple(t) if t.class.is_none() => t.items.clone(),
        Var::Obj(id) if tx.obj(id).class.is(&tx.known.list) => match &tx.obj(id).body {
            Body::List(items) => items.iter().cloned().collect(),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let mut all = Vec::with_capacity(numbers.len());
    for v in &numbers {
        let Var::Const(o) = tx.realize(v)? else {
            return Ok(None);
        };
        all.push(Var::Const(o));
    }
    let are_floats = all
        .iter()
        .all(|v| matches!(v, Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyFloat>()));
    let ints = ints(tx, &all)?.unwrap_or_default();
    let ends = ints.iter().min().zip(ints.iter().max());
    let kind = match ends {
        Some((least, most)) => Kind::Int((*least, *most)),
        None if are_floats && !all.is_empty() => Kind::Float,
        None => return Ok(None),
    };
    let items = Var::tuple(all);
    value(method_drawn(tx, name, generator, &[items], kind)?)
}

/// `seed(a)`, of a constant that a generator takes: it says what is drawn next, so it has its place among the draws.
fn seed(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((generator, rest)) = from_generator(tx, name, &args)? else {
        return Ok(None);
    };
    let function = method_of_random(tx.py, name)?;
    let mut of_ours = vec![tx.known.random_generator.bind(tx.py).call0()?];
    let mut pos = vec![EarlyArg::Source(generator)];
    for arg in rest {
        let Some(constant) = tx.as_const(arg)? else {
            return Ok(None);
        };
        of_ours.push(constant.bind(tx.py).clone());
        pos.push(EarlyArg::Const(constant));
    }
    // What it raises or warns of, the program's generator does.
    let is_taken = function.bind(tx.py).call1(PyTuple::new(tx.py, of_ours)?);
    if is_taken.is_err() {
        return Ok(None);
    }
    tx.add_early(EarlyCall {
        function,
        pos,
        kw: Vec::new(),
        kind: EarlyKind::Draw(None),
    });
    value(tx.none())
}

/// The generator of a call of one of its methods in Python, and the other arguments.
fn from_generator<'a>(
    tx: &mut Tx<'_>,
    name: &str,
    args: &'a Args,
) -> R<Option<(SourceId, &'a [Var])>> {
    let Some((receiver, rest)) = args.pos.split_first().filter(|_| args.kw.is_empty()) else {
        return Ok(None);
    };
    let Var::Obj(id) = tx.realize(receiver)? else {
        return Ok(None);
    };
    match generator(tx, id)? {
        Some(source) if inherits(tx, name, id, source)? => Ok(Some((source, rest))),
        _ => Ok(None),
    }
}

/// The method `Random.<name>` of the module `random`.
fn method_of_random(py: Python<'_>, name: &str) -> PyResult<Obj> {
    let module = py.import("random")?.into_any();
    let method = name
        .split('.')
        .try_fold(module, |o, part| o.getattr(part))?;
    Ok(method.unbind())
}

/// What a method in Python draws; its other arguments are constants.
fn method_drawn(
    tx: &mut Tx<'_>,
    name: &str,
    generator: SourceId,
    rest: &[Var],
    kind: Kind,
) -> R<Var> {
    let function = method_of_random(tx.py, name)?;
    let mut pos = vec![EarlyArg::Source(generator)];
    for arg in rest {
        pos.extend(tx.as_const(arg)?.map(EarlyArg::Const));
    }
    drawn(tx, function, pos, kind)
}

/// Whether what the method `name`, which is in Python, calls is the generator's own, in the instance and in the class.
fn inherits(tx: &mut Tx<'_>, name: &str, id: ObjId, source: SourceId) -> R<bool> {
    let class = tx.obj(id).class.clone();
    let Origin::Source { obj, .. } = tx.obj(id).origin.clone() else {
        return Ok(false);
    };
    let attributes = obj.bind(tx.py).getattr("__dict__")?;
    let mut called = names_of(method_of_random(tx.py, name)?.bind(tx.py))?;
    let mut next = 0;
    while let Some(name) = called.get(next).cloned() {
        next += 1;
        let own = class.bind(tx.py).cast().map_err(PyErr::from)?;
        // Names of functions outside the class.
        if type_lookup(own, &name).is_none() {
            continue;
        }
        let Some(method) = tx.class_lookup(&class, &name)? else {
            return Ok(false);
        };
        let method = method.bind(tx.py);
        let of_random = match method.getattr("__module__") {
            Ok(module) => module.eq("random")?,
            // Methods in C have none.
            Err(_) => method.get_type().is(tx.known.method_descriptor.bind(tx.py)),
        };
        if !of_random || attributes.contains(&name)? {
            return Ok(false);
        }
        for inner in names_of(method)? {
            if !called.contains(&inner) {
                called.push(inner);
            }
        }
        tx.guard(
            source,
            GuardKind::GenericDictContains {
                name: name.into(),
                present: false,
            },
        );
    }
    Ok(true)
}

/// The names that a function in Python looks up: which methods it calls differs from Python to Python.
fn names_of(function: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let Ok(function) = function.cast::<PyFunction>() else {
        return Ok(Vec::new());
    };
    function.getattr("__code__")?.getattr("co_names")?.extract()
}
