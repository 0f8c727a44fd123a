//! Expressions over builtin values: interpreted symbolically, and by Python; values, final states of
//! the arguments and exceptions have to agree.
//!
//! The expressions are the lines of `expressions.txt`; `a; b; c` runs `a` and `b` and gives `c`. The
//! names in them are those of [`ARGUMENTS`].

use std::ffi::CString;
use std::rc::Rc;

use guards::Source;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tensor_meta::{Ctx, DType, Device};
use translator::known::Known;
use translator::rules::{Graphs, Rules};
use translator::state::State;
use translator::step::End;
use translator::stop::{R, Stop};
use translator::torch_ops::table::FnTable;
use translator::tx::Tx;
use variables::{Body, Var};

/// The rules that the tests are made with.
static RULES: Rules = Rules::new(
    &[crate::LISTED, numpy_rules::LISTED, torch_rules::LISTED],
    &[crate::FOUND, numpy_rules::FOUND],
    crate::ASKED,
    numpy_rules::ASKED,
    torch_rules::ASKED,
    Graphs {
        part: backends::subgraph,
        put_back: backends::put_back,
    },
);

const ARGUMENTS: &str = r#"
import collections, copy, cmath, enum, functools, itertools, math, operator, types, typing
from collections import OrderedDict, defaultdict, deque, Counter, namedtuple
from functools import partial, reduce, cmp_to_key, lru_cache
from itertools import *

Point = namedtuple("Point", "x y")
class Color(enum.Enum):
    RED = 1
    BLUE = 2
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5
class Name(str, enum.Enum):
    A = "a"
    B = "b"
class Vec:
    def __init__(self, *v): self.v = v
    def __add__(self, o): return Vec(*[a + b for a, b in zip(self.v, o.v)]) if isinstance(o, Vec) else NotImplemented
    def __radd__(self, o): return ("radd", o)
    def __iadd__(self, o): self.v = self.v + (o,); return self
    def __eq__(self, o): return self.v == o.v if isinstance(o, Vec) else NotImplemented
    def __lt__(self, o): return self.v < o.v if isinstance(o, Vec) else NotImplemented
    def __len__(self): return len(self.v)
    def __getitem__(self, i): return self.v[i]
    def __contains__(self, i): return i in self.v
    def __call__(self, *a, **k): return (self.v, a, k)
    def __neg__(self): return Vec(*[-a for a in self.v])
    def __index__(self): return len(self.v)
    def __str__(self): return "Vec!"
    def __format__(self, spec): return "F" + spec
    def __repr__(self): return "Vec()"
    def __round__(self, n=None): return ("round", n)
    def __abs__(self): return "abs"
    def __divmod__(self, o): return "divmod"
class Sub(Vec):
    def __radd__(self, o): return "subradd"
class Old:
    def __getitem__(self, i):
        if i > 2: raise IndexError("done")
        return i * 10
    def __len__(self): return 3
class Iter:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n > 3: raise StopIteration
        return self.n
class Falsy:
    def __bool__(self): return False
class BadBool:
    def __bool__(self): return 3
class BadLen:
    def __len__(self): return -1
class NoHash:
    __hash__ = None
class Missing(dict):
    def __missing__(self, k): return ("missing", k)
class MyList(list):
    def append(self, v): super().append((v, v))
class MyDict(dict):
    def __setitem__(self, k, v): super().__setitem__(k, [v])
def gen(n):
    for i in range(n):
        got = yield i
        if got: yield ("got", got)
    return "end"
@lru_cache
def cached(n): return n + 1

def arguments():
    return dict(
        l=[3, 1, 2], t=(1, 2, 3), d={"a": 1, "b": [2], 3: None}, s={"x", "y", 7}, fs=frozenset((1, 2)), st="hello", by=b"abc",
        i=5, f=2.5, n=None, c=1 + 2j, r=range(2, 20, 3), dq=deque([1, 2, 3], maxlen=4), od=OrderedDict(a=1, b=2),
        dd=defaultdict(list, k=[1]), p=Point(1, 2), v=Vec(1, 2), w=Sub(3, 4), old=Old(), it=Iter(), m=Missing(a=1), nested=[[1], (2, [3])],
        fa=Falsy(), bb=BadBool(), bl=BadLen(), nh=NoHash(), sl=slice(1, None, 2), red=Color.RED, low=Level.LOW, na=Name.A,
    )

def show(o):
    if o is NotImplemented or o is Ellipsis or o is None or isinstance(o, enum.Enum): return repr(o)
    k = type(o)
    if k in (int, float, bool, str, bytes, complex, range): return repr(o)
    name = k.__name__
    if k in (set, frozenset): return name + "{" + ", ".join(sorted(map(show, o))) + "}"
    if isinstance(o, dict): return name + "{" + ", ".join(show(a) + ": " + show(b) for a, b in (o.items() if k is OrderedDict else dict.items(o))) + "}"
    if isinstance(o, (list, tuple, deque)): return name + "[" + ", ".join(map(show, o)) + "]"
    if isinstance(o, slice): return f"slice[{show(o.start)}, {show(o.stop)}, {show(o.step)}]"
    if k.__name__ in ("dict_keys", "dict_values", "dict_items"): return name + "[" + ", ".join(map(show, o)) + "]"
    if isinstance(o, type): return f"<{o.__name__}>"
    if hasattr(o, "__next__") and k is not Iter: return name + "[" + ", ".join(map(show, o)) + "]"
    return f"<{name} object>"
"#;

/// What [`ARGUMENTS`]'s `show` gives, of a symbolic value.
fn show(tx: &mut Tx<'_>, v: &Var) -> R<String> {
    let v = tx.realize(v)?;
    let list =
        |tx: &mut Tx<'_>, items: Vec<Var>| items.iter().map(|i| show(tx, i)).collect::<R<Vec<_>>>();
    // What messages call a type begins with its module; `show` in Python leaves that out.
    let name = tx.type_name(&v)?;
    let name = name.rsplit('.').next().unwrap_or(&name);
    Ok(match &v {
        Var::Const(o) => {
            let b = o.bind(tx.py);
            if name == "frozenset" {
                let items = tx.iterate(&v)?;
                let mut parts = list(tx, items)?;
                parts.sort();
                format!("frozenset{{{}}}", parts.join(", "))
            } else {
                b.repr()?.to_string()
            }
        }
        Var::Tuple(t) => format!("{name}[{}]", list(tx, t.items.clone())?.join(", ")),
        Var::Slice(s) => format!("slice[{}]", list(tx, s.to_vec())?.join(", ")),
        Var::Obj(id) => match tx.obj(*id).body.clone() {
            Body::List(l) | Body::Deque(l, _) => {
                format!("{name}[{}]", list(tx, l.into_iter().collect())?.join(", "))
            }
            Body::Dict(d) => {
                let mut parts = Vec::new();
                for (k, v) in d.iter() {
                    parts.push(format!("{}: {}", show(tx, k)?, show(tx, v)?));
                }
                format!("{name}{{{}}}", parts.join(", "))
            }
            Body::Set(s) => {
                let mut parts = list(tx, s.iter().map(|(k, _)| k.clone()).collect())?;
                parts.sort();
                format!("{name}{{{}}}", parts.join(", "))
            }
            Body::DictView(..) | Body::Iter(_) | Body::Generator(_) => {
                let items = tx.iterate(&v)?;
                format!("{name}[{}]", list(tx, items)?.join(", "))
            }
            _ => format!("<{name} object>"),
        },
        Var::Py(p) => {
            let b = p.obj.bind(tx.py);
            if b.is_instance(tx.known.enum_.bind(tx.py))? {
                b.repr()?.to_string()
            } else if b.is_instance_of::<pyo3::types::PyType>() {
                format!("<{}>", b.getattr("__name__")?)
            } else {
                format!("<{name} object>")
            }
        }
        _ => format!("<{name} object>"),
    })
}

/// Interprets a function on its arguments from outside.
fn interpret(
    py: Python<'_>,
    f: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
    known: &Rc<Known>,
    table: &Rc<FnTable>,
) -> R<String> {
    let codes: Rc<std::cell::RefCell<translator::code::CodeCache>> = Rc::default();
    let code = codes.borrow_mut().get(&f.getattr("__code__")?)?;
    let ctx = Ctx {
        grad_enabled: true,
        inference_mode: false,
        default_dtype: DType::Float32,
        default_device: Device::CPU,
        autocast: tensor_meta::Autocast::Off,
    };
    let state = State::root(code.clone(), f.getattr("__globals__")?.unbind(), true);
    let mut tx = Tx::new(py, state, codes, known.clone(), table.clone(), &RULES, ctx);
    for (i, a) in args.iter().enumerate() {
        let source = tx.source(Source::Local {
            index: i as u32,
            name: code.local_names[i].clone(),
        });
        tx.st.frame.locals[i] = Some(tx.lazy(a.unbind(), source));
    }
    match tx.run() {
        End::Return(v) => show(&mut tx, &v),
        End::Raises { reason, .. } => Ok(format!("raises {}", reason.context)),
        End::Break(reason) => Err(Stop::Break(reason)),
    }
}

#[test]
fn expressions_agree_with_python() {
    crate::embedded::with_torch(|py| {
        let run = || -> PyResult<Vec<String>> {
            let env = PyDict::new(py);
            env.set_item("__name__", "cases")?;
            py.run(&CString::new(ARGUMENTS)?, Some(&env), None)?;
            let get = |n: &str| env.get_item(n).map(Option::unwrap);
            let (arguments, text) = (get("arguments")?, get("show")?);
            let names: Vec<String> = arguments.call0()?.cast::<PyDict>()?.keys().extract()?;
            let (known, table) = (Rc::new(Known::new(py)?), Rc::new(FnTable::new(py)?));
            let only = std::env::var("FERRODYN_TEST_EXPRESSION").ok();
            let mut wrong = Vec::new();
            for line in include_str!("expressions.txt").lines() {
                let line = line.trim();
                let minor = variables::code::version(py).map_or(0, |v| v.minor());
                let (line, least) = match line.split_once("#>=3.") {
                    Some((l, v)) => (l.trim(), v.trim().parse().unwrap_or(0)),
                    None => (line, 0),
                };
                if line.is_empty()
                    || line.starts_with('#')
                    || minor < least
                    || only.as_ref().is_some_and(|o| !line.contains(o))
                {
                    continue;
                }
                let (before, last) = line.rsplit_once(';').unwrap_or(("", line));
                let before = before.replace("\\n", "\n");
                let source = format!(
                    "def case({}):\n {before}\n result = {}\n return result, l, d, s, dq, od, dd, it.n, v.v, m",
                    names.join(", "),
                    last.trim()
                );
                let source = if before.is_empty() {
                    source.replace("\n \n", "\n")
                } else {
                    source
                };
                if let Err(e) = py.run(&CString::new(source)?, Some(&env), None) {
                    wrong.push(format!("{line}\n    {e}"));
                    continue;
                }
                let f = get("case")?;
                let values = |py| -> PyResult<Bound<'_, PyTuple>> {
                    PyTuple::new(py, arguments.call0()?.cast::<PyDict>()?.values())
                };
                let plain = match f.call1(values(py)?) {
                    Ok(v) => text.call1((v,))?.to_string(),
                    Err(e) => {
                        let args: String = e.value(py).getattr("args")?.repr()?.to_string();
                        format!("raises {}{args}", e.get_type(py).name()?)
                    }
                };
                match interpret(py, &f, &values(py)?, &known, &table) {
                    Ok(got) if got == plain => {}
                    Ok(got) => {
                        wrong.push(format!("{line}\n    python: {plain}\n    ours:   {got}"))
                    }
                    Err(Stop::Break(b)) => wrong.push(format!(
                        "{line}\n    python: {plain}\n    break:  {} ({})",
                        b.reason, b.explanation
                    )),
                    Err(stop) => wrong.push(format!("{line}\n    python: {plain}\n    {stop:?}")),
                }
            }
            Ok(wrong)
        };
        let wrong = run().unwrap_or_else(|e| {
            panic!(
                "{e}: {}",
                e.traceback(py)
                    .map_or_else(String::new, |t| t.format().unwrap_or_default())
            )
        });
        assert!(
            wrong.is_empty(),
            "{} expressions differ:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    });
}
