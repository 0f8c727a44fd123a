//! Floats that stay inputs of the graph, as operands beside arrays, for compilers.
//!
//! `torch._numpy` makes tensors of Python's floats, which fixes them below AOTAutograd: a compiler is handed tensors.
//! Not here: what NumPy is asked with (`arguments`).
//!
//! Invariant: a float is converted to the dtype that NumPy converts it to, by NEP 50.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use translator::stop::R;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::Var;

use crate::probe::Call;

/// The float that is operand `at` of a call, or one of the operands by name, as a tensor without dimensions; itself where
/// NumPy does not say of which dtype it is.
///
/// # Errors
/// Those of making the nodes.
pub(crate) fn float_operand(
    tx: &mut Tx<'_>,
    call: &Call<'_, '_>,
    float: Var,
    at: Option<usize>,
) -> R<Var> {
    let dtype = operand_dtype(call, at).and_then(|dtype| dtype.getattr("name")?.extract());
    match dtype {
        Ok::<String, _>(name) if tx.known.torch.bind(tx.py).hasattr(&*name)? => {
            on_ones(tx, &name, float)
        }
        _ => Ok(float),
    }
}

/// A float as a tensor without dimensions, of the dtype of this name.
///
/// # Errors
/// Those of making the nodes.
pub(crate) fn on_ones(tx: &mut Tx<'_>, dtype: &str, float: Var) -> R<Var> {
    let torch = tx.known.torch.bind(tx.py).clone();
    let dtype = torch.getattr(dtype)?;
    let mut args = Args::pos(vec![Var::tuple(Vec::new())]);
    args.kw.push(("dtype".into(), tx.from_const(dtype)?));
    let one = emit(tx, &torch.getattr("ones")?, "torch.ones", &args)?;
    // A product keeps the sign of zero, and is no guard on the float.
    let product = tx.known.operator.bind(tx.py).getattr("mul")?;
    emit(tx, &product, "operator.mul", &Args::pos(vec![one, float]))
}

fn emit(tx: &mut Tx<'_>, function: &Bound<'_, PyAny>, path: &str, args: &Args) -> R<Var> {
    let function = function.clone().unbind();
    let callee = Callee::Function(&function, path, tensor_meta::lookup_function(path));
    tx.emit(&callee, args)
}

/// The dtype that NumPy makes an operand beside the others.
fn operand_dtype<'py>(call: &Call<'_, 'py>, at: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
    let (function, operands) = (call.function, call.pos);
    let py = function.py();
    let resolve = function.getattr_opt("resolve_dtypes")?;
    let (Some(resolve), Some(at), true) = (resolve, at, call.kw.is_empty()) else {
        let mut all: Vec<_> = operands.iter().collect();
        for (name, operand) in call.kw {
            // What the result is written to is no operand.
            if name.extract::<&str>()? != "out" {
                all.push(operand);
            }
        }
        all.retain(|operand| !operand.is_none());
        let result_type = py.import("numpy")?.getattr("result_type")?;
        return result_type.call1(PyTuple::new(py, all)?);
    };
    // Python's numbers are given by their classes: they are of the dtype of the others.
    let dtype = |operand: Bound<'py, PyAny>| match operand.getattr_opt("dtype")? {
        Some(dtype) => Ok(dtype),
        None => Ok(operand.get_type().into_any()),
    };
    let mut all = operands.iter().map(dtype).collect::<PyResult<Vec<_>>>()?;
    let outputs: usize = function.getattr("nout")?.extract()?;
    all.extend(std::iter::repeat_n(py.None().into_bound(py), outputs));
    resolve.call1((PyTuple::new(py, all)?,))?.get_item(at)
}
