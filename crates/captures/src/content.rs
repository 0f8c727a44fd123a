//! Functions, classes and code by content: what has to be as it was for a capture to be right.
//!
//! Invariant: nothing of the program runs while a digest is made; what can't be told by its content has no digest.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use blake3::Hasher;
use guards::exec::follow::member;
use guards::exec::read;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBytes, PyCode, PyDict, PyFrozenSet, PyFunction, PyList, PyMappingProxy, PySlice, PyString,
    PyTuple, PyType,
};
use rustc_hash::FxHashMap;
use torch_abi::marks::{TABLES, marked};
use torch_abi::names;

use crate::Why;
use crate::reach::{Part, is_cached, name_in_torch};

/// How many objects may lie in one another to be told by their parts.
const DEEPEST: u32 = 8;

/// What something consists of.
pub(crate) type Digest = [u8; 32];

/// What tells a file from what it may become: bytes, seconds and nanoseconds of its last change.
pub(crate) type Stamp = (u64, i64, i64);

/// A table of torch's of what is marked for tracers, and the addresses in it.
type Marked = (&'static str, Option<Py<PyAny>>);

/// A file of code.
#[derive(Clone, Copy)]
struct CodeFile {
    /// what it was; none where its code is told by what it does
    stamp: Option<Stamp>,
    /// of its name
    name: Digest,
}

/// Digests that were made, by address: good as long as nothing of the program runs.
#[derive(Default)]
pub(crate) struct Digests {
    of_code: FxHashMap<usize, Digest>,
    /// classes with their bases, and each by itself
    of_class: FxHashMap<usize, Digest>,
    of_own: FxHashMap<usize, Digest>,
    /// files of code whose code is told by its place
    files: FxHashMap<String, CodeFile>,
    /// the files whose code was told by its place, where a capture is read
    by_place: Option<BTreeMap<String, Stamp>>,
    /// tables of torch's tracer in which programs mark functions, once they were asked for
    marks: Option<Vec<Marked>>,
}

pub(crate) fn add(hasher: &mut Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

/// Adds how many parts follow: what is in a container is told from what stands behind it.
fn add_count(hasher: &mut Hasher, count: usize) {
    hasher.update(&(count as u64).to_le_bytes());
}

/// Adds a constant of code, or a default: exactly what it is, or that it is none.
fn add_value(
    digests: &mut Digests,
    hasher: &mut Hasher,
    value: &Bound<'_, PyAny>,
) -> Result<(), Why> {
    if let Ok(code) = value.cast_exact::<PyCode>() {
        hasher.update(&digests.code(code)?);
        return Ok(());
    }
    if let Ok(items) = value.cast_exact::<PyFrozenSet>() {
        let mut all = Vec::new();
        for item in items.iter() {
            let mut one = Hasher::new();
            add_value(digests, &mut one, &item)?;
            all.push(*one.finalize().as_bytes());
        }
        all.sort_unstable();
        add(hasher, b"frozenset");
        all.iter().for_each(|one| add(hasher, one));
        return Ok(());
    }
    if let Ok(slice) = value.cast_exact::<PySlice>() {
        add(hasher, b"slice");
        for part in ["start", "stop", "step"] {
            add_value(digests, hasher, &slice.getattr(part)?)?;
        }
        return Ok(());
    }
    if let Ok(items) = value.cast_exact::<PyTuple>() {
        add(hasher, b"tuple");
        add_count(hasher, items.len());
        return items
            .iter()
            .try_for_each(|item| add_value(digests, hasher, &item));
    }
    match read::constant(value) {
        Some(constant) => {
            let bytes = postcard::to_stdvec(&constant).map_err(|e| Why(e.to_string()))?;
            add(hasher, &bytes);
            Ok(())
        }
        None => Err(Why(format!("a constant of {}", value.get_type().name()?))),
    }
}

/// The stamp of a file; `None` where it has changed since this process began, or can't be read.
pub(crate) fn stamp(file: &str) -> Option<Stamp> {
    static STARTED: OnceLock<Option<SystemTime>> = OnceLock::new();
    let started = *STARTED.get_or_init(started);
    let status = std::fs::metadata(file).ok()?;
    let changed = status.modified().ok()?;
    (changed + Duration::from_secs(2) < started?)
        .then(|| (status.len(), status.mtime(), status.mtime_nsec()))
}

/// When this process began.
fn started() -> Option<SystemTime> {
    /// In which times of processes are told, on every Linux.
    const TICKS_A_SECOND: f64 = 100.0;
    let status = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may have spaces and parentheses; this is the 22nd field, the name the second.
    let behind_name = status.rsplit_once(')')?.1;
    let began: f64 = behind_name.split_whitespace().nth(19)?.parse().ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let age = Duration::try_from_secs_f64(uptime - began / TICKS_A_SECOND).ok()?;
    SystemTime::now().checked_sub(age)
}

/// Whether a class was made by Python code, or by C code at run time.
pub(crate) fn is_heap_type(class: &Bound<'_, PyType>) -> bool {
    // SAFETY: a live class.
    unsafe { ffi::PyType_HasFeature(class.as_type_ptr(), ffi::Py_TPFLAGS_HEAPTYPE) != 0 }
}

/// Whether attributes of a class are read as those of any: its metaclass may do something else, in Python.
pub(crate) fn reads_plainly(class: &Bound<'_, PyType>) -> bool {
    let py = class.py();
    let name = intern!(py, "__getattribute__");
    let (metaclass, plain) = (class.get_type(), py.get_type::<PyType>());
    match (member(&metaclass, name), member(&plain, name)) {
        (Some(read), Some(plain)) => read.is(&plain),
        _ => false,
    }
}

/// The names in the dictionary of a class, and what it has for them.
pub(crate) fn own_names<'py>(
    class: &Bound<'py, PyType>,
) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let names = class.getattr(intern!(class.py(), "__dict__"))?;
    let names = names.cast::<PyMappingProxy>()?;
    names.items()?.iter().map(|item| item.extract()).collect()
}

/// Whether a `class` statement, or a call of a metaclass, has made a class: instances of others have parts that are no
/// attributes.
fn is_of_python_code(class: &Bound<'_, PyType>) -> PyResult<bool> {
    static FIELD: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let field = FIELD.import(class.py(), "dataclasses", "Field")?;
    // SAFETY: both are live classes.
    let [end, of_field] = [class, field].map(|class| unsafe { (*class.as_type_ptr()).tp_dealloc });
    Ok(is_heap_type(class) && end.map(|f| f as usize) == of_field.map(|f| f as usize))
}

/// Whether attributes are all that an instance of a class has.
fn is_made_of_attributes(class: &Bound<'_, PyType>) -> PyResult<bool> {
    for base in class.mro().iter() {
        let base = base.cast_into::<PyType>()?;
        if !base.is(class.py().get_type::<PyAny>()) && !is_of_python_code(&base)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same, and whether they may be set at any time: a member of an enumeration is taken for a constant.
pub(crate) fn has_plain_attributes(class: &Bound<'_, PyType>) -> PyResult<bool> {
    static ENUM: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let member = ENUM.import(class.py(), "enum", "Enum")?;
    Ok(!class.is_subclass(member)? && is_made_of_attributes(class)?)
}

/// The cells that a function closes over.
pub(crate) fn cells<'py>(function: &Bound<'py, PyFunction>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let closure = function.getattr(intern!(function.py(), "__closure__"))?;
    let cells = closure
        .cast::<PyTuple>()
        .map(|cells| cells.iter().collect());
    Ok(cells.unwrap_or_default())
}

impl Digests {
    /// Digests to be compared with those that were made where the code of these files was told by its place.
    pub(crate) fn like(by_place: BTreeMap<String, Stamp>) -> Digests {
        Digests {
            by_place: Some(by_place),
            ..Digests::default()
        }
    }

    /// The files whose code was told by its place.
    pub(crate) fn by_place(self) -> BTreeMap<String, Stamp> {
        let files = self.files.into_iter();
        files
            .filter_map(|(file, of)| Some((file, of.stamp?)))
            .collect()
    }

    /// A code object: what it does, and what tracebacks show of it.
    pub(crate) fn code(&mut self, code: &Bound<'_, PyCode>) -> Result<Digest, Why> {
        if let Some(known) = self.of_code.get(&(code.as_ptr() as usize)) {
            return Ok(*known);
        }
        let py = code.py();
        let mut hasher = Hasher::new();
        for name in [
            intern!(py, "co_code"),
            intern!(py, "co_linetable"),
            intern!(py, "co_exceptiontable"),
        ] {
            add(
                &mut hasher,
                code.getattr(name)?
                    .cast::<PyBytes>()
                    .map_err(PyErr::from)?
                    .as_bytes(),
            );
        }
        for name in [
            intern!(py, "co_name"),
            intern!(py, "co_qualname"),
            intern!(py, "co_filename"),
        ] {
            let text = code.getattr(name)?;
            add(
                &mut hasher,
                text.cast::<PyString>()
                    .map_err(PyErr::from)?
                    .to_str()?
                    .as_bytes(),
            );
        }
        for name in [
            intern!(py, "co_argcount"),
            intern!(py, "co_posonlyargcount"),
            intern!(py, "co_kwonlyargcount"),
            intern!(py, "co_flags"),
            intern!(py, "co_firstlineno"),
            intern!(py, "co_stacksize"),
        ] {
            hasher.update(&code.getattr(name)?.extract::<i64>()?.to_le_bytes());
        }
        for name in [
            intern!(py, "co_names"),
            intern!(py, "co_varnames"),
            intern!(py, "co_cellvars"),
            intern!(py, "co_freevars"),
        ] {
            let names = code.getattr(name)?;
            let names = names.cast::<PyTuple>().map_err(PyErr::from)?;
            add_count(&mut hasher, names.len());
            for name in names.iter_borrowed() {
                add(
                    &mut hasher,
                    name.cast::<PyString>()
                        .map_err(PyErr::from)?
                        .to_str()?
                        .as_bytes(),
                );
            }
        }
        let constants = code.getattr(intern!(py, "co_consts"))?;
        let constants = constants.cast::<PyTuple>().map_err(PyErr::from)?;
        for constant in constants.iter() {
            add_value(self, &mut hasher, &constant)?;
        }
        let digest = *hasher.finalize().as_bytes();
        self.of_code.insert(code.as_ptr() as usize, digest);
        Ok(digest)
    }

    /// Adds code that nobody has inlined: where it begins, if its file is older than this process, or what it does.
    fn add_code_by_place(
        &mut self,
        hasher: &mut Hasher,
        code: &Bound<'_, PyCode>,
    ) -> Result<(), Why> {
        let py = code.py();
        let file = code.getattr(intern!(py, "co_filename"))?;
        let file = self.file(file.cast::<PyString>().map_err(PyErr::from)?.to_str()?);
        if file.stamp.is_none() {
            hasher.update(&[0]);
            hasher.update(&self.code(code)?);
            return Ok(());
        }
        hasher.update(&[1]);
        hasher.update(&file.name);
        let line: i64 = code.getattr(intern!(py, "co_firstlineno"))?.extract()?;
        hasher.update(&line.to_le_bytes());
        let name = code.getattr(intern!(py, "co_qualname"))?;
        let name = name.cast::<PyString>().map_err(PyErr::from)?;
        add(hasher, name.to_str()?.as_bytes());
        Ok(())
    }

    fn file(&mut self, file: &str) -> CodeFile {
        if let Some(known) = self.files.get(file) {
            return *known;
        }
        let stamp = match &self.by_place {
            None => stamp(file),
            // Another file has other code there.
            Some(files) => {
                let then = files.get(file).copied();
                then.filter(|then| stamp(file).as_ref() == Some(then))
            }
        };
        let name = *blake3::hash(file.as_bytes()).as_bytes();
        let found = CodeFile { stamp, name };
        self.files.insert(file.to_owned(), found);
        found
    }

    /// A function: its code, its defaults where they are constants, how many values it closes over, and how it is
    /// marked for tracers. What guards hold beside that is theirs.
    pub(crate) fn function(&mut self, function: &Bound<'_, PyFunction>) -> Result<Digest, Why> {
        let mut hasher = Hasher::new();
        self.add_function(&mut hasher, function)?;
        Ok(*hasher.finalize().as_bytes())
    }

    fn add_function(
        &mut self,
        hasher: &mut Hasher,
        function: &Bound<'_, PyFunction>,
    ) -> Result<(), Why> {
        let code = function.getattr(intern!(function.py(), "__code__"))?;
        hasher.update(&self.code(code.cast::<PyCode>().map_err(PyErr::from)?)?);
        self.add_all_but_code(hasher, function)
    }

    /// Adds what a function has beside its code.
    fn add_all_but_code(
        &mut self,
        hasher: &mut Hasher,
        function: &Bound<'_, PyFunction>,
    ) -> Result<(), Why> {
        let py = function.py();
        let defaults = function.getattr(intern!(py, "__defaults__"))?;
        let defaults = defaults.cast::<PyTuple>().ok();
        add_count(hasher, defaults.map_or(0, |defaults| defaults.len()));
        for value in defaults.into_iter().flatten() {
            self.add_loosely(hasher, &value)?;
        }
        let defaults = function.getattr(intern!(py, "__kwdefaults__"))?;
        let defaults = defaults.cast::<PyDict>().ok();
        add_count(hasher, defaults.map_or(0, |defaults| defaults.len()));
        for (name, value) in defaults.into_iter().flatten() {
            self.add_loosely(hasher, &name)?;
            self.add_loosely(hasher, &value)?;
        }
        add_count(hasher, cells(function)?.len());
        // SAFETY: an exact function, whose dictionary is alive or null.
        let attributes = unsafe {
            let function = &*function.as_ptr().cast::<ffi::PyFunctionObject>();
            Bound::from_borrowed_ptr_or_opt(py, function.func_dict)
        };
        let attributes = attributes.and_then(|attributes| attributes.cast_into::<PyDict>().ok());
        let count = attributes.as_ref().map_or(0, |attributes| attributes.len());
        add_count(hasher, count);
        for (name, value) in attributes.into_iter().flatten() {
            self.add_loosely(hasher, &name)?;
            // An address, another in each process: what it is of is another attribute.
            if !name.eq(names::WRAPPER_ID)? {
                self.add_loosely(hasher, &value)?;
            }
        }
        let tables = self.marks(py)?.iter();
        let is_in = |ids: &Option<Py<PyAny>>| {
            let ids = ids.as_ref().map(|ids| ids.bind(py));
            ids.is_some_and(|ids| ids.contains(function.as_ptr() as usize).unwrap_or(false))
        };
        let marks: Vec<&str> = tables
            .filter(|(_, ids)| is_in(ids))
            .map(|(table, _)| *table)
            .collect();
        add_count(hasher, marks.len());
        marks.iter().for_each(|table| add(hasher, table.as_bytes()));
        Ok(())
    }

    /// The tables that functions are marked in, where torch's tracer was imported.
    fn marks(&mut self, py: Python<'_>) -> Result<&[Marked], Why> {
        if self.marks.is_none() {
            let marks = TABLES
                .iter()
                .map(|table| Ok((*table, marked(py, table)?.map(Bound::unbind))));
            let marks = marks.collect::<PyResult<_>>()?;
            self.marks = Some(marks);
        }
        Ok(self.marks.as_deref().unwrap_or_default())
    }

    /// A constant as it is, anything else by its class.
    fn add_loosely(&mut self, hasher: &mut Hasher, value: &Bound<'_, PyAny>) -> Result<(), Why> {
        if read::constant(value).is_some() {
            return add_value(self, hasher, value);
        }
        add(hasher, b"object");
        add(hasher, value.get_type().qualname()?.to_str()?.as_bytes());
        Ok(())
    }

    /// A class: its bases, and of each that Python code has made, the names in it and the code of its functions.
    pub(crate) fn class(&mut self, class: &Bound<'_, PyType>) -> Result<Digest, Why> {
        if let Some(known) = self.of_class.get(&(class.as_ptr() as usize)) {
            return Ok(*known);
        }
        let mut hasher = Hasher::new();
        for base in class.mro().iter() {
            let base = base.cast_into::<PyType>().map_err(PyErr::from)?;
            if !reads_plainly(&base) {
                return Err(Why(format!(
                    "{}, whose metaclass reads attributes",
                    base.name()?
                )));
            }
            hasher.update(&self.own(&base)?);
        }
        add(
            &mut hasher,
            class.get_type().qualname()?.to_str()?.as_bytes(),
        );
        let digest = *hasher.finalize().as_bytes();
        self.of_class.insert(class.as_ptr() as usize, digest);
        Ok(digest)
    }

    fn own(&mut self, class: &Bound<'_, PyType>) -> Result<Digest, Why> {
        if let Some(known) = self.of_own.get(&(class.as_ptr() as usize)) {
            return Ok(*known);
        }
        let py = class.py();
        let mut hasher = Hasher::new();
        add(&mut hasher, class.qualname()?.to_str()?.as_bytes());
        if let Ok(module) = class.getattr(intern!(py, "__module__"))?.cast::<PyString>() {
            add(&mut hasher, module.to_str()?.as_bytes());
        }
        if is_heap_type(class) {
            let named = own_names(class)?;
            let mut members = Vec::with_capacity(named.len());
            for (name, value) in &named {
                if let Ok(name) = name.cast::<PyString>() {
                    members.push((name.to_str()?, value));
                }
            }
            // In which order they were set says nothing.
            members.sort_unstable_by_key(|(name, _)| *name);
            add_count(&mut hasher, members.len());
            for (name, value) in members {
                add(&mut hasher, name.as_bytes());
                self.add_member(&mut hasher, value)?;
            }
        }
        let digest = *hasher.finalize().as_bytes();
        self.of_own.insert(class.as_ptr() as usize, digest);
        Ok(digest)
    }

    /// What a class has under a name: functions by their code, all else by its class; guards hold values.
    pub(crate) fn add_member(
        &mut self,
        hasher: &mut Hasher,
        value: &Bound<'_, PyAny>,
    ) -> Result<(), Why> {
        let py = value.py();
        if let Ok(function) = value.cast_exact::<PyFunction>() {
            add(hasher, b"function");
            let code = function.getattr(intern!(py, "__code__"))?;
            self.add_code_by_place(hasher, code.cast::<PyCode>().map_err(PyErr::from)?)?;
            return self.add_all_but_code(hasher, function);
        }
        let class = value.get_type();
        add(hasher, class.qualname()?.to_str()?.as_bytes());
        for part in Part::ALL {
            let function = part.of(value);
            let function = function.and_then(|part| part.cast_into_exact::<PyFunction>().ok());
            hasher.update(&[u8::from(function.is_some())]);
            if let Some(function) = function {
                self.add_function(hasher, &function)?;
            }
        }
        Ok(())
    }

    /// An object by all that is in it: a container, a type expression, or what an instance of a class of Python code
    /// has as attributes.
    pub(crate) fn parts(&mut self, object: &Bound<'_, PyAny>) -> Result<Digest, Why> {
        let mut hasher = Hasher::new();
        self.add_parts(&mut hasher, object, DEEPEST)?;
        Ok(*hasher.finalize().as_bytes())
    }

    fn add_parts(
        &mut self,
        hasher: &mut Hasher,
        object: &Bound<'_, PyAny>,
        depth: u32,
    ) -> Result<(), Why> {
        let py = object.py();
        let class = object.get_type();
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Why(format!("a {} deep inside of another", class.name()?)));
        };
        if read::constant(object).is_some() {
            return add_value(self, hasher, object);
        }
        add(hasher, class.qualname()?.to_str()?.as_bytes());
        if let Some(name) = name_in_torch(object) {
            add(hasher, name.as_bytes());
            return Ok(());
        }
        if is_cached(object) {
            return self.add_parts(hasher, &object.getattr(intern!(py, "__wrapped__"))?, depth);
        }
        if let Ok(function) = object.cast_exact::<PyFunction>() {
            hasher.update(&self.function(function)?);
            for cell in cells(function)? {
                match cell.getattr_opt(intern!(py, "cell_contents")) {
                    Ok(Some(value)) => self.add_parts(hasher, &value, depth)?,
                    _ => add(hasher, b"empty"),
                }
            }
            return Ok(());
        }
        if let Ok(named) = object.cast::<PyType>() {
            hasher.update(&self.class(named)?);
            return Ok(());
        }
        if let Ok(items) = object.cast_exact::<PyDict>() {
            add_count(hasher, items.len());
            for (key, value) in items.iter() {
                self.add_parts(hasher, &key, depth)?;
                self.add_parts(hasher, &value, depth)?;
            }
            return Ok(());
        }
        if object.is_exact_instance_of::<PyMappingProxy>() {
            // Its methods are those of what it is a proxy of, which may be the program's.
            let gc = py.import(intern!(py, "gc"))?;
            let of = gc.call_method1(intern!(py, "get_referents"), (object,))?;
            return self.add_parts(hasher, &of, depth);
        }
        if object.is_exact_instance_of::<PyTuple>() || object.is_exact_instance_of::<PyList>() {
            add_count(hasher, object.len()?);
            return object
                .try_iter()?
                .try_for_each(|item| self.add_parts(hasher, &item?, depth));
        }
        let types = py.import(intern!(py, "types"))?;
        let is_alias = class.is(&types.getattr(intern!(py, "GenericAlias"))?);
        if is_alias {
            self.add_parts(hasher, &object.getattr(intern!(py, "__origin__"))?, depth)?;
        }
        if is_alias || class.is(&types.getattr(intern!(py, "UnionType"))?) {
            return self.add_parts(hasher, &object.getattr(intern!(py, "__args__"))?, depth);
        }
        // A field of a named tuple: how it is made again says its number.
        let fields = py.import(intern!(py, "collections"))?;
        if let Some(field) = fields.getattr_opt(intern!(py, "_tuplegetter"))?
            && class.is(&field)
        {
            let made = object.call_method0(intern!(py, "__reduce__"))?;
            return self.add_parts(hasher, &made.get_item(1)?, depth);
        }
        let builtins = py.import(intern!(py, "builtins"))?;
        // PEP 814: a dictionary that stays.
        if let Some(frozendict) = builtins.getattr_opt(intern!(py, "frozendict"))?
            && class.is(&frozendict)
        {
            let items = py.get_type::<PyDict>().call1((object,))?;
            return self.add_parts(hasher, &items, depth);
        }
        // PEP 661: a value that is told by its name.
        if let Some(sentinel) = builtins.getattr_opt(intern!(py, "sentinel"))?
            && class.is(&sentinel)
        {
            for name in [intern!(py, "__module__"), intern!(py, "__name__")] {
                self.add_parts(hasher, &object.getattr(name)?, depth)?;
            }
            return Ok(());
        }
        self.add_attributes(hasher, object, depth)
    }

    /// An instance of a class whose instances are made of attributes alone.
    fn add_attributes(
        &mut self,
        hasher: &mut Hasher,
        object: &Bound<'_, PyAny>,
        depth: u32,
    ) -> Result<(), Why> {
        let py = object.py();
        let class = object.get_type();
        if !is_made_of_attributes(&class)? {
            return Err(Why(format!("a {}", class.name()?)));
        }
        hasher.update(&self.class(&class)?);
        for base in class.mro().iter() {
            let base = base.cast_into::<PyType>().map_err(PyErr::from)?;
            if base.is(py.get_type::<PyAny>()) {
                continue;
            }
            for (name, member) in own_names(&base)? {
                let slot = std::ptr::eq(member.get_type_ptr(), &raw const ffi::PyMemberDescr_Type);
                if slot
                    && let Ok(value) = member.call_method1(intern!(py, "__get__"), (object, &class))
                {
                    self.add_parts(hasher, &name, depth)?;
                    self.add_parts(hasher, &value, depth)?;
                }
            }
        }
        // Behind this nothing is a slot: some may be empty.
        add(hasher, b"slots");
        // SAFETY: a live object; the new reference, or the error, is taken over.
        let own = unsafe {
            let own = ffi::PyObject_GenericGetDict(object.as_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, own)
        };
        match own {
            Ok(own) => self.add_parts(hasher, &own, depth),
            // It has slots only.
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_one_another_is_told_apart() {
        Python::attach(|py| {
            let parts = |text| {
                let object = py.eval(text, None, None).unwrap();
                Digests::default().parts(&object).unwrap()
            };
            assert_eq!(parts(c"[{'x': {'y': 1}}]"), parts(c"[{'x': {'y': 1}}]"));
            assert_ne!(parts(c"[{'x': {}, 'y': 1}]"), parts(c"[{'x': {'y': 1}}]"));
            assert_ne!(parts(c"[[1], 2]"), parts(c"[[1, 2]]"));
            assert_ne!(
                parts(c"[lambda a=1, b=2: 0]"),
                parts(c"[lambda a=1, b=3: 0]")
            );
        });
    }
}
