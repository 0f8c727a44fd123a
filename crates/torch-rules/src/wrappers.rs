//! Wrapper subclasses: tensors that hold other tensors, and whose class sees each operation by `__torch_dispatch__`
//! (torch's protocol of `__tensor_flatten__`).
//!
//! Lives here: which are taken, what is guarded of one from outside, and what is read of one. Does not live here: the
//! operations on them (`translator::torch_ops::wrappers`).
//!
//! Invariant: the class's own account of a tensor, which tensors it holds and what else it needs to be made again, is
//! guarded for each that comes from outside.

use std::rc::Rc;
use std::sync::Arc;

use guards::{GuardKind, Source, SourceId, TensorSpec};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyType};
use torch_abi::TorchAbi;
use translator::own_module::OwnModule;
use translator::raw::{dict_get, instance_dict};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::state::Wrapper;
use variables::{Obj, TensorVar, Var};

use crate::tensor_classes::{hold_tensor_class, is_tensors_own};

/// Special names of the protocol, which torch asks the class for.
pub(crate) const PROTOCOL: [&str; 11] = [
    "__torch_dispatch__",
    "__tensor_flatten__",
    "__tensor_unflatten__",
    "__metadata_guard__",
    "__coerce_tangent_metadata__",
    "__coerce_same_metadata_as_tangent__",
    "__torch_function__",
    "__repr__",
    "__str__",
    "__format__",
    "__reduce_ex__",
];

/// What compares a tensor's account of itself with that of the one which was traced. Classes may say themselves
/// what has to be equal.
const GUARD: &std::ffi::CStr = c"
from operator import eq

from ferrodyn import disable

def same_account(tensor):
    cls = type(tensor)
    names, context = tensor.__tensor_flatten__()
    names = list(names)
    is_same = getattr(cls, '__metadata_guard__', eq)

    @disable
    def check(other):
        found, other_context = other.__tensor_flatten__()
        return list(found) == names and bool(is_same(context, other_context))
    return check
";

static MODULE: OwnModule = OwnModule::new(GUARD, c"<ferrodyn wrappers>", c"ferrodyn_wrappers");

/// A wrapper subclass's tensor from outside; `None` for a class that is left to plain Python.
///
/// # Errors
/// A break for a tensor that torch can make no fake one of.
pub(crate) fn wrapper_tensor(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Option<Var>> {
    let tensor = obj.bind(tx.py).clone();
    let class = tensor.get_type();
    if tx.st.vmap.is_active() || !is_taken(tx, &class)? {
        return Ok(None);
    }
    let fake = match tx.fake_of(&tensor) {
        Ok(fake) => fake,
        Err(error) => return Err(no_fake(tx, &class, &error)?),
    };
    hold_tensor_class(tx, &class)?;
    hold_account(tx, &tensor, source)?;
    let var = tx.build_tensor(obj, source)?;
    if let Var::Tensor(t) = &var {
        tx.st.wrappers.insert(t.node.0, Wrapper::new(fake));
    }
    Ok(Some(var))
}

/// A tensor of such a class that the program makes: an operation of the graph, which calls the class. `None` for a class
/// that is left to plain Python.
///
/// # Errors
/// A break for arguments that a graph can't hold, and where the class can't be called with fake tensors.
pub(crate) fn construct<'py>(
    tx: &mut Tx<'py>,
    class: &Bound<'py, PyType>,
    args: &Args,
) -> R<Option<Var>> {
    if !tx.is_wrapper_class(class) || tx.st.vmap.is_active() || !is_taken(tx, class)? {
        return Ok(None);
    }
    let object = class.clone().into_any().unbind();
    for name in ["__new__", "__init__"] {
        tx.class_lookup(&object, name)?;
    }
    hold_tensor_class(tx, class)?;
    let path = translator::tx::qualified_name(class.as_any());
    let callee = Callee::Function(&object, &path, None);
    let made = tx.without_classes(|tx| tx.emit_of_wrapper(&callee, args))?;
    match &made {
        Var::Tensor(t) if t.class.is(class) => Ok(Some(made)),
        _ => Err(Stop::unsupported(format!(
            "a call of the tensor subclass {path} that gives something else"
        ))),
    }
}

/// Whether tensors of a class are taken: torch's operators are its own, and what torch asks it can be followed.
fn is_taken<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>) -> R<bool> {
    match tx.is_asked(class) {
        true => crate::subclasses::is_followed(tx, class),
        false => is_tensors_own(tx, class, |_, special| Ok(!special)),
    }
}

fn no_fake(tx: &Tx<'_>, class: &Bound<'_, PyType>, error: &PyErr) -> PyResult<Stop> {
    let why = error.value(tx.py).str()?.to_string();
    Ok(Stop::brk(
        format!("Tensor subclass {}", class.name()?),
        format!(
            "torch can make no fake tensor of it, on which its operations would be tried: {why}"
        ),
        "Use the tensor outside of the compiled function, or correct its `__tensor_flatten__` and `__tensor_unflatten__`.",
    ))
}

/// Guards which tensors one holds, and what else its class says of it.
fn hold_account<'py>(tx: &mut Tx<'py>, tensor: &Bound<'py, PyAny>, source: SourceId) -> R<()> {
    let class = tensor.get_type().into_any().unbind();
    for name in [
        "__tensor_flatten__",
        "__tensor_unflatten__",
        "__metadata_guard__",
    ] {
        tx.class_lookup(&class, name)?;
    }
    let same = MODULE.get(tx.py)?.getattr("same_account")?;
    let same = same.call1((tensor,))?.unbind();
    let yes = PyBool::new(tx.py, true).to_owned().into_any();
    tx.guard_call(&same, Some(source), &[], &yes)?;
    let account = tensor.call_method0("__tensor_flatten__")?;
    let abi = TorchAbi::get(tx.py).map_err(|e| Stop::Internal(e.to_string()))?;
    for name in account.get_item(0)?.try_iter()? {
        let name: Arc<str> = name?.extract::<String>()?.into();
        let dict = instance_dict(tensor);
        let Some(inner) = dict.and_then(|dict| dict_get(&dict, &name)) else {
            return Err(Stop::unsupported(format!(
                "a tensor subclass whose attribute `{name}` is not in its `__dict__`"
            )));
        };
        let at = tx.source(Source::InstanceDictItem { base: source, name });
        let spec = TensorSpec::of(tx.py, abi, &mut tx.facts.pins, &inner);
        let spec = Arc::new(spec.map_err(|e| Stop::Internal(e.to_string()))?);
        tx.guard(at, GuardKind::TensorMatch { spec });
        if tx.is_wrapper_class(&inner.get_type()) {
            hold_account(tx, &inner, at)?;
        }
    }
    Ok(())
}

/// An attribute of such a tensor: one that it holds is an operation of the graph; `None` for what its class or its
/// `__dict__` has like any.
///
/// # Errors
/// A break for an object that a computed tensor has.
pub(crate) fn attribute(
    tx: &mut Tx<'_>,
    t: &Rc<TensorVar>,
    var: &Var,
    name: &Arc<str>,
) -> R<Option<Flow>> {
    let Some(wrapper) = tx.st.wrappers.get(&t.node.0).cloned() else {
        return Ok(None);
    };
    let fake = wrapper.fake.bind(tx.py);
    let Some(found) = instance_dict(fake).and_then(|dict| dict_get(&dict, name)) else {
        return Ok(None);
    };
    if tx.st.effects.tensor_attr(t, name).is_some() {
        return Ok(None);
    }
    if let Some((_, held)) = wrapper.held.get(name).filter(|held| found.is(&held.0)) {
        return Ok(Some(Flow::Value(held.clone())));
    }
    let held: Vec<String> = fake
        .call_method0("__tensor_flatten__")?
        .get_item(0)?
        .extract()?;
    let is_held = held.iter().any(|held| **held == **name);
    // One that is only taken apart need not be an input of the graph itself.
    if is_held && t.input.is_some() && !tx.log.graph.has_users(t.node) {
        return Ok(None);
    }
    if is_held {
        let getattr = tx.known.builtins.getattr(tx.py, "getattr")?;
        let args = Args::pos(vec![var.clone(), tx.str(name)]);
        let path = format!("getattr.{name}");
        let callee = Callee::Function(&getattr, &path, None);
        // Python finds it where torch is not there to ask anybody.
        let held = tx.without_classes(|tx| tx.emit(&callee, &args))?;
        if let Some(wrapper) = tx.st.wrappers.get_mut(&t.node.0) {
            let read = (found.unbind(), held.clone());
            wrapper.held.insert(name.clone(), read);
        }
        return Ok(Some(Flow::Value(held)));
    }
    if t.input.is_some() {
        return Ok(None);
    }
    match tx.known.is_const_type(found.get_type().as_any()) {
        true => Ok(Some(Flow::Value(Var::Const(found.unbind())))),
        false => Err(Stop::unsupported(format!(
            "attribute `{name}` of a tensor subclass that was computed in the compiled function"
        ))),
    }
}
