//! Which Python callables go into the graph as they are.
//!
//! A rule, not a list: every C function of torch's op namespaces, every function of
//! `torch.nn.functional` and `torch.functional`, and operators that torch dispatches.

use std::rc::Rc;
use std::sync::Arc;
use torch_abi::names;

use fx_graph::FnTarget;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use rustc_hash::FxHashMap;
use tensor_meta::{Does, RuleId};

use crate::library::Own;

/// A graph function.
pub struct GraphFn {
    /// where it is found: `torch.abs`
    pub path: Arc<str>,
    /// its metadata rule
    pub rule: Option<RuleId>,
}

/// Graph functions by address of the callable, which the table keeps alive.
pub struct FnTable {
    by_addr: FxHashMap<usize, (Rc<GraphFn>, Py<PyAny>)>,
}

/// Namespaces whose C functions are ops. `torch._C` itself is not among them: its own functions
/// read or change state.
const C_NAMESPACES: [&str; 8] = [
    names::TORCH_C_NN,
    names::TORCH_C_FFT,
    names::TORCH_C_LINALG,
    names::TORCH_C_SPECIAL,
    names::TORCH_C_SPARSE,
    names::TORCH_C_NESTED,
    "torch.special",
    "torch.linalg",
];

/// Namespaces all of whose public functions are taken whole.
const PYTHON_NAMESPACES: [&str; 2] = ["torch.nn.functional", "torch.functional"];

impl FnTable {
    /// Looks through torch's namespaces.
    ///
    /// # Errors
    /// Whatever a missing module raises.
    pub fn new(py: Python<'_>) -> PyResult<FnTable> {
        let mut table = FnTable {
            by_addr: FxHashMap::default(),
        };
        let torch = py.import("torch")?;
        let variable_functions = py
            .import(names::TORCH_C)?
            .getattr("_VariableFunctionsClass")?;
        for name in variable_functions.dir()?.iter() {
            let name: String = name.extract()?;
            let path = format!("torch.{name}");
            let traits = tensor_meta::function_traits(&path);
            if name.starts_with("__") || traits.any(Does::QUERY | Does::TANGENTS) {
                continue;
            }
            for owner in [torch.as_any(), &variable_functions] {
                if let Ok(f) = owner.getattr(name.as_str())
                    && f.get_type().name()? == "builtin_function_or_method"
                {
                    table.insert(&f, &path);
                }
            }
        }
        for module in C_NAMESPACES {
            let Ok(m) = py
                .import(module)
                .map(Bound::into_any)
                .or_else(|_| dotted(&torch, module))
            else {
                continue;
            };
            table.insert_module(&m, module, |f| {
                f.get_type()
                    .name()
                    .is_ok_and(|n| n == "builtin_function_or_method")
            })?;
        }
        for module in PYTHON_NAMESPACES {
            let m = py.import(module)?;
            let own = Own::of(py, module);
            table.insert_module(m.as_any(), module, |f| {
                f.get_type()
                    .name()
                    .is_ok_and(|n| n == "builtin_function_or_method" || n == "function")
                    && f.getattr("__module__")
                        .is_ok_and(|m| m.extract::<String>().is_ok_and(|m| m.starts_with("torch")))
                    && own.has(f)
            })?;
        }
        Ok(table)
    }

    fn insert_module(
        &mut self,
        m: &Bound<'_, PyAny>,
        module: &str,
        want: impl Fn(&Bound<'_, PyAny>) -> bool,
    ) -> PyResult<()> {
        let names: Vec<String> = match m.cast::<PyModule>() {
            Ok(m) => m.dict().keys().extract()?,
            Err(_) => m.dir()?.extract()?,
        };
        for name in names {
            let path = format!("{module}.{name}");
            if (name.starts_with('_') && !module.starts_with(names::TORCH_C))
                || tensor_meta::function_traits(&path).any(Does::TAKEN_APART)
            {
                continue;
            }
            let f = m.getattr(name.as_str())?;
            if want(&f) {
                self.insert(&f, &path);
            }
        }
        Ok(())
    }

    fn insert(&mut self, f: &Bound<'_, PyAny>, path: &str) {
        let rule = tensor_meta::lookup_function(path);
        let entry = Rc::new(GraphFn {
            path: path.into(),
            rule,
        });
        let slot = self
            .by_addr
            .entry(f.as_ptr() as usize)
            .or_insert_with(|| (entry.clone(), f.clone().unbind()));
        if slot.0.rule.is_none() && rule.is_some() {
            slot.0 = entry;
        }
    }

    /// The entry of a callable.
    pub fn get(&self, f: &Bound<'_, PyAny>) -> Option<Rc<GraphFn>> {
        let (entry, _) = self.by_addr.get(&(f.as_ptr() as usize))?;
        Some(entry.clone())
    }
}

fn dotted<'py>(torch: &Bound<'py, PyModule>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    path.split('.')
        .skip(1)
        .try_fold(torch.clone().into_any(), |o, p| o.getattr(p))
}

/// The target of a node that calls `f`.
///
/// # Errors
/// Whatever `repr` raises.
pub fn fn_target(f: &Bound<'_, PyAny>, handle: u32, path: &str) -> PyResult<FnTarget> {
    let hint = f
        .getattr("__name__")
        .and_then(|n| n.extract::<String>())
        .unwrap_or_else(|_| path.rsplit('.').next().unwrap_or("fn").to_string());
    Ok(FnTarget::new(handle, f.repr()?.to_string(), path, hint))
}
