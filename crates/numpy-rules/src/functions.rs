//! NumPy's functions.

use pyo3::prelude::*;
use pyo3::types::{PyModule, PyType};
use torch_abi::arrays::TorchNumpy;
use translator::rules::{Given, List};
use translator::stop::Stop;
use translator::tx::{Args, Tx};
use variables::Var;

use crate::call::{What, call};

/// Functions of constants that torch does not have.
const OF_CONSTANTS: [&str; 3] = ["isscalar", "logspace", "sinc"];

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
    let mut real = py.import("numpy")?.into_any();
    for part in name.split('.') {
        real = real.getattr(part)?;
    }
    // A class of numbers makes a constant of constants.
    let is_class = real.cast::<PyType>().is_ok();
    if is_class && !args.values().any(|v| tx.array_id(v).is_some()) {
        return Ok(None);
    }
    let torch = TorchNumpy::get(py)?.of(&real);
    let is_universal = real.is_instance(&py.import("numpy")?.getattr("ufunc")?)?;
    let what = What {
        name,
        real,
        torch,
        is_universal,
    };
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
                    format!("numpy.{name}() of a tensor"),
                    "NumPy makes an array of the tensor by the tensor's own methods, which are not captured.",
                    format!(
                        "Use torch's function instead (`torch.{name}`, where there is one), or pass `tensor.numpy()`."
                    ),
                );
            }
            Ok(v) => given.push(tx.describe(&v)),
            Err(stop) => return stop,
        }
    }
    Stop::unsupported(format!("numpy.{name}() of {}", given.join(", ")))
}
