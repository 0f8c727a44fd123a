//! Objects with a `__torch_function__` as arguments of torch's functions.
//!
//! Which arguments torch asks, in what order, and what it hands them is torch's to say: the function is called
//! with stand-ins for the program's objects, the first of which only takes down what it is given.
//!
//! Invariant: no object of the program is seen by torch while translating, and no operation is run.

use std::collections::HashMap;

use backends::Numbers;
use bytecode::op::Op;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyModule, PyTuple, PyType};
use variables::{Body, Obj, OrderedMap, Var};

use super::function_modes::Asked;
use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

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

static ASKED: PyOnceLock<Obj> = PyOnceLock::new();

/// What a call tells a mode that is in force.
pub(super) enum Told {
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

impl<'py> Tx<'py> {
    /// What the `__torch_function__` of an argument gives for a call. `None`: no argument has one, or torch does
    /// not ask it.
    ///
    /// # Errors
    /// What it raises; the breaks that it comes to.
    pub(super) fn overridden_call(&mut self, f: &Obj, args: &Args) -> R<Option<Flow>> {
        let mut stand = StandIns::default();
        let given = self.args_as(args, |tx, v| tx.in_place_of(v, &mut stand))?;
        let Some((pos, kw)) = given else {
            return Ok(None);
        };
        // A mode of the program would see the call.
        if stand.classes.is_empty() || Numbers::now(self.py)? != Numbers::AsTensors {
            return Ok(None);
        }
        let kw = match (kw, self.passes_keywords()) {
            (Some(kw), _) => Some(kw),
            (None, Some(true)) => Some(PyDict::new(self.py)),
            (None, Some(false)) => None,
            (None, None) => return Ok(None),
        };
        let told = self.stand_ins()?.getattr("told")?;
        let told = told.call1((f, PyTuple::new(self.py, pos)?, kw))?;
        let Ok(received) = told.cast::<PyTuple>() else {
            return Ok(None);
        };
        let mut handed = Vec::new();
        for part in received.iter() {
            match self.handed(&part, f, &stand)? {
                Some(v) => handed.push(v),
                None => return Ok(None),
            }
        }
        self.answer(received, &stand, &handed)
            .map(|v| Some(Flow::Value(v)))
    }

    /// What the first of the classes that torch asks answers.
    ///
    /// # Errors
    /// What they raise; a break where none answers, which torch refuses.
    fn answer(
        &mut self,
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
            if let Some(given) = self.hand_to_class(first, handed)? {
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
    pub(super) fn hand_to_class(&mut self, v: &Var, handed: &[Var]) -> R<Option<Var>> {
        let v = self.realize(v)?;
        let of = match &v {
            Var::Tensor(t) => Var::py(t.class.clone()),
            _ => v,
        };
        let ask = self.getattr_sync(&of, &"__torch_function__".into())?;
        let given = self.call_sync(&ask, Args::pos(handed.to_vec()))?;
        if given.is_dynamic_number() {
            return Ok(Some(given));
        }
        let given = self.realize(&given)?;
        Ok((!self.is_not_implemented(&given)).then_some(given))
    }

    /// Asks the classes of tensors among the arguments about a call. `None` where torch does not say what it hands
    /// them.
    ///
    /// # Errors
    /// What they raise; the breaks that they come to.
    pub(super) fn ask_classes(&mut self, f: &Bound<'py, PyAny>, args: &Args) -> R<Option<Asked>> {
        let mut stand = StandIns::default();
        let given = self.args_as(args, |tx, v| tx.in_place_of(v, &mut stand))?;
        // A mode that is in force would see the call.
        let (Some((pos, kw)), Numbers::AsTensors) = (given, Numbers::now(self.py)?) else {
            return Ok(None);
        };
        let named = self.passes_keywords() == Some(true);
        let kw = kw.or_else(|| named.then(|| PyDict::new(self.py)));
        let told = self.stand_ins()?.getattr("told")?;
        let told = told.call1((f, PyTuple::new(self.py, pos)?, kw))?;
        let Ok(received) = told.cast::<PyTuple>() else {
            return Ok((!told.is_none()).then_some(Asked::Unseen));
        };
        let Some(handed) = self.handed_call(received, f, &stand)? else {
            return Ok(None);
        };
        match handed {
            Told::Handed(handed) => {
                let given = self.answer(received, &stand, &handed)?;
                Ok(Some(Asked::Answer(given)))
            }
            _ => Ok(Some(Asked::Within)),
        }
    }

    /// What a call hands on, where torch asks about the very function; `None` where it is not known.
    fn handed_call(
        &mut self,
        received: &Bound<'py, PyTuple>,
        f: &Bound<'py, PyAny>,
        stand: &StandIns<'py>,
    ) -> R<Option<Told>> {
        let asked = received.get_item(0)?;
        if !asked.is(f) && f.get_type().is(&self.known.function) {
            return Ok(Some(Told::Within));
        }
        let mut handed = vec![Var::py(asked.unbind())];
        for part in received.iter().skip(1) {
            match self.handed(&part, f.as_unbound(), stand)? {
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
    pub(super) fn told_to_mode(&mut self, f: &Bound<'py, PyAny>, args: &Args) -> R<Told> {
        let mut stand = StandIns::default();
        let given = self.args_as(args, |tx, v| tx.in_place_of(v, &mut stand))?;
        let Some((pos, kw)) = given else {
            return Ok(Told::Unknown);
        };
        // A device hands on what it was handed with a dictionary.
        let named = self.is_under_device() || self.passes_keywords() == Some(true);
        let kw = kw.or_else(|| named.then(|| PyDict::new(self.py)));
        let told = self.stand_ins()?.getattr("told_to_mode")?;
        let told = told.call1((f, PyTuple::new(self.py, pos)?, kw))?;
        let Ok(received) = told.cast::<PyTuple>() else {
            return Ok(match told.is_none() {
                true => Told::Unknown,
                false => Told::Ran,
            });
        };
        let handed = self.handed_call(received, f, &stand)?;
        Ok(handed.unwrap_or(Told::Unknown))
    }

    /// Whether the call passes a dictionary of keywords, which torch hands on even if it is empty. `None`: it is
    /// no call of the program's code.
    fn passes_keywords(&self) -> Option<bool> {
        let frame = &self.st.frame;
        match frame.code.body.instrs.get(frame.ip)?.op {
            Op::Call { .. } | Op::CallKw { .. } => Some(false),
            Op::CallEx { kwargs } => Some(kwargs),
            _ => None,
        }
    }

    fn stand_ins(&self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let module = ASKED.get_or_try_init(py, || -> PyResult<Obj> {
            let file = c"<ferrodyn stand-ins>";
            let module = PyModule::from_code(py, STAND_INS, file, c"ferrodyn_stand_ins")?;
            Ok(module.into_any().unbind())
        })?;
        Ok(module.bind(py).clone())
    }

    /// What stands for a value in a call that only asks who answers it; `None` where nothing does.
    fn in_place_of(&mut self, v: &Var, stand: &mut StandIns<'py>) -> R<Option<Bound<'py, PyAny>>> {
        let v = self.look(v)?;
        let made = match &v {
            // A number of its own, which no other is taken for.
            Var::Int(n) => PyInt::new(self.py, i64::MAX - n.value.abs()).into_any(),
            Var::Float(n) => PyFloat::new(self.py, n.value).into_any(),
            Var::Tensor(t) => {
                let made = self.known.torch.bind(self.py).call_method1("empty", (0,))?;
                if t.class.is(&self.known.tensor) {
                    made
                } else if self
                    .known
                    .tensor_types
                    .contains(&(t.class.as_ptr() as usize))
                {
                    t.class.bind(self.py).call1((made, false))?
                } else if self.is_subclass(t) {
                    let class = t.class.bind(self.py).cast::<PyType>();
                    let class = class.map_err(PyErr::from)?.clone();
                    let Some(i) = self.class_in_place_of(&class, stand)? else {
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
                let o = o.bind(self.py).clone();
                if !self.stays_in_c(&o)? {
                    return Ok(None);
                }
                o
            }
            Var::Tuple(t)
                if t.class.is_none()
                    || t.class.as_ref().is_some_and(|c| c.is(&self.known.size)) =>
            {
                let items = self.all_in_place_of(t.items.iter(), stand)?;
                let Some(items) = items else { return Ok(None) };
                let made = PyTuple::new(self.py, items)?.into_any();
                match &t.class {
                    Some(class) => class.bind(self.py).call1((made,))?,
                    None => made,
                }
            }
            Var::Slice(parts) => {
                let parts = self.all_in_place_of(parts.iter(), stand)?;
                let Some(parts) = parts else { return Ok(None) };
                let slice = self.known.slice.bind(self.py);
                slice.call1(PyTuple::new(self.py, parts)?)?
            }
            Var::Py(p) if self.stays_in_c(&p.obj.bind(self.py).clone())? => {
                p.obj.bind(self.py).clone()
            }
            Var::Obj(id) if self.obj(*id).class.is(&self.known.list) => {
                let Body::List(items) = self.obj(*id).body.clone() else {
                    return Ok(None);
                };
                let items = self.all_in_place_of(items.iter(), stand)?;
                let Some(items) = items else { return Ok(None) };
                PyList::new(self.py, items)?.into_any()
            }
            Var::Obj(_) => {
                let class = self.type_of(&v)?;
                let class = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
                let Some(i) = self.class_in_place_of(class, stand)? else {
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

    fn all_in_place_of<'a>(
        &mut self,
        items: impl Iterator<Item = &'a Var>,
        stand: &mut StandIns<'py>,
    ) -> R<Option<Vec<Bound<'py, PyAny>>>> {
        let mut out = Vec::new();
        for item in items {
            match self.in_place_of(item, stand)? {
                Some(o) => out.push(o),
                None => return Ok(None),
            }
        }
        Ok(Some(out))
    }

    /// What stands for a class whose objects answer for torch; `None` where they do not, or torch warns. Those of a
    /// class that derives from another one are asked first, so its stand-in does as well.
    fn class_in_place_of(
        &self,
        class: &Bound<'py, PyType>,
        stand: &mut StandIns<'py>,
    ) -> R<Option<usize>> {
        if let Some(known) = stand.classes.iter().position(|c| c.class.is(class)) {
            return Ok(Some(known));
        }
        let Some(raw) = type_lookup(class, "__torch_function__") else {
            return Ok(None);
        };
        let kind = raw.bind(self.py).get_type();
        if kind.name()? != "classmethod" && kind.name()? != "staticmethod" {
            return Ok(None);
        }
        let mut base = self.py.None().into_bound(self.py);
        for parent in class.bases().iter() {
            let parent = parent.cast_into::<PyType>().map_err(PyErr::from)?;
            if type_lookup(&parent, "__torch_function__").is_none() {
                continue;
            }
            let is_torchs = (self.known.tensor_types).contains(&(parent.as_ptr() as usize));
            if is_torchs && base.is_none() {
                base = parent.into_any();
                continue;
            }
            match self.class_in_place_of(&parent, stand)? {
                Some(i) if base.is_none() => base = stand.classes[i].made.clone(),
                _ => return Ok(None),
            }
        }
        stand.classes.push(StandIn {
            class: class.clone(),
            made: self.stand_ins()?.call_method1("stand_in", (base,))?,
            first: None,
        });
        Ok(Some(stand.classes.len() - 1))
    }

    /// What the program gets for what a stand-in was handed.
    fn handed(
        &mut self,
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
            |p: &Bound<'py, PyAny>| self.known.tensor_types.contains(&(p.as_ptr() as usize));
        if part.is(f) || is_tensor_class(part) {
            return Ok(Some(Var::py(part.clone().unbind())));
        }
        if let Ok(items) = part.cast_exact::<PyTuple>() {
            let mut out = Vec::new();
            for item in items.iter() {
                match self.handed(&item, f, stand)? {
                    Some(v) => out.push(v),
                    None => return Ok(None),
                }
            }
            return Ok(Some(Var::tuple(out)));
        }
        if let Ok(named) = part.cast_exact::<PyDict>() {
            let mut map = OrderedMap::default();
            for (name, v) in named.iter() {
                let name = self.from_const(name)?;
                let Some(v) = self.handed(&v, f, stand)? else {
                    return Ok(None);
                };
                map.insert(self.key(&name)?, name, v);
            }
            return Ok(Some(self.new_dict(map)));
        }
        let plain = self.known.is_const_type(part.get_type().as_any());
        match plain {
            true => self.from_const(part.clone()).map(Some),
            false => Ok(None),
        }
    }
}
