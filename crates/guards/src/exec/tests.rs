//! Every guard kind on real objects: a passing and a failing case, the failure's words, the Python text's
//! verdict, and no reference left behind.

use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use torch_abi::TorchAbi;

use crate::exec::explain::Failure;
use crate::exec::{CheckEnv, CheckProgram, Pins};
use crate::guard::{Guard, GuardKind, TensorSpec};
use crate::program::Program;
use crate::set::{ConstTypes, GuardSet};
use crate::source::{Source, SourceId, SourceTable};

mod aliasing;
mod attribute;
mod calls;
mod container;
mod identity;
mod state;
mod symbolic;
mod tensor;
mod value;

/// A namespace of Python definitions, from which values and pins are taken.
pub(crate) struct World<'py> {
    pub(crate) py: Python<'py>,
    pub(crate) scope: Bound<'py, PyDict>,
    pub(crate) abi: &'static TorchAbi,
}

impl<'py> World<'py> {
    /// Runs `body` alone: it may change torch's global state.
    pub(crate) fn with<R>(body: impl FnOnce(World<'_>) -> R) -> R {
        static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Python::attach(|py| {
            let site = std::env::var("FERRODYN_SITE")
                .expect("FERRODYN_SITE names the site-packages with torch");
            py.import("site")
                .and_then(|m| m.call_method1("addsitedir", (site,)))
                .expect("site-packages");
            let scope = PyDict::new(py);
            // What is imported lives as long as the process: no collection has to look at it.
            let imports = c"import torch, collections, gc, weakref; gc.freeze()";
            py.run(imports, Some(&scope), None).expect("import torch");
            let abi = TorchAbi::get(py).unwrap_or_else(|e| panic!("{e}"));
            body(World { py, scope, abi })
        })
    }

    pub(crate) fn run(&self, code: &str) {
        let code = std::ffi::CString::new(code).expect("no NUL");
        self.py
            .run(&code, Some(&self.scope), None)
            .unwrap_or_else(|e| panic!("{code:?}: {e}"));
    }

    pub(crate) fn eval(&self, code: &str) -> Bound<'py, PyAny> {
        let text = std::ffi::CString::new(code).expect("no NUL");
        self.py
            .eval(&text, Some(&self.scope), None)
            .unwrap_or_else(|e| panic!("{code}: {e}"))
    }

    pub(crate) fn link(
        &self,
        sources: SourceTable,
        guards: Vec<Guard>,
        pins: Pins,
    ) -> CheckProgram {
        let set = GuardSet::new(sources, guards, ConstTypes::of(self.abi));
        let program = Program::compile(&set);
        program.verify(&set).expect("verifies");
        CheckProgram::link(self.py, Arc::new(set), program, pins).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The program's verdict with these locals, after checking that the text agrees and nothing leaks.
    pub(crate) fn verdict(&self, program: &CheckProgram, locals: &[Bound<'_, PyAny>]) -> bool {
        let pointers: Vec<_> = locals.iter().map(Bound::as_ptr).collect();
        let globals = self.scope.as_ptr();
        let builtins = self.py.import("builtins").expect("builtins").dict();
        let env = CheckEnv {
            locals: &pointers,
            closure: std::ptr::null_mut(),
            globals,
            builtins: builtins.as_ptr(),
        };
        let count = || -> Vec<isize> {
            // SAFETY: live objects.
            pointers
                .iter()
                .map(|&p| unsafe { ffi::Py_REFCNT(p) })
                .collect()
        };
        let before = count();
        // SAFETY: everything in `env` is alive.
        let (native, text) = unsafe {
            let native = program.check(&env);
            for _ in 0..50 {
                assert_eq!(program.check(&env), native);
            }
            assert_eq!(before, count(), "references");
            (native, program.check_by_text(self.py, &env).expect("text"))
        };
        // SAFETY: no exception may be pending.
        assert!(unsafe { ffi::PyErr_Occurred() }.is_null());
        let code = program.set().guard_code(crate::NameStyle::Explicit);
        assert_eq!(native, text, "text disagrees: {code}");
        native
    }

    pub(crate) fn reason(&self, program: &CheckProgram, locals: &[Bound<'_, PyAny>]) -> String {
        self.failure(program, locals)
            .map_or_else(String::new, |failure| failure.reason)
    }

    pub(crate) fn failure(
        &self,
        program: &CheckProgram,
        locals: &[Bound<'_, PyAny>],
    ) -> Option<Failure> {
        let pointers: Vec<_> = locals.iter().map(Bound::as_ptr).collect();
        let env = CheckEnv {
            locals: &pointers,
            closure: std::ptr::null_mut(),
            globals: self.scope.as_ptr(),
            builtins: std::ptr::null_mut(),
        };
        // SAFETY: everything in `env` is alive.
        unsafe { program.explain_failure(self.py, &env) }
    }
}

fn local(sources: &mut SourceTable, index: u32, name: &str) -> SourceId {
    sources.intern(Source::Local {
        index,
        name: name.into(),
    })
}

/// One guard on local `x`: what it says of the values of two expressions, which must be pass and fail.
fn case(
    setup: &str,
    make: impl Fn(&World<'_>, &mut Pins) -> GuardKind,
    pass: &[&str],
    fail: &[(&str, &str)],
) {
    World::with(|w| {
        w.run(setup);
        let mut sources = SourceTable::new();
        let x = local(&mut sources, 0, "x");
        let mut pins = Pins::new();
        let kind = make(&w, &mut pins);
        let program = w.link(sources, vec![Guard::new(x, kind)], pins);
        for expression in pass {
            let value = w.eval(expression);
            assert!(
                w.verdict(&program, std::slice::from_ref(&value)),
                "{expression}: {}",
                w.reason(&program, &[value])
            );
        }
        for (expression, reason) in fail {
            let value = w.eval(expression);
            assert!(
                !w.verdict(&program, std::slice::from_ref(&value)),
                "{expression} passes"
            );
            let said = w.reason(&program, &[value]);
            assert!(said.contains(reason), "{expression}: {said}");
        }
    });
}

fn tensor(w: &World<'_>, pins: &mut Pins, expression: &str) -> GuardKind {
    let spec =
        TensorSpec::of(w.py, w.abi, pins, &w.eval(expression)).unwrap_or_else(|e| panic!("{e}"));
    GuardKind::TensorMatch {
        spec: Arc::new(spec),
    }
}
