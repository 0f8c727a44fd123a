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

use guards::{Extent, IntExpr, Key, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple, PyType};
use tensor_meta::TensorMeta;
use translator::attr::Descriptor;
use translator::library::is_library;
use translator::raw::{dict_get, instance_dict, type_lookup};
use translator::rules::Given;
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::state::Wrapper;
use variables::{Obj, TensorVar, Var};

use crate::ragged;
use crate::tensor_classes::{ASKED_OF_CLASS, hold_tensor_class, is_tensors_own};
use crate::wrapper_fakes::{Held, sized_fake_of};

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
from operator import attrgetter, eq

from ferrodyn import disable
from torch import Size, SymInt, Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

def reads_of(fake, names):
    # What says sizes and strides of a tensor and of those that it holds, with what it says of the fake one.
    held = [fake] + [getattr(fake, name) for name in names]
    for path, tensor in zip([None, *names], held):
        if isinstance(tensor, Tensor):
            for method in 'size', 'stride':
                for dim, number in enumerate(getattr(tensor, method)()):
                    if isinstance(number, SymInt):
                        yield (path, method, dim), number.node.expr

def changing(context, fake, names):
    # Numbers in what a class says of a tensor that are sizes which change: the same, as a function of a tensor.
    leaves, spec = tree_flatten(context)
    of_fake, spec_of_fake = tree_flatten(fake.__tensor_flatten__()[1])
    known = list(reads_of(fake, names))
    def reader(number):
        if isinstance(number, SymInt):
            for (path, method, dim), expr in known:
                if expr == number.node.expr:
                    of = (lambda other: other) if path is None else attrgetter(path)
                    return lambda other: getattr(of(other), method)(dim)
        return lambda other: number
    readers = {}
    for at, leaf in enumerate(of_fake if spec == spec_of_fake else ()):
        numbers = leaf if isinstance(leaf, Size) else [leaf]
        if any(isinstance(number, SymInt) for number in numbers):
            readers[at] = (type(leaf), [reader(number) for number in numbers])
    if not readers:
        return lambda other: context
    def filled(other):
        filled = list(leaves)
        for at, (kind, numbers) in readers.items():
            numbers = [read(other) for read in numbers]
            filled[at] = Size(numbers) if kind is Size else numbers[0]
        return tree_unflatten(filled, spec)
    return filled

def same_account(tensor, fake):
    cls = type(tensor)
    names, context = tensor.__tensor_flatten__()
    names = list(names)
    expected = (lambda other: context) if fake is None else changing(context, fake, names)
    is_same = getattr(cls, '__metadata_guard__', eq)
    held = [(name, getattr(tensor, name)) for name in names]
    others = [(name, value) for name, value in held if not isinstance(value, Tensor)]

    @disable
    def check(other):
        found, other_context = other.__tensor_flatten__()
        return (
            list(found) == names
            and bool(is_same(expected(other), other_context))
            and all(getattr(other, name) == value for name, value in others)
        )
    return check
";

/// A tensor that another one holds: its name there, and how it is reached.
pub(crate) type HeldTensor<'py> = (Arc<str>, Bound<'py, PyAny>, Source);
/// The tensors that one holds, by name.
pub(crate) type Parts = Vec<(Arc<str>, Held)>;

variables::own_module! {
    static MODULE = (GUARD, c"<ferrodyn wrappers>", c"ferrodyn_wrappers");
}

/// A wrapper subclass's tensor from outside; `None` for a class that is left to plain Python.
///
/// # Errors
/// A break for a tensor that torch can make no fake one of.
pub(crate) fn wrapper_tensor(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Option<Var>> {
    let tensor = obj.bind(tx.py).clone();
    let class = tensor.get_type();
    if tx.st.levels.is_active() || !is_taken(tx, &class)? {
        return Ok(None);
    }
    if torch_abi::is_jagged(&tensor)? {
        return ragged::tensor(tx, obj, source);
    }
    let fake = match fake_of(tx, &tensor) {
        Ok(fake) => fake,
        Err(error) => return Err(no_fake(tx, &class, &error)?),
    };
    hold_tensor_class(tx, &class)?;
    let parts = hold_parts(tx, &tensor, source)?;
    let var = tx.build_tensor(obj, source)?;
    if let Var::Tensor(t) = &var {
        let sized = match parts {
            Some(parts) => sized_fake(tx, &tensor, t.meta.clone(), parts, source)?,
            None => None,
        };
        let changing = sized.as_ref().map(|fake| fake.bind(tx.py).clone());
        hold_account(tx, &tensor, source, changing)?;
        let fake = sized.unwrap_or(fake);
        tx.st.wrappers.insert(t.node.0, Wrapper::new(fake));
    }
    Ok(Some(var))
}

/// The fake tensor of one from outside, where sizes of it are no constants.
fn sized_fake<'py>(
    tx: &mut Tx<'py>,
    tensor: &Bound<'py, PyAny>,
    meta: Rc<TensorMeta>,
    parts: Parts,
    source: SourceId,
) -> R<Option<Obj>> {
    let of = Held {
        meta,
        parts: Some(parts),
        ragged: None,
        fake: None,
    };
    if of.is_static() {
        return Ok(None);
    }
    let made = sized_fake_of(tx, tensor, &of)?;
    if made.is_none() {
        fix_sizes_of(tx, source);
    }
    Ok(made.map(|(fake, _)| fake))
}

/// Guards the sizes of such a tensor from outside, and of what it holds, which are constants then.
fn fix_sizes_of(tx: &mut Tx<'_>, wrapper: SourceId) {
    let mut tensors = tx.sized_tensors();
    tensors.retain(|source| *source == wrapper || tx.path_within(wrapper, *source).is_some());
    for source in tensors {
        for dim in tx.dynamic_sizes(source) {
            let leaf = IntExpr::Dim(source, Extent::Size, dim as u8);
            // It is among those that this graph met.
            let _ = tx.fix_leaf(&leaf);
        }
    }
}

/// The fake tensor of one from outside.
fn fake_of(tx: &mut Tx<'_>, tensor: &Bound<'_, PyAny>) -> PyResult<Obj> {
    let mode = tx.fake_mode()?;
    let fake = mode.bind(tx.py).call_method1("from_tensor", (tensor,))?;
    Ok(fake.unbind())
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
    if !tx.is_wrapper_class(class) || tx.st.levels.is_active() || !is_taken(tx, class)? {
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
        // A compiler knows such a size by the operation that makes it.
        Var::Tensor(t)
            if let Some(wrapper) = tx.st.wrappers.get(&t.node.0).cloned()
                && torch_abi::is_jagged(wrapper.fake.bind(tx.py))? =>
        {
            Err(Stop::unsupported(
                "a nested tensor that is made by its class",
            ))
        }
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
        false => {
            let tensor = tx.known.tensor.clone();
            is_tensors_own(tx, class, |name, special| {
                Ok(
                    !special
                        || !tensor.bind(class.py()).hasattr(name)? && is_libraries(class, name),
                )
            })
        }
    }
}

/// Whether a special name is a function of a library, of which Python does not ask the class.
fn is_libraries(class: &Bound<'_, PyType>, name: &str) -> bool {
    !ASKED_OF_CLASS.contains(&name)
        && type_lookup(class, name).is_some_and(|f| is_library(f.bind(class.py())))
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

/// Guards which tensors one holds. Gives them; `None` where one is not described by sizes.
pub(crate) fn hold_parts<'py>(
    tx: &mut Tx<'py>,
    tensor: &Bound<'py, PyAny>,
    source: SourceId,
) -> R<Option<Parts>> {
    let mut parts = Some(Vec::new());
    for (name, inner, at) in held_tensors(tx, tensor, source)? {
        if let Source::Attr { name, .. } = &at
            && !is_slot(tx, &tensor.get_type(), name)
        {
            return Err(Stop::unsupported(format!(
                "a tensor subclass whose attribute `{name}` is computed"
            )));
        }
        let at = tx.source(at);
        let meta = tx.hold_tensor(&inner, at)?;
        let held = match tx.is_wrapper_class(&inner.get_type()) {
            true => hold_parts(tx, &inner, at)?.map(Some),
            false => Some(None),
        };
        match (&mut parts, meta.zip(held)) {
            (Some(all), Some((meta, parts))) => {
                let meta = Rc::new(meta);
                let (ragged, fake) = (None, None);
                let held = Held {
                    meta,
                    parts,
                    ragged,
                    fake,
                };
                all.push((name, held));
            }
            _ => parts = None,
        }
    }
    Ok(parts)
}

/// The tensors that one holds, by name, and how they are reached.
pub(crate) fn held_tensors<'py>(
    tx: &mut Tx<'py>,
    tensor: &Bound<'py, PyAny>,
    base: SourceId,
) -> PyResult<Vec<HeldTensor<'py>>> {
    let mut held = Vec::new();
    let account = tensor.call_method0("__tensor_flatten__")?;
    for name in account.get_item(0)?.try_iter()? {
        let name: Arc<str> = name?.extract::<String>()?.into();
        let dict = instance_dict(tensor);
        let in_dict = dict.and_then(|dict| dict_get(&dict, &name));
        let of = name.clone();
        let (inner, at) = match in_dict {
            Some(inner) => (inner, Source::InstanceDictItem { base, name: of }),
            None => {
                let inner = tensor.getattr(&*name)?;
                let at = behind_property(tx, tensor, base, (&name, &inner));
                (inner, at.unwrap_or(Source::Attr { base, name: of }))
            }
        };
        // What is no tensor is compared with the account.
        if inner.is_instance(tx.known.tensor.bind(tx.py))? {
            held.push((name, inner, at));
        }
    }
    Ok(held)
}

/// Guards what a class says of its tensor. Numbers in that which are sizes of the `changing` fake one may change.
pub(crate) fn hold_account<'py>(
    tx: &mut Tx<'py>,
    tensor: &Bound<'py, PyAny>,
    source: SourceId,
    changing: Option<Bound<'py, PyAny>>,
) -> R<()> {
    let class = tensor.get_type().into_any().unbind();
    for name in [
        "__tensor_flatten__",
        "__tensor_unflatten__",
        "__metadata_guard__",
    ] {
        tx.class_lookup(&class, name)?;
    }
    let same = MODULE.get(tx.py)?.getattr("same_account")?;
    let same = same.call1((tensor, &changing))?.unbind();
    let yes = PyBool::new(tx.py, true).to_owned().into_any();
    tx.guard_call(&same, Some(source), &[], &yes)?;
    for (name, inner, at) in held_tensors(tx, tensor, source)? {
        if tx.is_wrapper_class(&inner.get_type()) {
            let at = tx.source(at);
            let changing = changing.as_ref().map(|fake| fake.getattr(&*name));
            hold_account(tx, &inner, at, changing.transpose()?)?;
        }
    }
    Ok(())
}

/// Whether a class has a slot of this name.
fn is_slot(tx: &Tx<'_>, class: &Bound<'_, PyType>, name: &str) -> bool {
    type_lookup(class, name)
        .is_some_and(|found| matches!(tx.descriptor(&found), Descriptor::Member))
}

/// Whether a class has a property of this name that a library computes.
fn is_library_property(tx: &Tx<'_>, class: &Bound<'_, PyType>, name: &str) -> bool {
    type_lookup(class, name).is_some_and(|found| {
        let get = found.bind(tx.py).getattr("fget");
        matches!(tx.descriptor(&found), Descriptor::Property) && get.is_ok_and(|f| is_library(&f))
    })
}

/// Where a tensor stands that a library's property gives: in a dictionary that the instance has.
fn behind_property<'py>(
    tx: &mut Tx<'py>,
    tensor: &Bound<'py, PyAny>,
    base: SourceId,
    (name, inner): (&Arc<str>, &Bound<'py, PyAny>),
) -> Option<Source> {
    if !is_library_property(tx, &tensor.get_type(), name) {
        return None;
    }
    for (of, items) in instance_dict(tensor)?.iter() {
        let Ok(items) = items.cast_exact::<PyDict>() else {
            continue;
        };
        let Some((key, _)) = items.iter().find(|(_, item)| item.is(inner)) else {
            continue;
        };
        let (of, key) = (of.extract::<String>().ok()?, key.extract::<String>().ok()?);
        let name_of: Arc<str> = of.into();
        let dict = tx.source(Source::InstanceDictItem {
            base,
            name: name_of,
        });
        tx.guard_type(items.as_any(), dict);
        let key = Key::Str(key.into());
        let at = Source::DictItem { base: dict, key };
        let source = tx.source(at.clone());
        tx.facts.held_by.insert(source, (base, name.clone()));
        return Some(at);
    }
    None
}

/// What a property that a library's class has for its tensors says of one: it follows from the account, which is
/// guarded. `None` for another attribute, and for what is neither a constant nor an object that operators take.
fn library_property<'py>(
    tx: &mut Tx<'py>,
    t: &TensorVar,
    fake: &Bound<'py, PyAny>,
    name: &Arc<str>,
) -> R<Option<Var>> {
    let found = type_lookup(&fake.get_type(), name);
    let Some(found) = found.filter(|f| matches!(tx.descriptor(f), Descriptor::Property)) else {
        return Ok(None);
    };
    if !is_library(&found.bind(tx.py).getattr("fget")?) {
        return Ok(None);
    }
    // It may read what the tensors hold, which a fake one can't.
    let value = fake.getattr(&**name).map_err(|_| {
        Stop::unsupported(format!(
            "attribute `{name}` of a tensor subclass, which only a real tensor has"
        ))
    })?;
    if tx
        .known
        .is_custom_object(&value.get_type().into_any().unbind())
    {
        tx.class_lookup(&t.class.clone(), name)?;
        let value = value.unbind();
        let source = tx.pinned_source(&value, false, name);
        return tx.build(&value, source).map(Some);
    }
    let is_constant = |v: &Bound<'py, PyAny>| tx.known.is_const_type(v.get_type().as_any());
    let all_constant = match value.cast_exact::<PyTuple>() {
        Ok(items) => items.iter().all(|item| is_constant(&item)),
        Err(_) => is_constant(&value),
    };
    if !all_constant {
        return Ok(None);
    }
    tx.class_lookup(&t.class.clone(), name)?;
    tx.from_const(value).map(Some)
}

/// A call of a function that a library's class of such tensors has: a method of one, or a static method that makes one.
/// It is an operation, as torch's own methods are. `None` for any other function.
///
/// # Errors
/// A break for arguments that a graph can't hold.
pub(crate) fn function<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> Given {
    if tx.st.levels.is_active() {
        return Ok(None);
    }
    let name: String = f.getattr("__name__")?.extract()?;
    let of_wrapper = match args.pos.first() {
        Some(Var::Tensor(t)) if tx.st.wrappers.contains_key(&t.node.0) => Some(t.class.clone()),
        _ => None,
    };
    let py = tx.py;
    let is_method = match &of_wrapper {
        Some(class) => {
            let class = class.bind(py).cast::<PyType>().map_err(PyErr::from)?;
            type_lookup(class, &name).is_some_and(|own| own.is(f)) && is_library(f)
        }
        None => false,
    };
    if !is_method && !is_maker(tx, f)? {
        return Ok(None);
    }
    let before = tx.snapshot();
    let object = f.clone().unbind();
    let path = translator::tx::qualified_name(f);
    let callee = match is_method {
        true => Callee::Method(&name),
        false => Callee::Function(&object, &path, None),
    };
    match tx.without_classes(|tx| tx.emit_of_wrapper(&callee, args))? {
        made @ Var::Tensor(_) => Ok(Some(Flow::Value(made))),
        _ => {
            tx.restore(&before);
            Ok(None)
        }
    }
}

/// Whether a function is a static method that a library's class of such tensors has.
fn is_maker<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>) -> PyResult<bool> {
    let qualname: String = f.getattr("__qualname__")?.extract()?;
    let Some((class, name)) = qualname.split_once('.') else {
        return Ok(false);
    };
    let Some(globals) = f.getattr_opt("__globals__")? else {
        return Ok(false);
    };
    let Some(class) = globals.cast::<PyDict>()?.get_item(class)? else {
        return Ok(false);
    };
    let Ok(class) = class.cast_into::<PyType>() else {
        return Ok(false);
    };
    let own = type_lookup(&class, name).filter(|_| tx.is_wrapper_class(&class));
    let Some(own) = own.filter(|own| matches!(tx.descriptor(own), Descriptor::Static)) else {
        return Ok(false);
    };
    Ok(own.bind(tx.py).getattr("__func__")?.is(f) && is_library(f))
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
    if let Some(known) = library_property(tx, t, fake, name)? {
        return Ok(Some(Flow::Value(known)));
    }
    if let Some(said) = ragged::attribute(fake, name)? {
        return Ok(Some(Flow::Value(said)));
    }
    let in_dict = instance_dict(fake).and_then(|dict| dict_get(&dict, name));
    let is_slot = in_dict.is_none() && is_slot(tx, &fake.get_type(), name);
    let found = match in_dict {
        None if is_slot => fake.getattr_opt(&**name)?,
        found => found,
    };
    let Some(found) = found else {
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
    if is_held && !is_slot && t.input.is_some() && !tx.log.graph.has_users(t.node) {
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
