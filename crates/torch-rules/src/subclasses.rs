//! Tensors of the program's classes that have a `__torch_function__`: torch hands it what is done with them.
//!
//! What a class is handed, torch itself says (`overrides`); the class's code is then followed. So a graph holds
//! what the classes make of the program's operations, and runs where torch asks no class.
//!
//! Not here: classes that leave all to torch, as those of parameters do (`tensor_classes`).
//!
//! Invariant: while torch asks classes, nothing is said of such a tensor, and no operation on it becomes a
//! node, that its class was not asked about, unless torch does not ask it either.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::PyType;
use tensor_meta::{Alias, Inferred, TensorMeta};
use torch_abi::names;
use translator::Instead;
use translator::raw::type_lookup;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{BreakReason, R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::contexts::{Effect, OpenContext};
use variables::{Body, Obj, TensorVar, Var};

/// What gives a tensor another class, behind the graph or, of a leaf, in it: a graph holds functions, but no classes.
/// Those are held weakly; guards hold the program to them.
const FUNCTION: &std::ffi::CStr = c"
from weakref import WeakKeyDictionary, ref

from torch import is_grad_enabled
from torch._C import DisableTorchFunction, _set_grad_enabled

made = WeakKeyDictionary()

def as_subclass_of(cls, records):
    both = made.get(cls)
    if both is None:
        both = made[cls] = make_as_subclass(ref(cls), False), make_as_subclass(ref(cls), True)
    return both[records]

def make_as_subclass(cls, records):
    def as_subclass(tensor):
        with DisableTorchFunction():
            before = is_grad_enabled()
            _set_grad_enabled(records)
            try:
                return tensor.as_subclass(cls())
            finally:
                _set_grad_enabled(before)
    return as_subclass

def make_subclass_of(cls):
    make, cls = cls._make_subclass, ref(cls)
    def make_subclass(tensor, require_grad):
        return make(cls(), tensor, require_grad)
    return make_subclass
";

variables::own_module! {
    static MODULE = (FUNCTION, c"<ferrodyn subclasses>", c"ferrodyn_subclasses");
}

pub(crate) const RULES: RuleList = &[
    (
        "torch",
        &[
            ("Tensor.__torch_function__.__func__", torchs_own as Rule),
            ("Tensor._make_subclass", make_subclass),
            ("Tensor.__new__", new_of_class),
        ],
    ),
    (
        names::TORCH_C,
        &[
            ("DisableTorchFunctionSubclass", disabler as Rule),
            ("_disabled_torch_function_impl", unasked),
            ("_skip_one_hop_torch_function", skip_one_level),
        ],
    ),
];

/// Special names that a class may have besides those that are harmless on any: torch asks for the first, and
/// the others are asked by nothing that is captured.
const OWN: [&str; 8] = [
    "__torch_function__",
    "__repr__",
    "__str__",
    "__format__",
    "__deepcopy__",
    "__reduce_ex__",
    "__array_function__",
    "__array_ufunc__",
];

/// Whether what torch asks a class of tensors can be followed; guarded where it is so.
///
/// # Errors
/// Whatever looking at the class raises.
pub(crate) fn is_followed<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>) -> R<bool> {
    let followed = !tx.st.levels.is_active()
        && tx.is_asked(class)
        && !is_of_torch(tx, class)?
        && crate::tensor_classes::is_tensors_own(tx, class, |name, special| {
            Ok(!special || OWN.contains(&name))
        })?;
    if !followed {
        return Ok(false);
    }
    let own = type_lookup(class, "__torch_function__");
    let kind = own.map(|own| own.bind(tx.py).get_type().name()?.extract::<String>());
    let kind = kind.transpose()?;
    if !kind.is_some_and(|kind| kind == "classmethod" || kind == "staticmethod") {
        return Ok(false);
    }
    crate::tensor_classes::hold_tensor_class(tx, class)?;
    tx.st.met_subclass = true;
    Ok(true)
}

/// Whether a result is a tensor, or a tuple or list that may have one.
fn may_hold_tensor(v: &Var) -> bool {
    match v {
        Var::Tuple(t) => t.items.iter().any(may_hold_tensor),
        Var::Const(_) | Var::Int(_) | Var::Float(_) => false,
        _ => true,
    }
}

/// Whether a class is, or derives from, one of torch's that is no class of plain tensors: those have no values
/// yet, or have them elsewhere.
fn is_of_torch<'py>(tx: &Tx<'py>, class: &Bound<'py, PyType>) -> PyResult<bool> {
    let plain = |c: &Bound<'py, PyAny>| (tx.known.tensor_types).contains(&(c.as_ptr() as usize));
    for base in class.mro().iter().take_while(|c| !plain(c)) {
        let module = base.getattr("__module__")?.str()?.to_string();
        if module.split('.').next() == Some("torch") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `__enter__` and `__exit__` of a context in which torch asks no class; `None` for another method.
///
/// # Errors
/// As [`crate::contexts::leave_context`].
pub(crate) fn ask_no_class(tx: &mut Tx<'_>, context: &Var, name: &str) -> R<Option<Flow>> {
    match name {
        "__enter__" => {
            let before = std::mem::replace(&mut tx.st.asks_no_class, true);
            tx.st.contexts.push_back(OpenContext {
                context: context.clone(),
                effect: Effect::Classes(before),
            });
            Ok(Some(Flow::Value(tx.none())))
        }
        "__exit__" => crate::contexts::leave_context(tx, context).map(Some),
        _ => Ok(None),
    }
}

/// `tensor.as_subclass(cls)`: a new object for the tensor's memory.
///
/// # Errors
/// A break for a class that is not followed.
pub(crate) fn as_subclass<'py>(
    tx: &mut Tx<'py>,
    t: &Rc<TensorVar>,
    class: &Bound<'py, PyType>,
) -> R<Var> {
    check_followed(tx, class)?;
    let records = tx.st.grad_enabled;
    let mut meta = TensorMeta::clone(tx.st.effects.meta(t));
    // While autograd is off, a view of what records gradients is a leaf with a gradient of its own.
    let own_leaf = meta.requires_grad && !records;
    if own_leaf && !tx.runs_as_is {
        return Err(Stop::brk(
            "Tensor that records gradients given another class under no_grad",
            "The new object gets a gradient of its own, which a compiler does not compute.",
            "Call `detach()` on the tensor first.",
        ));
    }
    meta.is_leaf = !meta.requires_grad || own_leaf;
    let make = MODULE.get(tx.py)?.getattr("as_subclass_of")?;
    let make = make.call1((class, records))?.unbind();
    let args = Args::pos(vec![Var::Tensor(t.clone())]);
    let made = of_class(tx, (&make, "as_subclass"), class, args, meta)?;
    tx.st.needs_as_is |= own_leaf;
    if let (false, Var::Tensor(made)) = (own_leaf, &made) {
        tx.log.graph.set_gives_class(made.node);
    }
    Ok(made)
}

/// The same memory for autograd to know nothing of.
fn detached(tx: &mut Tx<'_>, t: &Rc<TensorVar>) -> R<Rc<TensorVar>> {
    let args = Args::pos(vec![Var::Tensor(t.clone())]);
    let made = tx.without_classes(|tx| tx.emit(&Callee::Method("detach"), &args))?;
    match made {
        Var::Tensor(made) => Ok(made),
        _ => Err(Stop::Internal("detach() gives no tensor".into())),
    }
}

/// The node of one of our functions that give a tensor another class.
fn of_class<'py>(
    tx: &mut Tx<'py>,
    (make, name): (&Obj, &str),
    class: &Bound<'py, PyType>,
    args: Args,
    mut meta: TensorMeta,
) -> R<Var> {
    meta.alias = Alias::View;
    let path = format!("ferrodyn_subclasses.{name}");
    let callee = Callee::Function(make, &path, None);
    let node_args = tx.node_args(&args)?;
    let made = tx.emit_inferred(&callee, node_args, Inferred::Tensor(meta), &args)?;
    let Var::Tensor(made) = made else {
        return Err(Stop::Internal("a class for what is no tensor".into()));
    };
    Ok(Var::Tensor(Rc::new(TensorVar {
        node: made.node,
        class: class.clone().into_any().unbind(),
        meta: made.meta.clone(),
        input: None,
        fresh: true,
    })))
}

/// # Errors
/// A break for a class that is not followed.
fn check_followed<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>) -> R<()> {
    let plain = class.is(&tx.known.tensor);
    match !tx.st.levels.is_active() && (plain || is_followed(tx, class)?) {
        true => Ok(()),
        false => Err(unfollowed(class)?),
    }
}

/// `Class(...)` of such a class: by its own `__new__` and `__init__`, or of one tensor. `None` for what torch
/// makes of other arguments.
///
/// # Errors
/// What they raise; the breaks that they come to.
pub(crate) fn construct_subclass<'py>(
    tx: &mut Tx<'py>,
    class: &Bound<'py, PyType>,
    args: &Args,
) -> R<Option<Var>> {
    if !tx.is_asked(class) || !is_followed(tx, class)? {
        return Ok(None);
    }
    let object = class.clone().into_any().unbind();
    let function = |tx: &mut Tx<'py>, name: &str| -> R<Option<Obj>> {
        let found = tx.class_lookup(&object, name)?;
        let Some(found) = found else { return Ok(None) };
        let found = found.bind(tx.py);
        let inner = match found.get_type().is(&tx.known.staticmethod) {
            true => found.getattr("__func__")?,
            false => found.clone(),
        };
        Ok((inner.get_type().is(&tx.known.function)).then(|| inner.unbind()))
    };
    let made = match function(tx, "__new__")? {
        Some(new) => {
            let mut given = args.clone();
            given.pos.insert(0, Var::py(object.clone()));
            tx.call_sync(&Var::py(new), given)?
        }
        None => {
            let Some(made) = of_one_tensor(tx, class, args)? else {
                return Ok(None);
            };
            made
        }
    };
    let made = tx.realize(&made)?;
    if let Some(init) = function(tx, "__init__")?
        && tx.isinstance(&made, &Var::py(object.clone()))?
    {
        let mut given = args.clone();
        given.pos.insert(0, made.clone());
        tx.call_sync(&Var::py(init), given)?;
    }
    Ok(Some(made))
}

/// What torch's own `__new__` makes of one tensor: another object for its memory. `None` for other arguments.
fn of_one_tensor<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>, args: &Args) -> R<Option<Var>> {
    let ([v], []) = (&args.pos[..], &args.kw[..]) else {
        return Ok(None);
    };
    let Var::Tensor(t) = tx.realize(v)? else {
        return Ok(None);
    };
    if tx.st.effects.meta(&t).dtype != tx.ctx.default_dtype {
        return Ok(None);
    }
    as_subclass(tx, &t, class).map(Some)
}

/// `torch.Tensor.__new__(class, tensor)`, as a class's own `__new__` calls it.
fn new_of_class(tx: &mut Tx<'_>, _: &'static str, mut args: Args) -> Given {
    if args.pos.is_empty() {
        return Ok(None);
    }
    let class = args.pos.remove(0);
    let Var::Py(class) = tx.realize(&class)? else {
        return Ok(None);
    };
    let Ok(class) = class.obj.bind(tx.py).clone().cast_into::<PyType>() else {
        return Ok(None);
    };
    if !tx.is_asked(&class) || !is_followed(tx, &class)? {
        return Ok(None);
    }
    Ok(of_one_tensor(tx, &class, &args)?.map(Flow::Value))
}

/// `torch.Tensor.__torch_function__`: runs the function while no class is asked, and gives its results the class.
fn torchs_own(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let names = ["cls", "func", "types", "args", "kwargs"];
    let given = tx.by_name(name, args, &names, 3, 5)?;
    let [Some(class), Some(function), Some(types), pos, kw] = &given[..] else {
        return Ok(None);
    };
    for of in tx.iterate(types)? {
        let derives = Var::py(tx.known.builtins.getattr(tx.py, "issubclass")?);
        let derives = tx.call_sync(&derives, Args::pos(vec![class.clone(), of]))?;
        if !tx.truth(&derives)? {
            let not = tx.known.builtins.getattr(tx.py, "NotImplemented")?;
            return value(Var::Const(not));
        }
    }
    let args = handed_on(tx, pos.as_ref(), kw.as_ref())?;
    let function = tx.realize(function)?;
    let unwrapped = tx.py.import("torch.overrides")?;
    let unwrapped = unwrapped.call_method0("get_default_nowrap_functions")?;
    let wraps = match &function {
        Var::Py(p) => !unwrapped.contains(&p.obj)?,
        _ => true,
    };
    let convert = tx.py.import(names::TENSOR_MODULE)?.getattr("_convert")?;
    let class = class.clone();
    tx.without_classes(|tx| {
        let made = tx.call_sync(&function, args)?;
        if !wraps || !may_hold_tensor(&made) {
            return Ok(made);
        }
        let convert = Var::py(convert.unbind());
        tx.call_sync(&convert, Args::pos(vec![made, class]))
    })
    .map(|made| Some(Flow::Value(made)))
}

/// The arguments of a function, as `__torch_function__` is given them: a tuple and a dictionary, or neither.
fn handed_on(tx: &mut Tx<'_>, pos: Option<&Var>, kw: Option<&Var>) -> R<Args> {
    let pos = match pos {
        Some(pos) => tx.iterate(pos)?,
        None => Vec::new(),
    };
    let kw = match kw {
        Some(kw) => tx.realize(kw)?,
        None => tx.none(),
    };
    let kw = match kw.is_none(tx.py) {
        true => Vec::new(),
        false => tx.keyword_items(&kw)?,
    };
    Ok(Args { pos, kw })
}

/// What a class of parameters has as its `__torch_function__`, called by one that derives from it: runs the function
/// while no class is asked.
fn unasked(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let given = tx.by_name(name, args, &["func", "types", "args", "kwargs"], 2, 4)?;
    let [Some(function), Some(types), pos, kw] = &given[..] else {
        return Ok(None);
    };
    // AOTAutograd has no fake tensor for what operations give of another class, as they give plain tensors.
    let parameter = tx.known.parameter.clone();
    for class in tx.iterate(types)? {
        let class = tx.realize(&class)?;
        let is_parameters = class.as_obj().is_some_and(|c| tx.is_subtype(c, &parameter));
        if !is_parameters && !tx.runs_as_is {
            return Ok(None);
        }
    }
    let args = handed_on(tx, pos.as_ref(), kw.as_ref())?;
    let function = tx.realize(function)?;
    let made = tx.without_classes(|tx| tx.call_sync(&function, args))?;
    value(made)
}

/// `torch.overrides.redispatch_function`: a function that runs below it, and asks first, is told that no class wants
/// to be asked. Code that is captured does not ask anew.
fn skip_one_level(_: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    Err(Stop::Break(Box::new(BreakReason {
        reason: "Call of `torch.overrides.redispatch_function`".into(),
        explanation: "One level of `__torch_function__` is skipped by whatever runs below it and asks first: the function runs in eager mode, with all that it calls.".into(),
        hints: vec![
            "Call `super().__torch_function__(func, types, args, kwargs)` in place of it.".into(),
        ],
        instead: Some(Instead::RunAllAlways),
        ..BreakReason::default()
    })))
}

/// `Tensor._make_subclass(cls, data, require_grad=False)`.
fn make_subclass(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let given = tx.by_name(name, args, &["cls", "data", "require_grad"], 2, 3)?;
    let [Some(class), Some(data), records] = &given[..] else {
        return Ok(None);
    };
    let (class, data) = (tx.realize(class)?, tx.realize(data)?);
    let (Var::Py(class), Var::Tensor(t)) = (&class, &data) else {
        return Ok(None);
    };
    let Ok(class) = class.obj.bind(tx.py).clone().cast_into::<PyType>() else {
        return Ok(None);
    };
    let records = match records {
        Some(v) => tx.truth(v)?,
        None => false,
    };
    let dtype = tx.st.effects.meta(t).dtype;
    let plain = class.is(&tx.known.tensor);
    if records && (plain || !(dtype.is_floating() || dtype.is_complex())) {
        return Ok(None);
    }
    if !records {
        let of = detached(tx, t)?;
        if plain {
            return value(Var::Tensor(of));
        }
        return as_subclass(tx, &of, &class).map(|made| Some(Flow::Value(made)));
    }
    check_followed(tx, &class)?;
    // The graph computes with the very object whose gradient it is, which a compiler would not give out.
    if !tx.runs_as_is {
        return Ok(None);
    }
    tx.st.needs_as_is = true;
    let mut meta = TensorMeta::clone(tx.st.effects.meta(t));
    (meta.requires_grad, meta.is_leaf) = (true, true);
    let make = MODULE.get(tx.py)?.getattr("make_subclass_of")?;
    let make = make.call1((&class,))?.unbind();
    let args = Args::pos(vec![data.clone(), tx.bool(true)]);
    of_class(tx, (&make, "make_subclass"), &class, args, meta).map(|v| Some(Flow::Value(v)))
}

/// The context in which torch asks no class, which is an object without a state here.
fn disabler(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    if !args.pos.is_empty() || !args.kw.is_empty() {
        return Ok(None);
    }
    let class = tx
        .known
        .torch_c
        .getattr(tx.py, "DisableTorchFunctionSubclass")?;
    value(Var::Obj(tx.new_object(class, Body::Plain)))
}

/// The break for a class whose tensors are left to plain Python.
fn unfollowed(class: &Bound<'_, PyType>) -> PyResult<Stop> {
    Ok(Stop::brk(
        format!("Tensor subclass {}", class.name()?),
        "Ferrodyn follows the __torch_function__ of a tensor subclass, unless it changes operators or __torch_dispatch__.",
        "Make the tensor before the call, or take it out of the compiled function.",
    ))
}
