//! Arguments as a node gets them: tensors in place of arrays, Python's ints in place of indices, names of dtypes.
//!
//! Not here: arguments as NumPy is asked with them (`arguments`).

use std::rc::Rc;

use pyo3::prelude::*;
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::{Body, Var};

use crate::operation::operation;
use crate::sizes::SizesAt;
use crate::tensors::index_number;
use crate::torch_results::fits;
use crate::values::{array_of, dtype_text};

/// How a node gets numbers.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// whether ints that are no constants stay that
    pub(crate) keeps: bool,
    /// whether they do in slices
    pub(crate) in_slices: bool,
    /// whether NumPy's integers are operands, which have dtypes; else they are indices or sizes, and torch takes Python's
    pub(crate) is_operand: bool,
}

/// An argument as the node gets it: tensors for arrays and for NumPy's numbers, which have dtypes; names for dtypes.
pub(crate) fn graph_arg(tx: &mut Tx<'_>, v: &Var, mut form: Form) -> R<Var> {
    if form.keeps
        && let Var::Int(int) = tx.look(v)?
    {
        return Ok(Var::Int(int));
    }
    let v = tx.realize(v)?;
    if let Some(array) = array_of(tx, &v)? {
        return Ok(Var::Tensor(array.body.tensor.clone()));
    }
    form.keeps |= form.in_slices && matches!(v, Var::Slice(_));
    let all = |tx: &mut Tx<'_>, items: &[Var]| -> R<Vec<Var>> {
        let items = items.iter();
        items.map(|item| graph_arg(tx, item, form)).collect()
    };
    match &v {
        Var::Tuple(t) if t.class.is_none() => Ok(Var::tuple(all(tx, &t.items)?)),
        Var::Slice(parts) => {
            let parts: [Var; 3] = all(tx, &parts[..])?
                .try_into()
                .map_err(|_| Stop::Internal("a slice of other than three parts".into()))?;
            Ok(Var::Slice(Rc::new(parts)))
        }
        Var::Obj(id) => match tx.obj(*id).body.clone() {
            Body::List(items) => {
                let items: Vec<Var> = items.into_iter().collect();
                let items = all(tx, &items)?;
                Ok(tx.new_list(items))
            }
            _ => Ok(v.clone()),
        },
        Var::Const(o) => {
            let b = o.bind(tx.py).clone();
            if !form.is_operand
                && let Some(int) = index_number(tx, &v)?
            {
                return Ok(int);
            }
            if tx.known.is_numpy_scalar(b.get_type().as_any()) {
                return array_node(tx, &b);
            }
            match dtype_text(&b)? {
                Some(name) => Ok(tx.str(&name)),
                None => Ok(v.clone()),
            }
        }
        Var::Py(p) => match dtype_text(p.obj.bind(tx.py))? {
            Some(name) => Ok(tx.str(&name)),
            None => Ok(v.clone()),
        },
        _ => Ok(v.clone()),
    }
}

/// An array of constants, or a number of NumPy's, with its dtype, as a node.
pub(crate) fn array_node<'py>(tx: &mut Tx<'py>, array: &Bound<'py, PyAny>) -> R<Var> {
    let py = tx.py;
    let make = py.import("numpy")?.getattr("array")?;
    let table = torch_abi::arrays::TorchNumpy::get(py)?;
    let Some(function) = table.of(&make) else {
        return Err(Stop::unsupported("a constant array in an operation"));
    };
    let target = operation(&function, "array")?;
    let callee = Callee::Function(&target, "numpy.array", None);
    let plain = tx.from_const(array.call_method0("tolist")?)?;
    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    let args = Args {
        pos: vec![plain],
        kw: vec![("dtype".into(), tx.str(&name))],
    };
    let node_args = tx.node_args(&args)?;
    let inferred = tx.infer_fake(&callee, &node_args, "")?;
    if !fits(tx, array, &inferred, SizesAt::Fixed)? {
        return Err(Stop::unsupported(
            "a constant array that torch makes another of",
        ));
    }
    tx.emit_inferred_as(&callee, node_args, inferred, &args, true)
}
