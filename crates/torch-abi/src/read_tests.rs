//! The readers against Python's own answers, on a real torch.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::overlap::tensors_may_overlap;
use crate::thread::ThreadModes;
use crate::view::TensorView;
use crate::{TensorClass, TorchAbi};

/// Runs `body` with torch's facts and a namespace where `torch` is imported.
fn with_torch(body: impl FnOnce(Python<'_>, &'static TorchAbi, &Bound<'_, PyDict>)) {
    Python::attach(|py| {
        let site = std::env::var("FERRODYN_SITE")
            .expect("FERRODYN_SITE names the site-packages with torch");
        py.import("site")
            .and_then(|m| m.call_method1("addsitedir", (site,)))
            .expect("site-packages");
        let scope = PyDict::new(py);
        let abi = match TorchAbi::get(py) {
            Ok(abi) => abi,
            Err(error) => panic!("{error}"),
        };
        scope
            .set_item("torch", py.import("torch").expect("torch"))
            .expect("set");
        body(py, abi, &scope);
    });
}

fn eval<'py>(py: Python<'py>, scope: &Bound<'py, PyDict>, text: &str) -> Bound<'py, PyAny> {
    let text = std::ffi::CString::new(text).expect("no NUL");
    py.eval(&text, Some(scope), None)
        .unwrap_or_else(|e| panic!("{text:?}: {e}"))
}

#[test]
fn every_offset_has_one_candidate() {
    with_torch(|_, abi, _| {
        let l = abi.layout;
        for (name, offset) in [
            ("dims", l.dims),
            ("storage_offset", l.storage_offset),
            ("dtype", l.dtype),
            ("device", l.device),
            ("key_set", l.key_set),
            ("autograd_meta", l.autograd_meta),
        ] {
            assert!(offset.is_some(), "{name} in {l:?}");
        }
    });
}

#[test]
fn views_agree_with_python() {
    with_torch(|py, abi, scope| {
        let tensors = [
            "torch.ones(3, 3)",
            "torch.ones(())",
            "torch.ones(2, 3, 4, 5, 6, 7)[1:, ::2]",
            "torch.ones(5, requires_grad=True) * 2",
            "torch.ones(5, requires_grad=True)",
            "torch.ones(5, requires_grad=True).detach()",
            "torch.nn.Parameter(torch.ones(2, 2))",
            "torch.nn.Parameter(torch.ones(2, 2), requires_grad=False)",
            "torch.nn.Buffer(torch.ones(2))",
            "torch.ones(4, dtype=torch.complex64).conj()",
            "torch.ones(4, dtype=torch.complex64).imag",
            "torch.zeros(4, 0, 3)",
            "torch.ones(4, device='meta', dtype=torch.float8_e4m3fn)",
            "torch.ones(9)[3:]",
        ];
        // Without the fast offsets, the stable C ABI and Python must give the same answers.
        for expression in tensors {
            let t = eval(py, scope, expression);
            // SAFETY: a live tensor.
            let view = unsafe { TensorView::new(abi, t.as_ptr()) };
            let (sizes, strides) = view.geometry();
            scope.set_item("t", &t).expect("set");
            assert_eq!(
                sizes,
                eval(py, scope, "list(t.shape)")
                    .extract::<Vec<i64>>()
                    .unwrap(),
                "{expression}"
            );
            assert_eq!(
                strides,
                eval(py, scope, "list(t.stride())")
                    .extract::<Vec<i64>>()
                    .unwrap(),
                "{expression}"
            );
            assert_eq!(
                view.requires_grad(),
                eval(py, scope, "t.requires_grad")
                    .extract::<bool>()
                    .unwrap(),
                "{expression}"
            );
            let keys = eval(py, scope, "torch._C._dispatch_keys(t).raw_repr()")
                .extract::<u64>()
                .unwrap();
            assert_eq!(view.key_set(), keys, "{expression}");
            assert_eq!(
                view.storage_offset(),
                eval(py, scope, "t.storage_offset()")
                    .extract::<i64>()
                    .unwrap()
            );
            let meta = abi.read_meta(py, &t).expect("meta");
            assert_eq!(
                meta.dtype.name(),
                eval(py, scope, "str(t.dtype)").extract::<String>().unwrap()
            );
            assert_eq!(
                meta.device.to_string(),
                eval(py, scope, "str(t.device)")
                    .extract::<String>()
                    .unwrap()
            );
            assert_eq!(
                meta.is_leaf,
                eval(py, scope, "t.is_leaf").extract::<bool>().unwrap(),
                "{expression}"
            );
            assert_eq!(
                meta.conj,
                eval(py, scope, "t.is_conj()").extract::<bool>().unwrap(),
                "{expression}"
            );
            assert_eq!(
                meta.neg,
                eval(py, scope, "t.is_neg()").extract::<bool>().unwrap(),
                "{expression}"
            );
        }
    });
}

#[test]
fn classes_are_told_apart() {
    with_torch(|py, abi, scope| {
        py.run(c"class Sub(torch.Tensor): pass", Some(scope), None)
            .expect("class");
        for (expression, class) in [
            ("torch.ones(1)", TensorClass::Tensor),
            ("torch.nn.Parameter(torch.ones(1))", TensorClass::Parameter),
            ("torch.ones(1).as_subclass(Sub)", TensorClass::Subclass),
            ("[torch.ones(1)]", TensorClass::No),
        ] {
            assert_eq!(
                abi.classify(&eval(py, scope, expression)),
                class,
                "{expression}"
            );
        }
        let sparse = eval(py, scope, "torch.eye(3).to_sparse()");
        assert!(abi.read_meta(py, &sparse).is_err());
        assert!(abi.read_meta(py, &eval(py, scope, "1")).is_err());
    });
}

#[test]
fn state_follows_python() {
    with_torch(|py, abi, scope| {
        let keys = |py| -> (u64, u64) {
            let read = |name: &str| {
                eval(
                    py,
                    scope,
                    &format!("torch._C._dispatch_tls_local_{name}_set().raw_repr()"),
                )
                .extract()
                .unwrap()
            };
            (read("include"), read("exclude"))
        };
        assert_eq!(abi.local_keys(), keys(py));
        assert!(abi.grad_mode() && !abi.inference_mode());
        assert!(
            abi.modes_have_places,
            "the modes are not where they are read"
        );
        let modes = || {
            assert_eq!(
                abi.thread_modes(),
                ThreadModes {
                    keys: abi.local_keys(),
                    grad_mode: abi.grad_mode(),
                    inference_mode: abi.inference_mode(),
                    torch_function: abi.torch_function_state(),
                    function_modes: abi.torch_function_stack_len(),
                }
            );
        };
        let within = |manager: &str, check: &dyn Fn()| {
            let manager = eval(py, scope, manager);
            manager.call_method0("__enter__").expect("enter");
            check();
            modes();
            manager
                .call_method1("__exit__", (py.None(), py.None(), py.None()))
                .expect("exit");
        };
        within("torch.no_grad()", &|| assert!(!abi.grad_mode()));
        within("torch.inference_mode()", &|| {
            assert!(abi.inference_mode());
            assert_eq!(abi.local_keys(), keys(py));
        });
        within("torch.autocast('cpu', dtype=torch.float16)", &|| {
            assert_eq!(abi.autocast(0), (true, 5));
            assert_eq!(abi.local_keys(), keys(py));
        });
        assert!(!abi.autocast(0).0);
        for device in TorchAbi::autocast_devices() {
            abi.autocast(device);
        }
        within("torch.device('meta')", &|| {
            assert_eq!(abi.torch_function_stack_len(), 1);
            let mode = abi.torch_function_mode(py, 0).expect("mode");
            assert_eq!(mode.get_type().name().unwrap(), "DeviceContext");
        });
        eval(py, scope, "torch.set_default_device('meta')");
        // SAFETY: a live object or null.
        unsafe { assert_eq!(abi.device_of(abi.current_device()), Some((14, -1))) };
        eval(py, scope, "torch.set_default_device(None)");
        assert_eq!(abi.torch_function_stack_len(), 0);
        assert_eq!(abi.current_device(), py.None().as_ptr());
        within("torch._C.DisableTorchFunctionSubclass()", &|| {
            assert_eq!(abi.torch_function_state(), 1)
        });
        assert_eq!(abi.torch_function_state(), 0);
        eval(py, scope, "torch.set_default_dtype(torch.float64)");
        assert_eq!(abi.default_dtype(), 7);
        eval(py, scope, "torch.set_default_dtype(torch.float32)");
        eval(
            py,
            scope,
            "torch.use_deterministic_algorithms(True, warn_only=True)",
        );
        assert_eq!(abi.deterministic(), (true, true));
        eval(py, scope, "torch.use_deterministic_algorithms(False)");
        assert_eq!(abi.deterministic(), (false, false));
        assert_eq!(abi.key_set_names(py, 0).unwrap(), "");
    });
}

#[test]
fn overlap_of_real_tensors() {
    with_torch(|py, abi, scope| {
        scope
            .set_item("x", eval(py, scope, "torch.ones(4, 6)"))
            .expect("set");
        for (a, b, shared) in [
            ("x", "x", true),
            ("x", "x[1]", true),
            ("x[0]", "x[1]", false),
            ("x[:, :3]", "x[:, 3:]", false),
            ("x", "torch.ones(4, 6)", false),
            ("x.detach()", "x", true),
        ] {
            let (a_obj, b_obj) = (eval(py, scope, a), eval(py, scope, b));
            // SAFETY: live tensors.
            let (a_view, b_view) = unsafe {
                (
                    TensorView::new(abi, a_obj.as_ptr()),
                    TensorView::new(abi, b_obj.as_ptr()),
                )
            };
            assert_eq!(tensors_may_overlap(&a_view, &b_view), shared, "{a} {b}");
        }
    });
}
