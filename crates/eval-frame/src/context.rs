//! What a compiled region is compiled with: backend, `fullgraph`, `dynamic` and options.
//!
//! Not here: what the options mean. A context is immutable; two entries that
//! share one share everything compiled under it.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Identity of a [`CompileContext`], never used twice in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(u64);

/// What a compiler keeps with a context.
pub trait ContextState: Any + Send + Sync {
    /// Visits the Python objects that it holds.
    ///
    /// # Errors
    /// What `visit` gives.
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError>;
}

/// The settings of a compiled region, as the compiler sees them.
pub struct CompileContext {
    id: ContextId,
    backend: Py<PyAny>,
    fullgraph: bool,
    dynamic: Option<bool>,
    recompile_limit: Option<usize>,
    options: Py<PyDict>,
    state: OnceLock<Box<dyn ContextState>>,
    /// What is compiled with other backends in the place of this one's.
    forced: Mutex<Vec<Py<Context>>>,
}

impl CompileContext {
    fn new(
        backend: Py<PyAny>,
        fullgraph: bool,
        dynamic: Option<bool>,
        options: Bound<'_, PyDict>,
    ) -> PyResult<CompileContext> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let limit = options.get_item("recompile_limit")?;
        Ok(CompileContext {
            id: ContextId(NEXT.fetch_add(1, Ordering::Relaxed)),
            backend,
            fullgraph,
            dynamic,
            recompile_limit: limit.map(|limit| limit.extract()).transpose()?,
            options: options.unbind(),
            state: OnceLock::new(),
            forced: Mutex::default(),
        })
    }

    /// The same choices with another backend: one context for each. What is meant for this one's backend is left out.
    ///
    /// # Errors
    /// What comparing backends raises.
    pub fn with_backend(&self, backend: &Bound<'_, PyAny>) -> PyResult<Py<Context>> {
        let py = backend.py();
        // Not locked while Python compares.
        let known: Vec<Py<Context>> = match self.forced.lock() {
            Ok(forced) => forced.iter().map(|context| context.clone_ref(py)).collect(),
            Err(_) => Vec::new(),
        };
        for context in known {
            if context.get().inner.backend.bind(py).eq(backend)? {
                return Ok(context);
            }
        }
        let options = self.options.bind(py).copy()?;
        for name in ["mode", "options", "name"] {
            if options.contains(name)? {
                options.del_item(name)?;
            }
        }
        let inner = CompileContext::new(
            backend.clone().unbind(),
            self.fullgraph,
            self.dynamic,
            options,
        )?;
        let context = Py::new(py, Context { inner })?;
        if let Ok(mut forced) = self.forced.lock() {
            forced.push(context.clone_ref(py));
        }
        Ok(context)
    }

    /// Identity, for caches and skip marks that hold for one context.
    pub fn id(&self) -> ContextId {
        self.id
    }

    /// The backend, as the Python package passed it: a callable or a name.
    pub fn backend(&self) -> &Py<PyAny> {
        &self.backend
    }

    /// Whether a graph break is an error.
    pub fn fullgraph(&self) -> bool {
        self.fullgraph
    }

    /// Whether sizes are symbolic: `None` decides by what changes.
    pub fn dynamic(&self) -> Option<bool> {
        self.dynamic
    }

    /// How often a code object may be compiled under this context; `None`: as the configuration says.
    pub fn recompile_limit(&self) -> Option<usize> {
        self.recompile_limit
    }

    /// Further options, by name.
    pub fn options(&self) -> &Py<PyDict> {
        &self.options
    }

    /// The compiler's own state for this context, made at first use.
    ///
    /// # Panics
    /// If asked for as two different types.
    pub fn state<T: ContextState>(&self, init: impl FnOnce() -> T) -> &T {
        let state: &dyn ContextState = &**self.state.get_or_init(|| Box::new(init()));
        (state as &dyn Any)
            .downcast_ref()
            .expect("one type of state for each context")
    }
}

/// Python handle of a [`CompileContext`].
#[pyclass(frozen, module = "ferrodyn._core", weakref)]
pub struct Context {
    inner: CompileContext,
}

impl Context {
    /// A context of somebody who has nothing to choose.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn without_choices(py: Python<'_>) -> PyResult<Bound<'_, Context>> {
        let inner = CompileContext::new(py.None(), false, None, PyDict::new(py))?;
        Bound::new(py, Context { inner })
    }

    /// The settings.
    pub fn settings(&self) -> &CompileContext {
        &self.inner
    }
}

#[pymethods]
impl Context {
    #[new]
    #[pyo3(signature = (backend, fullgraph=false, dynamic=None, options=None))]
    fn new(
        py: Python<'_>,
        backend: Py<PyAny>,
        fullgraph: bool,
        dynamic: Option<bool>,
        options: Option<Py<PyDict>>,
    ) -> PyResult<Self> {
        let options = options.unwrap_or_else(|| PyDict::new(py).unbind());
        Ok(Context {
            inner: CompileContext::new(backend, fullgraph, dynamic, options.into_bound(py))?,
        })
    }

    #[getter]
    fn backend(&self, py: Python<'_>) -> Py<PyAny> {
        self.inner.backend.clone_ref(py)
    }

    #[getter]
    fn fullgraph(&self) -> bool {
        self.inner.fullgraph
    }

    #[getter]
    fn dynamic(&self) -> Option<bool> {
        self.inner.dynamic
    }

    #[getter]
    fn options(&self, py: Python<'_>) -> Py<PyDict> {
        self.inner.options.clone_ref(py)
    }

    #[getter]
    fn id(&self) -> u64 {
        self.inner.id.0
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.inner.backend)?;
        if let Some(state) = self.inner.state.get() {
            state.traverse(&visit)?;
        }
        if let Ok(forced) = self.inner.forced.try_lock() {
            for context in &*forced {
                visit.call(context)?;
            }
        }
        visit.call(&self.inner.options)
    }
}
