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
use translator::own_module::OwnModule;
use translator::raw::type_lookup;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::contexts::{Effect, OpenContext};
use variables::{Body, Obj, TensorVar, Var};

/// What a node calls that gives a tensor another class: a graph holds functions, but no classes. Those are held
/// weakly; guards hold the program to them.
const FUNCTION: &std::ffi::CStr = c"
from weakref import ref

def as_subclass_of(cls):
    cls = ref(cls)
    def as_subclass(tensor):
        return tensor.as_subclass(cls())
    return as_subclass

def make_subclass_of(cls):
    make, cls = cls._make_subclass, ref(cls)
    def make_subclass(tensor, require_grad):
        return make(cls(), tensor, require_grad)
    return make_subclass
";

static MODULE: OwnModule =
    OwnModule::new(FUNCTION, c"<ferrodyn subclasses>", c"ferrodyn_subclasses");

pub(crate) const RULES: RuleList = &[
    (
        "torch",
        &[
            ("Tensor.__torch_function__.__func__", torchs_own as Rule),
            ("Tensor._make_subclass", make_subclass),
        ],
    ),
    (
        "torch._C",
        &[("DisableTorchFunctionSubclass", disabler as Rule)],
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
    let followed = tx.runs_as_is
        && !tx.st.vmap.is_active()
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
    tx.st.needs_as_is = true;
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
    let records = tx.st.effects.meta(t).requires_grad && tx.st.grad_enabled;
    let args = Args::pos(vec![Var::Tensor(t.clone())]);
    of_class(tx, "as_subclass", class, t, args, (records, !records))
}

/// The node of one of our functions that give a tensor another class. `grad`: whether the result records
/// gradients, and whether it is a leaf.
fn of_class<'py>(
    tx: &mut Tx<'py>,
    name: &str,
    class: &Bound<'py, PyType>,
    t: &Rc<TensorVar>,
    args: Args,
    grad: (bool, bool),
) -> R<Var> {
    let plain = class.is(&tx.known.tensor);
    let able = tx.runs_as_is && !tx.st.vmap.is_active();
    if !able || !(plain || is_followed(tx, class)?) {
        return Err(unfollowed(class)?);
    }
    let mut meta = TensorMeta::clone(tx.st.effects.meta(t));
    (meta.requires_grad, meta.is_leaf) = grad;
    meta.alias = Alias::View;
    let make = MODULE.get(tx.py)?.getattr(format!("{name}_of"))?;
    let f = make.call1((class,))?.unbind();
    let path = format!("ferrodyn_subclasses.{name}");
    let callee = Callee::Function(&f, &path, None);
    let node_args = tx.node_args(&args)?;
    let made = tx.emit_inferred(&callee, node_args, Inferred::Tensor(meta), &args)?;
    tx.st.needs_as_is = true;
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
            let ([v], []) = (&args.pos[..], &args.kw[..]) else {
                return Ok(None);
            };
            let Var::Tensor(t) = tx.realize(v)? else {
                return Ok(None);
            };
            if tx.st.effects.meta(&t).dtype != tx.ctx.default_dtype {
                return Ok(None);
            }
            as_subclass(tx, &t, class)?
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
    let function = tx.realize(function)?;
    let unwrapped = tx.py.import("torch.overrides")?;
    let unwrapped = unwrapped.call_method0("get_default_nowrap_functions")?;
    let wraps = match &function {
        Var::Py(p) => !unwrapped.contains(&p.obj)?,
        _ => true,
    };
    let convert = tx.py.import("torch._tensor")?.getattr("_convert")?;
    let class = class.clone();
    tx.without_classes(|tx| {
        let made = tx.call_sync(&function, Args { pos, kw })?;
        if !wraps || !may_hold_tensor(&made) {
            return Ok(made);
        }
        let convert = Var::py(convert.unbind());
        tx.call_sync(&convert, Args::pos(vec![made, class]))
    })
    .map(|made| Some(Flow::Value(made)))
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
    if class.is(&tx.known.tensor) || records && !(dtype.is_floating() || dtype.is_complex()) {
        return Ok(None);
    }
    let args = Args::pos(vec![data.clone(), tx.bool(records)]);
    of_class(tx, "make_subclass", &class, t, args, (records, true)).map(|v| Some(Flow::Value(v)))
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
