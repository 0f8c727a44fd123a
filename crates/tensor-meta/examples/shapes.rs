//! The shapes in a small convolutional network, for a batch and an image size: without torch, and without any data.
//!
//! `cargo run -p ferrodyn-tensor-meta --example shapes -- 8 224`

use tensor_meta::{Ctx, DType, Device, RuleError, TensorMeta, Value, infer, lookup_function};

fn tensor(shape: &[i64]) -> TensorMeta {
    TensorMeta::contiguous(shape, DType::Float32, Device::CPU)
}

/// What a function makes of `x` and further arguments.
fn apply(name: &str, x: &TensorMeta, more: &[Value<'_>]) -> Result<TensorMeta, RuleError> {
    let rule = lookup_function(name).ok_or(RuleError::NoRule)?;
    let mut args = vec![Value::Tensor(x)];
    args.extend_from_slice(more);
    let result = infer(rule, &args, &[], &Ctx::default())?;
    result.tensor().cloned().ok_or(RuleError::NoRule)
}

/// Each layer with what it gives.
fn shapes(batch: i64, size: i64) -> Result<Vec<(&'static str, TensorMeta)>, RuleError> {
    let image = tensor(&[batch, 3, size, size]);
    let kernel = tensor(&[16, 3, 3, 3]);
    let conv = apply("torch.conv2d", &image, &[Value::Tensor(&kernel)])?;
    let relu = apply("torch.relu", &conv, &[])?;
    let pool = apply("torch.nn.functional.max_pool2d", &relu, &[Value::Int(2)])?;
    let flat = apply("torch.flatten", &pool, &[Value::Int(1)])?;
    let features = flat.shape[1].as_const().unwrap_or(0);
    let weight = tensor(&[10, features]);
    let linear = apply(
        "torch.nn.functional.linear",
        &flat,
        &[Value::Tensor(&weight)],
    )?;
    Ok(vec![
        ("image", image),
        ("conv", conv),
        ("relu", relu),
        ("pool", pool),
        ("flat", flat),
        ("linear", linear),
    ])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|n| n.parse::<i64>());
    let batch = numbers.next().transpose()?.unwrap_or(8);
    let size = numbers.next().transpose()?.unwrap_or(224);
    for (layer, meta) in shapes(batch, size)? {
        let shape: Vec<_> = meta.shape.iter().filter_map(|n| n.as_const()).collect();
        println!("{layer:>8}  {shape:?}");
    }
    Ok(())
}

#[test]
fn sizes_are_those_of_eager() -> Result<(), RuleError> {
    let shapes = shapes(2, 32)?;
    let last = shapes.last().map(|(_, meta)| meta.shape.to_vec());
    assert_eq!(last, Some(vec![2.into(), 10.into()]));
    assert_eq!(shapes[4].1.shape[1], (16 * 15 * 15).into());
    // What eager refuses is an error.
    let (image, kernel) = (tensor(&[1, 3, 8, 8]), tensor(&[16, 4, 3, 3]));
    assert!(apply("torch.conv2d", &image, &[Value::Tensor(&kernel)]).is_err());
    Ok(())
}
