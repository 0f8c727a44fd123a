//! Operators of `torch.ops`: where they are found, and what a capture with a call of one relies on.
//!
//! Invariant: an operator of torch's own is told by its schemas: torch's version is part of what captures are found by.
//! Another one is told by the registered functions that say what it gives as well, and by the files of the libraries
//! that programs have loaded: one of those has what is written in C++. One that is given functions is told by its class.

use blake3::Hasher;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCode, PyDict, PyFunction, PyList, PyModule, PyString, PyType};
use torch_abi::higher_order::is_higher_order;

use crate::Why;
use crate::content::{Digest, Digests, Stamp, add, stamp};
use crate::reach::{Place, builtin_place};

/// The namespaces in which only torch defines operators.
const OWN: [&str; 3] = ["aten", "prim", "prims"];

/// An operator with one schema, and one with several.
fn classes(py: Python<'_>) -> PyResult<[&Bound<'_, PyType>; 2]> {
    static OVERLOAD: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static PACKET: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok([
        OVERLOAD.import(py, "torch._ops", "OpOverload")?,
        PACKET.import(py, "torch._ops", "OpOverloadPacket")?,
    ])
}

fn text(object: &Bound<'_, PyAny>, name: &str) -> Option<String> {
    let text = object.getattr(name).ok()?.cast_into::<PyString>().ok()?;
    Some(text.to_str().ok()?.to_owned())
}

/// The namespace of operators of functions.
const HIGHER_ORDER: &str = "higher_order";

/// All the overloads of an operator, of which an object is one, or which it is.
fn packet_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let [overload, packet] = classes(object.py())?;
    let class = object.get_type();
    match (class.is(overload), class.is(packet)) {
        (true, _) => object
            .getattr(intern!(object.py(), "_overloadpacket"))
            .map(Some),
        (_, true) => Ok(Some(object.clone())),
        _ => Ok(None),
    }
}

/// Where an operator is found.
pub(crate) fn place(object: &Bound<'_, PyAny>) -> Option<Place> {
    if is_higher_order(object).ok()? {
        let name = text(object, "_name")?;
        return find(object.py(), HIGHER_ORDER, &name, None)
            .filter(|found| found.is(object))
            .map(|_| Place::Operator(HIGHER_ORDER.into(), name.into(), None));
    }
    let packet = packet_of(object).ok()??;
    let name = text(&packet, "_qualified_op_name")?;
    let (namespace, name) = name.split_once("::")?;
    let overload = match packet.is(object) {
        true => None,
        false => Some(text(object, "_overloadname")?.into()),
    };
    let overload_name: Option<&str> = overload.as_deref();
    find(object.py(), namespace, name, overload_name)
        .filter(|found| found.is(object))
        .map(|_| Place::Operator(namespace.into(), name.into(), overload))
}

/// The operator of a name, where there is one.
pub(crate) fn find<'py>(
    py: Python<'py>,
    namespace: &str,
    name: &str,
    overload: Option<&str>,
) -> Option<Bound<'py, PyAny>> {
    let ops = py.import(intern!(py, "torch")).ok()?.getattr("ops").ok()?;
    let packet = ops.getattr(namespace).ok()?.getattr(name).ok()?;
    match overload {
        Some(overload) => packet.getattr(overload).ok(),
        None => Some(packet),
    }
}

/// What a capture relies on of an operator; `None` for anything else.
pub(crate) fn content(
    digests: &mut Digests,
    object: &Bound<'_, PyAny>,
) -> Result<Option<Digest>, Why> {
    let py = object.py();
    let [overload, packet] = classes(py)?;
    let class = object.get_type();
    if is_higher_order(object)? {
        return digests.class(&class).map(Some);
    }
    let overloads = match (class.is(overload), class.is(packet)) {
        (true, _) => vec![object.clone()],
        (_, true) => {
            let names = object.call_method0(intern!(py, "overloads"))?;
            let names = names.try_iter()?.collect::<PyResult<Vec<_>>>()?;
            let all = names
                .iter()
                .map(|name| object.getattr(name.cast::<PyString>()?));
            all.collect::<PyResult<_>>()?
        }
        _ => return Ok(None),
    };
    let mut hasher = Hasher::new();
    let mut is_own = true;
    for one in overloads {
        let schema = one.getattr(intern!(py, "_schema"))?;
        add(&mut hasher, schema.str()?.to_str()?.as_bytes());
        let name = text(&schema, "name").unwrap_or_default();
        let namespace = name.split("::").next().unwrap_or_default();
        if OWN.contains(&namespace) {
            continue;
        }
        is_own = false;
        match fake(&one)? {
            Some(fake) => hasher.update(&with_reads(digests, &fake)?),
            None => {
                return Err(Why(format!(
                    "{name}, for which no fake function is registered"
                )));
            }
        };
    }
    if is_own {
        return Ok(Some(*hasher.finalize().as_bytes()));
    }
    let libraries = py
        .import("torch")?
        .getattr("ops")?
        .getattr("loaded_libraries")?;
    let libraries = libraries.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let libraries = PyList::new(py, libraries)?;
    libraries.sort()?;
    for library in libraries.iter() {
        let file = library.str()?;
        let at = stamp(file.to_str()?);
        let at = at.ok_or_else(|| Why(format!("{file} has just changed")))?;
        add_stamp(&mut hasher, file.to_str()?, at);
    }
    Ok(Some(*hasher.finalize().as_bytes()))
}

/// What a compiler relies on of an operator that `torch.library.custom_op` has made, into which it does not look:
/// its schemas, the functions that say what it gives and that differentiate it. `None` for any other object.
///
/// # Errors
/// Why that can't be told.
pub fn opaque_operator(object: &Bound<'_, PyAny>) -> Result<Option<Digest>, Why> {
    let Some(packet) = packet_of(object)? else {
        return Ok(None);
    };
    let name = packet.getattr(intern!(object.py(), "_qualified_op_name"))?;
    let Some(made) = made_by_custom_op(&name)? else {
        return Ok(None);
    };
    let mut digests = Digests::default();
    let Some(known) = content(&mut digests, object)? else {
        return Ok(None);
    };
    let mut hasher = Hasher::new();
    hasher.update(&known);
    for name in ["_backward_fn", "_setup_context_fn"] {
        let function = made.getattr(name)?;
        match function.is_none() {
            true => hasher.update(&[0]),
            false => hasher.update(&with_reads(&mut digests, &function)?),
        };
    }
    for (file, at) in digests.by_place() {
        add_stamp(&mut hasher, &file, at);
    }
    Ok(Some(*hasher.finalize().as_bytes()))
}

/// Adds what a file was.
fn add_stamp(hasher: &mut Hasher, file: &str, (bytes, seconds, nanoseconds): Stamp) {
    add(hasher, file.as_bytes());
    for number in [bytes as i64, seconds, nanoseconds] {
        hasher.update(&number.to_le_bytes());
    }
}

/// A function that no guard is about, with what it reads of its globals.
fn with_reads(digests: &mut Digests, function: &Bound<'_, PyAny>) -> Result<Digest, Why> {
    let mut hasher = Hasher::new();
    let mut seen = Vec::new();
    let mut waiting = vec![function.clone()];
    while let Some(object) = waiting.pop() {
        if seen.contains(&(object.as_ptr() as usize)) {
            continue;
        }
        seen.push(object.as_ptr() as usize);
        add_told(digests, &mut hasher, &object)?;
        if let Ok(function) = object.cast_exact::<PyFunction>() {
            add_reads(digests, &mut hasher, function, &mut waiting)?;
        }
    }
    Ok(*hasher.finalize().as_bytes())
}

fn add_reads<'py>(
    digests: &mut Digests,
    hasher: &mut Hasher,
    function: &Bound<'py, PyFunction>,
    functions: &mut Vec<Bound<'py, PyAny>>,
) -> Result<(), Why> {
    let py = function.py();
    let globals = function.getattr(intern!(py, "__globals__"))?;
    let globals = globals.cast_into::<PyDict>().map_err(PyErr::from)?;
    let mut codes = vec![function.getattr(intern!(py, "__code__"))?];
    while let Some(code) = codes.pop() {
        let constants = code.getattr(intern!(py, "co_consts"))?;
        for constant in constants.try_iter()? {
            let constant = constant?;
            if constant.is_exact_instance_of::<PyCode>() {
                codes.push(constant);
            }
        }
        for name in code.getattr(intern!(py, "co_names"))?.try_iter()? {
            let name = name?.cast_into::<PyString>().map_err(PyErr::from)?;
            let Some(read) = globals.get_item(&name)? else {
                continue;
            };
            add(hasher, name.to_str()?.as_bytes());
            if let Ok(module) = read.cast::<PyModule>() {
                add(hasher, module.name()?.to_str()?.as_bytes());
                // torch's version is told. What is read of another module is not known.
                if !is_torch(&read)? {
                    return Err(Why(format!("a function that reads {name}")));
                }
            } else if read.is_exact_instance_of::<PyFunction>() {
                functions.push(read);
            } else if let Some(overload) = overload_of(&read)? {
                if let Some(known) = content(digests, &overload)? {
                    hasher.update(&known);
                }
            } else {
                add_told(digests, hasher, &read)?;
            }
        }
    }
    Ok(())
}

/// An object by its content, or what C code has made by its name.
fn add_told(
    digests: &mut Digests,
    hasher: &mut Hasher,
    object: &Bound<'_, PyAny>,
) -> Result<(), Why> {
    if let Some(place) = builtin_place(object) {
        let place = postcard::to_stdvec(&place).map_err(|error| Why(error.to_string()))?;
        add(hasher, &place);
    } else {
        hasher.update(&digests.parts(object)?);
    }
    Ok(())
}

/// The operator of what `torch.library.custom_op` gives.
fn overload_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(object.py(), "torch._library.custom_ops", "CustomOpDef")?;
    match object.get_type().is(class) {
        true => object
            .getattr(intern!(object.py(), "_opoverload"))
            .map(Some),
        false => Ok(None),
    }
}

fn is_torch(module: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(module.is(module.py().import(intern!(module.py(), "torch"))?))
}

/// What `torch.library.custom_op` has made for the name of an operator.
fn made_by_custom_op<'py>(name: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = name.py();
    let made = py.import("torch._library.custom_ops")?.getattr("OPDEFS")?;
    let made = made.call_method1("get", (name,))?;
    Ok((!made.is_none()).then_some(made))
}

/// The Python function that says what an operator gives, where one was registered.
fn fake<'py>(overload: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = overload.py();
    // What `custom_op` has made registers a function of its own around the program's.
    let name = overload.getattr("_schema")?.getattr("name")?;
    if let Some(made) = made_by_custom_op(&name)? {
        let fake = made.getattr("_abstract_fn")?;
        return Ok((!fake.is_none()).then_some(fake));
    }
    let registry = py
        .import("torch._library.simple_registry")?
        .getattr("singleton")?;
    let name = overload.call_method0(intern!(py, "name"))?;
    let known = registry.getattr("_data")?.cast_into::<PyDict>()?;
    // The default overload is known by the name of the operator.
    let name = name.cast_into::<PyString>()?;
    let name = name
        .to_str()?
        .split('.')
        .next()
        .unwrap_or_default()
        .to_owned();
    let Some(entry) = known.get_item(name)? else {
        return Ok(None);
    };
    let kernel = entry.getattr("fake_impl")?.getattr("kernel")?;
    match kernel.is_none() {
        true => Ok(None),
        false => kernel.getattr("func").map(Some),
    }
}
