//! Lists of entries on a real interpreter and a real torch.

use std::sync::{Arc, Mutex};

use guards::exec::{CheckEnv, CheckProgram, Pins};
use guards::{
    ConstTypes, Guard, GuardKind, GuardSet, NameStyle, Program, Source, SourceTable, TensorSpec,
};
use pyo3::prelude::*;
use torch_abi::TorchAbi;

use crate::{CodeName, CompileId, Decision, Entries, GuardedCode, Limits, recompile_message};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn with_torch(body: impl FnOnce(Python<'_>, &'static TorchAbi)) {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    Python::attach(|py| {
        let site = std::env::var("FERRODYN_SITE")
            .expect("FERRODYN_SITE names the site-packages with torch");
        py.import("site")
            .and_then(|m| m.call_method1("addsitedir", (site,)))
            .expect("site-packages");
        body(py, TorchAbi::get(py).unwrap_or_else(|e| panic!("{e}")));
    });
}

fn name() -> CodeName {
    CodeName {
        function: "fn".into(),
        file: "/path/file.py".into(),
        line: 1,
    }
}

fn ones<'py>(py: Python<'py>, n: usize) -> Bound<'py, PyAny> {
    py.import("torch")
        .and_then(|torch| torch.call_method1("ones", (n, n)))
        .expect("torch.ones")
}

fn entry(
    py: Python<'_>,
    abi: &TorchAbi,
    entries: &Entries,
    example: &Bound<'_, PyAny>,
) -> GuardedCode {
    let mut sources = SourceTable::new();
    let x = sources.intern(Source::Local {
        index: 0,
        name: "x".into(),
    });
    let mut pins = Pins::new();
    let spec = TensorSpec::of(py, abi, &mut pins, example).unwrap_or_else(|e| panic!("{e}"));
    link(
        py,
        abi,
        entries,
        sources,
        vec![Guard::new(
            x,
            GuardKind::TensorMatch {
                spec: Arc::new(spec),
            },
        )],
        pins,
    )
}

fn link(
    py: Python<'_>,
    abi: &TorchAbi,
    entries: &Entries,
    sources: SourceTable,
    guards: Vec<Guard>,
    pins: Pins,
) -> GuardedCode {
    let set = GuardSet::new(sources, guards, ConstTypes::of(abi));
    let program = Program::compile(&set);
    let program =
        CheckProgram::link(py, Arc::new(set), program, pins).unwrap_or_else(|e| panic!("{e}"));
    GuardedCode::new(entries.next_id(py), program, py.None())
}

fn decide(py: Python<'_>, entries: &Entries, x: &Bound<'_, PyAny>, limit: usize) -> Decision {
    let locals = [x.as_ptr()];
    let null = std::ptr::null_mut();
    let env = CheckEnv {
        locals: &locals,
        closure: null,
        globals: null,
        builtins: null,
    };
    // SAFETY: everything in `env` is alive or null.
    unsafe {
        entries.decide(
            py,
            &env,
            Limits {
                recompile_limit: limit,
                ..Limits::default()
            },
        )
    }
}

fn ids(py: Python<'_>, entries: &Entries) -> Vec<u32> {
    entries
        .entries(py)
        .iter()
        .map(|entry| entry.id.compile)
        .collect()
}

#[test]
fn hits_move_to_the_front_and_misses_say_why() {
    with_torch(|py, abi| {
        let entries = Entries::new(name());
        assert!(
            matches!(decide(py, &entries, &ones(py, 3), 8), Decision::Miss(misses) if misses.is_empty())
        );
        for n in 3..6 {
            entries.insert(py, entry(py, abi, &entries, &ones(py, n)));
        }
        assert_eq!(ids(py, &entries), [2, 1, 0]);
        let Decision::Hit(hit) = decide(py, &entries, &ones(py, 3), 8) else {
            panic!("a miss")
        };
        assert_eq!((hit.id.compile, hit.hits()), (0, 1));
        assert_eq!(ids(py, &entries), [0, 2, 1]);
        let Decision::Miss(misses) = decide(py, &entries, &ones(py, 9), 8) else {
            panic!("no miss")
        };
        let frame = hit.id.frame;
        assert_eq!(
            recompile_message(&name(), &misses),
            format!(
                "Recompiling function fn in /path/file.py:1\n    triggered by the following guard failure(s):\
                 \n    - {frame}/0: tensor 'x' size mismatch at index 0. expected 3, actual 9\
                 \n    - {frame}/2: tensor 'x' size mismatch at index 0. expected 5, actual 9\
                 \n    - {frame}/1: tensor 'x' size mismatch at index 0. expected 4, actual 9"
            )
        );
    });
}

#[test]
fn calls_that_alternate_find_their_entries_without_a_search() {
    with_torch(|py, abi| {
        let entries = Entries::new(name());
        let tensors: Vec<_> = (1..9).map(|n| ones(py, n)).collect();
        for x in &tensors {
            assert!(matches!(decide(py, &entries, x, 8), Decision::Miss(_)));
            entries.insert(py, entry(py, abi, &entries, x));
        }
        for turn in 0..4 {
            for (i, x) in tensors.iter().enumerate() {
                let Decision::Hit(hit) = decide(py, &entries, x, 8) else {
                    panic!("a miss")
                };
                assert_eq!((hit.id.compile, hit.hits()), (i as u32, turn + 1));
            }
        }
        // The entry of a call that looks like one of these may be gone.
        let Decision::Hit(gone) = decide(py, &entries, &tensors[3], 8) else {
            panic!("a miss")
        };
        gone.invalidate();
        let weak = Arc::downgrade(&gone);
        drop(gone);
        for (i, x) in tensors.iter().enumerate() {
            let hits = matches!(decide(py, &entries, x, 8), Decision::Hit(_));
            assert_eq!(hits, i != 3);
        }
        assert!(weak.upgrade().is_none(), "the selector keeps an entry");
    });
}

#[test]
fn the_limit_warns_once() {
    with_torch(|py, abi| {
        let entries = Entries::new(name());
        for n in 1..3 {
            entries.insert(py, entry(py, abi, &entries, &ones(py, n)));
        }
        let Decision::LimitReached { warning, misses } = decide(py, &entries, &ones(py, 7), 2)
        else {
            panic!()
        };
        let warning = warning.expect("a warning");
        assert!(warning.starts_with("ferrodyn hit config.recompile_limit (2)\n   function: 'fn' (/path/file.py:1)\n   last reason: "));
        assert_eq!(misses.len(), 2);
        assert!(matches!(
            decide(py, &entries, &ones(py, 7), 2),
            Decision::LimitReached { warning: None, .. }
        ));
        assert!(matches!(
            decide(py, &entries, &ones(py, 1), 2),
            Decision::Hit(_)
        ));
        entries.reset(py);
        assert!(matches!(
            decide(py, &entries, &ones(py, 7), 2),
            Decision::Miss(_)
        ));
        assert_eq!(entries.next_id(py).compile, 0);
    });
}

#[test]
fn the_accumulated_limit_counts_dropped_entries() {
    with_torch(|py, abi| {
        let entries = Entries::new(name());
        for _ in 0..256 {
            entries.next_id(py);
        }
        let Decision::LimitReached {
            warning: Some(warning),
            ..
        } = decide(py, &entries, &ones(py, 7), 8)
        else {
            panic!()
        };
        assert!(warning.contains("accumulated_recompile_limit (256)"));
        let _ = abi;
    });
}

#[test]
fn a_dying_object_drops_the_entry_and_what_it_holds() {
    with_torch(|py, abi| {
        let scope = pyo3::types::PyDict::new(py);
        py.run(c"import weakref\nclass A: pass\na = A()\nclass Code: pass\ncode = Code()\ngone = weakref.ref(code)", Some(&scope), None)
            .expect("setup");
        let a = scope.get_item("a").unwrap().unwrap();
        let entries = Entries::new(name());
        let mut sources = SourceTable::new();
        let x = sources.intern(Source::Local {
            index: 0,
            name: "x".into(),
        });
        let mut pins = Pins::new();
        let obj = pins.pin_auto(&a);
        let mut entry = link(
            py,
            abi,
            &entries,
            sources,
            vec![Guard::new(x, GuardKind::IdMatch { obj })],
            pins,
        );
        entry.code = scope.get_item("code").unwrap().unwrap().unbind();
        entries.insert(py, entry);
        assert!(matches!(decide(py, &entries, &a, 8), Decision::Hit(_)));
        drop(a);
        py.run(
            c"del code\nassert gone() is not None\ndel a\nassert gone() is None",
            Some(&scope),
            None,
        )
        .expect("dropped");
        assert!(entries.is_empty(py));
    });
}

#[test]
fn an_invalidated_entry_is_not_offered() {
    with_torch(|py, abi| {
        let entries = Entries::new(name());
        let x = ones(py, 2);
        let entry = entries.insert(py, entry(py, abi, &entries, &x));
        assert!(matches!(decide(py, &entries, &x, 8), Decision::Hit(_)));
        entry.invalidate();
        assert!(!entry.is_valid());
        assert!(matches!(decide(py, &entries, &x, 8), Decision::Miss(_)));
        assert!(entries.is_empty(py));
    });
}

#[test]
fn a_miss_says_which_guard_failed() {
    with_torch(|py, abi| {
        let entries = Entries::new(name());
        let made = entries.insert(py, entry(py, abi, &entries, &ones(py, 2)));
        let Decision::Miss(misses) = decide(py, &entries, &ones(py, 4), 8) else {
            panic!("no miss");
        };
        let [miss] = &misses[..] else {
            panic!("{} misses", misses.len());
        };
        assert_eq!(
            miss.failure.reason,
            "tensor 'x' size mismatch at index 0. expected 2, actual 4"
        );
        assert_eq!(
            made.guards().guard_code(NameStyle::Explicit),
            "___guarded_code.valid and ___check_tensors(L['x'])"
        );
        assert_eq!(miss.id, made.id);
        assert_eq!(miss.id.compile, 0);
        assert_eq!(
            CompileId {
                frame: 3,
                compile: 0
            }
            .to_string(),
            "3/0"
        );
    });
}

#[test]
fn the_listing_says_what_is_there() {
    with_torch(|py, abi| {
        let entries = Entries::new(name());
        for n in 1..4 {
            entries.insert(py, entry(py, abi, &entries, &ones(py, n)));
        }
        for n in [2, 2, 1] {
            assert!(matches!(
                decide(py, &entries, &ones(py, n), 8),
                Decision::Hit(_)
            ));
        }
        assert!(matches!(
            decide(py, &entries, &ones(py, 9), 8),
            Decision::Miss(_)
        ));
        let kept = entries.entries(py);
        kept[2].invalidate();
        let frame = kept[0].id.frame;
        let text = entries.listing(py).replace(&format!("{frame}/"), "F/");
        insta::assert_snapshot!(text);
    });
}

#[test]
fn reset_reaches_every_list() {
    with_torch(|py, abi| {
        let entries = Entries::new(name());
        entries.insert(py, entry(py, abi, &entries, &ones(py, 2)));
        crate::reset_all(py);
        assert!(entries.is_empty(py));
        assert_eq!(
            Entries::new(name()).next_id(py),
            CompileId {
                frame: 0,
                compile: 0
            }
        );
    });
}
