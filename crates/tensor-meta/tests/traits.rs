//! What rows say of operations beside their results: by hand, and against what torch's schemas say.
//!
//! The latter is skipped (with a message) where no Python with torch is found: `$FERRODYN_PYTHON`, else
//! `.ferrodyn/py3.12/bin/python` of the checkout.

use std::path::PathBuf;
use std::process::Command;

use tensor_meta::{Cast, Does, Fold, Traits, function_traits, lookup_function, method_traits};

#[test]
fn every_spelling_of_an_operation_says_the_same() {
    let add = function_traits("torch.add");
    for name in ["operator.add", "_operator.add", "torch.Tensor.add"] {
        assert_eq!(function_traits(name), add, "{name}");
    }
    assert_eq!(method_traits("__radd__"), add);
    assert_eq!(add.folds, Some(Fold::Add));
    assert!(add.any(Does::NEVER_RAISES) && !add.any(Does::WRITES));
    // A library's operation is another one, whatever its name; torch's own is not.
    assert!(!function_traits("torch.ops.mine.add").any(Does::NEVER_RAISES));
    assert!(function_traits("torch.ops.aten.add").any(Does::NEVER_RAISES));
    assert!(!function_traits("mine.add").any(Does::NEVER_RAISES));
}

#[test]
fn variants_in_place_write() {
    for name in [
        "operator.iadd",
        "torch.relu_",
        "operator.setitem",
        "torch.ops.mine.act_",
    ] {
        assert!(function_traits(name).any(Does::WRITES), "{name}");
    }
    for name in [
        "__iadd__",
        "add_",
        "copy_",
        "squeeze_",
        "unknown_",
        "__setitem__",
    ] {
        assert!(method_traits(name).any(Does::WRITES), "{name}");
    }
    for name in ["operator.and_", "_operator.or_", "operator.is_"] {
        assert!(!function_traits(name).any(Does::WRITES), "{name}");
    }
    for name in ["__add__", "add", "__unknown__"] {
        assert!(!method_traits(name).any(Does::WRITES), "{name}");
    }
    let scales = |name| method_traits(name).scales.expect(name);
    assert_eq!(scales("add").adds, "add");
    assert_eq!(scales("sub_").adds, "sub_");
    assert_eq!(scales("addcdiv_").adds, "add_");
    assert_eq!(method_traits("add_").folds, None);
}

#[test]
fn autocast_is_a_column() {
    let matmul = function_traits("torch.matmul");
    assert_eq!((matmul.on_cpu, matmul.on_cuda), (Cast::Lower, Cast::Lower));
    assert!(matmul.takes_kept_casts());
    let exp = method_traits("exp");
    assert_eq!((exp.on_cpu, exp.on_cuda), (Cast::None, Cast::Single));
}

#[test]
fn an_operation_without_a_rule_has_a_row() {
    assert_eq!(lookup_function("torch.normal"), None);
    assert!(function_traits("torch.normal").any(Does::DRAWS));
    assert!(method_traits("item").any(Does::BREAKS));
}

/// What torch's schemas do not say as this table means it.
const OTHERWISE: [(&str, &str); 26] = [
    // Parts of sparse and nested tensors, which are not captured.
    ("view", "coalesce"),
    ("view", "indices"),
    ("view", "values"),
    ("view", "_indices"),
    ("view", "_values"),
    ("view", "ccol_indices"),
    ("view", "col_indices"),
    ("view", "crow_indices"),
    ("view", "row_indices"),
    ("view", "_sparse_broadcast_to"),
    ("view", "_nested_get_values"),
    ("view", "_nested_view_from_buffer"),
    ("view", "_nested_view_from_jagged"),
    // Torch's own, for its tests and transforms.
    ("view", "_test_autograd_multiple_dispatch_view"),
    ("view", "_autocast_to_full_precision"),
    ("view", "_autocast_to_reduced_precision"),
    ("view", "_fw_primal"),
    ("view", "_grad_sum_to_size"),
    ("view", "lift_fresh"),
    ("view", "alias"),
    // To another device or to pinned memory: what is there already is given back.
    ("view", "cuda"),
    ("view", "pin_memory"),
    ("draws", "_nested_tensor_softmax_with_shape"),
    // Chooses a kernel.
    ("draws", "_fused_sdp_choice"),
    // Marks a storage, and asks for gradients.
    ("writes", "record_stream"),
    ("writes", "retain_grad"),
];

#[test]
fn rows_say_what_schemas_say() {
    let python = std::env::var_os("FERRODYN_PYTHON").map(PathBuf::from);
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let python = python.unwrap_or_else(|| root.join("../../.ferrodyn/py3.12/bin/python"));
    let script = root.join("tests/schema_facts.py");
    let run = Command::new(python).arg("-B").arg(script).output();
    let Some(output) = run.ok().filter(|output| output.status.success()) else {
        println!("skipped: no Python with torch");
        return;
    };
    let text = String::from_utf8(output.stdout).expect("utf-8");
    let mut against = Vec::new();
    let mut seen = 0;
    for line in text.lines() {
        let (fact, names) = line.split_once(' ').expect("a fact");
        let column = match fact {
            "draws" => Does::DRAWS,
            "view" => Does::VIEW | Does::VIEWS | Does::SHARES_DATA,
            "views" => Does::VIEWS,
            "writes" => Does::WRITES,
            other => panic!("{other}"),
        };
        for name in names.split(' ') {
            let traits: Traits = match name.strip_prefix(':') {
                Some(method) => method_traits(method),
                None => function_traits(name),
            };
            let last = name.rsplit(['.', ':']).next().unwrap_or(name);
            if !traits.any(column) && !OTHERWISE.contains(&(fact, last)) {
                against.push(format!("{fact} {name}"));
            }
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen}");
    assert!(against.is_empty(), "{against:#?}");
}
