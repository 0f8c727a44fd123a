//! The planning half without an interpreter: trees, code and programs as text, order, merging, the verifier.

use std::sync::Arc;

use guards::plan::{self, Plan};
use guards::{
    ConstTypes, ConstVal, GlobalState, Guard, GuardKind, GuardSet, Key, NameStyle, ObjRef, Program,
    Source, SourceId, SourceTable, TensorSpec, UserFrame, VerifyError,
};

fn object(addr: usize, repr: &str, type_repr: &str) -> ObjRef {
    ObjRef {
        addr,
        pin: 0,
        repr: repr.into(),
        type_repr: type_repr.into(),
    }
}

fn types() -> ConstTypes {
    ConstTypes {
        int: 94367738391392,
        str_: 20,
        float: 30,
        tuple: 40,
        ..ConstTypes::default()
    }
}

fn spec(sizes: &[i64], strides: &[i64]) -> GuardKind {
    GuardKind::TensorMatch {
        spec: Arc::new(TensorSpec {
            pytype: object(100, "Tensor", "<class 'torch.Tensor'>"),
            keys: 0b1011,
            keys_text: "CPU, BackendSelect, ADInplaceOrView, AutogradCPU".into(),
            dtype: 6,
            dtype_text: "torch.float32".into(),
            device_type: 0,
            device_index: -1,
            requires_grad: false,
            sizes: sizes.iter().copied().map(Some).collect(),
            strides: strides.iter().copied().map(Some).collect(),
            strided: true,
        }),
    }
}

/// Line 3 of the seeds' program.
fn third_line() -> Option<Arc<UserFrame>> {
    let read = |_: &str, line: u32| match line {
        3 => "return x + 1".to_owned(),
        _ => String::new(),
    };
    Some(Arc::new(UserFrame::new(
        "/tmp/seed.py".into(),
        3,
        "fn".into(),
        read,
    )))
}

/// The guards of the seeds' `fn(x): return x + 1`.
fn seed_tree() -> GuardSet {
    let mut t = SourceTable::new();
    let x = t.intern(Source::Local {
        index: 0,
        name: "x".into(),
    });
    let frame = third_line();
    let guards = vec![
        Guard::new(
            x,
            GuardKind::HasAttr {
                name: "_dynamo_dynamic_indices".into(),
                present: false,
            },
        )
        .at(frame.clone()),
        Guard::new(x, spec(&[3, 3], &[3, 1])).at(frame),
        Guard::ambient(GuardKind::DefaultDevice {
            device: ConstVal::None,
        }),
        Guard::ambient(GuardKind::TorchFunctionModeStack { modes: [].into() }),
        Guard::ambient(GuardKind::GlobalState {
            state: Arc::new(GlobalState::default()),
        }),
    ];
    GuardSet::new(t, guards, types())
}

/// The guards of the seeds' `y == 2` example.
fn seed_code() -> GuardSet {
    let mut t = SourceTable::new();
    let x = t.intern(Source::Local {
        index: 0,
        name: "x".into(),
    });
    let y = t.intern(Source::Local {
        index: 1,
        name: "y".into(),
    });
    let guards = vec![
        Guard::new(x, spec(&[3], &[1])),
        Guard::new(
            y,
            GuardKind::EqualsMatch {
                value: ConstVal::Int(2),
            },
        ),
    ];
    GuardSet::new(t, guards, types())
}

/// A module with parameters, a config dictionary, globals, aliases.
fn wide() -> GuardSet {
    let mut t = SourceTable::new();
    let torch = t.intern(Source::Global {
        name: "torch".into(),
    });
    let abs = t.intern(Source::Attr {
        base: torch,
        name: "abs".into(),
    });
    let me = t.intern(Source::Local {
        index: 0,
        name: "self".into(),
    });
    let x = t.intern(Source::Local {
        index: 1,
        name: "x".into(),
    });
    let config = t.intern(Source::Local {
        index: 2,
        name: "config".into(),
    });
    let parameters = t.intern(Source::InstanceDictItem {
        base: me,
        name: "_parameters".into(),
    });
    let weight = t.intern(Source::DictItem {
        base: parameters,
        key: Key::str("weight"),
    });
    let scale = t.intern(Source::DictItem {
        base: config,
        key: Key::str("scale"),
    });
    let class = t.intern(Source::TypeOf { base: me });
    let builtin = t.intern(Source::Builtin { name: "len".into() });
    let dict = object(200, "<class 'dict'>", "<class 'type'>");
    let guards = vec![
        Guard::new(
            abs,
            GuardKind::FunctionMatch {
                obj: object(300, "<built-in>", "<class 'builtin_function_or_method'>"),
            },
        ),
        Guard::ambient(GuardKind::NoTensorAliasing {
            sources: [x, weight].into(),
        }),
        Guard::new(
            torch,
            GuardKind::IdMatch {
                obj: object(301, "torch", "<class 'module'>"),
            },
        ),
        Guard::new(weight, spec(&[4, 4], &[4, 1])),
        Guard::new(
            scale,
            GuardKind::EqualsMatch {
                value: ConstVal::float(0.5),
            },
        ),
        Guard::new(
            config,
            GuardKind::DictKeys {
                keys: [Key::str("scale"), Key::str("mode")].into(),
            },
        ),
        Guard::new(config, GuardKind::TypeMatch { ty: dict.clone() }),
        Guard::new(parameters, GuardKind::TypeMatch { ty: dict }),
        Guard::new(x, spec(&[2, 4], &[4, 1])),
        Guard::new(x, spec(&[2, 4], &[4, 1])),
        Guard::new(
            class,
            GuardKind::MroAttr {
                name: "forward".into(),
                value: Some(object(302, "<function M.forward>", "")),
            },
        ),
        Guard::new(
            me,
            GuardKind::TypeMatch {
                ty: object(303, "<class 'M'>", "<class 'type'>"),
            },
        ),
        Guard::new(
            builtin,
            GuardKind::FunctionMatch {
                obj: object(
                    304,
                    "<built-in function len>",
                    "<class 'builtin_function_or_method'>",
                ),
            },
        ),
        Guard::new(x, GuardKind::NotAliasing { other: me }),
    ];
    GuardSet::new(t, guards, types())
}

#[test]
fn the_tree_is_the_seeds_tree() {
    insta::assert_snapshot!(seed_tree().tree_text(Some(295.42)), @r"
    TREE_GUARD_MANAGER:
    +- RootGuardManager
    | +- GLOBAL_STATE: ___check_global_state()
    | +- TORCH_FUNCTION_MODE_STACK: ___check_torch_function_mode_stack()
    | +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None
    | +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0)
    | | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), torch.float32, device=None, requires_grad=False, size=[3, 3], stride=[3, 1])  # return x + 1  # /tmp/seed.py:3 in fn
    | | +- NO_HASATTR: hasattr(L['x'], '_dynamo_dynamic_indices') == False           # return x + 1  # /tmp/seed.py:3 in fn

    Guard eval latency = 295.42 us
    ");
}

#[test]
fn the_code_is_the_seeds_code() {
    let set = seed_code();
    assert_eq!(
        set.guard_code(NameStyle::Plain),
        "___guarded_code.valid and ___check_type_id(y, 94367738391392) and y == 2 and ___check_tensors(x)"
    );
    assert_eq!(
        set.code_parts(NameStyle::Explicit),
        [
            "___check_type_id(L['y'], 94367738391392)",
            "L['y'] == 2",
            "___check_tensors(L['x'])"
        ]
    );
}

#[test]
fn trees_code_and_programs_of_a_wide_set() {
    let set = wide();
    insta::assert_snapshot!("wide_tree", set.tree_text(None));
    insta::assert_snapshot!("wide_code", set.code_parts(NameStyle::Explicit).join("\n"));
    insta::assert_snapshot!("wide_program", Program::compile(&set).text(&set));
}

#[test]
fn every_kind_has_a_name_and_text() {
    let mut t = SourceTable::new();
    let x = t.intern(Source::Local {
        index: 0,
        name: "x".into(),
    });
    let y = t.intern(Source::Local {
        index: 1,
        name: "y".into(),
    });
    let o = || object(7, "<function f>", "<class 'function'>");
    let name = || Arc::<str>::from("a");
    let kinds = vec![
        GuardKind::TypeMatch {
            ty: object(7, "<class 'dict'>", "<class 'type'>"),
        },
        GuardKind::IdMatch { obj: o() },
        GuardKind::FunctionMatch { obj: o() },
        GuardKind::ModuleMatch { obj: o() },
        GuardKind::ClosureMatch { code: o() },
        GuardKind::NoneMatch,
        GuardKind::TrueMatch,
        GuardKind::FalseMatch,
        GuardKind::NotNoneMatch,
        GuardKind::EqualsMatch {
            value: ConstVal::str("it's"),
        },
        GuardKind::EqualsMatch {
            value: ConstVal::float(f64::NAN),
        },
        GuardKind::EqualsMatch {
            value: ConstVal::float(-0.0),
        },
        GuardKind::ConstantMatch {
            value: ConstVal::Tuple([ConstVal::Int(1), ConstVal::Bool(true)].into()),
        },
        GuardKind::SequenceLength { len: 2 },
        GuardKind::DictLength { len: 2 },
        GuardKind::DictKeys {
            keys: [Key::Int(1), Key::str("b")].into(),
        },
        GuardKind::DictContains {
            key: Key::str("k"),
            present: true,
        },
        GuardKind::DictContains {
            key: Key::str("k"),
            present: false,
        },
        GuardKind::SetContains {
            key: Key::Int(1),
            present: true,
        },
        GuardKind::SetContains {
            key: Key::Int(1),
            present: false,
        },
        GuardKind::HasAttr {
            name: name(),
            present: true,
        },
        GuardKind::GenericDictContains {
            name: name(),
            present: true,
        },
        GuardKind::GenericDictContains {
            name: name(),
            present: false,
        },
        GuardKind::MroAttr {
            name: name(),
            value: None,
        },
        GuardKind::WeakrefAlive,
        GuardKind::ObjectAliasing { other: y },
        GuardKind::NotAliasing { other: y },
        GuardKind::NoTensorAliasing {
            sources: [x, y].into(),
        },
        GuardKind::StorageOverlap {
            overlapping: [x].into(),
            non_overlapping: [y].into(),
        },
        GuardKind::RangeIteratorMatch {
            start: 1,
            stop: 9,
            step: 2,
        },
        GuardKind::TupleIteratorLen { len: 3 },
        GuardKind::ListIteratorLen { len: 3 },
        GuardKind::ListReverseIteratorLen { len: 3 },
        GuardKind::CountIteratorMatch { start: 1, step: 2 },
        GuardKind::GradMode { enabled: true },
        GuardKind::InferenceMode { enabled: false },
        GuardKind::DefaultDtype {
            dtype: 6,
            text: "torch.float32".into(),
        },
        GuardKind::DeterministicAlgorithms {
            enabled: false,
            warn_only: false,
        },
        GuardKind::TorchFunctionState { state: 0 },
    ];
    let set = GuardSet::new(
        t,
        kinds.iter().cloned().map(|kind| Guard::new(x, kind)),
        types(),
    );
    let lines: Vec<String> = kinds
        .iter()
        .map(|kind| {
            format!(
                "{}: {}",
                kind.name(),
                kind.tree_text(Some(x), &set.cx(NameStyle::Explicit))
            )
        })
        .collect();
    insta::assert_snapshot!("kinds", lines.join("\n"));
}

#[test]
fn order_does_not_depend_on_insertion() {
    let set = wide();
    let mut guards = set.guards().to_vec();
    guards.reverse();
    let reversed = GuardSet::new(set.sources().clone(), guards, types());
    assert_eq!(set.tree_text(None), reversed.tree_text(None));
}

#[test]
fn equal_guards_are_merged_and_needless_sources_left_out() {
    let set = wide();
    assert_eq!(set.guards().len(), 13);
    let mut t = set.sources().clone();
    t.intern(Source::Local {
        index: 9,
        name: "unused".into(),
    });
    let same = GuardSet::new(t, set.guards().to_vec(), types());
    assert_eq!(
        Program::compile(&same).text(&same),
        Program::compile(&set).text(&set)
    );
}

#[test]
fn the_verifier_finds_broken_programs() {
    use guards::program::{Op, Reg};
    let set = wide();
    let good = Program::compile(&set);
    assert_eq!(good.verify(&set), Ok(()));

    let mut program = good.clone();
    program.ops.pop();
    assert!(matches!(
        program.verify(&set),
        Err(VerifyError::Coverage { times: 0, .. })
    ));

    let mut program = good.clone();
    let check = program
        .ops
        .iter()
        .find(|op| matches!(op, Op::Check { .. }))
        .cloned()
        .expect("a check");
    program.ops.insert(0, check);
    assert!(matches!(
        program.verify(&set),
        Err(VerifyError::Unwritten { .. })
    ));

    let mut program = good.clone();
    for op in &mut program.ops {
        if let Op::Relation { regs, .. } = op {
            regs[0] = Reg(0);
        }
    }
    assert!(matches!(
        program.verify(&set),
        Err(VerifyError::WrongSource { .. } | VerifyError::Unwritten { .. })
    ));

    let mut program = good;
    program.registers = 0;
    assert!(program.verify(&set).is_err());
}

#[test]
fn deep_chains_need_no_recursion_in_the_compiler() {
    let mut t = SourceTable::new();
    let mut id: SourceId = t.intern(Source::Local {
        index: 0,
        name: "x".into(),
    });
    for _ in 0..2000 {
        id = t.intern(Source::ListItem { base: id, index: 0 });
    }
    let set = GuardSet::new(t, [Guard::new(id, GuardKind::NoneMatch)], types());
    let program = Program::compile(&set);
    assert_eq!(program.registers, 2001);
    assert_eq!(program.verify(&set), Ok(()));
}

/// A set that is large enough to be split: wide at one place, and a long list at another. Each guard twice.
fn large() -> (SourceTable, Vec<Guard>) {
    let mut t = SourceTable::new();
    let me = t.intern(Source::Local {
        index: 0,
        name: "self".into(),
    });
    let mut guards = Vec::new();
    let mut deep = me;
    for i in 0..3000 {
        let base = if i % 3 == 0 { deep } else { me };
        let item = t.intern(Source::InstanceDictItem {
            base,
            name: format!("a{i}").into(),
        });
        if i % 3 == 0 {
            deep = item;
        }
        let value = ConstVal::Int(i);
        guards.push(Guard::new(item, GuardKind::EqualsMatch { value }));
        guards.push(Guard::new(item, GuardKind::NotNoneMatch));
        let other = me;
        guards.push(Guard::new(item, GuardKind::NotAliasing { other }));
    }
    let again = guards.clone();
    guards.extend(again);
    (t, guards)
}

#[test]
fn threads_make_the_same_plan() {
    let (t, guards) = large();
    let alone = Plan::new(t.clone(), guards.clone(), types());
    assert_eq!(alone.set.guards().len(), 9000);
    assert_eq!(alone.program.verify(&alone.set), Ok(()));
    let copy = |_: usize, guard: &Guard| guard.clone();
    let (result, beside) = plan::beside(&t, &guards, copy, types(), || 7);
    assert_eq!(result, 7);
    let in_pool = Plan::in_pool(t.clone(), guards.clone(), types());
    // The process's own pool may have one thread only, or there is none.
    let three = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    let three = three.unwrap_or_else(|e| panic!("{e}"));
    let (_, split) = plan::beside_in(&three, &t, &guards, copy, types(), || ());
    assert!(split.is_some());
    for other in beside.into_iter().chain([in_pool]).chain(split) {
        assert_eq!(other.set.guards(), alone.set.guards());
        assert_eq!(other.set.checking_order(), alone.set.checking_order());
        assert_eq!(other.program, alone.program);
    }
}

#[test]
fn few_guards_are_no_work_for_a_thread() {
    let (t, guards) = large();
    let copy = |_: usize, guard: &Guard| guard.clone();
    let (result, plan) = plan::beside(&t, &guards[..100], copy, types(), || 7);
    assert_eq!(result, 7);
    assert!(plan.is_none());
}

#[test]
fn a_panic_of_a_plan_leaves_the_work_alone() {
    let (t, guards) = large();
    let broken = |i: usize, guard: &Guard| match i {
        5000 => panic!("a test asked for it"),
        _ => guard.clone(),
    };
    let (result, plan) = plan::beside(&t, &guards, broken, types(), || 7);
    assert_eq!(result, 7);
    assert!(plan.is_none());
}
