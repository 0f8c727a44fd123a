//! Objects with a `__torch_function__` as arguments of torch's functions.
//!
//! Which arguments torch asks, in what order, and what it hands them is torch's to say: the function is called
//! with stand-ins for the program's objects, the first of which only takes down what it is given.
//!
//! Invariant: no object of the program is seen by torch while translating, and no operation is run.

use std::collections::HashMap;

use bytecode::op::Op;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyTuple, PyType};
use torch_abi::contexts::modes_see_operations;
use translator::raw::type_lookup;
use translator::stop::{R, Stop};
use translator::torch_ops::function_modes::Asked;
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Obj, OrderedMap, Var};

/// Classes of stand-ins, and the call that is taken down.
const STAND_INS: &std::ffi::CStr = c"
class Told(BaseException):
    pass

def stand_in(base):
    class StandIn(base or object):
        @classmethod
        def __torch_function__(cls, *received):
            raise Told(received)
    return StandIn

def told(function, args, kwargs):
    try:
        if kwargs is None:
            function(*args)
        else:
            function(*args, **kwargs)
    except Told as e:
        return e.args[0]
    except Exception:
        return None
    return False

from torch.overrides import TorchFunctionMode

class Mode(TorchFunctionMode):
    def __torch_function__(self, *received):
        raise Told(received)

def told_to_mode(function, args, kwargs):
    with Mode():
        return told(function, args, kwargs)
";

variables::own_module! {
    static MODULE = (STAND_INS, c"<ferrodyn stand-ins>", c"ferrodyn_stand_ins");
}

/// What a call tells a mode that is in force.
pub(crate) enum Told {
    /// function, types, arguments, and keywords where torch has a dictionary for them
    Handed(Vec<Var>),
    /// nothing, but torch's Python code has called something that does
    Within,
    /// nothing: it ran
    Ran,
    /// it is not known
    Unknown,
}

/// A class of the program, and what stands for it.
struct StandIn<'py> {
    class: Bound<'py, PyType>,
    made: Bound<'py, PyAny>,
    /// the first object of the class among the arguments
    first: Option<Var>,
}

/// What stands for the values of a call, by address.
#[derive(Default)]
struct StandIns<'py> {
    /// the values
    values: HashMap<usize, Var>,
    /// classes of the program
    classes: Vec<StandIn<'py>>,
    /// keeps addresses
    held: Vec<Bound<'py, PyAny>>,
}

/// What the `__torch_function__` of an argument gives for a call. `None`: no argument has one, or torch does
/// not ask it.
///
/// # Errors
/// What it raises; the breaks that it comes to.
pub(crate) fn overridden_call(tx: &mut Tx<'_>, f: &Obj, args: &Args) -> R<Option<Flow>> {
    let mut stand = StandIns::default();
    let given = tx.args_as(args, |tx, v| in_place_of(tx, v, &mut stand))?;
    let Some((pos, kw)) = given else {
        return Ok(None);
    };
    // A mode of the program would see the call.
    if stand.classes.is_empty() || modes_see_operations(tx.py)? {
        return Ok(None);
    }
    let kw = match (kw, passes_keywords(tx)) {
        (Some(kw), _) => Some(kw),
        (None, Some(true)) => Some(PyDict::new(tx.py)),
        (None, Some(false)) => None,
        (None, None) => return Ok(None),
    };
    let told = stand_ins(tx)?.getattr("told")?;
    let told = told.call1((f, PyTuple::new(tx.py, pos)?, kw))?;
    let Ok(received) = told.cast::<PyTuple>() else {
        return Ok(None);
    };
    let mut handed = Vec::new();
    for part in received.iter() {
        match behind_stand_in(tx, &part, f, &stand)? {
            Some(v) => handed.push(v),
            None => return Ok(None),
        }
    }
    answer(tx, received, &stand, &handed).map(|v| Some(Flow::Value(v)))
}

/// What the first of the classes that torch asks answers.
///
/// # Errors
/// What they raise; a break where none answers, which torch refuses.
fn answer<'py>(
    tx: &mut Tx<'py>,
    received: &Bound<'py, PyTuple>,
    stand: &StandIns<'py>,
    handed: &[Var],
) -> R<Var> {
    let asked = received.get_item(1)?;
    for class in asked.cast::<PyTuple>().map_err(PyErr::from)?.iter() {
        // `torch.Tensor` itself leaves the call to the others.
        let known = stand.classes.iter().find(|c| c.made.is(&class));
        let Some(first) = known.and_then(|c| c.first.as_ref()) else {
            continue;
        };
        if let Some(given) = hand_to_class(tx, first, handed)? {
            return Ok(given);
        }
    }
    Err(Stop::unsupported(
        "a call that every `__torch_function__` leaves to others",
    ))
}

/// What the `__torch_function__` of a value answers to a call; `None` where it leaves it to others.
///
/// # Errors
/// What it raises; the breaks that it comes to.
pub(crate) fn hand_to_class(tx: &mut Tx<'_>, v: &Var, handed: &[Var]) -> R<Option<Var>> {
    let v = tx.realize(v)?;
    let of = match &v {
        Var::Tensor(t) => Var::py(t.class.clone()),
        _ => v,
    };
    let ask = tx.getattr_sync(&of, &"__torch_function__".into())?;
    let given = tx.call_sync(&ask, Args::pos(handed.to_vec()))?;
    if given.is_dynamic_number() {
        return Ok(Some(given));
    }
    let given = tx.realize(&given)?;
    Ok((!tx.is_not_implemented(&given)).then_some(given))
}

/// Asks the classes of tensors among the arguments about a call. `None` where torch does not say what it hands
/// them.
///
/// # Errors
/// What they raise; the breaks that they come to.
pub(crate) fn ask_classes<'py>(
    tx: &mut Tx<'py>,
    f: &Bound<'py, PyAny>,
    args: &Args,
) -> R<Option<Asked>> {
    let mut stand = StandIns::default();
    let given = tx.args_as(args, |tx, v| in_place_of(tx, v, &mut stand))?;
    // A mode that is in force would see the call.
    let (Some((pos, kw)), false) = (given, modes_see_operations(tx.py)?) else {
        return Ok(None);
    };
    let named = passes_keywords(tx) == Some(true);
    let kw = kw.or_else(|| named.then(|| PyDict::new(tx.py)));
    let told = stand_ins(tx)?.getattr("told")?;
    let told = told.call1((f, PyTuple::new(tx.py, pos)?, kw))?;
    let Ok(received) = told.cast::<PyTuple>() else {
        return Ok((!told.is_none()).then_some(Asked::Unseen));
    };
    let Some(handed) = handed_call(tx, received, f, &stand)? else {
        return Ok(None);
    };
    match handed {
        Told::Handed(handed) => {
            let given = answer(tx, received, &stand, &handed)?;
            Ok(Some(Asked::Answer(given)))
        }
        _ => Ok(Some(Asked::Within)),
    }
}

/// What a call hands on, where torch asks about the very function; `None` where it is not known.
fn handed_call<'py>(
    tx: &mut Tx<'py>,
    received: &Bound<'py, PyTuple>,
    f: &Bound<'py, PyAny>,
    stand: &StandIns<'py>,
) -> R<Option<Told>> {
    let asked = received.get_item(0)?;
    if !asked.is(f) && f.get_type().is(&tx.known.function) {
        return Ok(Some(Told::Within));
    }
    let mut handed = vec![Var::py(asked.unbind())];
    for part in received.iter().skip(1) {
        match behind_stand_in(tx, &part, f.as_unbound(), stand)? {
            Some(v) => handed.push(v),
            None => return Ok(None),
        }
    }
    Ok(Some(Told::Handed(handed)))
}

/// What torch hands to a mode for a call.
///
/// # Errors
/// Those of looking at the arguments.
pub(crate) fn told_to_mode<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> R<Told> {
    let mut stand = StandIns::default();
    let given = tx.args_as(args, |tx, v| in_place_of(tx, v, &mut stand))?;
    let Some((pos, kw)) = given else {
        return Ok(Told::Unknown);
    };
    // A device hands on what it was handed with a dictionary.
    let named = crate::function_modes::is_under_device(tx) || passes_keywords(tx) == Some(true);
    let kw = kw.or_else(|| named.then(|| PyDict::new(tx.py)));
    let told = stand_ins(tx)?.getattr("told_to_mode")?;
    let told = told.call1((f, PyTuple::new(tx.py, pos)?, kw))?;
    let Ok(received) = told.cast::<PyTuple>() else {
        return Ok(match told.is_none() {
            true => Told::Unknown,
            false => Told::Ran,
        });
    };
    let handed = handed_call(tx, received, f, &stand)?;
    Ok(handed.unwrap_or(Told::Unknown))
}

/// Whether the call passes a dictionary of keywords, which torch hands on even if it is empty. `None`: it is
/// no call of the program's code.
fn passes_keywords(tx: &Tx<'_>) -> Option<bool> {
    let frame = &tx.st.frame;
    match frame.code.body.instrs.get(frame.ip)?.op {
        Op::Call { .. } | Op::CallKw { .. } => Some(false),
        Op::CallEx { kwargs } => Some(kwargs),
        _ => None,
    }
}

fn stand_ins<'py>(tx: &Tx<'py>) -> PyResult<Bound<'py, PyAny>> {
    MODULE.get(tx.py)
}

/// What stands for a value in a call that only asks who answers it; `None` where nothing does.
fn in_place_of<'py>(
    tx: &mut Tx<'py>,
    v: &Var,
    stand: &mut StandIns<'py>,
) -> R<Option<Bound<'py, PyAny>>> {
    let v = tx.look(v)?;
    let made = match &v {
        // A number of its own, which no other is taken for.
        Var::Int(n) => PyInt::new(tx.py, i64::MAX - n.value.abs()).into_any(),
        Var::Float(n) => PyFloat::new(tx.py, n.value).into_any(),
        Var::Tensor(t) => {
            let made = tx.known.torch.bind(tx.py).call_method1("empty", (0,))?;
            if t.class.is(&tx.known.tensor) {
                made
            } else if tx.known.tensor_types.contains(&(t.class.as_ptr() as usize)) {
                t.class.bind(tx.py).call1((made, false))?
            } else if tx.is_subclass(t) {
                let class = t.class.bind(tx.py).cast::<PyType>();
                let class = class.map_err(PyErr::from)?.clone();
                let Some(i) = class_in_place_of(tx, &class, stand)? else {
                    return Ok(None);
                };
                let class = &mut stand.classes[i];
                class.first.get_or_insert_with(|| v.clone());
                made.call_method1("as_subclass", (&class.made,))?
            } else {
                return Ok(None);
            }
        }
        Var::Const(o) => {
            let o = o.bind(tx.py).clone();
            if !tx.stays_in_c(&o)? {
                return Ok(None);
            }
            o
        }
        Var::Tuple(t)
            if t.class.is_none() || t.class.as_ref().is_some_and(|c| c.is(&tx.known.size)) =>
        {
            let items = all_in_place_of(tx, t.items.iter(), stand)?;
            let Some(items) = items else { return Ok(None) };
            let made = PyTuple::new(tx.py, items)?.into_any();
            match &t.class {
                Some(class) => class.bind(tx.py).call1((made,))?,
                None => made,
            }
        }
        Var::Slice(parts) => {
            let parts = all_in_place_of(tx, parts.iter(), stand)?;
            let Some(parts) = parts else { return Ok(None) };
            let slice = tx.known.slice.bind(tx.py);
            slice.call1(PyTuple::new(tx.py, parts)?)?
        }
        Var::Py(p) if tx.stays_in_c(&p.obj.bind(tx.py).clone())? => p.obj.bind(tx.py).clone(),
        Var::Obj(id) if tx.obj(*id).class.is(&tx.known.list) => {
            let Body::List(items) = tx.obj(*id).body.clone() else {
                return Ok(None);
            };
            let items = all_in_place_of(tx, items.iter(), stand)?;
            let Some(items) = items else { return Ok(None) };
            PyList::new(tx.py, items)?.into_any()
        }
        Var::Obj(_) => {
            let class = tx.type_of(&v)?;
            let class = class.bind(tx.py).cast::<PyType>().map_err(PyErr::from)?;
            let Some(i) = class_in_place_of(tx, class, stand)? else {
                return Ok(None);
            };
            let class = &mut stand.classes[i];
            class.first.get_or_insert_with(|| v.clone());
            class.made.call0()?
        }
        _ => return Ok(None),
    };
    stand.values.entry(made.as_ptr() as usize).or_insert(v);
    stand.held.push(made.clone());
    Ok(Some(made))
}

fn all_in_place_of<'py, 'a>(
    tx: &mut Tx<'py>,
    items: impl Iterator<Item = &'a Var>,
    stand: &mut StandIns<'py>,
) -> R<Option<Vec<Bound<'py, PyAny>>>> {
    let mut out = Vec::new();
    for item in items {
        match in_place_of(tx, item, stand)? {
            Some(o) => out.push(o),
            None => return Ok(None),
        }
    }
    Ok(Some(out))
}

/// What stands for a class whose objects answer for torch; `None` where they do not, or torch warns. Those of a
/// class that derives from another one are asked first, so its stand-in does as well.
fn class_in_place_of<'py>(
    tx: &Tx<'py>,
    class: &Bound<'py, PyType>,
    stand: &mut StandIns<'py>,
) -> R<Option<usize>> {
    if let Some(known) = stand.classes.iter().position(|c| c.class.is(class)) {
        return Ok(Some(known));
    }
    let Some(raw) = type_lookup(class, "__torch_function__") else {
        return Ok(None);
    };
    let kind = raw.bind(tx.py).get_type();
    if kind.name()? != "classmethod" && kind.name()? != "staticmethod" {
        return Ok(None);
    }
    let mut base = tx.py.None().into_bound(tx.py);
    for parent in class.bases().iter() {
        let parent = parent.cast_into::<PyType>().map_err(PyErr::from)?;
        if type_lookup(&parent, "__torch_function__").is_none() {
            continue;
        }
        let is_torchs = (tx.known.tensor_types).contains(&(parent.as_ptr() as usize));
        if is_torchs && base.is_none() {
            base = parent.into_any();
            continue;
        }
        match class_in_place_of(tx, &parent, stand)? {
            Some(i) if base.is_none() => base = stand.classes[i].made.clone(),
            _ => return Ok(None),
        }
    }
    stand.classes.push(StandIn {
        class: class.clone(),
        made: stand_ins(tx)?.call_method1("stand_in", (base,))?,
        first: None,
    });
    Ok(Some(stand.classes.len() - 1))
}

/// What the program gets for what a stand-in was handed.
fn behind_stand_in<'py>(
    tx: &mut Tx<'py>,
    part: &Bound<'py, PyAny>,
    f: &Obj,
    stand: &StandIns<'py>,
) -> R<Option<Var>> {
    if let Some(v) = stand.values.get(&(part.as_ptr() as usize)) {
        return Ok(Some(v.clone()));
    }
    if let Some(known) = stand.classes.iter().find(|c| c.made.is(part)) {
        return Ok(Some(Var::py(known.class.clone().into_any().unbind())));
    }
    let is_tensor_class =
        |p: &Bound<'py, PyAny>| tx.known.tensor_types.contains(&(p.as_ptr() as usize));
    if part.is(f) || is_tensor_class(part) {
        return Ok(Some(Var::py(part.clone().unbind())));
    }
    if let Ok(items) = part.cast_exact::<PyTuple>() {
        let mut out = Vec::new();
        for item in items.iter() {
            match behind_stand_in(tx, &item, f, stand)? {
                Some(v) => out.push(v),
                None => return Ok(None),
            }
        }
        return Ok(Some(Var::tuple(out)));
    }
    if let Ok(named) = part.cast_exact::<PyDict>() {
        let mut map = OrderedMap::default();
        for (name, v) in named.iter() {
            let name = tx.from_const(name)?;
            let Some(v) = behind_stand_in(tx, &v, f, stand)? else {
                return Ok(None);
            };
            map.insert(tx.key(&name)?, name, v);
        }
        return Ok(Some(tx.new_dict(map)));
    }
    let plain = tx.known.is_const_type(part.get_type().as_any());
    match plain {
        true => tx.from_const(part.clone()).map(Some),
        false => Ok(None),
    }
}
