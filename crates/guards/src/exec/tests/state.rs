//! torch's state.

use pyo3::prelude::*;

use super::World;
use crate::exec::{CheckProgram, Pins};
use crate::guard::{Guard, GuardKind};
use crate::source::SourceTable;
use crate::value::ConstVal;

#[test]
fn state() {
    World::with(|w| {
        let f32_ = |p: &dyn Fn(&str, &str, &str)| {
            p(
                "torch.set_default_dtype(torch.float64)",
                "torch.set_default_dtype(torch.float32)",
                "default_dtype",
            )
        };
        let link =
            |kind: GuardKind, pins| w.link(SourceTable::new(), vec![Guard::ambient(kind)], pins);
        let mut pins = Pins::new();
        let kinds = crate::exec::read::ambient_guards(w.py, w.abi, &mut pins).expect("ambient");
        let all = w.link(
            SourceTable::new(),
            kinds.into_iter().map(Guard::ambient).collect(),
            pins,
        );
        let flips = |program: &CheckProgram, on: &str, off: &str, reason: &str| {
            assert!(
                w.verdict(program, &[]),
                "before {on}: {}",
                w.reason(program, &[])
            );
            w.run(on);
            assert!(!w.verdict(program, &[]), "after {on}");
            let said = w.reason(program, &[]);
            assert!(said.contains(reason), "{said}");
            w.run(off);
            assert!(w.verdict(program, &[]), "after {off}");
        };
        flips(
            &all,
            "torch._C._set_grad_enabled(False)",
            "torch._C._set_grad_enabled(True)",
            "GLOBAL_STATE changed: grad_mode",
        );
        f32_(&|on, off, why| flips(&all, on, off, why));
        flips(
            &all,
            "torch.use_deterministic_algorithms(True)",
            "torch.use_deterministic_algorithms(False)",
            "deterministic_algorithms",
        );
        forward_level(&|on, off, why| flips(&all, on, off, why));
        flips(
            &all,
            "m = torch.autocast('cpu')\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "autocast",
        );
        flips(
            &all,
            "m = torch.inference_mode()\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "inference_mode",
        );
        flips(
            &all,
            "m = torch.device('meta')\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "DeviceContext",
        );
        flips(
            &all,
            "torch.set_default_device('meta')",
            "torch.set_default_device(None)",
            "",
        );
        flips(
            &all,
            "m = torch._C.DisableTorchFunctionSubclass()\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "torch_function",
        );

        let p = link(GuardKind::GradMode { enabled: true }, Pins::new());
        flips(
            &p,
            "torch._C._set_grad_enabled(False)",
            "torch._C._set_grad_enabled(True)",
            "expected true, actual false",
        );
        let p = link(GuardKind::InferenceMode { enabled: false }, Pins::new());
        flips(
            &p,
            "m = torch.inference_mode()\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "actual true",
        );
        let p = link(
            GuardKind::DefaultDtype {
                dtype: 6,
                text: "torch.float32".into(),
            },
            Pins::new(),
        );
        f32_(&|on, off, _| flips(&p, on, off, "actual torch.float64"));
        let p = link(
            GuardKind::DefaultDevice {
                device: ConstVal::None,
            },
            Pins::new(),
        );
        flips(
            &p,
            "torch.set_default_device('meta')",
            "torch.set_default_device(None)",
            "expected None, actual device(type='meta')",
        );
        let p = link(
            GuardKind::DeterministicAlgorithms {
                enabled: false,
                warn_only: false,
            },
            Pins::new(),
        );
        flips(
            &p,
            "torch.use_deterministic_algorithms(True, warn_only=True)",
            "torch.use_deterministic_algorithms(False)",
            "expected (false, false), actual (true, true)",
        );
        let p = link(GuardKind::TorchFunctionState { state: 0 }, Pins::new());
        flips(
            &p,
            "m = torch._C.DisableTorchFunction()\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "actual 2",
        );

        // Inside a mode: another device in the same kind of mode is another state.
        w.run("m = torch.device('meta')\nm.__enter__()");
        let mut pins = Pins::new();
        let kinds = crate::exec::read::ambient_guards(w.py, w.abi, &mut pins).expect("ambient");
        let inside = w.link(
            SourceTable::new(),
            kinds.into_iter().map(Guard::ambient).collect(),
            pins,
        );
        assert!(w.verdict(&inside, &[]));
        w.run("m.__exit__(None, None, None)\nm = torch.device('cpu')\nm.__enter__()");
        assert!(!w.verdict(&inside, &[]));
        w.run("m.__exit__(None, None, None)");
        assert!(!w.verdict(&inside, &[]));
    });
}

/// Only within a level of forward-mode differentiation tensors have tangents.
fn forward_level(flips: &dyn Fn(&str, &str, &str)) {
    flips(
        "m = torch.autograd.forward_ad.dual_level()\nm.__enter__()",
        "m.__exit__(None, None, None)",
        "forward_level",
    );
}

#[test]
fn abstract_classes() {
    World::with(|w| {
        w.run("import abc\nclass Abstract(abc.ABC): pass\nclass Plain: pass\nclass Other: pass");
        let token = w
            .eval("__import__('abc').get_cache_token()")
            .extract()
            .expect("a token");
        let mut pins = Pins::new();
        let kinds = ["Plain", "Other"].map(|class| GuardKind::NotSubclass {
            class: pins.pin(&w.eval(class)),
            base: pins.pin(&w.eval("Abstract")),
            token,
        });
        let guards = kinds.map(Guard::ambient).into();
        let program = w.link(SourceTable::new(), guards, pins);
        assert!(w.verdict(&program, &[]));
        assert!(!program.renew(w.py).expect("nothing to renew"));
        // The answers are the same, but only asking again tells.
        w.run("class Unrelated(abc.ABC): pass\nUnrelated.register(int)");
        assert!(w.reason(&program, &[]).contains("a class was registered"));
        assert!(program.renew(w.py).expect("renewed"));
        assert!(w.verdict(&program, &[]));
        w.run("Abstract.register(Other)");
        assert!(!w.verdict(&program, &[]));
        assert!(!program.renew(w.py).expect("asked"));
        assert!(!w.verdict(&program, &[]));
    });
}
