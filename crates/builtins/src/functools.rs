//! `functools`.

use guards::{GuardKind, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Key, Obj, OrderedMap, Var};

pub(crate) const RULES: RuleList = &[(
    "functools",
    &[
        ("partial", partial as Rule),
        ("reduce", reduce),
        ("cmp_to_key", cmp_to_key),
    ],
)];

/// `dispatch(cls)` of a `functools.singledispatch` function: which implementation it is depends on
/// the registry and the bases of the class. Python finds it among the classes that are
/// registered at this point of the program.
pub(crate) fn single_dispatch<'py>(
    tx: &mut Tx<'py>,
    f: &Bound<'py, PyAny>,
    source: Option<SourceId>,
    class: &Var,
) -> Given {
    let class = tx.realize(class)?;
    let free = f.getattr("__code__")?.getattr("co_freevars")?;
    let Some(class) = class.as_obj().cloned() else {
        return Ok(None);
    };
    let Ok(at) = free.call_method1("index", ("registry",)) else {
        return Ok(None);
    };
    let at = at.extract::<usize>()?;
    let cells = tx.existing_callee(f, source)?.closure;
    let registry = tx.cell_contents(&cells[at])?;
    let Some(Body::Dict(map)) = tx.body_of(&registry) else {
        return Ok(None);
    };
    let places = PyDict::new(tx.py);
    for (place, (key, _)) in map.iter().enumerate() {
        let key = tx.realize(key)?;
        match key.as_obj() {
            Some(key) => places.set_item(key, place)?,
            None => return Ok(None),
        }
    }
    let cells = f.getattr("__closure__")?;
    let real = cells.get_item(at)?.getattr("cell_contents")?;
    if !real
        .call_method0("keys")?
        .eq(places.call_method0("keys")?)?
    {
        return Err(Stop::unsupported(
            "a singledispatch function to which the compiled function adds",
        ));
    }
    // It remembers what it found, and later answers are that.
    let found = f.call1((&class,))?;
    let found = map
        .iter()
        .position(|(_, implementation)| match implementation {
            Var::Lazy(lazy) => lazy.obj.is(&found),
            other => other.as_obj().is_some_and(|o| o.is(&found)),
        });
    tx.guard_mro(&class);
    tx.guard_abc_registry()?;
    match found.and_then(|place| map.nth(place)) {
        Some((_, implementation)) => value(tx.realize(implementation)?),
        None => Ok(None),
    }
}

fn parts_of(tx: &mut Tx<'_>, f: &Var) -> R<Option<(Var, Vec<Var>, OrderedMap)>> {
    let (func, first, kw) = match f {
        Var::Obj(id) if tx.obj(*id).class.is(&tx.known.partial) => {
            let attr = |n: &str| tx.obj(*id).attrs.get(n).cloned().flatten();
            match (attr("func"), attr("args"), attr("keywords")) {
                (Some(f), Some(a), Some(k)) => (f, a, k),
                _ => return Ok(None),
            }
        }
        Var::Py(p)
            if p.obj
                .bind(tx.py)
                .get_type()
                .is(tx.known.partial.bind(tx.py)) =>
        {
            (
                tx.getattr_sync(f, &"func".into())?,
                tx.getattr_sync(f, &"args".into())?,
                tx.getattr_sync(f, &"keywords".into())?,
            )
        }
        _ => return Ok(None),
    };
    let first = tx.iterate(&first)?;
    let kw = tx.realize(&kw)?;
    let map = match tx.body_of(&kw) {
        Some(Body::Dict(d)) => d,
        _ => return Ok(None),
    };
    Ok(Some((func, first, map)))
}

/// A partial made while translating: a tracked object whose attributes `func`, `args` and
/// `keywords` are those of the real one. A partial of a partial is flattened, as CPython does.
fn partial(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    if args.pos.is_empty() {
        return Err(tx.raise(
            "TypeError",
            &format!("type '{name}' takes at least one argument"),
        ));
    }
    let f = args.pos.remove(0);
    let f = tx.realize(&f)?;
    let callable = match &f {
        Var::Const(_) | Var::Tuple(_) | Var::Slice(_) | Var::Tensor(_) => false,
        Var::Py(p) => p.obj.bind(tx.py).is_callable(),
        _ => true,
    };
    if !callable {
        return Err(tx.raise("TypeError", "the first argument must be callable"));
    }
    let (func, mut pos, mut map) =
        parts_of(tx, &f)?.unwrap_or((f, Vec::new(), OrderedMap::default()));
    pos.extend(args.pos);
    for (k, v) in args.kw {
        let k = tx.str(&k);
        map.insert(tx.key(&k)?, k, v);
    }
    let class = tx.known.partial.clone();
    let id = tx.new_object(class, Body::Plain);
    let kw = tx.new_dict(map);
    tx.st.effects.write_attr(id, &"func".into(), Some(func));
    tx.st
        .effects
        .write_attr(id, &"args".into(), Some(Var::tuple(pos)));
    tx.st.effects.write_attr(id, &"keywords".into(), Some(kw));
    value(Var::Obj(id))
}

fn reduce(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 3)?;
    let it = tx.get_iter(&a[1])?;
    let mut total = match a.get(2) {
        Some(v) => v.clone(),
        None => match tx.iter_next(&it)? {
            Some(v) => v,
            None => {
                return Err(tx.raise(
                    "TypeError",
                    "reduce() of empty iterable with no initial value",
                ));
            }
        },
    };
    while let Some(v) = tx.iter_next(&it)? {
        total = tx.call_sync(&a[0], Args::pos(vec![total, v]))?;
    }
    value(total)
}

/// The comparison key in Python: its methods are inlined like any other.
const COMPARISON_KEY: &std::ffi::CStr = c"
def cmp_to_key(compare):
    def key(obj):
        return Key(compare, obj)
    return key

class Key:
    __slots__ = ('compare', 'obj')
    __hash__ = None
    def __init__(self, compare, obj):
        self.compare = compare
        self.obj = obj
    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0
    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0
    def __eq__(self, other):
        return self.compare(self.obj, other.obj) == 0
    def __le__(self, other):
        return self.compare(self.obj, other.obj) <= 0
    def __ge__(self, other):
        return self.compare(self.obj, other.obj) >= 0
";

variables::own_module! {
    static KEYS = (COMPARISON_KEY, c"<ferrodyn cmp_to_key>", c"ferrodyn_cmp_to_key");
}

fn cmp_to_key(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let f = tx.by_name(name, args, &["mycmp"], 1, 1)?;
    let Some(f) = f.into_iter().next().flatten() else {
        return Ok(None);
    };
    let make = KEYS.get(tx.py)?.getattr("cmp_to_key")?;
    let make = Var::py(make.unbind());
    tx.call(&make, Args::pos(vec![f])).map(Some)
}

/// A function under `functools.lru_cache`: the function itself runs, symbolically, once for the same
/// arguments. Its result depends on them alone, so that it does not matter what the cache holds. The
/// residual code calls the cache again, which counts and keeps what it has always done; for a
/// library's function nobody asks for that.
pub(crate) fn call_cached(tx: &mut Tx<'_>, cached: &Bound<'_, PyAny>, args: Args) -> Given {
    let f = cached.getattr("__wrapped__")?;
    let library = translator::library::is_library(&f);
    let keys = cache_key(tx, cached, &args, library)?;
    let of = cached.as_ptr() as usize;
    let same = |c: &&(usize, Vec<Key>, Var)| c.0 == of && Some(&c.1) == keys.as_ref();
    let known = tx.st.cached.iter().find(same).map(|c| c.2.clone());
    let result = match known {
        Some(result) => result,
        None => match call_through(tx, cached, &f, library, &args)? {
            Through::Result(result) => {
                if let Some(keys) = keys {
                    tx.st.cached.push_back((of, keys, result.clone()));
                }
                result
            }
            Through::Deferred(flow) => return Ok(Some(flow)),
        },
    };
    if !library {
        tx.defer_silent(Var::py(cached.clone().unbind()), args);
    }
    value(result)
}

/// What a cache tells arguments apart by; `None`: a library's function, called with what is not known
/// or may change.
fn cache_key(
    tx: &mut Tx<'_>,
    cached: &Bound<'_, PyAny>,
    args: &Args,
    library: bool,
) -> R<Option<Vec<Key>>> {
    let mut known = true;
    let mut keys = Vec::with_capacity(args.pos.len() + 2 * args.kw.len());
    let typed = cached.call_method0("cache_parameters")?.get_item("typed")?;
    let typed = typed.is_truthy()?;
    let names = args.kw.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
    for (i, v) in args.values().enumerate() {
        let v = match v {
            Var::Computed(_) | Var::Text(_) if library => v.clone(),
            v => tx.look(v)?,
        };
        if matches!(v, Var::Tensor(_)) {
            return Err(Stop::brk(
                "Cached function called with a tensor",
                "`functools.lru_cache` would answer with what it computed for the same tensor object before.",
                "Call the function under the cache (`__wrapped__`), or cache by shape and dtype.",
            ));
        }
        let key = match library {
            true => library_key(tx, &v)?,
            false => {
                if has_equals(tx, &v, typed)? {
                    return Err(Stop::brk(
                        "Cached function called with a number that equals one of another type",
                        "`functools.lru_cache` may answer with what it computed for that one before.",
                        "Pass an int or a text, or use `typed=True`.",
                    ));
                }
                Some(tx.key(&v)?)
            }
        };
        let Some(key) = key else {
            known = false;
            continue;
        };
        if let Some(name) = i.checked_sub(args.pos.len()).and_then(|i| names.get(i)) {
            let name = tx.str(name);
            keys.push(tx.key(&name)?);
        }
        if typed {
            keys.push(Key::Id(tx.type_of(&v)?.as_ptr() as usize));
        }
        keys.push(key);
    }
    Ok(known.then_some(keys))
}

/// What a library's function is known by of an argument that holds constants, what was made here, and
/// ints that are computed from the frame's arguments. `None`: it cannot be known by the argument.
///
/// # Errors
/// `TypeError` for a container, which has no hash.
fn library_key(tx: &mut Tx<'_>, v: &Var) -> R<Option<Key>> {
    if matches!(v, Var::Computed(_) | Var::Text(_)) {
        return Ok(None);
    }
    let v = tx.look(v)?;
    Ok(match &v {
        Var::Const(_) => Some(tx.key(&v)?),
        Var::Int(int) => Some(Key::Int(int.expr.clone())),
        Var::Tuple(t) => {
            let items = t.items.iter().map(|item| library_key(tx, item));
            let items = items.collect::<R<Vec<_>>>()?.into_iter();
            items.collect::<Option<_>>().map(Key::Tuple)
        }
        Var::Obj(id) => match &tx.obj(*id).body {
            Body::Plain => {
                let class = tx.obj(*id).class.clone();
                let by_identity = tx.obj(*id).is_new() && tx.hashes_by_identity(&class);
                by_identity.then(|| tx.key(&v)).transpose()?
            }
            Body::List(_) | Body::Dict(_) | Body::Set(_) => {
                tx.key(&v)?;
                None
            }
            _ => None,
        },
        _ => None,
    })
}

/// Whether a value is, or holds, a number or text that is no constant.
fn follows_arguments(tx: &mut Tx<'_>, v: &Var) -> bool {
    match v {
        Var::Computed(_) | Var::Text(_) => true,
        Var::Tuple(t) => t.items.iter().any(|item| follows_arguments(tx, item)),
        v => tx.as_dynamic(v).is_some() || tx.as_dynamic_float(v).is_some(),
    }
}

/// Whether a value equals others of another type, which a cache takes for the same: `True` and `1.0`
/// are the int 1, a member of an `IntEnum` is its value. Plain ints and texts are what such functions
/// are called with. A cache that is `typed` tells the arguments themselves apart, not what is in a
/// tuple.
///
/// # Errors
/// Those of realizing lazy values.
fn has_equals(tx: &mut Tx<'_>, v: &Var, typed: bool) -> R<bool> {
    let v = tx.realize(v)?;
    if let Var::Tuple(t) = &v {
        for item in &t.items {
            if has_equals(tx, item, false)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let Some(b) = v.as_obj().map(|o| o.bind(tx.py)).filter(|_| !typed) else {
        return Ok(false);
    };
    if let Ok(f) = b.cast_exact::<PyFloat>() {
        return Ok(f.value().fract() == 0.0);
    }
    let plain = b.is_exact_instance_of::<PyInt>() || b.is_exact_instance_of::<PyString>();
    let value = b.is_instance_of::<PyInt>()
        || b.is_instance_of::<PyString>()
        || b.is_instance_of::<PyFloat>()
        || b.is_instance_of::<PyComplex>();
    Ok(value && !plain)
}

/// What the function under a cache came to.
enum Through {
    /// a constant that depends on the arguments alone
    Result(Var),
    /// output, which the residual code makes by the cache itself
    Deferred(Flow),
}

fn call_through(
    tx: &mut Tx<'_>,
    cached: &Bound<'_, PyAny>,
    f: &Bound<'_, PyAny>,
    library: bool,
    args: &Args,
) -> R<Through> {
    // What was changed here has no guard where it is read.
    if !library && tx.st.effects.any_outside() {
        return Err(reads_what_changes());
    }
    // What is said once for each argument is left to the cache itself.
    let before = tx.st.effects.clone();
    let snapshot = tx.snapshot();
    let (nodes, guards) = (tx.log.graph.len(), tx.log.guards.len());
    let result = match tx.call_sync(&Var::py(f.clone().unbind()), args.clone()) {
        Err(Stop::Raise(_)) if !library => return Err(reads_what_changes()),
        result => result?,
    };
    // A cache below this one is asked by this one, if at all.
    let mut said = tx.st.effects.calls.iter().skip(before.calls.len());
    if said.all(|call| call.silent) {
        tx.st.effects.calls = before.calls.clone();
        let computes = tx.log.graph.len() != nodes;
        let has_effects = tx.st.effects.any_since(&before);
        let changeable = tx.log.guards[guards..].iter().any(|g| {
            !matches!(
                g.kind,
                GuardKind::FunctionMatch { .. }
                    | GuardKind::IdMatch { .. }
                    | GuardKind::MroAttr { .. }
                    | GuardKind::DictContains { .. }
                    | GuardKind::ClosureMatch { .. }
                    | GuardKind::SequenceLength { .. }
            )
        });
        // The cache gives the same object each time; a new one would be told from it.
        let fixed = !(library && follows_arguments(tx, &result)) && tx.as_const(&result)?.is_some();
        if fixed && (library || !computes && !has_effects && !changeable) {
            return Ok(Through::Result(result));
        }
        if has_effects || changeable && !library {
            return Err(reads_what_changes());
        }
        if library && !computes && share(tx, &result, before.len())? {
            return Ok(Through::Result(result));
        }
        let draws = tx.log.graph.iter().skip(nodes).any(|(_, n)| !n.repeatable);
        let held = match held_by_cache(tx, cached, args)? {
            Holds::Result(held) if !draws => held,
            Holds::Nothing if !draws => {
                return Err(Stop::fills_cache(f.getattr("__qualname__")?));
            }
            _ => return Err(reads_what_changes()),
        };
        tx.restore_but_guards(&snapshot);
        let source = tx.pinned_source(&held, false, "___cached");
        return Ok(Through::Result(tx.build(&held, source)?));
    }
    if tx.log.graph.len() != nodes || !result.is_none(tx.py) {
        return Err(Stop::brk(
            "Cached function with output",
            "A function under `functools.lru_cache` that prints, logs or warns does so when it is first called, and gives a result as well.",
            "Separate the output from the result.",
        ));
    }
    tx.st.effects = before;
    tx.defer(Var::py(cached.clone().unbind()), args.clone(), true)
        .map(Through::Deferred)
}

/// What a cache holds for arguments.
enum Holds {
    /// this result
    Result(Obj),
    /// none
    Nothing,
    /// arguments by which it is not looked for
    Unknown,
}

/// What a cache holds for arguments that are constants. Only the garbage collector is told of it: one
/// after the other keys, results and, where their number has a limit, the class of the links between
/// them.
fn held_by_cache(tx: &mut Tx<'_>, cached: &Bound<'_, PyAny>, args: &Args) -> R<Holds> {
    let typed = cached.call_method0("cache_parameters")?.get_item("typed")?;
    let typed = typed.is_truthy()?;
    let Some((args, kw)) = tx.real_args(args)? else {
        return Ok(Holds::Unknown);
    };
    let object = tx.known.object.clone();
    // Values, a mark in front of names with theirs, the classes of all values.
    let mark = kw.is_some() as usize;
    let mut parts = args.clone();
    for (name, v) in kw.iter().flatten() {
        parts.extend([name, v]);
    }
    if typed {
        let named = kw.iter().flatten().map(|(_, v)| v);
        let all = args.iter().cloned().chain(named);
        parts.extend(all.map(|v| v.get_type().into_any()).collect::<Vec<_>>());
    }
    let is_key = |key: &Bound<'_, PyAny>| -> PyResult<bool> {
        let same = |a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>| {
            Ok(a.get_type().is(b.get_type()) && a.eq(b)?)
        };
        if let [only] = &parts[..]
            && (only.is_exact_instance_of::<PyInt>() || only.is_exact_instance_of::<PyString>())
        {
            return same(key, only);
        }
        let Ok(key) = key.cast_exact::<PyTuple>() else {
            return Ok(false);
        };
        if key.len() != parts.len() + mark {
            return Ok(false);
        }
        if mark == 1 && !key.get_item(args.len())?.get_type().is(&object) {
            return Ok(false);
        }
        for (i, b) in parts.iter().enumerate() {
            let behind_mark = if i < args.len() { 0 } else { mark };
            if !same(&key.get_item(i + behind_mark)?, b)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let held = tx
        .py
        .import("gc")?
        .call_method1("get_referents", (cached,))?;
    let held = held.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    if let Some(Ok(all)) = held.get(1).map(|d| d.cast_exact::<PyDict>()) {
        for (key, result) in all.iter() {
            if is_key(&key)? {
                return Ok(Holds::Result(result.unbind()));
            }
        }
    }
    for link in held.get(1..).unwrap_or_default().chunks_exact(3) {
        let [key, result, class] = link else { break };
        let is_link = |class: &Bound<'_, PyType>| class.name().is_ok_and(|n| n == "_lru_list_elem");
        if !class.cast::<PyType>().is_ok_and(is_link) {
            break;
        }
        if is_key(key)? {
            return Ok(Holds::Result(result.clone().unbind()));
        }
    }
    Ok(Holds::Nothing)
}

/// Marks what a library's function has made as held by its cache. `false` where it gives something
/// that goes on by itself (an iterator), or was there before.
fn share(tx: &mut Tx<'_>, v: &Var, first: usize) -> R<bool> {
    // A number or a text that follows the arguments is the same value in whichever object.
    if matches!(v, Var::Computed(_) | Var::Text(_)) {
        return Ok(true);
    }
    let v = tx.look(v)?;
    let Var::Obj(id) = v else {
        return match &v {
            Var::Const(_) | Var::Py(_) | Var::Int(_) | Var::Float(_) => Ok(true),
            Var::Tuple(t) => all_shared(tx, t.items.iter(), first),
            _ => Ok(false),
        };
    };
    let state = tx.obj(id).clone();
    if state.shared {
        return Ok(true);
    }
    if !state.is_new() || (id.0 as usize) < first || state.dict.is_some() {
        return Ok(false);
    }
    // Marked first: it may hold itself.
    tx.st.effects.get_mut(id).shared = true;
    let body = match &state.body {
        Body::Plain => true,
        Body::List(items) => all_shared(tx, items.iter(), first)?,
        Body::Set(items) => all_shared(tx, items.iter().map(|(k, _)| k), first)?,
        Body::Dict(items) => all_shared(tx, items.iter().flat_map(|(k, v)| [k, v]), first)?,
        _ => false,
    };
    Ok(body && all_shared(tx, state.attrs.values().flatten(), first)?)
}

fn all_shared<'a>(tx: &mut Tx<'_>, items: impl Iterator<Item = &'a Var>, first: usize) -> R<bool> {
    for v in items {
        if !share(tx, v, first)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn reads_what_changes() -> Stop {
    Stop::brk(
        "Cached function that reads what can change",
        "`functools.lru_cache` answers with what the function gave before, whatever has changed since then.",
        "Call the function under the cache (`__wrapped__`), or make its result depend on its arguments alone.",
    )
}
