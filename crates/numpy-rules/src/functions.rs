//! NumPy's functions.

use pyo3::prelude::*;
use pyo3::types::{PyModule, PyType};
use torch_abi::arrays::TorchNumpy;
use translator::rules::{Given, List, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Var};

use crate::call::{What, call};

/// Functions of constants that torch does not have.
const OF_CONSTANTS: [&str; 4] = ["dtype", "isscalar", "logspace", "sinc"];

/// Functions with more than one right result (a sign, an order), of which torch gives another than NumPy.
const WITHOUT_ONE_RESULT: [&str; 4] = ["linalg.svd", "linalg.eig", "linalg.eigh", "linalg.qr"];

/// Lists every function that torch has as well, the universal ones, and those of constants, where NumPy is there.
pub(crate) fn add_all(py: Python<'_>, add: &mut List<'_>) {
    let modules = py.import("sys").and_then(|s| s.getattr("modules"));
    let Ok(numpy) = modules.and_then(|m| m.get_item("numpy")) else {
        return;
    };
    let (Ok(ufunc), Ok(table)) = (numpy.getattr("ufunc"), TorchNumpy::get(py)) else {
        return;
    };
    for name in OF_CONSTANTS {
        add("numpy", name, function);
    }
    for (module, name) in table.names() {
        let path = match module.split_once('.') {
            Some((_, module)) => format!("{module}.{name}"),
            None => name.to_owned(),
        };
        // Once for the process: the table lives as long.
        add("numpy", Box::leak(path.into_boxed_str()), function);
    }
    // What is there already: `dir` names modules that are imported when they are looked at, and take as long as a
    // model to trace.
    let Ok(names) = numpy.cast::<PyModule>().map(|numpy| numpy.dict()) else {
        return;
    };
    for (name, value) in names {
        if let Ok(name) = name.extract::<String>()
            && value.is_instance(&ufunc).unwrap_or(false)
        {
            add("numpy", Box::leak(name.into_boxed_str()), function);
        }
    }
}

fn function(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let py = tx.py;
    let numpy = py.import("numpy")?;
    let mut real = numpy.clone().into_any();
    for part in name.split('.') {
        real = real.getattr(part)?;
    }
    // A class of numbers makes a constant of constants.
    let is_class = real.cast::<PyType>().is_ok();
    if is_class && name != "dtype" && !args.values().any(|v| tx.array_id(v).is_some()) {
        return Ok(None);
    }
    let torch = TorchNumpy::get(py)?.of(&real);
    let is_universal = real.is_instance(&numpy.getattr("ufunc")?)?;
    let is_choice = real.is(&numpy.getattr("where")?) || real.is(&numpy.getattr("clip")?);
    let what = What {
        name,
        real,
        torch,
        is_universal,
        takes_any_number: is_universal || is_choice,
    };
    if WITHOUT_ONE_RESULT.contains(&name) {
        return Err(Stop::brk(
            format!("numpy.{name}(), which has more than one right result"),
            "The factors of a matrix have no one sign or order, and torch gives others than NumPy.",
            "Use torch's function, or call it outside of the compiled function.",
        ));
    }
    if let Some(flow) = array_of_arrays(tx, &what, &args)? {
        return Ok(Some(flow));
    }
    match call(tx, &what, &args)? {
        Some(flow) => Ok(Some(flow)),
        None => Err(on_other(tx, name, &args)),
    }
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
fn array_of_arrays<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
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
    let real = numpy.getattr("stack")?;
    let stack = What {
        name: "stack",
        torch: TorchNumpy::get(tx.py)?.of(&real),
        real,
        ..*what
    };
    let rows = tx.new_list(rows);
    let Some(Flow::Value(made)) = call(tx, &stack, &Args::pos(vec![rows]))? else {
        return Ok(None);
    };
    match dtype {
        Some(dtype) => crate::arrays::method(tx, &made, "astype", &Args::pos(vec![dtype.clone()])),
        None => value(made),
    }
}

/// The items of a list or a tuple.
fn items_of(tx: &mut Tx<'_>, v: &Var) -> R<Option<Vec<Var>>> {
    Ok(match tx.realize(v)? {
        Var::Tuple(t) if t.class.is_none() => Some(t.items.clone()),
        Var::Obj(id) => match &tx.obj(id).body {
            Body::List(items) => Some(items.iter().cloned().collect()),
            _ => None,
        },
        _ => None,
    })
}
