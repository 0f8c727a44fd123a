//! Tensors that calls before the graph make of arrays and numbers, as inputs of the graph.

use crate::stop::{R, Stop};
use crate::tx::Tx;
use guards::{IntExpr, SourceId};
use tensor_meta::SymInt;
use torch_abi::TorchAbi;
use variables::{Obj, Var};

/// A tensor that an early call makes: a placeholder, named by what it is made `of`. It looks the same at each call, but
/// for `sizes` that are other numbers of the program: it is contiguous then.
///
/// # Errors
/// A break for tensors without plain strides.
pub fn early_tensor(
    tx: &mut Tx<'_>,
    obj: &Obj,
    source: SourceId,
    of: SourceId,
    sizes: Vec<Option<SourceId>>,
) -> R<Var> {
    let abi = TorchAbi::get(tx.py)?;
    let mut meta = abi
        .read_meta(tx.py, obj.bind(tx.py))
        .map_err(|e| Stop::unsupported(e.to_string()))?;
    let hints = meta.sizes().unwrap_or_default();
    for (dim, (number, hint)) in sizes.iter().zip(hints).enumerate() {
        if let Some(number) = number {
            meta.shape[dim] = tx.least_symbol(IntExpr::Source(*number), hint);
        }
    }
    if sizes.iter().any(Option::is_some) {
        let mut step = SymInt::Const(1);
        for dim in (0..sizes.len()).rev() {
            meta.strides[dim] = step;
            step = tx.log.sizes.multiply(step, meta.shape[dim]);
        }
    }
    tx.facts.early_sizes.insert(source, sizes);
    Ok(tx.add_input(obj, source, of, meta, false))
}

/// The tensor that an early call made, where it is an input of the graph already.
///
/// # Errors
/// [`Stop::Internal`] where torch can't be read.
pub fn early_input(tx: &Tx<'_>, early: SourceId) -> R<Option<Var>> {
    let Some(input) = tx.log.inputs.iter().find(|i| i.source == early) else {
        return Ok(None);
    };
    let abi = TorchAbi::get(tx.py)?;
    let meta = abi.read_meta(tx.py, input.obj.bind(tx.py))?;
    Ok(Some(tx.input_var(input, meta)))
}
