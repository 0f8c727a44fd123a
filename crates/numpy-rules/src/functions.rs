//! NumPy's functions.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use torch_abi::arrays::TorchNumpy;
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Obj, Var};

use crate::call::call;
use crate::changing_floats::{call_on_numbers, is_changing};
use crate::composed::composed;
use crate::what::What;

/// Functions of constants that torch does not have.
const OF_CONSTANTS: [&str; 5] = ["dtype", "isscalar", "issubdtype", "logspace", "sinc"];

/// Functions with more than one right result (a sign, an order), of which torch gives another than NumPy.
const WITHOUT_ONE_RESULT: [&str; 4] = ["linalg.svd", "linalg.eig", "linalg.eigh", "linalg.qr"];

/// How NumPy's functions are told from other callables.
struct Numpy {
    /// the classes of its functions: first that of universal ones
    of_functions: [Py<PyType>; 2],
    dict: Py<PyDict>,
}

impl Numpy {
    fn get(py: Python<'_>) -> PyResult<&'static Numpy> {
        static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();
        NUMPY.get_or_try_init(py, || {
            let numpy = py.import("numpy")?;
            let class_of = |name| PyResult::Ok(numpy.getattr(name)?.get_type().unbind());
            Ok(Numpy {
                of_functions: [class_of("add")?, class_of("sum")?],
                dict: numpy.dict().unbind(),
            })
        })
    }
}

/// A call of one of NumPy's functions or classes. torch's are looked up when the first one is met: to import them takes
/// as long as tracing a model.
pub(crate) fn call_function(tx: &mut Tx<'_>, callable: &Obj, args: &Args) -> Given {
    let py = tx.py;
    if !tx.known.has_numpy() {
        return Ok(None);
    }
    let real = callable.bind(py).clone();
    if let Some(flow) = crate::random::draw(tx, &real, args)? {
        return Ok(Some(flow));
    }
    let numpy = Numpy::get(py)?;
    let class = real.get_type();
    let is_function = numpy.of_functions.iter().any(|of| class.is(of));
    let Some(own) = real.getattr_opt(intern!(py, "__name__"))? else {
        return Ok(None);
    };
    if let Ok(own @ ("fftfreq" | "rfftfreq")) = own.extract::<&str>()
        && (py.import("numpy.fft")?.getattr(own)?).is(&real)
    {
        return function(tx, own, real.clone(), None, args);
    }
    if !is_function
        && !numpy
            .dict
            .bind(py)
            .get_item(&own)?
            .is_some_and(|o| o.is(&real))
    {
        return Ok(None);
    }
    let Ok(own) = own.extract::<String>() else {
        return Ok(None);
    };
    let table = TorchNumpy::get(py)?;
    let is_universal = class.is(&numpy.of_functions[0]);
    let torch = table.of(&real);
    if torch.is_none() && !is_universal && !OF_CONSTANTS.contains(&&*own) {
        return Ok(None);
    }
    let name = match table.module_of(&real) {
        Some(module) => format!("{module}.{own}"),
        None => own,
    };
    function(tx, &name, real, torch, args)
}

fn function<'py>(
    tx: &mut Tx<'py>,
    name: &str,
    real: Bound<'py, PyAny>,
    torch: Option<Bound<'py, PyAny>>,
    args: &Args,
) -> Given {
    // A class of numbers makes a constant of constants.
    let is_class = real.cast::<PyType>().is_ok();
    if is_class && name != "dtype" && !holds_changing(tx, args)? {
        return Ok(None);
    }
    let what = What::function(name, real, torch)?;
    if WITHOUT_ONE_RESULT.contains(&name) {
        return Err(Stop::brk(
            format!("numpy.{name}(), which has more than one right result"),
            "The factors of a matrix have no one sign or order, and torch gives others than NumPy.",
            "Use torch's function, or call it outside of the compiled function.",
        ));
    }
    if let Some(flow) = call_on_numbers(tx, &what, args)? {
        return Ok(Some(flow));
    }
    if is_class && name != "dtype" && !args.values().any(|v| tx.array_id(v).is_some()) {
        return Ok(None);
    }
    if let Some(flow) = array_of_arrays(tx, &what, args)? {
        return Ok(Some(flow));
    }
    if let Some(flow) = composed(tx, &what, args)? {
        return Ok(Some(flow));
    }
    let by_place = by_place(&what, args)?;
    let args = by_place.as_ref().unwrap_or(args);
    match call(tx, &what, args)? {
        Some(flow) => Ok(Some(flow)),
        None => Err(on_other(tx, name, args)),
    }
}

/// Whether an argument is an array, or a float that is no constant.
fn holds_changing(tx: &mut Tx<'_>, args: &Args) -> R<bool> {
    for v in args.values() {
        if tx.array_id(v).is_some() || is_changing(tx, v)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The arguments of a call with those by place whose names torch does not have, where it has another name for the same
/// place; `None` where there are none.
fn by_place(what: &What<'_, '_>, args: &Args) -> R<Option<Args>> {
    let (Some(torch), false) = (&what.torch, args.kw.is_empty()) else {
        return Ok(None);
    };
    let signature = what.real.py().import("inspect")?.getattr("signature")?;
    let names = |f: &Bound<'_, PyAny>| -> Option<Vec<String>> {
        let parameters = signature.call1((f,)).ok()?.getattr("parameters").ok()?;
        let names = parameters.try_iter().ok()?;
        names.map(|name| name.ok()?.extract().ok()).collect()
    };
    let (Some(own), Some(torch)) = (names(&what.real), names(torch)) else {
        return Ok(None);
    };
    if args
        .kw
        .iter()
        .all(|(name, _)| torch.iter().any(|t| **t == **name))
    {
        return Ok(None);
    }
    let mut placed = args.clone();
    for (name, other) in own.iter().zip(&torch).skip(args.pos.len()) {
        let at = placed.kw.iter().position(|(given, _)| **given == **name);
        let (Some(at), true) = (at, name == other || !torch.contains(name)) else {
            break;
        };
        placed.pos.push(placed.kw.remove(at).1);
    }
    Ok(Some(placed))
}

fn on_other(tx: &mut Tx<'_>, name: &str, args: &Args) -> Stop {
    let mut given = Vec::with_capacity(args.pos.len());
    for v in &args.pos {
        match tx.realize(v) {
            Ok(Var::Tensor(_)) => {
                return Stop::brk(
                    format!("numpy.{name}() of a tensor that NumPy makes no array of"),
                    "NumPy's operations are captured for dense tensors on the CPU that record no gradients.",
                    format!(
                        "Use torch's function instead (`torch.{name}`, where there is one), or pass `tensor.detach().cpu()`."
                    ),
                );
            }
            Ok(v) => given.push(tx.describe(&v)),
            Err(stop) => return stop,
        }
    }
    Stop::unsupported(format!("numpy.{name}() of {}", given.join(", ")))
}

/// `numpy.array([a, b])` with arrays, or numbers that the graph has, in the list: those are stacked.
pub(crate) fn array_of_arrays<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
    let numpy = tx.py.import("numpy")?;
    let makes = what.real.is(&numpy.getattr("array")?) || what.real.is(&numpy.getattr("asarray")?);
    let given = (&args.pos[..], &args.kw[..]);
    let (list, dtype) = match given {
        ([list], []) if makes => (list, None),
        ([list], [(name, dtype)]) if makes && &**name == "dtype" => (list, Some(dtype)),
        ([list, dtype], []) if makes => (list, Some(dtype)),
        _ => return Ok(None),
    };
    let Some(items) = items_of(tx, list)? else {
        return Ok(None);
    };
    let mut rows = Vec::with_capacity(items.len());
    let mut holds_arrays = false;
    for item in items {
        let item = tx.realize(&item)?;
        holds_arrays |= tx.array_id(&item).is_some();
        // Rows of rows are arrays of their own.
        let row = match items_of(tx, &item)? {
            Some(_) => {
                let row = Args::pos(vec![item.clone()]);
                let made = tx.inside(|tx| array_of_arrays(tx, what, &row))?;
                holds_arrays |= made.is_some();
                match made {
                    Some(Flow::Value(v)) => v,
                    _ => item,
                }
            }
            None => item,
        };
        rows.push(row);
    }
    if !holds_arrays {
        return Ok(None);
    }
    let Some(Flow::Value(made)) = stack(tx, rows)? else {
        return Ok(None);
    };
    match dtype {
        Some(dtype) => crate::arrays::method(tx, &made, "astype", &Args::pos(vec![dtype.clone()])),
        None => value(made),
    }
}

/// `numpy.stack(rows)`.
pub(crate) fn stack(tx: &mut Tx<'_>, rows: Vec<Var>) -> Given {
    let what = What::named(tx.py, "stack")?;
    let rows = tx.new_list(rows);
    call(tx, &what, &Args::pos(vec![rows]))
}

/// The items of a list or a tuple.
pub(crate) fn items_of(tx: &mut Tx<'_>, v: &Var) -> R<Option<Vec<Var>>> {
    Ok(match tx.look(v)? {
        Var::Tuple(t) if t.class.is_none() => Some(t.items.clone()),
        Var::Obj(id) => match &tx.obj(id).body {
            Body::List(items) => Some(items.iter().cloned().collect()),
            _ => None,
        },
        _ => None,
    })
}
