//! Functions that stand for others: in the graph, for operations which torch's own tracing of them, below a backend,
//! gets wrong; and in place of Python functions of torch that would be guarded on more than they depend on.

use pyo3::prelude::*;
use tensor_meta::Does;
use translator::stop::R;
use translator::tx::Tx;
use variables::Obj;

/// By path. The oneDNN kernel of an LSTM in training saves `None` where AOTAutograd expects a tensor:
/// while a dispatch mode traces it, the plain kernel is used.
const FUNCTIONS: &std::ffi::CStr = c"
import torch

def lstm(*args):
    if torch._C._len_torch_dispatch_stack() and torch.is_grad_enabled():
        enabled = torch._C._get_mkldnn_enabled()
        torch._C._set_mkldnn_enabled(False)
        try:
            return torch.lstm(*args)
        finally:
            torch._C._set_mkldnn_enabled(enabled)
    return torch.lstm(*args)

substitutes = {'torch.lstm': lstm}

def nonstrict(function):
    from torch._subclasses.fake_tensor import fake_tensor_tls
    def nonstrict_trace(*args, **kwargs):
        before = fake_tensor_tls.allow_non_fake_inputs_override
        fake_tensor_tls.allow_non_fake_inputs_override = True
        try:
            return function(*args, **kwargs)
        finally:
            fake_tensor_tls.allow_non_fake_inputs_override = before
    return nonstrict_trace

Parameter, Tensor = torch.nn.Parameter, torch.Tensor
inner = getattr(torch.optim.Optimizer.zero_grad, '__wrapped__', None)

def zero_grad(self, set_to_none=True):
    for group in self.param_groups:
        for p in group['params']:
            kind = type(p)
            if kind is Parameter or kind is Tensor and p.is_leaf:
                p.grad = None
    return inner(self, set_to_none)
";

variables::own_module! {
    static MODULE = (FUNCTIONS, c"<ferrodyn substitutes>", c"ferrodyn_substitutes");
}

/// What is followed in place of `Optimizer.zero_grad()`. That asks of each gradient whether it is there before it takes
/// it away, so the first step, which finds none, would be compiled for itself. Here they are taken away unasked.
pub(crate) fn zero_grad(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    MODULE.get(py)?.getattr("zero_grad")
}

/// What stands in the graph for a function with this path, where something does.
///
/// # Errors
/// Whatever looking at the function raises.
pub(crate) fn stand_in<'py>(tx: &Tx<'py>, f: &Bound<'py, PyAny>, path: &str) -> R<Option<Obj>> {
    Ok(match tx.is_nonstrict(f)? {
        true => Some(nonstrict(f)?),
        false => substitute(tx.py, path)?,
    })
}

/// What stands for a function under `torch.compiler.nonstrict_trace`: tensors that it reads from
/// outside are constants for a backend that traces it with fake tensors.
fn nonstrict(function: &Bound<'_, PyAny>) -> PyResult<Obj> {
    let make = MODULE.get(function.py())?.getattr("nonstrict")?;
    Ok(make.call1((function,))?.unbind())
}

/// The function that stands for the operation of this path, if it needs one: some of those that go over a sequence.
fn substitute(py: Python<'_>, path: &str) -> PyResult<Option<Obj>> {
    if !tensor_meta::function_traits(path).any(Does::LOOPS) {
        return Ok(None);
    }
    let table = MODULE.get(py)?.getattr("substitutes")?;
    Ok(table.get_item(path).ok().map(Bound::unbind))
}
