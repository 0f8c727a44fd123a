//! Backends by name: ours, torch's, and those that other packages announce.
//!
//! Invariant: nothing of `torch._dynamo` is imported for a name of ours, for an entry point or for
//! a callable.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::{PyAssertionError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyString, PyTuple};

use crate::capabilities::{Capabilities, Known};
use crate::error::BackendError;
use crate::inductor::{self, Inductor};
use crate::log::{self, log};
use crate::named_later::NamedLater;
use crate::names;
use torch_abi::imported::imported;

/// Entry-point group under which packages announce backends.
const ENTRY_POINTS: &str = "torch_dynamo_backends";

struct Registered {
    callable: Py<PyAny>,
    tags: Vec<String>,
}

static REGISTERED: Mutex<BTreeMap<String, Registered>> = Mutex::new(BTreeMap::new());

fn registered() -> MutexGuard<'static, BTreeMap<String, Registered>> {
    REGISTERED
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What `torch.compile` lets a user ask of a backend.
#[derive(Default)]
pub struct CompileOptions {
    /// `mode=`, such as `reduce-overhead`.
    pub mode: Option<String>,
    /// `options=`, a dict.
    pub options: Option<Py<PyDict>>,
    /// `dynamic=`.
    pub dynamic: Option<bool>,
    /// `name=`: what a backend calls the region in its own output.
    pub name: Option<String>,
}

/// The same as a backend is given it: without what says nothing.
#[derive(Clone, Copy)]
struct Chosen<'a, 'py> {
    mode: Option<&'a str>,
    options: Option<&'a Bound<'py, PyDict>>,
    dynamic: Option<bool>,
    name: Option<&'a str>,
}

enum Kind {
    /// `gm.forward`, without a call of anything.
    Eager,
    /// A Python callable.
    Callable(Py<PyAny>),
}

/// A backend that was found, with the keyword arguments that go to each call of it.
pub struct Backend {
    name: String,
    kind: Kind,
    kwargs: Option<Py<PyDict>>,
    can: Known,
    /// where its results can be kept from one process to the next, the text of its options
    keeps_results: Option<String>,
    /// whether the program has chosen options for it
    has_options: bool,
    is_registered: bool,
}

impl Backend {
    /// Ours: runs the graph as it is.
    pub fn eager() -> Backend {
        Backend {
            name: "eager".into(),
            kind: Kind::Eager,
            kwargs: None,
            can: Known::new(Capabilities::ABSENT),
            keeps_results: None,
            has_options: false,
            is_registered: true,
        }
    }

    /// Finds the backend that `spec` means: a callable `(gm, example_inputs) -> callable`, a name,
    /// or `None` for torch's default.
    ///
    /// # Errors
    /// [`BackendError::Unknown`], [`BackendError::NotABackend`], [`BackendError::ModeAndOptions`];
    /// [`BackendError::Python`] where an option is bad or a backend's package does not import.
    pub fn resolve(
        spec: &Bound<'_, PyAny>,
        asked: &CompileOptions,
    ) -> Result<Backend, BackendError> {
        let py = spec.py();
        let options = match &asked.options {
            Some(options) if !options.bind(py).is_empty() => Some(options.bind(py)),
            _ => None,
        };
        if asked.mode.is_some() && asked.options.is_some() {
            return Err(BackendError::ModeAndOptions);
        }
        let chosen = Chosen {
            mode: asked.mode.as_deref().filter(|mode| *mode != "default"),
            options,
            dynamic: asked.dynamic,
            name: asked.name.as_deref().filter(|name| !name.is_empty()),
        };
        if let Ok(name) = spec.cast::<PyString>() {
            return by_name(py, &name.to_string_lossy(), chosen);
        }
        if spec.is_none() {
            let name = default_backend(py)?;
            if let Ok(name) = name.cast::<PyString>() {
                return by_name(py, &name.to_string_lossy(), chosen);
            }
            return from_callable(&name, chosen);
        }
        if !spec.is_callable() {
            return Err(BackendError::NotABackend(spec.repr()?.to_string()));
        }
        from_callable(spec, chosen)
    }

    /// Its name: as asked for, or the callable's `__name__`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it can do, as far as it is known.
    pub fn capabilities(&self) -> Capabilities {
        self.can.now()
    }

    /// Where its results can be kept from one process to the next, the text of its options.
    pub(crate) fn keeps_results(&self) -> Option<&str> {
        self.keeps_results.as_deref()
    }

    /// Whether the program has chosen options for it.
    pub(crate) fn has_options(&self) -> bool {
        self.has_options
    }

    /// Whether it was found by a name.
    pub(crate) fn is_registered(&self) -> bool {
        self.is_registered
    }

    /// The callable, where nothing else is known of it.
    pub fn unknown(&self) -> Option<&Py<PyAny>> {
        self.callable().filter(|_| self.can.is_any())
    }

    /// It does not seem to give graphs back, so they are made for a compiler until it does.
    pub fn seems_to_compile(&self) {
        self.can.seems_to_compile();
    }

    /// It gave the graph back: where it seemed not to, it is known from now on.
    pub fn saw_it_give_graph_back(&self) {
        self.can.saw_it_give_graph_back();
    }

    /// It made something else of a graph than the graph: so it is known from now on.
    pub fn saw_it_compile(&self) {
        self.can.saw_it_compile();
    }

    /// The Python callable; `None` for [`Backend::eager`].
    pub fn callable(&self) -> Option<&Py<PyAny>> {
        match &self.kind {
            Kind::Eager => None,
            Kind::Callable(callable) => Some(callable),
        }
    }

    /// Visits the Python objects that it holds.
    ///
    /// # Errors
    /// What `visit` gives.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(callable) = self.callable() {
            visit.call(callable)?;
        }
        visit.call(&self.kwargs)
    }

    pub(crate) fn kwargs<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, PyDict>> {
        self.kwargs.as_ref().map(|kwargs| kwargs.bind(py))
    }

    /// Calls the backend's `reset`, where it has one.
    ///
    /// # Errors
    /// What `reset` raises.
    pub fn reset(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(callable) = self.callable()
            && let Some(reset) = callable.bind(py).getattr_opt(intern!(py, "reset"))?
        {
            reset.call0()?;
        }
        Ok(())
    }
}

fn from_callable(
    callable: &Bound<'_, PyAny>,
    chosen: Chosen<'_, '_>,
) -> Result<Backend, BackendError> {
    let py = callable.py();
    let name = match callable.getattr_opt(intern!(py, "__name__"))? {
        Some(name) => name.str()?.to_string(),
        None => match callable.getattr_opt(intern!(py, "compiler_name"))? {
            Some(name) => name.str()?.to_string(),
            None => callable.str()?.to_string(),
        },
    };
    Ok(Backend {
        name,
        kwargs: keyword_arguments(py, chosen)?,
        can: Known::new(traced_once_more(is_torchs_aot(callable)?)),
        keeps_results: None,
        has_options: false,
        is_registered: false,
        kind: Kind::Callable(callable.clone().unbind()),
    })
}

/// The capabilities of a callable that is known to trace a graph once more, or is not.
fn traced_once_more(is_known: bool) -> Capabilities {
    match is_known {
        true => Capabilities::COMPILES,
        false => Capabilities::ANY,
    }
}

/// `mode=`, `options=` and `name=` for a callable, only where they say something.
fn keyword_arguments(py: Python<'_>, chosen: Chosen<'_, '_>) -> PyResult<Option<Py<PyDict>>> {
    let kwargs = PyDict::new(py);
    if let Some(mode) = chosen.mode {
        kwargs.set_item(intern!(py, "mode"), mode)?;
    }
    if let Some(options) = chosen.options {
        kwargs.set_item(intern!(py, "options"), options)?;
    }
    if let Some(name) = chosen.name {
        kwargs.set_item(intern!(py, "name"), name)?;
    }
    Ok((!kwargs.is_empty()).then(|| kwargs.unbind()))
}

/// Whether the callable is one of torch's backends that trace the graph once more, or derives from one.
fn is_torchs_aot(callable: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = callable.py();
    let class = callable.get_type();
    if class.name()? == names::INDUCTOR_WRAPPER {
        return Ok(true);
    }
    let of = |object: &Bound<'_, PyAny>| -> PyResult<String> {
        Ok(match object.getattr_opt(intern!(py, "__module__"))? {
            Some(module) => module.str()?.to_string(),
            None => String::new(),
        })
    };
    let bases = class.mro();
    for defined in std::iter::once(callable.clone()).chain(bases.iter()) {
        let module = of(&defined)?;
        let is_within = |aot: &&str| module == **aot || module.starts_with(&format!("{aot}."));
        if names::AOT_MODULES.iter().any(is_within) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn by_name(py: Python<'_>, name: &str, chosen: Chosen<'_, '_>) -> Result<Backend, BackendError> {
    let ours = registered()
        .get(name)
        .map(|entry| entry.callable.clone_ref(py));
    let found = if let Some(callable) = ours {
        (callable.into_bound(py), false)
    } else if name == "eager" {
        if let Some(ignored) = keyword_arguments(py, chosen)? {
            let message = "eager backend ignoring %s";
            log(py, log::BACKENDS, "warning", message, ignored)?;
        }
        return Ok(Backend::eager());
    } else if name == "inductor" {
        let has_options = chosen.mode.is_some() || chosen.options.is_some();
        let callable = inductor(py, chosen)?;
        return Ok(Backend {
            name: name.to_owned(),
            keeps_results: match has_options {
                true => options_text(&callable)?,
                false => Some(String::new()),
            },
            kind: Kind::Callable(callable.unbind()),
            kwargs: None,
            can: Known::new(Capabilities::COMPILES),
            has_options,
            is_registered: true,
        });
    } else if let Some(known) = runs_as_it_is(name) {
        return torchs_nop(py, known, chosen);
    } else if let Some(callable) = from_entry_point(py, name)? {
        (callable, true)
    } else {
        let callable = from_torch(py, name)?;
        let aot = name.starts_with("aot_") || is_torchs_aot(&callable)?;
        (callable, aot)
    };
    let (callable, compiles) = found;
    Ok(Backend {
        name: name.to_owned(),
        kind: Kind::Callable(callable.unbind()),
        kwargs: keyword_arguments(py, chosen)?,
        can: Known::new(traced_once_more(compiles)),
        keeps_results: None,
        has_options: false,
        is_registered: true,
    })
}

/// The name as torch has it, of a backend that hands AOTAutograd's graphs to no compiler.
fn runs_as_it_is(name: &str) -> Option<&'static str> {
    let mut known = names::RUN_AS_THEY_ARE.iter();
    known.find(|known| **known == name).copied()
}

/// One of [`names::RUN_AS_THEY_ARE`]: its results can be kept where it is torch's own and is told nothing.
fn torchs_nop(
    py: Python<'_>,
    name: &'static str,
    chosen: Chosen<'_, '_>,
) -> Result<Backend, BackendError> {
    let (callable, is_own) = match imported(py, names::BACKEND_REGISTRY)? {
        // A program may have given the name to another one.
        Some(_) => {
            let callable = from_torch(py, name)?;
            let own = py.import(names::DEBUG_BACKENDS)?.getattr_opt(name)?;
            let is_own = own.is_some_and(|own| own.is(&callable));
            (callable, is_own)
        }
        None => {
            let later = Bound::new(py, NamedLater::new(name))?;
            (later.into_any(), true)
        }
    };
    let kwargs = keyword_arguments(py, chosen)?;
    Ok(Backend {
        name: name.to_owned(),
        kind: Kind::Callable(callable.unbind()),
        keeps_results: (is_own && kwargs.is_none()).then(|| format!("backend {name}")),
        kwargs,
        can: Known::new(Capabilities::COMPILES),
        has_options: false,
        is_registered: true,
    })
}

/// The options that torch's wrapper of inductor was made with, as text; `None` where that does not say all of them.
fn options_text(wrapper: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let texts = wrapper.py().import("ferrodyn._artifact_state")?;
    let options = wrapper.getattr("config")?;
    texts.call_method1("options", (options,))?.extract()
}

/// Inductor; without mode and options torch's compiler is not imported before a graph is compiled.
fn inductor<'py>(py: Python<'py>, chosen: Chosen<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    if chosen.mode.is_none() && chosen.options.is_none() {
        let later = Inductor::new(chosen.dynamic, chosen.name);
        return Ok(Bound::new(py, later)?.into_any());
    }
    let options = chosen.options.map(Bound::as_any);
    inductor::wrapper(py, chosen.mode, options, chosen.dynamic, chosen.name)
}

/// What `torch.compiler.set_default_backend` was given; without it "inductor". Who has not imported torch's registry
/// has not called that.
///
/// # Errors
/// Where Python has no modules.
pub fn default_backend(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    if let Some(registry) = imported(py, names::BACKEND_REGISTRY)?
        && let Some(default) = registry.getattr_opt(names::DEFAULT_BACKEND)?
    {
        return Ok(default);
    }
    Ok(PyString::new(py, "inductor").into_any())
}

fn entry_points(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let kwargs = PyDict::new(py);
    kwargs.set_item("group", ENTRY_POINTS)?;
    py.import("importlib.metadata")?
        .call_method("entry_points", (), Some(&kwargs))
}

fn from_entry_point<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    for entry in entry_points(py)?.try_iter()? {
        let entry = entry?;
        if entry.getattr("name")?.eq(name)? {
            return entry.call_method0("load").map(Some);
        }
    }
    Ok(None)
}

/// The backend that torch has under a name. Imports torch's registry, and all of torch's backends.
pub(crate) fn from_torch<'py>(
    py: Python<'py>,
    name: &str,
) -> Result<Bound<'py, PyAny>, BackendError> {
    let registry = py.import(names::BACKEND_REGISTRY)?;
    match registry.call_method1("lookup_backend", (name,)) {
        Ok(callable) => Ok(callable),
        Err(error) if error.get_type(py).name()? == names::INVALID_BACKEND => {
            let valid = list(py, &["debug".into(), "experimental".into()])?;
            let suggestions = py
                .import("difflib")?
                .call_method1("get_close_matches", (name, list(py, &[])?, 2))?
                .extract()?;
            Err(BackendError::Unknown {
                name: name.to_owned(),
                suggestions,
                valid,
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// The names of all backends, sorted, without those that have one of the tags. Imports torch's
/// registry, which imports all of torch's backends.
///
/// # Errors
/// What these imports raise.
pub fn list(py: Python<'_>, exclude_tags: &[String]) -> PyResult<Vec<String>> {
    let mut found: Vec<String> = py
        .import(names::BACKEND_REGISTRY)?
        .call_method1("list_backends", (PyTuple::new(py, exclude_tags)?,))?
        .extract()?;
    for entry in entry_points(py)?.try_iter()? {
        found.push(entry?.getattr("name")?.extract()?);
    }
    let excluded = |tags: &[String]| tags.iter().any(|tag| exclude_tags.contains(tag));
    for (name, entry) in registered().iter() {
        match excluded(&entry.tags) {
            true => found.retain(|other| other != name),
            false => found.push(name.clone()),
        }
    }
    if !excluded(&["debug".to_owned()]) {
        found.push("eager".into());
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Gives a backend a name of its own.
///
/// # Errors
/// `TypeError` where it is not callable; `AssertionError` where the name is taken.
pub fn register(
    callable: &Bound<'_, PyAny>,
    name: Option<String>,
    tags: Vec<String>,
) -> PyResult<()> {
    if !callable.is_callable() {
        let message = format!("a backend is callable, not {}", callable.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    let name = match name {
        Some(name) if !name.is_empty() => name,
        _ => callable.getattr("__name__")?.extract()?,
    };
    let entry = Registered {
        callable: callable.clone().unbind(),
        tags,
    };
    let mut registered = registered();
    if registered.contains_key(&name) || name == "eager" {
        drop(registered);
        return Err(PyAssertionError::new_err(format!(
            "duplicate backend name: {name}"
        )));
    }
    registered.insert(name, entry);
    Ok(())
}

/// Takes a name of ours back; false where there was none.
pub fn unregister(name: &str) -> bool {
    let removed = registered().remove(name);
    removed.is_some()
}

/// `register_backend(compiler_fn=None, name=None, tags=())`: a decorator, with or without
/// arguments, as torch's.
///
/// # Errors
/// As [`register`].
#[pyfunction]
#[pyo3(signature = (compiler_fn=None, name=None, tags=Vec::new()))]
pub fn register_backend(
    py: Python<'_>,
    compiler_fn: Option<Bound<'_, PyAny>>,
    name: Option<String>,
    tags: Vec<String>,
) -> PyResult<Py<PyAny>> {
    if let Some(callable) = compiler_fn {
        register(&callable, name, tags)?;
        return Ok(callable.unbind());
    }
    let decorate = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
        let callable = args.get_item(0)?;
        register(&callable, name.clone(), tags.clone())?;
        PyResult::Ok(callable.unbind())
    };
    Ok(PyCFunction::new_closure(py, None, None, decorate)?
        .into_any()
        .unbind())
}

/// Whether a name is one of a backend that is there with any torch: nothing has to be imported to know it.
pub fn is_always_there(name: &str) -> bool {
    matches!(name, "inductor" | "eager") || runs_as_it_is(name).is_some()
}

/// `list_backends(exclude_tags=("debug", "experimental"))`: the names that a user can ask for.
///
/// # Errors
/// As [`list`].
#[pyfunction]
#[pyo3(signature = (exclude_tags=Some(vec!["debug".to_owned(), "experimental".to_owned()])))]
pub fn list_backends(py: Python<'_>, exclude_tags: Option<Vec<String>>) -> PyResult<Vec<String>> {
    list(py, &exclude_tags.unwrap_or_default())
}
