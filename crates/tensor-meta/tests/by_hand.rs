//! Cases written by hand: they need no torch.

use tensor_meta::{
    Alias, Autocast, Ctx, DType, Device, DeviceKind, Inferred, RuleError, TensorMeta, Value, infer,
    lookup_function, lookup_method, rules,
};

fn f32(shape: &[i64]) -> TensorMeta {
    TensorMeta::contiguous(shape, DType::Float32, Device::CPU)
}

fn call(name: &str, args: &[Value<'_>]) -> Result<Inferred, RuleError> {
    let id = lookup_function(name).unwrap_or_else(|| panic!("no rule for {name}"));
    infer(id, args, &[], &Ctx::default())
}

fn method(name: &str, args: &[Value<'_>]) -> Result<Inferred, RuleError> {
    let id = lookup_method(name).unwrap_or_else(|| panic!("no rule for {name}"));
    infer(id, args, &[], &Ctx::default())
}

fn check(result: Result<Inferred, RuleError>, shape: &[i64], strides: &[i64]) -> TensorMeta {
    let meta = result.expect("result").tensor().expect("tensor").clone();
    assert_eq!(meta.sizes().expect("sizes").as_slice(), shape);
    assert_eq!(meta.stride().expect("strides").as_slice(), strides);
    meta
}

#[test]
fn numbering_of_dtypes_and_devices_round_trips() {
    for d in DType::ALL {
        assert_eq!(DType::from_scalar_type(d.scalar_type()), Some(*d));
        assert_eq!(DType::from_name(d.name()), Some(*d));
    }
    assert_eq!(DType::from_scalar_type(6), Some(DType::Float32));
    assert_eq!(DType::from_scalar_type(99), None);
    assert_eq!(DeviceKind::from_device_type(1), Some(DeviceKind::Cuda));
    let cuda = Device::parse("cuda:1").expect("device");
    assert_eq!(cuda.to_string(), "cuda:1");
    assert_eq!(Device::parse("cuda:-1"), None);
    assert_eq!(Device::CPU.to_string(), "cpu");
}

#[test]
fn every_name_of_every_rule_is_found() {
    for rule in rules().iter().filter(|rule| rule.has_rule) {
        for f in &rule.functions {
            assert!(lookup_function(f).is_some(), "{f}");
        }
        for m in &rule.methods {
            assert!(lookup_method(m).is_some(), "{m}");
        }
    }
    assert_eq!(
        lookup_function("_operator.add"),
        lookup_function("operator.add")
    );
    assert_eq!(lookup_function("torch.Tensor.view"), lookup_method("view"));
    assert_eq!(lookup_function("torch.nonsense"), None);
}

#[test]
fn no_name_belongs_to_two_rules() {
    let mut seen = std::collections::HashMap::new();
    for rule in rules() {
        for name in rule.functions.iter().chain(rule.methods.iter()) {
            let owner = seen.insert((name, rule.functions.contains(name)), &rule.name);
            assert!(
                owner.is_none_or(|o| *o == rule.name),
                "{name}: {owner:?} and {}",
                rule.name
            );
        }
    }
}

#[test]
fn broadcasting_keeps_channels_last() {
    let x = TensorMeta::strided(&[2, 3, 4, 5], &[60, 1, 15, 3], DType::Float32, Device::CPU);
    let b = f32(&[3, 1, 1]);
    let args = [Value::Tensor(&x), Value::Tensor(&b)];
    check(call("operator.add", &args), &[2, 3, 4, 5], &[60, 1, 15, 3]);
}

#[test]
fn integers_divide_to_the_default_dtype() {
    let x = TensorMeta::contiguous(&[2], DType::Int64, Device::CPU);
    let out = check(
        call("operator.truediv", &[Value::Tensor(&x), Value::Int(2)]),
        &[2],
        &[1],
    );
    assert_eq!(out.dtype, DType::Float32);
}

#[test]
fn reshape_views_where_it_can() {
    let x = f32(&[2, 3, 4]);
    let view = check(
        method(
            "reshape",
            &[Value::Tensor(&x), Value::Int(6), Value::Int(4)],
        ),
        &[6, 4],
        &[4, 1],
    );
    assert_eq!(view.alias, Alias::View);
    let t = check(
        method(
            "transpose",
            &[Value::Tensor(&x), Value::Int(1), Value::Int(2)],
        ),
        &[2, 4, 3],
        &[12, 1, 4],
    );
    let copy = check(
        method("reshape", &[Value::Tensor(&t), Value::Int(-1)]),
        &[24],
        &[1],
    );
    assert_eq!(copy.alias, Alias::Fresh);
    let error = method("view", &[Value::Tensor(&t), Value::Int(-1)]);
    assert!(
        matches!(error, Err(RuleError::WouldRaise { .. })),
        "{error:?}"
    );
}

#[test]
fn in_place_on_a_leaf_raises_and_identity_is_told() {
    let leaf = f32(&[2]).with_grad(true);
    let error = method("add_", &[Value::Tensor(&leaf), Value::Int(1)]);
    assert!(
        matches!(error, Err(RuleError::WouldRaise { .. })),
        "{error:?}"
    );
    let plain = f32(&[2]);
    let out = check(
        method("add_", &[Value::Tensor(&plain), Value::Tensor(&leaf)]),
        &[2],
        &[1],
    );
    assert!(out.requires_grad && !out.is_leaf);
    assert_eq!(out.alias, Alias::Identity);
    let same = check(method("contiguous", &[Value::Tensor(&plain)]), &[2], &[1]);
    assert_eq!(same.alias, Alias::Identity);
}

#[test]
fn what_is_not_known_is_not_guessed() {
    let cases = [
        call("torch.exp", &[Value::Unknown]),
        call(
            "operator.getitem",
            &[Value::Tensor(&f32(&[2])), Value::Unknown],
        ),
    ];
    for case in cases {
        assert!(matches!(case, Err(RuleError::Unsupported(_))), "{case:?}");
    }
    let autocast = Ctx {
        autocast: Autocast::Other,
        ..Ctx::default()
    };
    let exp = lookup_function("torch.exp").expect("rule");
    let out = infer(exp, &[Value::Tensor(&f32(&[2]))], &[], &autocast);
    assert!(matches!(out, Err(RuleError::Unsupported(_))));
}

#[test]
fn no_argument_count_panics() {
    let x = f32(&[2, 3, 4, 5]);
    let values = [
        Value::Tensor(&x),
        Value::Int(i64::MAX),
        Value::Int(i64::MIN),
        Value::None,
        Value::Float(f64::NAN),
    ];
    let with_rule = rules().iter().filter(|rule| rule.has_rule);
    for (number, rule) in with_rule.enumerate() {
        let id = rule
            .functions
            .first()
            .and_then(|f| lookup_function(f))
            .or(rule.methods.first().and_then(|m| lookup_method(m)));
        let id = id.unwrap_or_else(|| panic!("rule {number} has no name"));
        let _ = infer(id, &[], &[], &Ctx::default());
        for a in &values {
            let _ = infer(id, std::slice::from_ref(a), &[], &Ctx::default());
            for b in &values {
                let _ = infer(
                    id,
                    &[Value::Tensor(&x), a.clone(), b.clone()],
                    &[],
                    &Ctx::default(),
                );
                let _ = infer(
                    id,
                    &[Value::Tensor(&x), b.clone(), a.clone(), b.clone()],
                    &[],
                    &Ctx::default(),
                );
            }
        }
    }
}
