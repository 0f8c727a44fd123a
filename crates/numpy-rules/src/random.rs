//! Arrays and floats that NumPy's generators draw: before the graph, in the program's order, from the program's own
//! generators (`translator::early`).
//!
//! What is drawn looks as what a generator of ours draws for the same arguments; what it holds belongs to the call.

use std::sync::Arc;

use guards::SourceId;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyTuple};
use translator::rules::{Given, value};
use translator::tx::{Args, Tx};
use variables::{EarlyArg, EarlyCall, EarlyKind, Obj, Origin, Var};

use crate::operation::Maker;
use crate::values::{Looks, check_state, new_array};
use translator::early_tensors::early_tensor;

/// Methods that do no more than draw, or, `seed`, say what is drawn next.
const DRAWS: [&str; 23] = [
    "beta",
    "binomial",
    "chisquare",
    "exponential",
    "gamma",
    "geometric",
    "gumbel",
    "integers",
    "laplace",
    "logistic",
    "lognormal",
    "normal",
    "permutation",
    "poisson",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "seed",
    "standard_exponential",
    "standard_normal",
    "uniform",
];

/// A call of a method of one of NumPy's generators, with the generator in front of its arguments, or of
/// `numpy.random.seed`. `None` for any other callable, and for what is left to plain Python.
pub(crate) fn draw<'py>(tx: &mut Tx<'py>, callable: &Bound<'py, PyAny>, args: &Args) -> Given {
    let py = tx.py;
    let Some(name) = callable.getattr_opt(intern!(py, "__name__"))? else {
        return Ok(None);
    };
    let Some(name) = name
        .extract::<String>()
        .ok()
        .filter(|n| DRAWS.contains(&&**n))
    else {
        return Ok(None);
    };
    let Some(random) = torch_abi::imported::imported(py, "numpy.random")? else {
        return Ok(None);
    };
    let mut rest = args.clone();
    let (class, source) = match name == "seed" && callable.is(&random.getattr("seed")?) {
        // That of the generator which the module's functions are bound to.
        true => {
            let generator = random.getattr("rand")?.getattr("__self__")?;
            let class = generator.get_type().into_any();
            let source = tx.pinned_source(&generator.unbind(), false, "___generator");
            (class, source)
        }
        false => {
            if rest.pos.is_empty() {
                return Ok(None);
            }
            let Var::Obj(id) = tx.look(&rest.pos.remove(0))? else {
                return Ok(None);
            };
            let Origin::Source { source, .. } = tx.obj(id).origin.clone() else {
                return Ok(None);
            };
            if tx.obj(id).is_dirty() {
                return Ok(None);
            }
            (tx.obj(id).class.clone().into_bound(py), source)
        }
    };
    let known = ["RandomState", "Generator"];
    let is_known = |name: &&str| random.getattr(*name).is_ok_and(|known| known.is(&class));
    if !known.iter().any(is_known) {
        return Ok(None);
    }
    let method = class.getattr(&*name)?;
    if name != "seed" && !method.is(callable) {
        return Ok(None);
    }
    let Some((pos, kw)) = tx.real_args(&rest)? else {
        return Ok(None);
    };
    let ours = match class.is(&random.getattr("RandomState")?) {
        true => class.call1((0,))?,
        false => random.call_method1("default_rng", (0,))?,
    };
    // What it raises or warns of, the program's generator does.
    let Ok(drawn) = ours.call_method(&*name, PyTuple::new(py, &pos)?, kw.as_ref()) else {
        return Ok(None);
    };
    let is_float = drawn.is_exact_instance_of::<PyFloat>();
    let is_array = tx
        .known
        .is_exact_ndarray(&drawn.get_type().into_any().unbind());
    let function = py.import("torch")?.getattr("from_numpy")?;
    let tensor = match is_array {
        true => function.call1((&drawn,)).ok().map(Bound::unbind),
        false => None,
    };
    if !drawn.is_none() && tensor.is_none() && !(is_float && tx.ints.floats_as_inputs) {
        return Ok(None);
    }
    let call = call_of(&method, source, &pos, kw.as_ref());
    if drawn.is_none() {
        tx.add_early(call);
        return value(tx.none());
    }
    let Some(tensor) = tensor else {
        return value(tx.early_float(call));
    };
    check_state(tx)?;
    let array = tx.add_early(call);
    let early = tx.add_early(EarlyCall {
        function: function.unbind(),
        pos: vec![EarlyArg::Source(array)],
        kw: Vec::new(),
        kind: EarlyKind::Make,
    });
    let sizes = vec![None; drawn.getattr("ndim")?.extract()?];
    let Var::Tensor(tensor) = early_tensor(tx, &tensor, early, array, sizes)? else {
        return Ok(None);
    };
    let class: Obj = drawn.get_type().into_any().unbind();
    value(new_array(
        tx,
        tensor,
        class,
        Maker::Array,
        Looks::default(),
    )?)
}

fn call_of<'py>(
    method: &Bound<'py, PyAny>,
    generator: SourceId,
    pos: &[Bound<'py, PyAny>],
    kw: Option<&Bound<'py, PyDict>>,
) -> EarlyCall {
    let constant = |o: &Bound<'py, PyAny>| EarlyArg::Const(o.clone().unbind());
    let kw = kw.into_iter().flatten();
    EarlyCall {
        function: method.clone().unbind(),
        pos: std::iter::once(EarlyArg::Source(generator))
            .chain(pos.iter().map(constant))
            .collect(),
        kw: kw
            .map(|(name, o)| (Arc::from(name.to_string()), constant(&o)))
            .collect(),
        kind: EarlyKind::DrawOfNumpy,
    }
}
