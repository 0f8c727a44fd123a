//! Backends: how they are found, called and kept from doing harm.

mod common;

use backends::{
    Backend, BackendCall, BackendError, CompileOptions, call_backend, from_torch, list, register,
    to_torch, unregister,
};
use common::{module, with_torch};
use fx_graph::{AotInput, ShapeCompare, ShapeExpr, ShapeGuard, ShapeLeaf};
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
        unbacked_dims: Vec::new(),
        dynamic_held: Vec::new(),
        parameter: is_static.then(|| source.into()),
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
                shares_memory: false,
                inputs: &inputs,
                compile_id: (7, 0),
                graph: None,
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
            if backend.capabilities().wants_context {
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
        assert!(!resolve(py, "aot_eager")?.capabilities().gives_graph_back);
        check_backend(py, &module(py, CASES)?, "aot_eager")
    });
}

#[test]
fn inductor_is_right() {
    with_torch(|py| {
        assert!(!resolve(py, "inductor")?.capabilities().gives_graph_back);
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
            shares_memory: false,
            inputs: &[
                AotInput::Layout(ShapeLeaf::Size(1, 0)),
                tensor("x", &[0], false),
            ],
            compile_id: (8, 0),
            graph: None,
        };
        let compiled = call.run(&resolve(py, "aot_eager")?, &gm, &examples)?;
        for rows in [5, 2, 9] {
            let x = torch.call_method1("randn", (rows, 3))?;
            let got = compiled.callable.bind(py).call1((rows, &x))?.get_item(0)?;
            let want = x.mul(rows)?;
            assert!(torch.call_method1("equal", (got, want))?.is_truthy()?);
        }
        // A backend for static sizes would have failed above or held the size to 5.
        let guards = compiled.shape_guards.expect("about the inputs alone");
        let fixes = |guard: &ShapeGuard| match guard {
            ShapeGuard::Compare(compare, _, right) => {
                *compare == ShapeCompare::Equal && *right == ShapeExpr::Const(5)
            }
            ShapeGuard::Unchanged(_) => true,
            ShapeGuard::Either(_) => false,
        };
        assert!(!guards.iter().any(fixes), "{guards:?}");
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
            name: Some("region".into()),
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
        assert!(seen.get_item(2)?.get_item("name")?.eq("region")?);
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
            ..CompileOptions::default()
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
            name: Some("region".into()),
            ..CompileOptions::default()
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
        assert_eq!(config(&asked(Some("default"), None))?, "{}");
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

#[test]
fn caches_of_the_backend_are_hit() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let inductor = resolve(py, "inductor")?;
        let counters = py
            .import("torch._dynamo.utils")?
            .getattr("counters")?
            .get_item("aot_autograd")?;
        let count = |key: &str| -> PyResult<i64> { counters.get_item(key)?.extract() };
        let compile = || -> PyResult<()> {
            let (gm, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                cases.call_method1("graph_module", (false,))?.extract()?;
            let args = cases.call_method1("inputs", (true, 6))?;
            let (x, bias): (Bound<'_, PyAny>, Bound<'_, PyAny>) = args.extract()?;
            let inputs = [
                tensor("x", &[], false),
                tensor("self.weight", &[], true),
                tensor("b", &[], false),
            ];
            let call = BackendCall {
                shares_memory: false,
                inputs: &inputs,
                compile_id: (9, 0),
                graph: None,
            };
            let examples = PyList::new(py, [x, weight.clone(), bias])?;
            let compiled = call.run(&inductor, &gm, &examples)?;
            cases.call_method1("check", (compiled.callable, weight, args, false, true))?;
            Ok(())
        };
        compile()?;
        let (hits, bypassed) = (
            count("autograd_cache_hit")?,
            count("autograd_cache_bypass")?,
        );
        compile()?;
        assert_eq!(count("autograd_cache_bypass")?, bypassed);
        assert_eq!(count("autograd_cache_hit")?, hits + 1, "{counters}");
        Ok(())
    });
}

#[test]
fn inputs_may_share_a_source_text() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let (gm, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            cases.call_method1("graph_module", (true,))?.extract()?;
        let args = cases.call_method1("inputs", (false,))?;
        let call = BackendCall {
            shares_memory: false,
            inputs: &[tensor("x", &[], false), tensor("x", &[], false)],
            compile_id: (10, 0),
            graph: None,
        };
        let examples = PyList::new(py, args.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
        let compiled = call.run(&resolve(py, "aot_eager")?, &gm, &examples)?;
        cases.call_method1("check", (compiled.callable, weight, args, true, false))?;
        Ok(())
    });
}

#[test]
fn python_sees_decorators_and_lists() {
    with_torch(|py| {
        let cases = module(py, CASES)?;
        let scope = PyDict::new(py);
        scope.set_item(
            "register_backend",
            pyo3::wrap_pyfunction!(backends::register_backend, py)?,
        )?;
        scope.set_item(
            "list_backends",
            pyo3::wrap_pyfunction!(backends::list_backends, py)?,
        )?;
        scope.set_item("passing", cases.getattr("passing")?)?;
        let source = c"
assert register_backend(passing) is passing
assert register_backend(name='other', tags=('debug',))(passing) is passing
for bad in (lambda: register_backend(passing), lambda: register_backend(3, name='x')):
    try:
        bad()
    except (AssertionError, TypeError):
        pass
    else:
        raise RuntimeError('accepted')
assert {'passing', 'inductor', 'cudagraphs'} <= set(list_backends())
assert not {'other', 'eager', 'aot_eager'} & set(list_backends())
assert {'other', 'eager', 'aot_eager'} <= set(list_backends(None))
assert list_backends(None) == sorted(set(list_backends(None)))
";
        py.run(source, Some(&scope), None)?;
        assert_eq!(resolve(py, "other")?.name(), "other");
        assert!(unregister("passing") && unregister("other"));
        Ok(())
    });
}

#[test]
fn errors_become_ferrodyns_exceptions() {
    with_torch(|py| {
        // The module of exceptions alone: the package needs the extension, which is built from here.
        let scope = PyDict::new(py);
        scope.set_item(
            "path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/ferrodyn/exc.py"),
        )?;
        let load = c"
import importlib.util, sys, types
package = types.ModuleType('ferrodyn')
package.__path__ = []
spec = importlib.util.spec_from_file_location('ferrodyn.exc', path)
exc = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exc)
package.exc = exc
sys.modules.update({'ferrodyn': package, 'ferrodyn.exc': exc})
";
        py.run(load, Some(&scope), None)?;
        let exc = py.import("ferrodyn.exc")?;
        let raised = BackendError::Raised {
            name: "mine".into(),
            cause: PyValueError::new_err("no good"),
        };
        let error = raised.into_py_err(py);
        assert!(error.is_instance(py, &exc.getattr("BackendCompilerFailed")?));
        assert!(error.cause(py).unwrap().is_instance_of::<PyValueError>(py));
        let value = error.value(py);
        assert_eq!(value.getattr("backend_name")?.extract::<String>()?, "mine");
        assert!(
            value
                .getattr("inner_exception")?
                .is_instance_of::<PyValueError>()
        );
        assert_eq!(
            value.str()?.to_string(),
            "backend='mine' raised:\nValueError: no good"
        );
        let unknown = resolve(py, "no-such-backend")
            .err()
            .unwrap()
            .into_py_err(py);
        assert!(unknown.is_instance(py, &exc.getattr("InvalidBackend")?));
        let modules = py.import("sys")?.getattr("modules")?;
        modules.del_item("ferrodyn.exc")?;
        modules.del_item("ferrodyn")
    });
}

#[test]
fn entry_points_are_backends() {
    with_torch(|py| {
        let directory = std::env::temp_dir().join(format!("ferrodyn-entry-{}", std::process::id()));
        let info = directory.join("fancy-1.0.dist-info");
        std::fs::create_dir_all(&info)?;
        std::fs::write(
            info.join("METADATA"),
            "Metadata-Version: 2.1\nName: fancy\nVersion: 1.0\n",
        )?;
        std::fs::write(
            info.join("entry_points.txt"),
            "[torch_dynamo_backends]\nfancy = fancy_backend:compile\n",
        )?;
        std::fs::write(
            directory.join("fancy_backend.py"),
            "def compile(gm, example_inputs):\n    return gm.forward\n",
        )?;
        let path = py.import("sys")?.getattr("path")?;
        path.call_method1("insert", (0, directory.to_str()))?;
        let found = resolve(py, "fancy");
        let listed = list(py, &[]);
        path.call_method1("remove", (directory.to_str(),))?;
        std::fs::remove_dir_all(&directory)?;
        assert_eq!(
            found?
                .callable()
                .unwrap()
                .getattr(py, "__name__")?
                .to_string(),
            "compile"
        );
        assert!(listed?.contains(&"fancy".to_owned()));
        Ok(())
    });
}
