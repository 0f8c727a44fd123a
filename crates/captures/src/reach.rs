//! How an object is reached in another process, and what it has to be there.
//!
//! Invariants: nothing is imported, and nothing of the program runs; an object is described only where the same
//! description finds that very object in this process.

use guards::exec::{constant, follow, read};
use guards::{ConstVal, SourceId};
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyCode, PyDict, PyFunction, PyList, PyModule, PyRange, PyString, PyTuple, PyType,
    PyWeakrefMethods, PyWeakrefReference,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use torch_abi::imported::imported;
use torch_abi::{TensorClass, TorchAbi};

use crate::content::{
    Digest, Digests, has_plain_attributes, is_heap_type, own_names, reads_plainly,
};
use crate::{Why, operator};

/// How many wrappers may lie around a function.
const DEEPEST: usize = 8;

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// It is a constant.
    Value(ConstVal),
    /// It is a range: start, stop, step.
    Range(i64, i64, i64),
    /// What a class of `operator` makes of constants: it reads attributes, or calls a method.
    Getter(Box<str>, ConstVal),
    /// An imported module.
    Module(Box<str>),
    /// The dictionary of an imported module.
    Namespace(Box<str>),
    /// A name in an imported module, and names in the classes that it leads through.
    Named(Box<str>, Vec<Box<str>>),
    /// An operator of `torch.ops`: namespace, name and perhaps overload.
    Operator(Box<str>, Box<str>, Option<Box<str>>),
    /// A function of a descriptor.
    Within(Box<Place>, Part),
    /// What a class has for a name.
    InClass(Box<Place>, Box<str>),
    /// The code of a function.
    CodeOf(Box<Place>),
    /// The globals of a function.
    GlobalsOf(Box<Place>),
    /// A constant of code, by its place there.
    ConstantOf(Box<Place>, u32),
    /// What the frame reaches.
    Reached(SourceId),
    /// What a weak reference leads to.
    Referent(Box<Place>),
    /// The class of what the frame reaches.
    TypeOf(SourceId),
    /// The program's code that the frame runs: of a resume function, the user's.
    OwnCode,
    /// The globals of the frame.
    OwnGlobals,
}

/// Where objects are, by address. Most of them are in one place.
pub(crate) type Places = FxHashMap<usize, SmallVec<[Place; 1]>>;

impl Place {
    /// The source that leads there.
    pub(crate) fn source(&self) -> Option<SourceId> {
        match self {
            Place::Reached(of) | Place::TypeOf(of) => Some(*of),
            Place::Within(of, _)
            | Place::InClass(of, _)
            | Place::CodeOf(of)
            | Place::GlobalsOf(of)
            | Place::Referent(of)
            | Place::ConstantOf(of, _) => of.source(),
            _ => None,
        }
    }

    /// Whether only a frame leads there.
    pub(crate) fn is_of_frame(&self) -> bool {
        match self {
            Place::OwnCode | Place::OwnGlobals => true,
            Place::Within(of, _)
            | Place::InClass(of, _)
            | Place::CodeOf(of)
            | Place::GlobalsOf(of)
            | Place::Referent(of)
            | Place::ConstantOf(of, _) => of.is_of_frame(),
            _ => self.source().is_some(),
        }
    }

    /// Whether nothing else is asked of what is found there.
    fn is_enough(&self) -> bool {
        matches!(
            self,
            Place::Module(_)
                | Place::Range(..)
                | Place::Getter(..)
                | Place::Namespace(_)
                | Place::Named(..)
                | Place::GlobalsOf(_)
                | Place::OwnGlobals
        )
    }
}

/// Which function of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Part {
    /// that of a `staticmethod` or `classmethod`
    Function,
    /// those of a `property`
    Get,
    Set,
    Delete,
    /// what a wrapping function says that it stands for
    Wrapped,
}

impl Part {
    pub(crate) const ALL: [Part; 5] = [
        Part::Function,
        Part::Get,
        Part::Set,
        Part::Delete,
        Part::Wrapped,
    ];

    pub(crate) fn of<'py>(self, descriptor: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let is = |class: *mut ffi::PyTypeObject| is_exactly(descriptor, class);
        let is_method =
            is(&raw mut ffi::PyStaticMethod_Type) || is(&raw mut ffi::PyClassMethod_Type);
        let name = match self {
            Part::Function if is_method => "__func__",
            Part::Get if is(&raw mut ffi::PyProperty_Type) => "fget",
            Part::Set if is(&raw mut ffi::PyProperty_Type) => "fset",
            Part::Delete if is(&raw mut ffi::PyProperty_Type) => "fdel",
            Part::Wrapped if is(&raw mut ffi::PyFunction_Type) || is_cached(descriptor) => {
                "__wrapped__"
            }
            _ => return None,
        };
        descriptor.getattr(name).ok()
    }
}

/// What an object is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Content {
    /// What it has to be follows from where it is.
    Itself,
    Value(ConstVal),
    Code(Digest),
    Function(Digest),
    Class(Digest),
    /// A property or the like.
    Member(Digest),
    /// A tuple, as the bases of a class are.
    Tuple(Vec<Content>),
    /// Something made by C code, with its name.
    Builtin(Box<str>, Box<str>),
    /// A tensor, of which a guard says the rest.
    Tensor,
    /// A `torch.nn.Module` of a class, or a module of one.
    Module(Digest),
    /// An operator of `torch.ops`.
    Operator(Digest),
    /// A weak reference to what is there.
    Weak(Box<Place>),
    /// A container or an instance, by all that is in it.
    Parts(Digest),
    /// An instance of a class of Python code, whose attributes can't be told.
    Instance(Digest),
}

/// How an object is reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reach {
    pub(crate) place: Place,
    pub(crate) content: Content,
}

fn name_of<'py>(object: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyString>> {
    object.getattr(name).ok()?.cast_into::<PyString>().ok()
}

fn is_exactly(object: &Bound<'_, PyAny>, class: *mut ffi::PyTypeObject) -> bool {
    object.get_type_ptr() == class
}

/// Whether C code has made the object, and it is a function or a descriptor.
fn is_builtin(object: &Bound<'_, PyAny>) -> bool {
    is_exactly(object, &raw mut ffi::PyCFunction_Type)
        || [
            &raw mut ffi::PyMethodDescr_Type,
            &raw mut ffi::PyWrapperDescr_Type,
            &raw mut ffi::PyGetSetDescr_Type,
            &raw mut ffi::PyMemberDescr_Type,
            &raw mut ffi::PyClassMethodDescr_Type,
        ]
        .into_iter()
        .any(|class| is_exactly(object, class))
}

/// Where a function or a descriptor that C code has made is found; `None` for any other object.
pub(crate) fn builtin_place(object: &Bound<'_, PyAny>) -> Option<Place> {
    is_builtin(object).then(|| named(object))?
}

/// Whether what C code has made has a name of its own, as NumPy's functions do.
fn is_of_static_class(object: &Bound<'_, PyAny>) -> bool {
    !is_heap_type(&object.get_type()) && name_of(object, "__name__").is_some()
}

/// Whether it is a function with a cache around it.
pub(crate) fn is_cached(object: &Bound<'_, PyAny>) -> bool {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(object.py(), "functools", "_lru_cache_wrapper");
    class.is_ok_and(|class| object.get_type().is(class))
}

/// An imported module.
fn module<'py>(py: Python<'py>, name: &str) -> Option<Bound<'py, PyAny>> {
    imported(py, name).ok()?
}

/// What a module or a class has under a name, with nothing bound.
fn member<'py>(of: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    if let Ok(class) = of.cast::<PyType>() {
        return follow::member(class, &PyString::intern(of.py(), name));
    }
    let module = of.cast::<PyModule>().ok()?;
    module.dict().get_item(name).ok()?
}

fn walk<'py>(py: Python<'py>, root: &str, path: &[Box<str>]) -> Option<Bound<'py, PyAny>> {
    let mut at = module(py, root)?;
    for (i, name) in path.iter().enumerate() {
        let found = member(&at, name)?;
        at = match i + 1 == path.len()
            || found.is_instance_of::<PyType>()
            || found.is_instance_of::<PyModule>()
        {
            true => found,
            false => return None,
        };
    }
    Some(at)
}

/// The class that a function or a descriptor of C code is in: one that it is for, or whose instances it makes.
fn class_of_builtin<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = object.py();
    let names = [intern!(py, "__objclass__"), intern!(py, "__self__")];
    let mut classes = names
        .into_iter()
        .filter_map(|name| object.getattr(name).ok());
    is_builtin(object)
        .then(|| classes.find(|class| class.is_instance_of::<PyType>()))
        .flatten()
}

/// Classes of torch's whose instances have names there.
fn named_in_torch(py: Python<'_>) -> PyResult<&'static [Py<PyAny>; 4]> {
    static CLASSES: PyOnceLock<[Py<PyAny>; 4]> = PyOnceLock::new();
    CLASSES.get_or_try_init(py, || {
        let torch = py.import("torch")?;
        let class = |name| torch.getattr(name).map(Bound::unbind);
        Ok([
            class("dtype")?,
            class("layout")?,
            class("memory_format")?,
            class("qscheme")?,
        ])
    })
}

/// The name of an instance of one of them.
pub(crate) fn name_in_torch(object: &Bound<'_, PyAny>) -> Option<String> {
    let class = object.get_type();
    let classes = named_in_torch(object.py()).ok()?;
    if !classes.iter().any(|named| named.is(&class)) {
        return None;
    }
    let name = object.str().ok()?;
    Some(name.to_str().ok()?.strip_prefix("torch.")?.to_owned())
}

/// `torch.nn.Module`
fn module_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "torch.nn", "Module")
}

/// Where an object with a name of its own is found by that name.
fn named(object: &Bound<'_, PyAny>) -> Option<Place> {
    let py = object.py();
    if object
        .cast::<PyType>()
        .is_ok_and(|class| !reads_plainly(class))
    {
        return None;
    }
    let text = |name: Bound<'_, PyString>| name.to_str().map(str::to_owned).ok();
    let mut roots: Vec<String> = Vec::new();
    let mut path: Vec<Box<str>> = Vec::new();
    if object.is_instance_of::<PyType>()
        || is_exactly(object, &raw mut ffi::PyFunction_Type)
        || is_cached(object)
    {
        roots.push(text(name_of(object, "__module__")?)?);
        let qualname = text(name_of(object, "__qualname__")?)?;
        path.extend(qualname.split('.').map(Into::into));
    } else if let Some(class) = class_of_builtin(object) {
        let Place::Named(root, of) = named(&class)? else {
            return None;
        };
        roots.push(root.into());
        path = of;
        path.push(text(name_of(object, "__name__")?)?.into());
    } else if is_builtin(object) {
        let name = text(name_of(object, "__name__")?)?;
        if let Ok(of) = object.getattr(intern!(py, "__self__"))
            && let Ok(module) = of.cast::<PyModule>()
        {
            roots.push(module.name().ok()?.to_string());
        }
        roots.extend(name_of(object, "__module__").and_then(text));
        // Its own functions are those of a class without a name.
        roots.push("torch".into());
        path.push(name.into());
    } else if let Some(name) = name_in_torch(object) {
        roots.push("torch".into());
        path.push(name.into());
    } else if is_of_static_class(object) {
        roots.push(text(name_of(object, "__module__")?)?);
        path.push(text(name_of(object, "__name__")?)?.into());
    } else {
        return None;
    }
    let by_name = roots.into_iter().find_map(|root| {
        let found = walk(py, &root, &path)?;
        if found.is(object) {
            return Some(Place::Named(root.into(), path.clone()));
        }
        within(found, Place::Named(root.into(), path.clone()), object)
    });
    by_name
        .or_else(|| of_module(object))
        .or_else(|| of_interpreter(object))
}

/// Where an object is in one that has its name: a function of a descriptor, what a wrapper stands for.
fn within(
    mut outer: Bound<'_, PyAny>,
    mut place: Place,
    object: &Bound<'_, PyAny>,
) -> Option<Place> {
    for _ in 0..DEEPEST {
        let parts = Part::ALL.into_iter();
        let parts: Vec<_> = parts
            .filter_map(|part| Some((part, part.of(&outer)?)))
            .collect();
        if let Some((part, _)) = parts.iter().find(|(_, found)| found.is(object)) {
            return Some(Place::Within(Box::new(place), *part));
        }
        // Of a property none of three functions is the next wrapper.
        let is_next = |(part, _): &(Part, _)| matches!(part, Part::Function | Part::Wrapped);
        let (part, inner) = parts.into_iter().find(is_next)?;
        (outer, place) = (inner, Place::Within(Box::new(place), part));
    }
    None
}

/// Where a function is in a class that has a place.
pub(crate) fn in_class(
    class: &Bound<'_, PyType>,
    place: &Place,
    function: &Bound<'_, PyAny>,
) -> Option<Place> {
    own_names(class)
        .ok()?
        .into_iter()
        .find_map(|(name, value)| {
            let name = name.cast::<PyString>().ok()?.to_str().ok()?;
            let there = Place::InClass(Box::new(place.clone()), name.into());
            match value.is(function) {
                true => Some(there),
                false => within(value, there, function),
            }
        })
}

/// Where a function is found whose own name is another, as one has that a call of another function made.
fn of_module(object: &Bound<'_, PyAny>) -> Option<Place> {
    let function = object.cast_exact::<PyFunction>().ok()?;
    let root = name_of(function, "__module__")?;
    let root = root.to_str().ok()?;
    let names = module(object.py(), root)?.cast::<PyModule>().ok()?.dict();
    let name = names.iter().find(|(_, value)| value.is(object))?.0;
    let name = name.cast::<PyString>().ok()?.to_str().ok()?;
    Some(Place::Named(root.into(), vec![name.into()]))
}

/// Where a class of the interpreter is found that has no name among the builtins: `types` has those.
fn of_interpreter(object: &Bound<'_, PyAny>) -> Option<Place> {
    let class = object.cast::<PyType>().ok()?;
    let types = module(object.py(), "types").filter(|_| !is_heap_type(class))?;
    let names = types.cast::<PyModule>().ok()?.dict();
    let name = names.iter().find(|(_, value)| value.is(class))?.0;
    let name = name.cast::<PyString>().ok()?.to_str().ok()?;
    Some(Place::Named("types".into(), vec![name.into()]))
}

/// Where an object is that needs no frame to be reached.
pub(crate) fn place(object: &Bound<'_, PyAny>) -> Option<Place> {
    let py = object.py();
    if object.is_none()
        || object.is(py.Ellipsis())
        || object.is(py.NotImplemented())
        || object.is_exact_instance_of::<pyo3::types::PyBool>()
    {
        return read::constant(object).map(Place::Value);
    }
    if let Ok(found) = object.cast::<PyModule>() {
        let name = found.dict().get_item("__name__").ok()??;
        let name = name.cast::<PyString>().ok()?.to_str().ok()?;
        return module(py, name)?
            .is(object)
            .then(|| Place::Module(name.into()));
    }
    if let Ok(dict) = object.cast_exact::<PyDict>() {
        let modules = Place::Named("sys".into(), vec!["modules".into()]);
        if find(py, &modules).is_some_and(|found| found.is(object)) {
            return Some(modules);
        }
        let name = dict.get_item("__name__").ok()??;
        let name = name.cast::<PyString>().ok()?.to_str().ok()?;
        let of = module(py, name)?;
        let is_its = of.cast::<PyModule>().ok()?.dict().is(dict);
        return is_its.then(|| Place::Namespace(name.into()));
    }
    operator::place(object)
        .or_else(|| getter(object))
        .or_else(|| named(object))
}

/// The object of a place; what only the frame leads to is asked of `of_frame`.
pub(crate) fn find_in<'py>(
    py: Python<'py>,
    place: &Place,
    of_frame: &mut dyn FnMut(&Place) -> Option<Bound<'py, PyAny>>,
) -> Option<Bound<'py, PyAny>> {
    match place {
        Place::Value(value) => value_of(py, value).ok(),
        Place::Range(start, stop, step) => {
            let range = PyRange::new_with_step(py, *start as isize, *stop as isize, *step as isize);
            range.ok().map(Bound::into_any)
        }
        Place::Getter(class, args) => {
            let class = py
                .import(intern!(py, "operator"))
                .ok()?
                .getattr(&**class)
                .ok()?;
            let args = value_of(py, args).ok()?.cast_into::<PyTuple>().ok()?;
            class.call1(args).ok()
        }
        Place::Module(name) => module(py, name).or_else(|| of_frame(place)),
        Place::Namespace(name) => match module(py, name) {
            Some(module) => Some(module.cast::<PyModule>().ok()?.dict().into_any()),
            None => of_frame(place),
        },
        Place::Named(root, path) => walk(py, root, path).or_else(|| of_frame(place)),
        Place::Operator(namespace, name, overload) => {
            operator::find(py, namespace, name, overload.as_deref())
        }
        Place::Within(of, part) => part.of(&find_in(py, of, of_frame)?),
        Place::InClass(of, name) => member(&find_in(py, of, of_frame)?, name),
        Place::CodeOf(of) => {
            let function = find_in(py, of, of_frame)?;
            let function = function.cast_exact::<PyFunction>().ok()?;
            function.getattr(intern!(py, "__code__")).ok()
        }
        Place::GlobalsOf(of) => {
            let function = find_in(py, of, of_frame)?;
            let function = function.cast_exact::<PyFunction>().ok()?;
            function.getattr(intern!(py, "__globals__")).ok()
        }
        Place::Referent(of) => {
            let weak = find_in(py, of, of_frame)?;
            weak.cast_exact::<PyWeakrefReference>().ok()?.upgrade()
        }
        Place::ConstantOf(of, at) => {
            let code = find_in(py, of, of_frame)?;
            let constants = code.cast_exact::<PyCode>().ok()?;
            let constants = constants.getattr(intern!(py, "co_consts")).ok()?;
            let constants = constants.cast_into::<PyTuple>().ok()?;
            constants.get_item(*at as usize).ok()
        }
        Place::Reached(_) | Place::TypeOf(_) | Place::OwnCode | Place::OwnGlobals => {
            of_frame(place)
        }
    }
}

/// The object of a place that needs no frame.
pub(crate) fn find<'py>(py: Python<'py>, place: &Place) -> Option<Bound<'py, PyAny>> {
    find_in(py, place, &mut |_| None)
}

/// The place of code by the name that its function goes by in the module of these globals.
pub(crate) fn named_code(code: &Bound<'_, PyCode>, globals: &Bound<'_, PyAny>) -> Option<Place> {
    let py = code.py();
    let Some(Place::Namespace(root)) = place(globals) else {
        return None;
    };
    let name = name_of(code, "co_qualname")?;
    let path: Vec<Box<str>> = name.to_str().ok()?.split('.').map(Into::into).collect();
    let found = walk(py, &root, &path)?;
    let named = Place::Named(root, path);
    let parts = Part::ALL
        .into_iter()
        .filter(|part| part.of(&found).is_some());
    let within = parts.map(|part| Place::Within(Box::new(named.clone()), part));
    let functions: Vec<Place> = within.chain([named.clone()]).collect();
    functions
        .into_iter()
        .map(|function| Place::CodeOf(Box::new(function)))
        .find(|place| find(py, place).is_some_and(|found| found.is(code)))
}

/// What `operator.attrgetter` or `operator.methodcaller` has made of constants.
fn getter(object: &Bound<'_, PyAny>) -> Option<Place> {
    static CLASSES: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();
    const NAMES: [&str; 2] = ["attrgetter", "methodcaller"];
    let py = object.py();
    let classes = CLASSES.get_or_try_init(py, || -> PyResult<_> {
        let operator = py.import(intern!(py, "operator"))?;
        let class = |name| operator.getattr(name).map(Bound::unbind);
        Ok([class(NAMES[0])?, class(NAMES[1])?])
    });
    let class = object.get_type();
    let at = classes.ok()?.iter().position(|of| of.is(&class))?;
    let made = object.call_method0(intern!(py, "__reduce__")).ok()?;
    let (by, args) = made
        .extract::<(Bound<'_, PyAny>, Bound<'_, PyTuple>)>()
        .ok()?;
    match by.is(&class) {
        true => Some(Place::Getter(NAMES[at].into(), read::constant(&args)?)),
        // Names are given to the method as well.
        false => None,
    }
}

/// Whether an object is a list or a dictionary of no other class.
fn is_plain_container(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyDict>() || object.is_exact_instance_of::<PyList>()
}

/// A range that is a constant.
pub(crate) fn range(object: &Bound<'_, PyAny>) -> Option<Place> {
    let range = object.cast_exact::<PyRange>().ok()?;
    let number = |name: &str| range.getattr(name).ok()?.extract::<i64>().ok();
    Some(Place::Range(
        number("start")?,
        number("stop")?,
        number("step")?,
    ))
}

/// A constant as an object.
pub(crate) fn value_of<'py>(py: Python<'py>, value: &ConstVal) -> PyResult<Bound<'py, PyAny>> {
    let refuse = |_| Err(PyValueError::new_err("an object is no constant"));
    constant::object(py, value, &mut { refuse })
}

/// An object for who reads why it is not kept.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    let class = object.get_type();
    let class = class
        .qualname()
        .map(|name| name.to_string())
        .unwrap_or_default();
    let is_named = is_builtin(object)
        || object.is_instance_of::<PyType>()
        || is_exactly(object, &raw mut ffi::PyFunction_Type);
    match is_named.then(|| name_of(object, "__qualname__")).flatten() {
        Some(name) => format!("the {class} {name}"),
        None => match object.cast::<PyDict>() {
            Ok(dict) => {
                let keys: Vec<_> = dict
                    .keys()
                    .iter()
                    .take(3)
                    .map(|key| describe_key(&key))
                    .collect();
                format!(
                    "a {class} of {} items that begins with {keys:?}",
                    dict.len()
                )
            }
            Err(_) => format!("a {class}"),
        },
    }
}

fn describe_key(key: &Bound<'_, PyAny>) -> String {
    read::constant(key).map_or_else(|| "an object".into(), |key| key.to_string())
}

/// Whether an object is told without what holds it.
fn is_told_alone(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyType>()
        || is_exactly(object, &raw mut ffi::PyFunction_Type)
        || is_builtin(object)
        || read::constant(object).is_some()
}

/// What an object is; why that can't be told.
pub(crate) fn content(
    digests: &mut Digests,
    object: &Bound<'_, PyAny>,
    place: &Place,
) -> Result<Content, Why> {
    let py = object.py();
    if let Some(value) = read::constant(object) {
        return Ok(Content::Value(value));
    }
    // Most pins are tensors.
    if TorchAbi::loaded().is_some_and(|abi| abi.classify(object) != TensorClass::No) {
        return Ok(match place.is_enough() {
            true => Content::Itself,
            false => Content::Tensor,
        });
    }
    if let Ok(class) = object.cast::<PyType>() {
        return match is_heap_type(class) {
            true => Ok(Content::Class(digests.class(class)?)),
            false => Ok(Content::Builtin(
                "type".into(),
                class.qualname()?.to_str()?.into(),
            )),
        };
    }
    if let Ok(function) = object.cast_exact::<PyFunction>() {
        return Ok(Content::Function(digests.function(function)?));
    }
    if let Ok(code) = object.cast_exact::<PyCode>() {
        return Ok(Content::Code(digests.code(code)?));
    }
    if is_builtin(object) {
        let name = name_of(object, "__name__").map(|name| name.to_string());
        let class = object.get_type().qualname()?.to_str()?.into();
        return Ok(Content::Builtin(class, name.unwrap_or_default().into()));
    }
    if let Some(found) = operator::content(digests, object)? {
        return Ok(Content::Operator(found));
    }
    if is_cached(object) {
        return Ok(Content::Parts(digests.parts(object)?));
    }
    if place.is_enough() {
        return Ok(Content::Itself);
    }
    if [
        &raw mut ffi::PyProperty_Type,
        &raw mut ffi::PyClassMethod_Type,
        &raw mut ffi::PyStaticMethod_Type,
    ]
    .into_iter()
    .any(|class| is_exactly(object, class))
    {
        let mut hasher = blake3::Hasher::new();
        digests.add_member(&mut hasher, object)?;
        return Ok(Content::Member(*hasher.finalize().as_bytes()));
    }
    if let Ok(items) = object.cast_exact::<PyTuple>()
        && items.iter().all(|item| is_told_alone(&item))
    {
        let items = items.iter().map(|item| content(digests, &item, place));
        return Ok(Content::Tuple(items.collect::<Result<_, _>>()?));
    }
    let class = object.get_type();
    if object.is_instance_of::<PyModule>() || class.is_subclass(module_class(py)?)? {
        return Ok(Content::Module(digests.class(&class)?));
    }
    match digests.parts(object) {
        Ok(parts) => Ok(Content::Parts(parts)),
        // What may be set at any time guards hold, attribute by attribute and item by item.
        Err(_) if has_plain_attributes(&class)? || is_plain_container(object) => {
            Ok(Content::Instance(digests.class(&class)?))
        }
        Err(Why(part)) => Err(Why(format!(
            "{}, which can't be told by its content: {part}",
            shown(object)
        ))),
    }
}
