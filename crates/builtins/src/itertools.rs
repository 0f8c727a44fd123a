//! `itertools`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::iter_class::IterClass;
use variables::object::{Arrangements, GroupState};
use variables::{Body, IterBody, Obj, Var};

pub(crate) const RULES: RuleList = &[(
    "itertools",
    &[
        ("chain", chain as Rule),
        ("product", product),
        ("permutations", choose),
        ("combinations", choose),
        ("combinations_with_replacement", choose),
        ("repeat", repeat),
        ("count", count),
        ("islice", islice),
        ("zip_longest", zip_longest),
        ("accumulate", accumulate),
        ("starmap", with_function),
        ("takewhile", with_function),
        ("dropwhile", with_function),
        ("filterfalse", with_function),
        ("compress", compress),
        ("groupby", groupby),
        ("cycle", cycle),
        ("pairwise", pairwise),
        ("batched", batched),
        ("tee", tee),
    ],
)];

/// No table of arrangements that fills the memory.
const MAX_ARRANGEMENTS: usize = 100_000;

fn class(tx: &Tx<'_>, name: &str) -> R<Obj> {
    Ok(tx.py.import("itertools")?.getattr(name)?.unbind())
}

fn new(tx: &mut Tx<'_>, name: &str, body: IterBody) -> Given {
    let class = class(tx, name)?;
    value(tx.new_iter(class, body))
}

/// `chain.from_iterable(outer)`.
pub(crate) fn chain_of(tx: &mut Tx<'_>, class: Obj, outer: &Var) -> R<Var> {
    let outer = tx.get_iter(outer)?;
    Ok(tx.new_iter(class, IterBody::Chain(outer, None)))
}

fn chain(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let items = tx.positional(name, args, 0, usize::MAX)?;
    let class = class(tx, name)?;
    value(chain_of(tx, class, &Var::tuple(items))?)
}

/// The arrangements of indices that the real function makes.
fn indices(
    tx: &Tx<'_>,
    f: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Obj>,
) -> PyResult<Vec<Vec<usize>>> {
    let it = f(tx.py.import("itertools")?.as_any())?;
    it.bind(tx.py).try_iter()?.map(|t| t?.extract()).collect()
}

fn arrangements(
    tx: &mut Tx<'_>,
    name: &str,
    found: PyResult<Vec<Vec<usize>>>,
    pools: Vec<Vec<Var>>,
    length: Option<i64>,
) -> Given {
    let found = match found {
        Ok(f) => f,
        Err(e) => return Err(tx.raise_pyerr(&e)),
    };
    let items = found
        .into_iter()
        .map(|t| {
            let picked = t.into_iter().enumerate();
            Var::tuple(
                picked
                    .map(|(slot, i)| pools[slot % pools.len()][i].clone())
                    .collect(),
            )
        })
        .collect();
    let all = Arrangements {
        items,
        pools,
        length,
    };
    new(tx, name, IterBody::Arranged(std::rc::Rc::new(all), 0))
}

fn product(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let repeat = match args.take_kw("repeat") {
        Some(v) => tx.index_of(&v)?,
        None => 1,
    };
    if repeat < 0 {
        return Err(tx.raise("ValueError", "repeat argument cannot be negative"));
    }
    let iterables = tx.positional(name, args, 0, usize::MAX)?;
    let mut pools = Vec::with_capacity(iterables.len());
    for v in &iterables {
        pools.push(tx.iterate(v)?);
    }
    let slots = pools.len() * repeat as usize;
    let total = pools
        .iter()
        .map(Vec::len)
        .product::<usize>()
        .checked_pow(repeat as u32);
    if total.is_none_or(|t| t > MAX_ARRANGEMENTS) {
        return Err(Stop::unsupported(format!(
            "itertools.{name} with more than {MAX_ARRANGEMENTS} results"
        )));
    }
    let sizes: Vec<usize> = (0..slots).map(|s| pools[s % pools.len()].len()).collect();
    let found = indices(tx, |m| {
        let ranges = sizes
            .iter()
            .map(|n| pyo3::types::PyRange::new(m.py(), 0, *n as isize))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(m.getattr(name)?
            .call1(PyTuple::new(m.py(), ranges)?)?
            .unbind())
    });
    let pools = (0..repeat).flat_map(|_| pools.clone()).collect();
    arrangements(tx, name, found, pools, None)
}

fn choose(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let required = if name == "permutations" { 1 } else { 2 };
    let a = tx.by_name(name, args, &["iterable", "r"], required, 2)?;
    let Some(v) = &a[0] else { return Ok(None) };
    let pool = tx.iterate(v)?;
    let n = pool.len();
    let r = match &a[1] {
        Some(r) if !r.is_none(tx.py) => tx.index_of(r)?,
        _ => n as isize,
    };
    let size = (0..r.max(0) as usize).try_fold(1usize, |t, i| {
        let left = if name == "combinations_with_replacement" {
            n
        } else {
            n.saturating_sub(i)
        };
        t.checked_mul(left)
    });
    if name == "permutations" && size.is_none_or(|s| s > MAX_ARRANGEMENTS) {
        return Err(Stop::unsupported(format!(
            "itertools.{name} with more than {MAX_ARRANGEMENTS} results"
        )));
    }
    let found = indices(tx, |m| {
        let it = m
            .getattr(name)?
            .call1((pyo3::types::PyRange::new(m.py(), 0, n as isize)?, r))?;
        // One more than is allowed shows that there are too many.
        Ok(m.getattr("islice")?
            .call1((it, MAX_ARRANGEMENTS + 1))?
            .unbind())
    });
    if found.as_ref().is_ok_and(|f| f.len() > MAX_ARRANGEMENTS) {
        return Err(Stop::unsupported(format!(
            "itertools.{name} with more than {MAX_ARRANGEMENTS} results"
        )));
    }
    arrangements(tx, name, found, vec![pool], Some(r as i64))
}

fn repeat(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["object", "times"], 1, 2)?;
    let Some(v) = a[0].clone() else {
        return Ok(None);
    };
    let times = match &a[1] {
        Some(n) => Some(tx.index_of(n)?.max(0) as usize),
        None => None,
    };
    new(tx, name, IterBody::Repeat(v, times))
}

fn count(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["start", "step"], 0, 2)?;
    let start = a[0].clone().unwrap_or_else(|| tx.int(0));
    let step = a[1].clone().unwrap_or_else(|| tx.int(1));
    for v in [&start, &step] {
        let class = tx.type_of(v)?;
        if !class.bind(tx.py).hasattr("__index__")? && !class.bind(tx.py).hasattr("__float__")? {
            return Err(tx.raise("TypeError", "a number is required"));
        }
    }
    new(tx, name, IterBody::Count(start, step))
}

fn islice(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 4)?;
    let it = tx.get_iter(&a[0])?;
    let part = |tx: &mut Tx<'_>, v: Option<&Var>, what: &str| -> R<Option<usize>> {
        let Some(v) = v else { return Ok(None) };
        let v = tx.realize(v)?;
        if v.is_none(tx.py) {
            return Ok(None);
        }
        let n = tx.index_of(&v).ok().and_then(|n| usize::try_from(n).ok());
        match n {
            Some(n) => Ok(Some(n)),
            None => Err(tx.raise("ValueError", what)),
        }
    };
    let indices = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.";
    let stop_text = "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.";
    let (start, stop) = if a.len() == 2 {
        (0, part(tx, a.get(1), stop_text)?)
    } else {
        (
            part(tx, a.get(1), indices)?.unwrap_or(0),
            part(tx, a.get(2), stop_text)?,
        )
    };
    let step_text = "Step for islice() must be a positive integer or None.";
    let step = part(tx, a.get(3), step_text)?.unwrap_or(1);
    if step == 0 {
        return Err(tx.raise("ValueError", step_text));
    }
    new(tx, name, IterBody::Islice(it, 0, start, stop, step))
}

fn zip_longest(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let fill = args.take_kw("fillvalue").unwrap_or_else(|| tx.none());
    let mut inner = Vec::new();
    for v in tx.positional(name, args, 0, usize::MAX)? {
        inner.push(Some(tx.get_iter(&v)?));
    }
    new(tx, name, IterBody::ZipLongest(inner, fill))
}

fn accumulate(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["iterable", "func", "initial"], 1, 2)?;
    let Some(v) = &a[0] else { return Ok(None) };
    let it = tx.get_iter(v)?;
    let f = a[1].clone().unwrap_or_else(|| tx.none());
    let f = tx.realize(&f)?;
    let initial = a[2].clone().filter(|v| !v.is_none(tx.py));
    new(tx, name, IterBody::Accumulate(it, f, None, initial))
}

fn with_function(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let f = tx.realize(&a[0])?;
    let it = tx.get_iter(&a[1])?;
    let body = match name {
        "starmap" => IterBody::Starmap(f, it),
        "takewhile" => IterBody::TakeWhile(f, it),
        "dropwhile" => IterBody::DropWhile(f, it, false),
        _ => IterBody::FilterFalse(f, it),
    };
    new(tx, name, body)
}

fn compress(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["data", "selectors"], 2, 2)?;
    let (Some(data), Some(selectors)) = (&a[0], &a[1]) else {
        return Ok(None);
    };
    let (data, selectors) = (tx.get_iter(data)?, tx.get_iter(selectors)?);
    new(tx, name, IterBody::Compress(data, selectors))
}

fn groupby(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["iterable", "key"], 1, 2)?;
    let Some(v) = &a[0] else { return Ok(None) };
    let it = tx.get_iter(v)?;
    let key = a[1].clone().unwrap_or_else(|| tx.none());
    let key = tx.realize(&key)?;
    new(
        tx,
        name,
        IterBody::GroupBy(it, key, std::rc::Rc::new(GroupState::default())),
    )
}

fn cycle(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    let it = tx.get_iter(&v)?;
    new(tx, name, IterBody::Cycle(Some(it), im::Vector::new(), 0))
}

fn pairwise(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    let it = tx.get_iter(&v)?;
    new(tx, name, IterBody::Pairwise(it, None))
}

fn batched(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["iterable", "n", "strict"], 2, 2)?;
    let (Some(v), Some(n)) = (&a[0], &a[1]) else {
        return Ok(None);
    };
    let n = tx.index_of(n)?;
    if n < 1 {
        return Err(tx.raise("ValueError", "n must be at least one"));
    }
    let strict = match &a[2] {
        Some(s) => tx.truth(s)?,
        None => false,
    };
    let it = tx.get_iter(v)?;
    new(tx, name, IterBody::Batched(it, n as usize, strict))
}

fn tee(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 2)?;
    let n = match a.get(1) {
        Some(n) => tx.index_of(n)?,
        None => 2,
    };
    if n < 0 {
        return Err(tx.raise("ValueError", "n must be >= 0"));
    }
    let it = tx.get_iter(&a[0])?;
    // A tee of a tee shares its buffer.
    let (source, buffer, at) = match tx.body_of(&it) {
        Some(Body::Iter(IterBody::Tee(source, buffer, at))) => (source, buffer, at),
        _ => {
            let list = tx.known.list.clone();
            let buffer = tx.new_object(list, Body::List(im::Vector::new()));
            (it, buffer, 0)
        }
    };
    let class = IterClass::Tee.get(tx.py)?;
    let out = (0..n)
        .map(|_| tx.new_iter(class.clone(), IterBody::Tee(source.clone(), buffer, at)))
        .collect();
    value(Var::tuple(out))
}
