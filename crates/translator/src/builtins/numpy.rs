//! NumPy's functions of numbers: NumPy runs them on constants.
//!
//! Only for results that are numbers; an array breaks the graph (see `Tx::from_const`).

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use variables::Var;

use super::{Given, Rule, value};
use crate::stop::Stop;
use crate::tx::{Args, Tx};

/// Functions besides the universal ones (`numpy.sqrt` and the like, which are known by their class).
const FUNCTIONS: [&str; 33] = [
    "prod",
    "sum",
    "mean",
    "std",
    "var",
    "max",
    "min",
    "amax",
    "amin",
    "median",
    "ptp",
    "round",
    "around",
    "clip",
    "any",
    "all",
    "argmax",
    "argmin",
    "dot",
    "isclose",
    "allclose",
    "array_equal",
    "ndim",
    "size",
    "shape",
    "isscalar",
    "real",
    "imag",
    "sinc",
    "percentile",
    "quantile",
    "average",
    "nan_to_num",
];

/// Lists every function, where NumPy is there.
pub(super) fn add_all(py: Python<'_>, add: &mut dyn FnMut(&str, &'static str, Rule)) {
    let modules = py.import("sys").and_then(|s| s.getattr("modules"));
    let Ok(numpy) = modules.and_then(|m| m.get_item("numpy")) else {
        return;
    };
    let Ok(ufunc) = numpy.getattr("ufunc") else {
        return;
    };
    for name in FUNCTIONS {
        add("numpy", name, call);
    }
    let names = numpy.dir().map(|d| d.extract::<Vec<String>>());
    for name in names.into_iter().flatten().flatten() {
        let universal = numpy
            .getattr(&*name)
            .and_then(|f| f.is_instance(&ufunc))
            .unwrap_or(false);
        if universal {
            // Once for the process: the table lives as long.
            add("numpy", Box::leak(name.into_boxed_str()), call);
        }
    }
}

fn call(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let py = tx.py;
    let real = tx.real_args(&args)?;
    let Some((pos, kw)) = real.filter(|(pos, kw)| {
        let mut named = kw.iter().flat_map(|d| d.values());
        pos.iter().all(|o| is_plain(tx, o)) && named.all(|o| is_plain(tx, &o))
    }) else {
        return Err(on_other(tx, name, &args));
    };
    let numpy = py.import("numpy")?;
    // What a division by zero does is up to `numpy.seterr`: a warning, an exception, nothing.
    let strict = PyDict::new(py);
    strict.set_item("all", "raise")?;
    let state = numpy.getattr("errstate")?.call((), Some(&strict))?;
    state.call_method0("__enter__")?;
    let result = numpy
        .getattr(name)?
        .call(PyTuple::new(py, pos)?, kw.as_ref());
    state.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
    if let Err(e) = &result
        && e.is_instance_of::<pyo3::exceptions::PyFloatingPointError>(py)
    {
        return Err(Stop::unsupported(format!(
            "numpy.{name}() that divides by zero, overflows or has no result"
        )));
    }
    value(tx.fold(|_| result)?)
}

fn on_other(tx: &mut Tx<'_>, name: &str, args: &Args) -> Stop {
    let mut given = Vec::with_capacity(args.pos.len());
    for v in &args.pos {
        match tx.realize(v) {
            Ok(Var::Tensor(_)) => {
                return Stop::brk(
                    format!("numpy.{name}() of a tensor"),
                    "NumPy needs the tensor's data, which is known only when the graph runs.",
                    format!("Use torch's function instead (`torch.{name}`, where there is one)."),
                );
            }
            Ok(v) => given.push(tx.describe(&v)),
            Err(stop) => return stop,
        }
    }
    Stop::unsupported(format!("numpy.{name}() of {}", given.join(", ")))
}

/// Whether NumPy meets no code of the user in an argument: numbers, text, classes of numbers, and
/// sequences of these.
fn is_plain(tx: &Tx<'_>, o: &Bound<'_, PyAny>) -> bool {
    if let Ok(class) = o.cast::<PyType>() {
        return tx.known.is_const_type(class.as_any());
    }
    if let Ok(t) = o.cast_exact::<PyTuple>() {
        return t.iter().all(|i| is_plain(tx, &i));
    }
    if let Ok(l) = o.cast_exact::<PyList>() {
        return l.iter().all(|i| is_plain(tx, &i));
    }
    let class = o.get_type();
    tx.known.is_const_type(class.as_any()) || class.is(tx.known.size.bind(o.py()))
}
