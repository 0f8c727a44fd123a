//! Backends: how they are found, called and kept from doing harm.

mod common;

use backends::{
    AotInput, Backend, BackendCall, BackendError, CompileOptions, call_backend, from_torch, list,
    register, to_torch, unregister,
};
use common::{module, with_torch};
use pyo3::exceptions::{PyIndexError, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PyString};

const CASES: &str = include_str!("backend_cases.py");

fn resolve(py: Python<'_>, name: &str) -> Result<Backend, BackendError> {
    Backend::resolve(PyString::new(py, name).as_any(), &CompileOptions::default())
}

fn tensor(source: &str, dynamic_dims: &[usize], is_static: bool) -> AotInput {
    AotInput::Tensor {
        source: source.into(),
        dynamic_dims: dynamic_dims.to_vec(),
        is_static,
    }
}

/// Calls a backend on a module that went through our graph and back.
fn check_backend(py: Python<'_>, cases: &Bound<'_, PyModule>, name: &str) -> PyResult<()> {
    let backend = resolve(py, name)?;
    for in_graph in [true, false] {
        for training in [false, true] {
            let (original, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                cases.call_method1("graph_module", (in_graph,))?.extract()?;
            let read = from_torch(&original)?;
            let gm = to_torch(py, &read.graph, &read.objects, &read.attrs)?.into_bound(py);
            let args = cases.call_method1("inputs", (training,))?;
            let (x, bias): (Bound<'_, PyAny>, Bound<'_, PyAny>) = args.extract()?;
            let (examples, inputs) = match in_graph {
                true => (
                    vec![x, bias],
                    vec![tensor("x", &[], false), tensor("b", &[], false)],
                ),
                false => (
                    vec![x, weight.clone(), bias],
                    vec![
                        tensor("x", &[], false),
                        tensor("self.weight", &[], true),
                        tensor("b", &[], false),
                    ],
                ),
            };
            let call = BackendCall {
                inputs: &inputs,
                compile_id: (7, 0),
            };
            let mode = py
                .import("torch")?
                .call_method1("set_grad_enabled", (training,))?;
            mode.call_method0("__enter__")?;
            let compiled = call.run(&backend, &gm, &PyList::new(py, examples)?);
            mode.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
            let compiled = compiled?;
            cases.call_method1(
                "check",
                (compiled.callable, weight, args, in_graph, training),
            )?;
            if backend.wants_tracing_context() {
                for node in gm.getattr("graph")?.getattr("nodes")?.try_iter()? {
                    let node = node?;
                    if !node.getattr("op")?.eq("output")? {
                        let meta = node.getattr("meta")?;
                        assert!(meta.contains("example_value")?, "{name}: {node}");
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn eager_is_right() {
    with_torch(|py| check_backend(py, &module(py, CASES)?, "eager"));
}

#[test]
fn aot_eager_is_right() {
    with_torch(|py| {
        assert!(resolve(py, "aot_eager")?.wants_tracing_context());
        check_backend(py, &module(py, CASES)?, "aot_eager")
    });
}

#[test]
fn inductor_is_right() {
    with_torch(|py| {
        assert!(resolve(py, "inductor")?.wants_tracing_context());
        check_backend(py, &module(py, CASES)?, "inductor")
    });
}

#[test]
fn cudagraphs_is_right() {
    with_torch(|py| check_backend(py, &module(py, CASES)?, "cudagraphs"));
}

#[test]
fn dynamic_sizes_reach_aot_backends() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let torch = py.import("torch")?;
        let gm = cases.call_method0("dynamic_module")?;
        let x = torch.call_method1("randn", (5, 3))?;
        let examples = PyList::empty(py);
        examples.append(5)?;
        examples.append(&x)?;
        let call = BackendCall {
            inputs: &[AotInput::Size { of: 1, dim: 0 }, tensor("x", &[0], false)],
            compile_id: (8, 0),
        };
        let compiled = call.run(&resolve(py, "aot_eager")?, &gm, &examples)?;
        for rows in [5, 2, 9] {
            let x = torch.call_method1("randn", (rows, 3))?;
            let got = compiled.callable.bind(py).call1((rows, &x))?.get_item(0)?;
            let want = x.mul(rows)?;
            assert!(torch.call_method1("equal", (got, want))?.is_truthy()?);
        }
        // A backend for static sizes would have failed above or said `== 5`.
        for guard in &compiled.shape_guards {
            assert!(!guard.contains("== 5"), "{guard}");
        }
        Ok(())
    });
}

#[test]
fn callables_get_the_module_and_the_inputs() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let (gm, _weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            cases.call_method1("graph_module", (true,))?.extract()?;
        let args = PyList::new(
            py,
            cases
                .call_method1("inputs", (false,))?
                .try_iter()?
                .collect::<PyResult<Vec<_>>>()?,
        )?;
        let options = PyDict::new(py);
        options.set_item("level", 3)?;
        let asked = CompileOptions {
            options: Some(options.clone().unbind()),
            ..CompileOptions::default()
        };
        let backend = Backend::resolve(&cases.getattr("passing")?, &asked)?;
        assert_eq!(backend.name(), "passing");
        let compiled = call_backend(&backend, &gm, &args)?;
        let name: String = compiled.getattr(py, "__name__")?.extract(py)?;
        assert_eq!(name, "forward", "the hop through the lazy module is gone");
        let seen = cases.getattr("SEEN")?.get_item(0)?;
        assert!(seen.get_item(0)?.is(&gm));
        assert!(seen.get_item(1)?.is(&args));
        assert!(seen.get_item(2)?.get_item("options")?.eq(options)?);
        assert!(
            seen.get_item(3)?.is_truthy()?,
            "is_compiling() while compiling"
        );
        let asked = CompileOptions {
            mode: Some("default".into()),
            ..CompileOptions::default()
        };
        call_backend(
            &Backend::resolve(&cases.getattr("passing")?, &asked)?,
            &gm,
            &args,
        )?;
        assert_eq!(cases.getattr("SEEN")?.get_item(1)?.get_item(2)?.len()?, 0);
        Ok(())
    });
}

#[test]
fn errors_are_told_apart() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let (gm, _weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            cases.call_method1("graph_module", (true,))?.extract()?;
        let call = |name: &str| {
            let backend = Backend::resolve(&cases.getattr(name)?, &CompileOptions::default())?;
            call_backend(&backend, &gm, &PyList::empty(py))
        };
        match call("raising") {
            Err(BackendError::Raised { name, cause }) => {
                assert_eq!(name, "raising");
                assert!(cause.is_instance_of::<PyValueError>(py));
                let error = BackendError::Raised { name, cause }.into_py_err(py);
                assert!(error.cause(py).unwrap().is_instance_of::<PyValueError>(py));
                assert!(
                    error
                        .to_string()
                        .contains("backend='raising' raised:\nValueError: no good"),
                    "{error}"
                );
            }
            other => panic!("{:?}", other.err()),
        }
        match call("returning_nothing") {
            Err(error @ BackendError::NotCallable { .. }) => {
                assert!(error.to_string().contains("NoneType"), "{error}");
            }
            other => panic!("{:?}", other.err()),
        }
        match call("interrupting") {
            Err(BackendError::Python(error)) => {
                assert!(error.is_instance_of::<PyKeyboardInterrupt>(py));
            }
            other => panic!("{:?}", other.err()),
        }
        match call("indexing") {
            Err(BackendError::Python(error)) => assert!(error.is_instance_of::<PyIndexError>(py)),
            other => panic!("{:?}", other.err()),
        }
        Ok(())
    });
}

#[test]
fn state_survives_a_backend() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let (gm, _weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            cases.call_method1("graph_module", (true,))?.extract()?;
        for name in ["messing", "passing", "interrupting"] {
            let before = cases.call_method0("state")?;
            let backend = Backend::resolve(&cases.getattr(name)?, &CompileOptions::default())?;
            let _ = call_backend(&backend, &gm, &PyList::empty(py));
            assert!(before.eq(cases.call_method0("state")?)?, "{name}");
        }
        Ok(())
    });
}

#[test]
fn unknown_names_get_help() {
    with_torch(|py| {
        match resolve(py, "inducter") {
            Err(error @ BackendError::Unknown { .. }) => {
                let BackendError::Unknown {
                    suggestions, valid, ..
                } = &error
                else {
                    unreachable!()
                };
                assert_eq!(suggestions[0], "inductor");
                assert!(valid.contains(&"cudagraphs".to_owned()));
                assert!(!valid.contains(&"eager".to_owned()), "a debugging backend");
                assert!(error.to_string().contains("did you mean 'inductor'"));
            }
            other => panic!("{:?}", other.err()),
        }
        let number = 3i64.into_pyobject(py)?.into_any();
        assert!(matches!(
            Backend::resolve(&number, &CompileOptions::default()),
            Err(BackendError::NotABackend(_))
        ));
        let both = CompileOptions {
            mode: Some("default".into()),
            options: Some(PyDict::new(py).unbind()),
            dynamic: None,
        };
        assert!(matches!(
            Backend::resolve(PyString::new(py, "eager").as_any(), &both),
            Err(BackendError::ModeAndOptions)
        ));
        Ok(())
    });
}

#[test]
fn modes_of_inductor_become_options() {
    with_torch(|py| {
        let asked = |mode: Option<&str>, options: Option<Bound<'_, PyDict>>| CompileOptions {
            mode: mode.map(Into::into),
            options: options.map(Bound::unbind),
            dynamic: None,
        };
        let inductor = PyString::new(py, "inductor").into_any();
        let config = |asked: &CompileOptions| -> Result<String, BackendError> {
            let backend = Backend::resolve(&inductor, asked)?;
            let callable = backend.callable().unwrap().bind(py);
            Ok(callable.getattr("config")?.repr()?.to_string())
        };
        assert_eq!(config(&asked(None, None))?, "{}");
        assert!(config(&asked(Some("max-autotune"), None))?.contains("'max_autotune': True"));
        let options = PyDict::new(py);
        options.set_item("max_fusion_size", 7)?;
        assert_eq!(
            config(&asked(None, Some(options)))?,
            "{'max_fusion_size': 7}"
        );
        assert!(matches!(
            config(&asked(Some("no-such-mode"), None)),
            Err(BackendError::Python(_))
        ));
        let one = Backend::resolve(&inductor, &asked(None, None))?;
        let other = Backend::resolve(&inductor, &asked(Some("default"), None))?;
        let third = Backend::resolve(&inductor, &asked(Some("max-autotune"), None))?;
        assert!(one.same_as(&other, py) && !one.same_as(&third, py));
        Ok(())
    });
}

#[test]
fn names_can_be_registered() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let passing = cases.getattr("passing")?;
        register(&passing, Some("mine".into()), vec!["debug".into()])?;
        assert!(register(&passing, Some("mine".into()), Vec::new()).is_err());
        assert!(
            resolve(py, "mine")?
                .callable()
                .unwrap()
                .bind(py)
                .is(&passing)
        );
        assert!(list(py, &[])?.contains(&"mine".to_owned()));
        assert!(!list(py, &["debug".into()])?.contains(&"mine".to_owned()));
        assert!(unregister("mine") && !unregister("mine"));
        assert!(resolve(py, "mine").is_err());
        Ok(())
    });
}
