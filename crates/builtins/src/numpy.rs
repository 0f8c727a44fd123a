//! NumPy's functions of numbers, and of arrays that were made of numbers: NumPy runs them on constants.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PyTuple, PyType};
use translator::rules::{Given, List, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx, qualified_name};
use variables::{EarlyArg, EarlyCall, EarlyKind, Obj, Var};

use crate::arrays::{array_of, is_as_made, made_array};

/// Functions besides the universal ones (`numpy.sqrt` and the like, which are known by their class).
const FUNCTIONS: [&str; 44] = [
    "array",
    "asarray",
    "arange",
    "linspace",
    "logspace",
    "zeros",
    "ones",
    "full",
    "eye",
    "cumsum",
    "diff",
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
pub(crate) fn add_all(py: Python<'_>, add: &mut List<'_>) {
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
    // What is there already: `dir` names modules that are imported when they are looked at, and take as long as a
    // model to trace.
    let Ok(names) = numpy.cast::<PyModule>().map(|numpy| numpy.dict()) else {
        return;
    };
    for (name, function) in names {
        if let Ok(name) = name.extract::<String>()
            && function.is_instance(&ufunc).unwrap_or(false)
        {
            // Once for the process: the table lives as long.
            add("numpy", Box::leak(name.into_boxed_str()), call);
        }
    }
}

fn call(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let function = tx.py.import("numpy")?.getattr(name)?.unbind();
    match call_early(tx, &function, &args)? {
        Some(flow) => Ok(Some(flow)),
        None => Err(on_other(tx, name, &args)),
    }
}

/// A function of NumPy on constants, and on arrays that were made of such. A number is a constant; an array is made
/// by the residual code, so that the program may change it. `None`: of something else.
pub(crate) fn call_early(tx: &mut Tx<'_>, function: &Obj, args: &Args) -> Given {
    let py = tx.py;
    let mut pos = Vec::with_capacity(args.pos.len());
    for v in &args.pos {
        match argument(tx, v)? {
            Some(arg) => pos.push(arg),
            None => return Ok(None),
        }
    }
    let mut kw = Vec::with_capacity(args.kw.len());
    for (name, v) in &args.kw {
        match argument(tx, v)? {
            Some((o, arg)) => kw.push((name.clone(), o, arg)),
            None => return Ok(None),
        }
    }
    let named = PyDict::new(py);
    for (name, o, _) in &kw {
        named.set_item(&**name, o)?;
    }
    let objects = PyTuple::new(py, pos.iter().map(|p| &p.0))?;
    let result = function.bind(py).call(objects, Some(&named));
    match result {
        Err(e) if e.is_instance_of::<pyo3::exceptions::PyFloatingPointError>(py) => {
            Err(Stop::unsupported(format!(
                "{} that divides by zero, overflows or has no result",
                qualified_name(function.bind(py))
            )))
        }
        // A view of an argument, or the argument itself: what is written to one is seen by the other.
        Ok(array) if on_memory_of(tx, &array, pos.iter().map(|p| &p.0))? => Ok(None),
        Ok(array)
            if tx.can_make_early()
                && tx
                    .known
                    .is_exact_ndarray(&array.get_type().into_any().unbind()) =>
        {
            let call = EarlyCall {
                function: function.clone(),
                pos: pos.into_iter().map(|p| p.1).collect(),
                kw: kw.into_iter().map(|(name, _, arg)| (name, arg)).collect(),
                kind: EarlyKind::Make,
            };
            value(made_array(tx, call, array.unbind()))
        }
        result => value(tx.fold(|_| result)?),
    }
}

/// Whether a result has its data where one of the arguments has it.
fn on_memory_of<'a, 'py: 'a>(
    tx: &Tx<'py>,
    result: &Bound<'py, PyAny>,
    args: impl Iterator<Item = &'a Bound<'py, PyAny>>,
) -> PyResult<bool> {
    if !tx.known.is_ndarray(result) {
        return Ok(false);
    }
    let ask = tx.py.import("numpy")?.getattr("may_share_memory")?;
    for arg in args.filter(|arg| tx.known.is_ndarray(arg)) {
        if ask.call1((result, arg))?.is_truthy()? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An argument that is a constant, or an array that is what it was made as.
fn argument<'py>(tx: &mut Tx<'py>, v: &Var) -> R<Option<(Bound<'py, PyAny>, EarlyArg)>> {
    if let Some(array) = array_of(tx, v)? {
        let (obj, source) = (array.obj.bind(tx.py).clone(), array.source);
        return Ok(is_as_made(tx, &array)?.then_some((obj, EarlyArg::Source(source))));
    }
    let Some((pos, _)) = tx.real_args(&Args::pos(vec![v.clone()]))? else {
        return Ok(None);
    };
    let plain = pos.into_iter().next().filter(|o| is_plain(tx, o));
    Ok(plain.map(|o| (o.clone(), EarlyArg::Const(o.unbind()))))
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
