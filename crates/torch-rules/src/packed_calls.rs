//! Functions that the program marks for tracers (`allow_in_graph`, `nonstrict_trace`, `leaf_function`) and that are given
//! or give more than tensors: modules, dataclasses, classes that are registered with `torch.utils._pytree`.
//!
//! A graph holds tensors, so the node calls a function of ours, which puts the arguments together again and takes what
//! the program's function gives apart. Of a module, the parameters and buffers are arguments: while the function runs,
//! the module has those that the node is given.
//!
//! Invariant: what cannot be put together so that the function sees no difference is left to plain Python.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use rustc_hash::FxHashSet;
use translator::rules::Given;
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, ObjId, OrderedMap, Origin, TupleVar, Var};

const FUNCTIONS: &std::ffi::CStr = c"
import contextlib
import torch
from torch.nn.utils.stateless import _reparametrize_module
from torch.utils import _pytree

module_class = torch.nn.Module
plain = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device)

def named_tensors(module):
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)

def mode_of(part):
    hooks = part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks
    return part.training, *[len(of_part) for of_part in hooks]

def state_of(module):
    parts = list(module.modules())
    # A backend traces the module as it is now.
    modes = [value for part in parts for value in mode_of(part)]
    return list(named_tensors(module)), parts, modes

def node_of(cls):
    node = _pytree.SUPPORTED_NODES.get(cls)
    return None if node is None else (node.flatten_fn, node.unflatten_fn)

def is_constant_class(cls):
    return cls in _pytree.CONSTANT_NODES

def is_plain(value):
    if isinstance(value, (list, tuple)):
        return all(is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(is_plain(item) for pair in value.items() for item in pair)
    return isinstance(value, (*plain, type))

def rebuilt(form, given, modules):
    if form is None:
        return next(given)
    kind, what, parts = form
    if kind == 'module':
        # One that is given twice has one state.
        modules[id(what)] = what, {name: next(given) for name in parts}
        return what
    if kind == 'object':
        return what
    items = [rebuilt(part, given, modules) for part in parts]
    if kind == 'dict':
        return dict(zip(what, items))
    if kind == 'node':
        unflatten, context = what
        return unflatten(items, context)
    return what(items)

def has_state(module, state):
    own = dict(named_tensors(module))
    return own.keys() == state.keys() and all(own[name] is state[name] for name in own)

def are_one(one, other):
    return one[1] == other[1] and all(a is b for a, b in zip(one[0], other[0]))

def packed(function, form, name):
    def call(*given):
        modules = {}
        args, kwargs = rebuilt(form, iter(given), modules)
        checked = bool(specs)
        before = None if checked else _pytree.tree_flatten((args, kwargs))
        with contextlib.ExitStack() as stack:
            for module, state in modules.values():
                if not has_state(module, state):
                    stack.enter_context(_reparametrize_module(module, state))
            made = function(*args, **kwargs)
        if not checked and not are_one(before, _pytree.tree_flatten((args, kwargs))):
            # These are ours: the program's would not change.
            raise TypeError('an argument that is written to')
        leaves, spec = _pytree.tree_flatten(made)
        if specs and specs[0] != spec:
            raise RuntimeError('a result of another form')
        specs[:] = [spec]
        return tuple(leaves)
    specs = call.specs = []
    call.__name__ = call.__qualname__ = name
    call.__module__ = function.__module__
    return call
";

variables::own_module! {
    static MODULE = (FUNCTIONS, c"<ferrodyn packed calls>", c"ferrodyn_packed_calls");
}

/// A call of a function that the program allows in the graph. `None` for other functions.
///
/// # Errors
/// A break for arguments and results that are left to plain Python.
pub(crate) fn call<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> Given {
    if !tx.is_allowed_in_graph(f)? || tx.functions.get(f).is_some() {
        return Ok(None);
    }
    let before = tx.snapshot();
    let mut holds = false;
    for v in args.values() {
        holds |= holds_container(tx, v)?;
    }
    if holds {
        // The graph makes lists and dictionaries of its own: what the function does to them, nobody would see.
        let tried = packed(tx, f, args);
        tx.restore(&before);
        tried?;
    }
    let reason = match tx.graph_call(&f.clone().unbind(), args.clone()) {
        Err(Stop::Break(reason)) => reason,
        made => return made.map(Some),
    };
    tx.restore(&before);
    match packed(tx, f, args) {
        Ok(Some(v)) => Ok(Some(Flow::Value(v))),
        Ok(None) | Err(Stop::Break(_)) => Err(Stop::Break(reason)),
        Err(stop) => Err(stop),
    }
}

/// Whether a value is a list or a dictionary, or holds one.
fn holds_container(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
    let items = match tx.look(v)? {
        Var::Tuple(t) => t.items.clone(),
        Var::Obj(id) => return Ok(matches!(&tx.obj(id).body, Body::List(_) | Body::Dict(_))),
        _ => return Ok(false),
    };
    for v in &items {
        if holds_container(tx, v)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn packed<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> R<Option<Var>> {
    let py = tx.py;
    let mut packing = Packing {
        is_leaf: f.hasattr("_torchdynamo_leaf_real_fn")?,
        given: Vec::new(),
    };
    let mut pos = Vec::with_capacity(args.pos.len());
    let mut named = Vec::with_capacity(args.kw.len());
    for v in &args.pos {
        pos.push(packing.form(tx, v)?);
    }
    for (_, v) in &args.kw {
        named.push(packing.form(tx, v)?);
    }
    let (Some(pos), Some(named)) = (all(pos), all(named)) else {
        return Ok(None);
    };
    let keys = PyTuple::new(py, args.kw.iter().map(|(name, _)| &**name))?.into_any();
    let tuple = py.get_type::<PyTuple>().into_any();
    let pos = form_of(py, "sequence", &tuple, pos)?;
    let named = form_of(py, "dict", &keys, named)?;
    let form = form_of(py, "sequence", &tuple, vec![pos, named])?;
    let own = MODULE.get(py)?;
    let function = match crate::substitutes::stand_in(tx, f, "")? {
        Some(substitute) => {
            let function = substitute.into_bound(py);
            function.setattr("__module__", f.getattr("__module__")?)?;
            function
        }
        None => f.clone(),
    };
    let made = own.call_method1("packed", (function, form, f.getattr("__name__")?))?;
    let flow = tx.graph_call(&made.clone().unbind(), Args::pos(packing.given))?;
    let Flow::Value(Var::Tuple(leaves)) = flow else {
        return Ok(None);
    };
    let spec = made.getattr("specs")?.get_item(0)?;
    let mut leaves = leaves.items.iter().cloned();
    unpacked(tx, &spec, &mut leaves)
}

type Form<'py> = Bound<'py, PyAny>;

fn form_of<'py>(
    py: Python<'py>,
    kind: &str,
    what: &Bound<'py, PyAny>,
    parts: Vec<Form<'py>>,
) -> PyResult<Form<'py>> {
    Ok((kind, what, parts).into_pyobject(py)?.into_any())
}

fn all<T>(items: Vec<Option<T>>) -> Option<Vec<T>> {
    items.into_iter().collect()
}

/// What a node is given.
struct Packing {
    /// whether the function is torch's, which gives a module each of its tensors once
    is_leaf: bool,
    given: Vec<Var>,
}

impl Packing {
    /// How an argument is put together; `None` for one that is left to plain Python.
    fn form<'py>(&mut self, tx: &mut Tx<'py>, v: &Var) -> R<Option<Form<'py>>> {
        tx.inside(|tx| self.form_of_part(tx, v))
    }

    fn forms<'py>(&mut self, tx: &mut Tx<'py>, items: &[Var]) -> R<Option<Vec<Form<'py>>>> {
        let mut forms = Vec::with_capacity(items.len());
        for item in items {
            forms.push(self.form(tx, item)?);
        }
        Ok(all(forms))
    }

    fn sequence<'py>(
        &mut self,
        tx: &mut Tx<'py>,
        make: &Bound<'py, PyAny>,
        items: &[Var],
    ) -> R<Option<Form<'py>>> {
        let py = tx.py;
        let forms = self.forms(tx, items)?;
        Ok(forms
            .map(|forms| form_of(py, "sequence", make, forms))
            .transpose()?)
    }

    fn form_of_part<'py>(&mut self, tx: &mut Tx<'py>, v: &Var) -> R<Option<Form<'py>>> {
        let py = tx.py;
        let v = tx.look(v)?;
        let v = match &v {
            Var::Int(_) | Var::Float(_) => v,
            v => tx.realize(v)?,
        };
        let id = match &v {
            Var::Tuple(t) => {
                let make = match &t.class {
                    None => py.get_type::<PyTuple>().into_any(),
                    Some(class) if class.is(&tx.known.size) => class.bind(py).clone(),
                    Some(class) => match class.bind(py).getattr_opt("_make")? {
                        Some(make) => make,
                        None => return Ok(None),
                    },
                };
                return self.sequence(tx, &make, &t.items);
            }
            Var::Obj(id) => *id,
            _ => {
                self.given.push(v);
                return Ok(Some(py.None().into_bound(py)));
            }
        };
        let class = tx.obj(id).class.clone();
        match tx.obj(id).body.clone() {
            Body::List(items) if class.is(&tx.known.list) => {
                let items: Vec<Var> = items.into_iter().collect();
                self.sequence(tx, &py.get_type::<PyList>().into_any(), &items)
            }
            Body::Dict(map) if class.is(&tx.known.dict) => {
                let (keys, items): (Vec<Var>, Vec<Var>) =
                    map.iter().map(|(k, v)| (k.clone(), v.clone())).unzip();
                let keys = tx.real_copy(&Var::tuple(keys))?;
                let forms = self.forms(tx, &items)?;
                let (Some(keys), Some(forms)) = (keys, forms) else {
                    return Ok(None);
                };
                Ok(Some(form_of(py, "dict", &keys, forms)?))
            }
            _ => self.object(tx, &v, id),
        }
    }

    fn object<'py>(&mut self, tx: &mut Tx<'py>, v: &Var, id: ObjId) -> R<Option<Form<'py>>> {
        let py = tx.py;
        let own = MODULE.get(py)?;
        let class = tx.obj(id).class.clone().into_bound(py);
        let existing = match &tx.obj(id).origin {
            Origin::Source { obj, .. } => Some(obj.bind(py).clone()),
            _ => None,
        };
        if let Some(module) = &existing
            && module.is_instance(&own.getattr("module_class")?)?
        {
            return self.module(tx, v, id, module);
        }
        if own
            .call_method1("is_constant_class", (&class,))?
            .is_truthy()?
        {
            let Some(constant) = existing.filter(|_| !tx.obj(id).is_dirty()) else {
                return Ok(None);
            };
            tx.guard_identity(id);
            return Ok(Some(form_of(py, "object", &constant, Vec::new())?));
        }
        let node = own.call_method1("node_of", (class,))?;
        if node.is_none() {
            return Ok(None);
        }
        let flatten = node.get_item(0)?.unbind();
        let source = tx.pinned_source(&flatten, false, "___flatten");
        let flatten = tx.build(&flatten, source)?;
        let made = tx.call_sync(&flatten, Args::pos(vec![v.clone()]))?;
        let made = tx.iterate(&made)?;
        let [children, context] = &made[..] else {
            return Ok(None);
        };
        let items = tx.iterate(children)?;
        let context = tx.real_copy(context)?;
        let forms = self.forms(tx, &items)?;
        let (Some(context), Some(forms)) = (context, forms) else {
            return Ok(None);
        };
        let what = (node.get_item(1)?, context).into_pyobject(py)?.into_any();
        Ok(Some(form_of(py, "node", &what, forms)?))
    }

    /// A module from outside: its parameters and buffers are given to the node.
    fn module<'py>(
        &mut self,
        tx: &mut Tx<'py>,
        v: &Var,
        id: ObjId,
        module: &Bound<'py, PyAny>,
    ) -> R<Option<Form<'py>>> {
        let py = tx.py;
        let state = MODULE.get(py)?.getattr("state_of")?;
        let state = tx.call_sync(&Var::py(state.unbind()), Args::pos(vec![v.clone()]))?;
        let state = tx.iterate(&state)?;
        let [tensors, parts, modes] = &state[..] else {
            return Ok(None);
        };
        // What the frame has done to a module happens behind the graph.
        for part in tx.iterate(parts)? {
            let Var::Obj(part) = tx.realize(&part)? else {
                return Ok(None);
            };
            if tx.obj(part).is_dirty() {
                return Ok(None);
            }
        }
        for mode in tx.iterate(modes)? {
            tx.realize(&mode)?;
        }
        let mut names = Vec::new();
        let mut nodes = FxHashSet::default();
        for pair in tx.iterate(tensors)? {
            let pair = tx.iterate(&pair)?;
            let [name, tensor] = &pair[..] else {
                return Ok(None);
            };
            let (Some(name), Var::Tensor(tensor)) = (tx.as_const(name)?, tx.realize(tensor)?)
            else {
                return Ok(None);
            };
            names.push(name.into_bound(py));
            if self.is_leaf && !nodes.insert(tensor.node) {
                return Ok(None);
            }
            self.given.push(Var::Tensor(tensor));
        }
        tx.guard_identity(id);
        Ok(Some(form_of(py, "module", module, names)?))
    }
}

/// What the function gave, of its tensors; `None` where it is left to plain Python.
fn unpacked<'py>(
    tx: &mut Tx<'py>,
    spec: &Bound<'py, PyAny>,
    leaves: &mut impl Iterator<Item = Var>,
) -> R<Option<Var>> {
    let py = tx.py;
    let class = spec.getattr("type")?;
    if class.is_none() {
        return Ok(leaves.next());
    }
    let context = spec.getattr("context")?;
    let mut items = Vec::new();
    for part in spec.call_method0("children")?.try_iter()? {
        let part = part?;
        match tx.inside(|tx| unpacked(tx, &part, &mut *leaves))? {
            Some(item) => items.push(item),
            None => return Ok(None),
        }
    }
    if class.is(py.get_type::<PyTuple>()) {
        return Ok(Some(Var::tuple(items)));
    }
    if class.is(py.get_type::<PyList>()) {
        return Ok(Some(tx.new_list(items)));
    }
    let own = MODULE.get(py)?;
    if !own.call_method1("is_plain", (&context,))?.is_truthy()? {
        return Ok(None);
    }
    if class.is(py.get_type::<PyDict>()) {
        let mut map = OrderedMap::default();
        for (key, item) in context.try_iter()?.zip(items) {
            let key = tx.from_const(key?)?;
            map.insert(tx.key(&key)?, key, item);
        }
        return Ok(Some(tx.new_dict(map)));
    }
    if let Ok(class) = context.cast::<pyo3::types::PyType>()
        && class.is_subclass_of::<PyTuple>()?
    {
        return Ok(Some(Var::Tuple(std::rc::Rc::new(TupleVar {
            items,
            class: Some(class.clone().into_any().unbind()),
            origin: None,
        }))));
    }
    let node = own.call_method1("node_of", (class,))?;
    if node.is_none() {
        return Ok(None);
    }
    let unflatten = node.get_item(1)?.unbind();
    let source = tx.pinned_source(&unflatten, false, "___unflatten");
    let unflatten = tx.build(&unflatten, source)?;
    let items = tx.new_list(items);
    let context = tx.from_const(context)?;
    tx.call_sync(&unflatten, Args::pos(vec![items, context]))
        .map(Some)
}
