//! Every rule against the real CPU op: `gen_cases.py` runs the ops, this compares.
//!
//! `RULE="name other"` asks for those alone, with all of their cases and more of the failures.
//! `FERRODYN_DEVICE=cuda:0` asks for the operations of that device. Where it is on another machine:
//! `FERRODYN_CASES` is a file of what `gen_cases.py` printed there.
//! Skipped (with a message) where no Python with torch is found: `$FERRODYN_PYTHON`, else
//! `.ferrodyn/py3.12/bin/python` of the checkout.

mod text;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tensor_meta::{
    Alias, Autocast, Ctx, DType, Device, DeviceKind, Inferred, RuleError, TensorMeta, infer,
    lookup_function, lookup_method, rules,
};
use text::Parsed;

fn python() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("FERRODYN_PYTHON") {
        return Some(path.into());
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(".ferrodyn/py3.12/bin/python");
    path.exists().then_some(path)
}

fn generate(python: PathBuf) -> Option<String> {
    let has_torch = Command::new(&python)
        .args(["-c", "import torch"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if !has_torch {
        return None;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/gen_cases.py");
    let mut child = Command::new(python)
        .args(["-B", "-X", "faulthandler"])
        .arg(script)
        .args(
            std::env::var("RULE")
                .ok()
                .iter()
                .flat_map(|r| r.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start Python");
    let mut stdin = child.stdin.take().expect("stdin");
    let lines: String = rules()
        .iter()
        .filter(|r| r.has_rule)
        .map(|r| {
            format!(
                "{}|{}|{}\n",
                r.name,
                r.functions.join(" "),
                r.methods.join(" ")
            )
        })
        .collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("run gen_cases.py");
    writer.join().expect("writer").expect("write rules");
    assert!(output.status.success(), "gen_cases.py: {}", output.status);
    Some(String::from_utf8(output.stdout).expect("utf-8"))
}

fn same_tensor(got: &TensorMeta, want: &TensorMeta, known_alias: bool) -> Result<(), String> {
    let check = |ok: bool, what: &str| if ok { Ok(()) } else { Err(what.to_owned()) };
    check(got.shape == want.shape, "shape")?;
    if want.numel() != Some(0) {
        check(got.strides == want.strides, "strides")?;
    }
    check(got.dtype == want.dtype, "dtype")?;
    check(got.device == want.device, "device")?;
    check(got.requires_grad == want.requires_grad, "requires_grad")?;
    check(got.is_leaf == want.is_leaf, "is_leaf")?;
    check(got.storage_offset == want.storage_offset, "offset")?;
    if known_alias {
        check(got.alias == want.alias, "alias")?;
    } else {
        check(
            (got.alias == Alias::Identity) == (want.alias == Alias::Identity),
            "identity",
        )?;
    }
    Ok(())
}

fn same(got: &Inferred, want: &Parsed) -> Result<(), String> {
    let all = |a: &[Inferred], b: &[Parsed]| {
        if a.len() != b.len() {
            return Err("number of results".to_owned());
        }
        a.iter().zip(b).try_for_each(|(x, y)| same(x, y))
    };
    match (got, want) {
        (Inferred::Tensor(a), Parsed::Tensor(b, known)) => same_tensor(a, b, *known),
        (Inferred::Tuple(a), Parsed::Tuple(b)) | (Inferred::List(a), Parsed::List(b)) => all(a, b),
        (Inferred::NamedTuple { type_name, items }, Parsed::Named(name, b)) => {
            if type_name != name {
                return Err("type name".to_owned());
            }
            all(items, b)
        }
        (Inferred::Int(a), Parsed::Int(b)) if a.as_const() == Some(*b) => Ok(()),
        (Inferred::Bool(a), Parsed::Bool(b)) if a == b => Ok(()),
        (Inferred::Str(a), Parsed::Str(b)) if a == b => Ok(()),
        (Inferred::DType(a), Parsed::DType(b)) if a == b => Ok(()),
        (Inferred::Device(a), Parsed::Device(b)) if a == b => Ok(()),
        (Inferred::None, Parsed::None) => Ok(()),
        (Inferred::Size(a), Parsed::Size(b))
            if a.iter()
                .map(|s| s.as_const())
                .eq(b.iter().map(|s| Some(*s))) =>
        {
            Ok(())
        }
        _ => Err("kind".to_owned()),
    }
}

#[derive(Default)]
struct Count {
    cases: usize,
    exact: usize,
    raises: usize,
    unsupported: usize,
    failures: Vec<String>,
}

#[test]
fn every_rule_agrees_with_the_real_op() {
    let made = match std::env::var_os("FERRODYN_CASES") {
        Some(path) => Some(std::fs::read_to_string(path).expect("FERRODYN_CASES")),
        None => python().and_then(generate),
    };
    let Some(text) = made else {
        eprintln!("skipped: no Python with torch (set FERRODYN_PYTHON)");
        return;
    };
    let asked = std::env::var("RULE").ok();
    let asked: Option<Vec<&str>> = asked.as_deref().map(|r| r.split_whitespace().collect());
    let filtered = asked.is_some();
    let is_asked = |name: &str| asked.as_ref().is_none_or(|names| names.contains(&name));
    let device = std::env::var("FERRODYN_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
    let device = Device::parse(&device).map(|device| device.kind);
    let mut counts: BTreeMap<usize, Count> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [callee, grad, args, kwargs, result] = fields[..] else {
            panic!("malformed line: {line}");
        };
        let id = match callee.split_once(':') {
            Some(("f", name)) => lookup_function(name),
            Some((_, name)) => lookup_method(name),
            None => None,
        }
        .unwrap_or_else(|| panic!("{callee} is in the table but not found"));
        let number = rules()
            .iter()
            .position(|r| std::ptr::eq(r, id.info()))
            .expect("info");
        let count = counts.entry(number).or_default();
        count.cases += 1;
        let args = text::parse_args(args);
        let kwargs = text::parse_kwargs(kwargs);
        let values: Vec<_> = args.iter().map(Parsed::value).collect();
        let named: Vec<_> = kwargs
            .iter()
            .map(|(k, v)| (k.as_str(), v.value()))
            .collect();
        let ctx = Ctx {
            grad_enabled: matches!(grad, "1" | "3"),
            inference_mode: grad == "2",
            autocast: match grad {
                "3" => Autocast::of(device, Some(DType::BFloat16)),
                _ => Autocast::Off,
            },
            ..Ctx::default()
        };
        let got = infer(id, &values, &named, &ctx);
        let verdict = match (&got, result) {
            (Err(RuleError::Unsupported(_)), _) => {
                count.unsupported += 1;
                Ok(())
            }
            // Kernels of other devices take more; plain Python finds out.
            (Err(RuleError::WouldRaise { .. }), _) if device != Some(DeviceKind::Cpu) => {
                count.unsupported += 1;
                Ok(())
            }
            // Eager looks less closely at empty tensors; plain Python finds out.
            (Err(RuleError::WouldRaise { .. }), _) if grad == "4" && result != "X" => {
                count.unsupported += 1;
                Ok(())
            }
            (Err(RuleError::WouldRaise { .. }), "X") => {
                count.raises += 1;
                Ok(())
            }
            (Ok(_), "X") => Err("eager raises".to_owned()),
            (Ok(inferred), _) => {
                count.exact += 1;
                same(inferred, &text::parse(result))
            }
            (Err(e), _) => Err(format!("{e}")),
        };
        if let Err(what) = verdict {
            count
                .failures
                .push(format!("{what}\n    {line}\n    got {got:?}"));
        }
    }
    let mut failed = Vec::new();
    let mut total = 0;
    for (number, info) in rules().iter().enumerate() {
        let Some(count) = counts.get(&number) else {
            if info.has_rule && is_asked(&info.name) {
                failed.push(format!("{}: no cases", info.name));
            }
            continue;
        };
        total += count.cases;
        println!(
            "{:28} {:6} cases: {:6} results, {:5} raises, {:5} not covered",
            info.name, count.cases, count.exact, count.raises, count.unsupported
        );
        if count.exact == 0 && device == Some(DeviceKind::Cpu) {
            failed.push(format!("{}: covers no case", info.name));
        }
        if !count.failures.is_empty() {
            failed.push(format!(
                "{}: {} of {} wrong",
                info.name,
                count.failures.len(),
                count.cases
            ));
            let show = if filtered { 12 } else { 3 };
            for f in count.failures.iter().take(show) {
                failed.push(format!("  {f}"));
            }
        }
    }
    println!("{total} cases, {} rules", rules().len());
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}
