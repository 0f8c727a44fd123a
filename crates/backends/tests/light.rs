//! A plain backend does not load torch's tracer. Alone in its binary, since other tests do.

mod common;

use backends::{Backend, CompileOptions, call_backend, from_torch, to_torch};
use common::{module, with_torch};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

const CASES: &str = include_str!("backend_cases.py");

#[test]
fn eager_and_callables_import_no_tracer() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let (original, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            cases.call_method1("graph_module", (true,))?.extract()?;
        let read = from_torch(&original)?;
        for spec in [
            PyString::new(py, "eager").into_any(),
            cases.getattr("passing")?,
        ] {
            let gm = to_torch(py, &read.graph, &read.objects, &read.attrs)?.into_bound(py);
            let backend = Backend::resolve(&spec, &CompileOptions::default())?;
            assert!(backend.capabilities().gives_graph_back);
            assert_eq!(
                backend.capabilities().is_absent,
                spec.is_instance_of::<PyString>()
            );
            let args = cases.call_method1("inputs", (false,))?;
            let examples = PyList::new(py, args.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
            let compiled = call_backend(&backend, &gm, &examples)?;
            cases.call_method1("check", (compiled, &weight, args, true, false))?;
        }
        assert!(!cases.call_method0("dynamo_is_imported")?.is_truthy()?);
        Ok(())
    });
}
