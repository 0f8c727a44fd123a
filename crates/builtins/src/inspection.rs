//! `inspect.signature` of functions and classes, how `contextlib` looks methods up, what derives from a class.
//!
//! A signature is made of what is guarded anyway: the code object, and the defaults. So Python's own
//! function answers while translating, and the answer is a constant. Its parts are read by
//! `inspect`'s own Python, which is inlined.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::R;
use translator::tx::{Args, Tx};
use variables::{Obj, Var};

pub(crate) const RULES: RuleList = &[
    (
        "inspect",
        &[
            ("signature", signature as Rule),
            ("_signature_from_callable", signature),
        ],
    ),
    ("contextlib", &[("_lookup_special", lookup_special)]),
];

/// Keeps none of the classes alive.
const SUBCLASSES: &std::ffi::CStr = c"
import weakref

def has(found):
    refs = [weakref.ref(cls) for cls in found]
    def has_the_same_subclasses(cls):
        now = type.__subclasses__(cls)
        return len(now) == len(refs) and all(ref() is cls for ref, cls in zip(refs, now))
    return has_the_same_subclasses
";

variables::own_module! {
    static SUBCLASSES_MODULE = (SUBCLASSES, c"<ferrodyn derived>", c"ferrodyn_derived");
}

/// `class.__subclasses__()`, guarded to be the same classes.
///
/// # Errors
/// Those of asking the class.
pub(crate) fn subclasses(tx: &mut Tx<'_>, class: &Obj) -> R<Var> {
    let found = class.bind(tx.py).call_method0("__subclasses__")?;
    let holds = SUBCLASSES_MODULE
        .get(tx.py)?
        .call_method1("has", (&found,))?;
    let source = tx.class_source(class);
    let now = holds.call1((class,))?;
    tx.guard_call(&holds.unbind(), Some(source), &[], &now)?;
    let mut items = Vec::new();
    for subclass in found.try_iter()? {
        items.push(Var::py(subclass?.unbind()));
    }
    Ok(tx.new_list(items))
}

/// A special method of an object's class, bound to the object; a default where the class has none.
fn lookup_special(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 3, 3)?;
    let (obj, method) = (tx.realize(&a[0])?, tx.attr_name(&a[1])?);
    let class = tx.type_of(&obj)?;
    if tx.class_lookup(&class, &method)?.is_none() {
        // A metaclass may have it.
        let plain = class.bind(tx.py).get_type().is(tx.known.type_.bind(tx.py));
        return match plain {
            true => value(a[2].clone()),
            false => Ok(None),
        };
    }
    let object = tx.known.object.clone();
    let own = tx.class_lookup(&class, "__getattribute__")?;
    let usual = tx.class_lookup(&object, "__getattribute__")?;
    let is_usual = own.zip(usual).is_some_and(|(own, usual)| own.is(&usual));
    // An attribute of the object comes before its class for `getattr` only.
    if !is_usual || tx.instance_dict_attr(&obj, &method)?.is_some() {
        return Ok(None);
    }
    tx.getattr(&obj, &method).map(Some)
}

/// The signature of a function or class, by `inspect.signature` or by what that is made of.
fn signature(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    if args.pos.len() != 1 {
        return Ok(None);
    }
    let options = PyDict::new(tx.py);
    for (option, v) in std::mem::take(&mut args.kw) {
        match tx.realize(&v)? {
            Var::Const(o) => options.set_item(&*option, o)?,
            // The class of signatures.
            Var::Py(p) if &*option == "sigcls" => options.set_item(&*option, &p.obj)?,
            _ => return Ok(None),
        }
    }
    let f = tx.realize(&args.pos[0])?;
    let (func, bound) = match &f {
        Var::Method(m) => (tx.realize(&m.func)?, true),
        _ => (f, false),
    };
    let Var::Py(p) = &func else { return Ok(None) };
    let b = p.obj.bind(tx.py).clone();
    if let Ok(class) = b.cast::<PyType>() {
        // A metaclass that takes part in calls may have a signature of its own.
        if !class.get_type().is(tx.known.type_.bind(tx.py)) || b.hasattr("__signature__")? {
            return Ok(None);
        }
    } else if !is_plain(tx, &b)? {
        return Ok(None);
    }
    if b.get_type().is(tx.known.function.bind(tx.py)) {
        let callee = tx.existing_callee(&b, p.source)?;
        let kw = callee.kwdefaults.into_iter().map(|d| d.1);
        for v in callee.defaults.into_iter().chain(kw) {
            tx.realize(&v)?;
        }
    }
    let target: Obj = if bound {
        // The receiver is no part of a method's signature.
        let method = tx.known.method.bind(tx.py);
        method.call1((b, tx.known.object.call0(tx.py)?))?.unbind()
    } else {
        b.unbind()
    };
    let inspect = tx.py.import("inspect")?;
    value(tx.fold(move |_| inspect.call_method(name, (target,), Some(&options)))?)
}

/// Whether a callable is a Python function, and so is whatever it wraps.
fn is_plain(tx: &Tx<'_>, f: &Bound<'_, PyAny>) -> R<bool> {
    let mut f = f.clone();
    for _ in 0..100 {
        if !f.get_type().is(tx.known.function.bind(tx.py)) || f.hasattr("__signature__")? {
            return Ok(false);
        }
        if !f.hasattr("__wrapped__")? {
            return Ok(true);
        }
        f = f.getattr("__wrapped__")?;
    }
    Ok(false)
}
