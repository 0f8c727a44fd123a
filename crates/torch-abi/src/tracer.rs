//! What torch's own tracer keeps for the program: options, counters, callbacks, whether a graph break is an error.
//!
//! Programs set and read these with `torch.compile`, and so they do with Ferrodyn. Nothing here imports the tracer: a
//! program that has not imported it has set nothing.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::imported::imported;

/// Modules of options. The tracer's own comes first.
static CONFIGS: [ConfigModule; 2] = [
    ConfigModule::new("torch._dynamo.config"),
    ConfigModule::new("torch.compiler.config"),
];
const CONFIG_MODULE: &str = "torch.utils._config_module";
const EVAL_FRAME: &str = "torch._dynamo.eval_frame";
const UTILS: &str = "torch._dynamo.utils";
const CALLBACK: &str = "torch._dynamo.callback";

/// An option of torch's tracer.
struct TracerOption {
    name: String,
    entry: Py<PyAny>,
    /// Where a value that was set is kept.
    set: Py<PyAny>,
    default: Py<PyAny>,
}

/// All options, and the object that stands for "not set".
struct TracerOptions {
    options: Vec<TracerOption>,
    unset: Py<PyAny>,
}

/// A module of options, and what is in it once it was imported.
struct ConfigModule {
    module: &'static str,
    options: PyOnceLock<TracerOptions>,
}

impl ConfigModule {
    const fn new(module: &'static str) -> ConfigModule {
        ConfigModule {
            module,
            options: PyOnceLock::new(),
        }
    }

    fn find(&'static self, py: Python<'_>) -> PyResult<Option<&'static TracerOptions>> {
        if self.options.get(py).is_none() {
            let Some(config) = imported(py, self.module)? else {
                return Ok(None);
            };
            let Some(entries) = config.getattr_opt("_config")? else {
                return Ok(None); // It is being imported.
            };
            let unset = py.import(CONFIG_MODULE)?.getattr("_UNSET_SENTINEL")?;
            let mut options = Vec::new();
            for (name, entry) in entries.cast::<PyDict>()? {
                // Another name of an option.
                if !entry.getattr("alias")?.is_none() {
                    continue;
                }
                options.push(TracerOption {
                    name: name.extract()?,
                    set: entry.getattr("user_override")?.unbind(),
                    default: entry.getattr("default")?.unbind(),
                    entry: entry.unbind(),
                });
            }
            let unset = unset.unbind();
            let _ = self.options.set(py, TracerOptions { options, unset });
        }
        Ok(self.options.get(py))
    }
}

impl TracerOptions {
    /// What an option was set to in this thread.
    fn set<'py>(
        &self,
        py: Python<'py>,
        option: &TracerOption,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let kept = option.set.bind(py);
        // SAFETY: the type check reads a live object.
        let is_variable = unsafe { ffi::PyContextVar_CheckExact(kept.as_ptr()) } != 0;
        let value = if is_variable {
            let mut value = std::ptr::null_mut();
            // SAFETY: a context variable; the reference that is stored is ours.
            unsafe {
                if ffi::PyContextVar_Get(kept.as_ptr(), std::ptr::null_mut(), &raw mut value) < 0 {
                    return Err(PyErr::fetch(py));
                }
                Bound::from_owned_ptr_or_opt(py, value)
            }
        } else {
            // Older torch keeps the value itself.
            Some(
                option
                    .entry
                    .bind(py)
                    .getattr(intern!(py, "user_override"))?,
            )
        };
        Ok(value.filter(|value| !value.is(&self.unset)))
    }
}

/// Hands over each option of torch's tracer: its module, its name, its value, and whether it was changed.
///
/// # Errors
/// Where torch keeps its options in another way, or comparing values raises.
pub fn options<'py>(
    py: Python<'py>,
    mut take: impl FnMut(&'static str, &str, &Bound<'py, PyAny>, bool),
) -> PyResult<()> {
    for config in &CONFIGS {
        let Some(found) = config.find(py)? else {
            continue;
        };
        for option in &found.options {
            let default = option.default.bind(py);
            match found.set(py, option)? {
                Some(value) => {
                    let is_changed = !value.eq(default)?;
                    take(config.module, &option.name, &value, is_changed);
                }
                None => take(config.module, &option.name, default, false),
            }
        }
    }
    Ok(())
}

/// Whether a switch among the options is on.
///
/// # Errors
/// As [`options`].
pub fn is_on(py: Python<'_>, name: &str) -> PyResult<bool> {
    let Some(found) = CONFIGS[0].find(py)? else {
        return Ok(false);
    };
    let Some(option) = found.options.iter().find(|option| option.name == name) else {
        return Ok(false);
    };
    match found.set(py, option)? {
        Some(value) => value.is_truthy(),
        None => option.default.bind(py).is_truthy(),
    }
}

/// Whether the program has entered `error_on_graph_break(True)` in eager code.
///
/// # Errors
/// Where torch keeps that in another way.
pub fn errors_on_break(py: Python<'_>) -> PyResult<bool> {
    let Some(tracer) = imported(py, EVAL_FRAME)? else {
        return Ok(false);
    };
    match tracer.getattr_opt(intern!(py, "_get_error_on_graph_break"))? {
        Some(ask) => ask.call0()?.is_truthy(),
        None => Ok(false),
    }
}

/// Counts so many of something in `torch._dynamo.utils.counters`.
///
/// # Errors
/// Where torch counts in another way.
pub fn count(py: Python<'_>, group: &str, what: &str, many: usize) -> PyResult<()> {
    let Some(utils) = imported(py, UTILS)? else {
        return Ok(());
    };
    let Some(counters) = utils.getattr_opt(intern!(py, "counters"))? else {
        return Ok(());
    };
    let group = counters.get_item(group)?;
    let before: i64 = group.get_item(what)?.extract()?;
    group.set_item(what, before + many as i64)
}

/// The context manager that runs the program's callbacks for a compilation, where there are any.
///
/// # Errors
/// Where torch keeps them in another way.
pub fn callbacks<'py>(py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(module) = imported(py, CALLBACK)? else {
        return Ok(None);
    };
    let Some(handler) = module.getattr_opt(intern!(py, "callback_handler"))? else {
        return Ok(None);
    };
    let listens = |name: &str| handler.getattr(name)?.is_truthy();
    if !listens("start_callbacks")? && !listens("end_callbacks")? {
        return Ok(None);
    }
    let trigger = module.getattr("CallbackTrigger")?.getattr("DYNAMO")?;
    let context = handler.call_method1("install_callbacks", (trigger, id))?;
    Ok(Some(context))
}
