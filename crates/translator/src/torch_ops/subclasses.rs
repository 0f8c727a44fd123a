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
use pyo3::types::{PyList, PyTuple, PyType};
use tensor_meta::{Alias, Inferred, TensorMeta};
use variables::{Body, Obj, TensorVar, Var};

use super::contexts::{Effect, OpenContext};
use super::emit::Callee;
use crate::own_module::OwnModule;
use crate::raw::type_lookup;
use crate::rules::{Given, Rule, RuleList, value};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

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

impl<'py> Tx<'py> {
    /// Whether torch asks the class of a value now.
    pub(crate) fn asks_class(&self, v: &Var) -> bool {
        !self.st.asks_no_class && self.holds_subclass(v)
    }

    /// Whether torch asks the class of one of these values now, or of one in a list or tuple among them.
    pub(crate) fn asks_classes<'a>(&self, mut values: impl Iterator<Item = &'a Var>) -> bool {
        !self.st.asks_no_class && values.any(|v| self.holds_subclass(v))
    }

    fn holds_subclass(&self, v: &Var) -> bool {
        match v {
            Var::Tensor(t) => self.is_subclass(t),
            Var::Lazy(lazy) => self.object_holds_subclass(lazy.obj.bind(self.py)),
            Var::Tuple(t) => t.items.iter().any(|v| self.holds_subclass(v)),
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) => items.iter().any(|v| self.holds_subclass(v)),
                _ => false,
            },
            _ => false,
        }
    }

    /// The same for what was not looked at yet.
    fn object_holds_subclass(&self, object: &Bound<'py, PyAny>) -> bool {
        if let Ok(items) = object.cast_exact::<PyTuple>() {
            return items.iter().any(|o| self.object_holds_subclass(&o));
        }
        if let Ok(items) = object.cast_exact::<PyList>() {
            return items.iter().any(|o| self.is_asked(&o.get_type()));
        }
        self.is_asked(&object.get_type())
    }

    /// Whether a tensor's class has a `__torch_function__` of Python.
    pub(super) fn is_subclass(&self, t: &TensorVar) -> bool {
        let class = t.class.bind(self.py).cast::<PyType>();
        class.is_ok_and(|class| self.is_asked(class))
    }

    /// Whether torch asks a class of tensors.
    fn is_asked(&self, class: &Bound<'py, PyType>) -> bool {
        let known = (self.known.tensor_types).contains(&(class.as_ptr() as usize));
        let base = self.known.tensor_base.bind(self.py);
        if known || !class.is_subclass(base).unwrap_or(false) {
            return false;
        }
        let off = self.known.torch_c.bind(self.py);
        let off = off.getattr("_disabled_torch_function_impl");
        let own = type_lookup(class, "__torch_function__");
        own.is_some_and(|own| !off.is_ok_and(|off| own.is(&off)))
    }

    /// Whether what torch asks a class of tensors can be followed; guarded where it is so.
    ///
    /// # Errors
    /// Whatever looking at the class raises.
    pub(crate) fn is_followed(&mut self, class: &Bound<'py, PyType>) -> R<bool> {
        let followed = self.runs_as_is
            && !self.st.vmap.is_active()
            && self.is_asked(class)
            && !self.is_of_torch(class)?
            && self.is_tensors_own(class, |name, special| Ok(!special || OWN.contains(&name)))?;
        if !followed {
            return Ok(false);
        }
        let own = type_lookup(class, "__torch_function__");
        let kind = own.map(|own| own.bind(self.py).get_type().name()?.extract::<String>());
        let kind = kind.transpose()?;
        if !kind.is_some_and(|kind| kind == "classmethod" || kind == "staticmethod") {
            return Ok(false);
        }
        self.hold_tensor_class(class)?;
        self.met_subclass = true;
        self.needs_as_is = true;
        Ok(true)
    }

    /// Whether a result is a tensor, or a tuple or list that may have one.
    fn may_hold_tensor(&self, v: &Var) -> bool {
        match v {
            Var::Tuple(t) => t.items.iter().any(|v| self.may_hold_tensor(v)),
            Var::Const(_) | Var::Int(_) | Var::Float(_) => false,
            _ => true,
        }
    }

    /// Whether a class is, or derives from, one of torch's that is no class of plain tensors: those have no values
    /// yet, or have them elsewhere.
    fn is_of_torch(&self, class: &Bound<'py, PyType>) -> PyResult<bool> {
        let plain =
            |c: &Bound<'py, PyAny>| (self.known.tensor_types).contains(&(c.as_ptr() as usize));
        for base in class.mro().iter().take_while(|c| !plain(c)) {
            let module = base.getattr("__module__")?.str()?.to_string();
            if module.split('.').next() == Some("torch") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs a rule as torch runs a function that it asks no class about.
    pub(crate) fn without_classes<T>(&mut self, rule: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let before = std::mem::replace(&mut self.st.asks_no_class, true);
        let result = rule(self);
        self.st.asks_no_class = before;
        result
    }

    /// `__enter__` and `__exit__` of a context in which torch asks no class; `None` for another method.
    ///
    /// # Errors
    /// As [`Tx::leave_context`].
    pub(crate) fn ask_no_class(&mut self, context: &Var, name: &str) -> R<Option<Flow>> {
        match name {
            "__enter__" => {
                let before = std::mem::replace(&mut self.st.asks_no_class, true);
                self.st.contexts.push_back(OpenContext {
                    context: context.clone(),
                    effect: Effect::Classes(before),
                });
                Ok(Some(Flow::Value(self.none())))
            }
            "__exit__" => self.leave_context(context).map(Some),
            _ => Ok(None),
        }
    }

    /// `tensor.as_subclass(cls)`: a new object for the tensor's memory.
    ///
    /// # Errors
    /// A break for a class that is not followed.
    pub(super) fn as_subclass(&mut self, t: &Rc<TensorVar>, class: &Bound<'py, PyType>) -> R<Var> {
        let records = self.st.effects.meta(t).requires_grad && self.st.grad_enabled;
        let args = Args::pos(vec![Var::Tensor(t.clone())]);
        self.of_class("as_subclass", class, t, args, (records, !records))
    }

    /// The node of one of our functions that give a tensor another class. `grad`: whether the result records
    /// gradients, and whether it is a leaf.
    fn of_class(
        &mut self,
        name: &str,
        class: &Bound<'py, PyType>,
        t: &Rc<TensorVar>,
        args: Args,
        grad: (bool, bool),
    ) -> R<Var> {
        let plain = class.is(&self.known.tensor);
        let able = self.runs_as_is && !self.st.vmap.is_active();
        if !able || !(plain || self.is_followed(class)?) {
            return Err(unfollowed(class)?);
        }
        let mut meta = TensorMeta::clone(self.st.effects.meta(t));
        (meta.requires_grad, meta.is_leaf) = grad;
        meta.alias = Alias::View;
        let make = MODULE.get(self.py)?.getattr(format!("{name}_of"))?;
        let f = make.call1((class,))?.unbind();
        let path = format!("ferrodyn_subclasses.{name}");
        let callee = Callee::Function(&f, &path, None);
        let node_args = self.node_args(&args)?;
        let made = self.emit_inferred(&callee, node_args, Inferred::Tensor(meta), &args)?;
        self.needs_as_is = true;
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
    pub(super) fn construct_subclass(
        &mut self,
        class: &Bound<'py, PyType>,
        args: &Args,
    ) -> R<Option<Var>> {
        if !self.is_asked(class) || !self.is_followed(class)? {
            return Ok(None);
        }
        let object = class.clone().into_any().unbind();
        let function = |tx: &mut Self, name: &str| -> R<Option<Obj>> {
            let found = tx.class_lookup(&object, name)?;
            let Some(found) = found else { return Ok(None) };
            let found = found.bind(tx.py);
            let inner = match found.get_type().is(&tx.known.staticmethod) {
                true => found.getattr("__func__")?,
                false => found.clone(),
            };
            Ok((inner.get_type().is(&tx.known.function)).then(|| inner.unbind()))
        };
        let made = match function(self, "__new__")? {
            Some(new) => {
                let mut given = args.clone();
                given.pos.insert(0, Var::py(object.clone()));
                self.call_sync(&Var::py(new), given)?
            }
            None => {
                let ([v], []) = (&args.pos[..], &args.kw[..]) else {
                    return Ok(None);
                };
                let Var::Tensor(t) = self.realize(v)? else {
                    return Ok(None);
                };
                if self.st.effects.meta(&t).dtype != self.ctx.default_dtype {
                    return Ok(None);
                }
                self.as_subclass(&t, class)?
            }
        };
        let made = self.realize(&made)?;
        if let Some(init) = function(self, "__init__")?
            && self.isinstance(&made, &Var::py(object.clone()))?
        {
            let mut given = args.clone();
            given.pos.insert(0, made.clone());
            self.call_sync(&Var::py(init), given)?;
        }
        Ok(Some(made))
    }
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
        if !wraps || !tx.may_hold_tensor(&made) {
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
    tx.of_class("make_subclass", &class, t, args, (records, true))
        .map(|v| Some(Flow::Value(v)))
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
