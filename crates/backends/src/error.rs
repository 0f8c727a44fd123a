//! What can go wrong at the boundary to a backend, and the Python exceptions it becomes.

use fx_graph::str_repr;
use pyo3::exceptions::{PyException, PyIndexError, PyRuntimeError};
use pyo3::prelude::*;

use crate::refused::{self, Meaning};

/// An error of a backend, or of the search for one.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// No backend has that name.
    #[error("invalid backend {}{}; the valid ones are {}", str_repr(.name), did_you_mean(.suggestions), .valid.join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// Names that are close to it, best first.
        suggestions: Vec<String>,
        /// The names that are valid, without those for debugging.
        valid: Vec<String>,
    },
    /// The object is neither a name nor callable.
    #[error("a backend is a name or a callable, not {0}")]
    NotABackend(String),
    /// `mode` and `options` were both given.
    #[error("either mode or options can be given, not both")]
    ModeAndOptions,
    /// The backend raised.
    #[error("backend={} raised:\n{cause}", str_repr(.name))]
    Raised {
        /// Name of the backend.
        name: String,
        /// What it raised.
        cause: PyErr,
    },
    /// The backend refused an operation of the graph, whose result depends on data or which fake
    /// tensors do not know.
    #[error("backend={} refused an operation:\n{cause}", str_repr(.name))]
    Refused {
        /// Name of the backend.
        name: String,
        /// Name of the node of the graph, where it is known.
        node: Option<String>,
        /// What it raised.
        cause: PyErr,
    },
    /// The backend asked that the function runs in eager mode.
    #[error("backend={} skipped the function:\n{cause}", str_repr(.name))]
    Skipped {
        /// Name of the backend.
        name: String,
        /// What it raised.
        cause: PyErr,
    },
    /// The backend asked to be called again with the same graph.
    #[error("backend={} asked for a restart:\n{cause}", str_repr(.name))]
    Restart {
        /// Name of the backend.
        name: String,
        /// What it raised.
        cause: PyErr,
        /// Which inputs are floats that it wants as constants, as far as it says so.
        floats: Vec<usize>,
    },
    /// The backend returned something that cannot be called.
    #[error("backend={} returned {returned}, which is not callable", str_repr(.name))]
    NotCallable {
        /// Name of the backend.
        name: String,
        /// Type of what it returned.
        returned: String,
    },
    /// An exception that is the user's as it is: an interrupt, or a bad option.
    #[error("{0}")]
    Python(#[from] PyErr),
}

fn did_you_mean(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        names => {
            let quoted: Vec<_> = names.iter().map(|name| str_repr(name)).collect();
            format!(", did you mean {}?", quoted.join(" or "))
        }
    }
}

impl BackendError {
    /// What an exception out of a backend is, which was called with the module `gm`. An interrupt,
    /// an `IndexError` (of a tensor operation on the user's values) and torch's exceptions with a
    /// short traceback pass as they are, as torch lets them. `stopped_at` is the node that raised when
    /// the graph was run on fake tensors before the backend was called, if one did; `has_symbols`
    /// says whether the graph was given sizes or ints as symbols.
    pub(crate) fn raised(
        name: &str,
        cause: PyErr,
        gm: &Bound<'_, PyAny>,
        stopped_at: Option<&str>,
        has_symbols: bool,
    ) -> BackendError {
        let py = gm.py();
        if !cause.is_instance_of::<PyException>(py) || cause.is_instance_of::<PyIndexError>(py) {
            return BackendError::Python(cause);
        }
        let name = name.to_owned();
        let meaning = match refused::meaning(&cause, gm) {
            // Fake tensors refuse some operations with exceptions of no class of their own. In eager mode
            // the operation works, or raises what the program expects. A node that raised because of
            // symbols may not raise with constants, which are tried after a failure.
            Ok(Meaning::Failed) if stopped_at.is_some() && !has_symbols => {
                Ok(Meaning::Refused(None))
            }
            meaning => meaning,
        };
        match meaning {
            Ok(Meaning::Passes) => BackendError::Python(cause),
            Ok(Meaning::Restart) => BackendError::Restart {
                name,
                cause,
                floats: Vec::new(),
            },
            Ok(Meaning::Skip) => BackendError::Skipped { name, cause },
            Ok(Meaning::Refused(node)) => BackendError::Refused {
                name,
                node: node.or_else(|| stopped_at.map(str::to_owned)),
                cause,
            },
            Ok(Meaning::Failed) => BackendError::Raised { name, cause },
            Err(error) if !error.is_instance_of::<PyException>(py) => BackendError::Python(error),
            Err(_) => BackendError::Raised { name, cause },
        }
    }

    /// What the backend raised, where it did.
    pub(crate) fn cause(&self) -> Option<&PyErr> {
        match self {
            BackendError::Raised { cause, .. }
            | BackendError::Refused { cause, .. }
            | BackendError::Skipped { cause, .. }
            | BackendError::Restart { cause, .. }
            | BackendError::Python(cause) => Some(cause),
            _ => None,
        }
    }

    /// The Python exception: `ferrodyn.exc.BackendCompilerFailed` (with the cause) or
    /// `ferrodyn.exc.InvalidBackend`; `RuntimeError` with the same text where `ferrodyn` is not
    /// importable. The classes are looked up here and only here.
    pub fn into_py_err(self, py: Python<'_>) -> PyErr {
        let message = match &self {
            BackendError::Raised { name, cause }
            | BackendError::Refused { name, cause, .. }
            | BackendError::Skipped { name, cause }
            | BackendError::Restart { name, cause, .. } => {
                let type_name = cause
                    .get_type(py)
                    .name()
                    .map_or_else(|_| "Exception".into(), |name| name.to_string());
                format!(
                    "backend={} raised:\n{type_name}: {}",
                    str_repr(name),
                    cause.value(py)
                )
            }
            other => other.to_string(),
        };
        let class = |name: &str| py.import("ferrodyn.exc").and_then(|exc| exc.getattr(name));
        let build = |made: PyResult<Bound<'_, PyAny>>| match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(_) => PyRuntimeError::new_err(message.clone()),
        };
        match self {
            BackendError::Python(error) => error,
            BackendError::Raised { name, cause }
            | BackendError::Refused { name, cause, .. }
            | BackendError::Skipped { name, cause }
            | BackendError::Restart { name, cause, .. } => {
                let made = class("BackendCompilerFailed")
                    .and_then(|class| class.call1((&message, cause.value(py), &name)));
                let error = build(made);
                error.set_cause(py, Some(cause));
                error
            }
            BackendError::ModeAndOptions => PyRuntimeError::new_err(message),
            BackendError::Unknown { .. }
            | BackendError::NotABackend(_)
            | BackendError::NotCallable { .. } => {
                build(class("InvalidBackend").and_then(|class| class.call1((&message,))))
            }
        }
    }
}

impl From<BackendError> for PyErr {
    fn from(error: BackendError) -> PyErr {
        Python::attach(|py| error.into_py_err(py))
    }
}
