//! Runs a graph without generated code: each operation is called by the vectorcall protocol
//! (PEP 590) straight from here.
//!
//! Making one costs a fraction of a microsecond a node, where compiling Python source costs ten; a
//! run costs what the same function in bytecode does.
//!
//! Invariant: a pointer handed to a call is borrowed from a slot, a constant or a temporary that
//! lives until the call returned.

use fx_graph::{Arg, Graph, NodeId, OpKind, Target};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis, PyList, PySlice, PyString, PyTuple};
use pyo3::{PyTypeInfo, ffi};

use crate::to_torch::Attrs;

/// A graph as a callable: positional arguments are the placeholders in order.
#[pyclass(frozen, module = "ferrodyn", name = "Graph")]
pub struct NativeGraph {
    inputs: Vec<Input>,
    steps: Vec<Step>,
    slots: usize,
    result: Operand,
}

struct Input {
    name: Py<PyString>,
    default: Option<Operand>,
}

enum Operand {
    Slot(u32),
    Const(Py<PyAny>),
    Tuple(Vec<Operand>),
    List(Vec<Operand>),
    Dict(Vec<(Operand, Operand)>),
    Slice(Box<[Operand; 3]>),
}

enum Callee {
    Function(Py<PyAny>),
    /// A method of the first argument.
    Method(Py<PyString>),
}

struct Step {
    callee: Callee,
    /// Positional arguments, then keyword arguments.
    args: Vec<Operand>,
    keywords: Option<Py<PyTuple>>,
    out: u32,
    /// Slots whose value is not used after this step.
    free: Vec<u32>,
}

/// The values of a run.
type Slots<'py> = [Option<Bound<'py, PyAny>>];

impl NativeGraph {
    /// Prepares a graph to run. `objects` resolves handles, `attrs` the attributes that nodes name.
    ///
    /// # Errors
    /// `KeyError` for a handle or an attribute that was not given, `ValueError` for a graph that
    /// takes `*args`.
    pub fn new(
        py: Python<'_>,
        graph: &Graph,
        objects: &[Py<PyAny>],
        attrs: &Attrs,
    ) -> PyResult<NativeGraph> {
        graph.debug_verify();
        let mut builder = Builder {
            py,
            objects,
            places: Vec::new(),
            slots: 0,
        };
        builder.places.resize_with(graph.id_bound(), || Place::None);
        let attr = |path: &str| {
            attrs
                .iter()
                .find(|(known, _)| **known == *path)
                .map(|(_, value)| value.clone_ref(py))
                .ok_or_else(|| PyKeyError::new_err(format!("no attribute {path}")))
        };
        let mut inputs = Vec::with_capacity(graph.placeholders().len());
        let mut steps = Vec::with_capacity(graph.op_count());
        let mut result = Operand::Const(py.None());
        for (id, node) in graph.iter() {
            let name = node.target.name();
            let callee = match (&node.target, node.op) {
                (Target::Function(function), _) => {
                    Callee::Function(builder.object(function.handle)?)
                }
                (_, OpKind::Placeholder) => {
                    let name = name.map_or("", |name| name);
                    if name.starts_with('*') {
                        return Err(PyValueError::new_err(format!("variadic input {name}")));
                    }
                    let default = node.args.first().map(|arg| builder.operand(arg));
                    builder.new_slot(id);
                    inputs.push(Input {
                        name: PyString::new(py, name).unbind(),
                        default: default.transpose()?,
                    });
                    continue;
                }
                (_, OpKind::Output) => {
                    result = builder.operand(node.args.first().unwrap_or(&Arg::None))?;
                    continue;
                }
                (Target::Name(name), OpKind::GetAttr) => {
                    builder.places[id.index()] = Place::Const(attr(name)?);
                    continue;
                }
                (Target::Name(name), OpKind::CallModule) => Callee::Function(attr(name)?),
                (Target::Name(name), _) => Callee::Method(PyString::intern(py, name).unbind()),
            };
            let mut args = Vec::with_capacity(node.args.len() + node.kwargs.len());
            for arg in node
                .args
                .iter()
                .chain(node.kwargs.iter().map(|(_, arg)| arg))
            {
                args.push(builder.operand(arg)?);
            }
            let keywords = match node.kwargs.is_empty() {
                true => None,
                false => {
                    let names = node.kwargs.iter().map(|(key, _)| PyString::intern(py, key));
                    Some(PyTuple::new(py, names.collect::<Vec<_>>())?.unbind())
                }
            };
            steps.push(Step {
                callee,
                args,
                keywords,
                out: builder.new_slot(id),
                free: Vec::new(),
            });
        }
        free_after_last_use(&mut steps, &result, builder.slots);
        Ok(NativeGraph {
            inputs,
            steps,
            slots: builder.slots as usize,
            result,
        })
    }

    fn run<'py>(&self, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let mut slots: Vec<Option<Bound<'py, PyAny>>> = Vec::with_capacity(self.slots);
        for value in args.iter_borrowed() {
            slots.push(Some(value.to_owned()));
        }
        if slots.len() != self.inputs.len() {
            self.add_defaults(py, &mut slots)?;
        }
        slots.resize_with(self.slots, || None);
        let mut call = Vec::with_capacity(16);
        for step in &self.steps {
            let value = step.run(py, &slots, &mut call)?;
            slots[step.out as usize] = Some(value);
            for &slot in &step.free {
                slots[slot as usize] = None;
            }
        }
        self.result.value(py, &slots)
    }

    fn add_defaults<'py>(
        &self,
        py: Python<'py>,
        slots: &mut Vec<Option<Bound<'py, PyAny>>>,
    ) -> PyResult<()> {
        if slots.len() > self.inputs.len() {
            return Err(PyTypeError::new_err(format!(
                "the graph takes {} arguments, not {}",
                self.inputs.len(),
                slots.len()
            )));
        }
        for input in &self.inputs[slots.len()..] {
            let Some(default) = &input.default else {
                return Err(PyTypeError::new_err(format!(
                    "the graph misses its argument {}",
                    input.name
                )));
            };
            let value = default.value(py, slots)?;
            slots.push(Some(value));
        }
        Ok(())
    }
}

#[pymethods]
impl NativeGraph {
    #[pyo3(signature = (*args))]
    fn __call__<'py>(&self, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        self.run(args)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for input in &self.inputs {
            if let Some(default) = &input.default {
                default.traverse(&visit)?;
            }
        }
        for step in &self.steps {
            if let Callee::Function(function) = &step.callee {
                visit.call(function)?;
            }
            for arg in &step.args {
                arg.traverse(&visit)?;
            }
        }
        self.result.traverse(&visit)
    }
}

impl Step {
    /// `call` is scratch space, emptied here.
    fn run<'py>(
        &self,
        py: Python<'py>,
        slots: &Slots<'py>,
        call: &mut Vec<*mut ffi::PyObject>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Lives until the call returned; the pointers below borrow from it.
        let mut built: Vec<Bound<'py, PyAny>> = Vec::new();
        call.clear();
        // The protocol lets a callee use the place before the first argument.
        call.push(std::ptr::null_mut());
        for arg in &self.args {
            call.push(match arg {
                Operand::Slot(slot) => slot_value(slots, *slot)?.as_ptr(),
                Operand::Const(value) => value.as_ptr(),
                aggregate => {
                    let value = aggregate.value(py, slots)?;
                    let pointer = value.as_ptr();
                    built.push(value);
                    pointer
                }
            });
        }
        let (keywords, keyword_count) = match &self.keywords {
            Some(names) => (names.as_ptr(), names.bind(py).len()),
            None => (std::ptr::null_mut(), 0),
        };
        let count = (self.args.len() - keyword_count) | ffi::PY_VECTORCALL_ARGUMENTS_OFFSET;
        // SAFETY: `call` holds the spare place and then one valid pointer for each argument,
        // borrowed from `slots`, `self` or `built`, which all outlive the call; `keywords` is null
        // or a tuple of as many strings as there are arguments after the positional ones; the GIL
        // is held; the result is a new reference, or null with an exception set.
        let result = unsafe {
            let args = call.as_ptr().add(1);
            let result = match &self.callee {
                Callee::Function(function) => {
                    ffi::PyObject_Vectorcall(function.as_ptr(), args, count, keywords)
                }
                Callee::Method(name) => {
                    ffi::PyObject_VectorcallMethod(name.as_ptr(), args, count, keywords)
                }
            };
            Bound::from_owned_ptr_or_err(py, result)
        };
        drop(built);
        result
    }
}

fn slot_value<'a, 'py>(slots: &'a Slots<'py>, slot: u32) -> PyResult<&'a Bound<'py, PyAny>> {
    slots
        .get(slot as usize)
        .and_then(Option::as_ref)
        .ok_or_else(|| PyValueError::new_err("a value of the graph is used before it is there"))
}

impl Operand {
    fn value<'py>(&self, py: Python<'py>, slots: &Slots<'py>) -> PyResult<Bound<'py, PyAny>> {
        let many = |items: &[Operand]| -> PyResult<Vec<_>> {
            items.iter().map(|item| item.value(py, slots)).collect()
        };
        Ok(match self {
            Operand::Slot(slot) => slot_value(slots, *slot)?.clone(),
            Operand::Const(value) => value.bind(py).clone(),
            Operand::Tuple(items) => PyTuple::new(py, many(items)?)?.into_any(),
            Operand::List(items) => PyList::new(py, many(items)?)?.into_any(),
            Operand::Dict(items) => {
                let dict = PyDict::new(py);
                for (key, value) in items {
                    dict.set_item(key.value(py, slots)?, value.value(py, slots)?)?;
                }
                dict.into_any()
            }
            Operand::Slice(parts) => {
                let [start, stop, step] = &**parts;
                PySlice::type_object(py).call1((
                    start.value(py, slots)?,
                    stop.value(py, slots)?,
                    step.value(py, slots)?,
                ))?
            }
        })
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Operand::Slot(_) => Ok(()),
            Operand::Const(value) => visit.call(value),
            Operand::Tuple(items) | Operand::List(items) => {
                items.iter().try_for_each(|item| item.traverse(visit))
            }
            Operand::Dict(items) => items.iter().try_for_each(|(key, value)| {
                key.traverse(visit)?;
                value.traverse(visit)
            }),
            Operand::Slice(parts) => parts.iter().try_for_each(|part| part.traverse(visit)),
        }
    }

    fn for_each_slot(&self, visit: &mut impl FnMut(u32)) {
        match self {
            Operand::Slot(slot) => visit(*slot),
            Operand::Const(_) => {}
            Operand::Tuple(items) | Operand::List(items) => {
                items.iter().for_each(|item| item.for_each_slot(visit));
            }
            Operand::Dict(items) => items.iter().for_each(|(key, value)| {
                key.for_each_slot(visit);
                value.for_each_slot(visit);
            }),
            Operand::Slice(parts) => parts.iter().for_each(|part| part.for_each_slot(visit)),
        }
    }
}

/// Notes at each step which slots it is the last to use; a value that nobody uses is freed at once.
fn free_after_last_use(steps: &mut [Step], result: &Operand, slots: u32) {
    let mut used = vec![false; slots as usize];
    result.for_each_slot(&mut |slot| used[slot as usize] = true);
    for step in steps.iter_mut().rev() {
        let mut free = Vec::new();
        let mut note = |slot: u32| {
            if !std::mem::replace(&mut used[slot as usize], true) {
                free.push(slot);
            }
        };
        note(step.out);
        step.args
            .iter()
            .for_each(|arg| arg.for_each_slot(&mut note));
        step.free = free;
    }
}

/// Where the value of a node is.
enum Place {
    None,
    Slot(u32),
    Const(Py<PyAny>),
}

struct Builder<'py, 'a> {
    py: Python<'py>,
    objects: &'a [Py<PyAny>],
    places: Vec<Place>,
    slots: u32,
}

impl Builder<'_, '_> {
    fn new_slot(&mut self, id: NodeId) -> u32 {
        let slot = self.slots;
        self.slots += 1;
        self.places[id.index()] = Place::Slot(slot);
        slot
    }

    fn object(&self, handle: u32) -> PyResult<Py<PyAny>> {
        self.objects
            .get(handle as usize)
            .map(|object| object.clone_ref(self.py))
            .ok_or_else(|| PyKeyError::new_err(format!("no object for handle {handle}")))
    }

    fn many(&self, items: &[Arg]) -> PyResult<Vec<Operand>> {
        items.iter().map(|item| self.operand(item)).collect()
    }

    fn operand(&self, arg: &Arg) -> PyResult<Operand> {
        let py = self.py;
        Ok(match arg {
            Arg::Node(id) => match self.places.get(id.index()) {
                Some(Place::Slot(slot)) => Operand::Slot(*slot),
                Some(Place::Const(value)) => Operand::Const(value.clone_ref(py)),
                _ => {
                    let message = format!("node %{} is used before it is defined", id.0);
                    return Err(PyValueError::new_err(message));
                }
            },
            Arg::None => Operand::Const(py.None()),
            Arg::Bool(value) => {
                Operand::Const(value.into_pyobject(py)?.to_owned().into_any().unbind())
            }
            Arg::Int(value) => Operand::Const(value.into_pyobject(py)?.into_any().unbind()),
            Arg::Float(value) => Operand::Const(value.into_pyobject(py)?.into_any().unbind()),
            Arg::Str(value) => Operand::Const(PyString::new(py, value).into_any().unbind()),
            Arg::Ellipsis => Operand::Const(PyEllipsis::get(py).to_owned().into_any().unbind()),
            Arg::Opaque { handle, .. } => Operand::Const(self.object(*handle)?),
            Arg::Tuple(items) => self.folded(Operand::Tuple(self.many(items)?))?,
            Arg::List(items) => Operand::List(self.many(items)?),
            Arg::Dict(items) => Operand::Dict(
                items
                    .iter()
                    .map(|(key, value)| Ok((self.operand(key)?, self.operand(value)?)))
                    .collect::<PyResult<_>>()?,
            ),
            Arg::Slice(parts) => {
                let [start, stop, step] = &**parts;
                self.folded(Operand::Slice(Box::new([
                    self.operand(start)?,
                    self.operand(stop)?,
                    self.operand(step)?,
                ])))?
            }
            other => {
                let message = format!("no Python object for {other:?}");
                return Err(PyValueError::new_err(message));
            }
        })
    }

    /// A tuple or slice of constants is made once; a list or dict is made anew for each call.
    fn folded(&self, operand: Operand) -> PyResult<Operand> {
        let is_const = |item: &Operand| matches!(item, Operand::Const(_));
        let constant = match &operand {
            Operand::Tuple(items) => items.iter().all(is_const),
            Operand::Slice(parts) => parts.iter().all(is_const),
            _ => false,
        };
        match constant {
            true => Ok(Operand::Const(operand.value(self.py, &[])?.unbind())),
            false => Ok(operand),
        }
    }
}
