//! Rules of symbolic sizes: wherever the facts of an answer hold, it is the answer for plain
//! numbers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tensor_meta::{
    Atom, Compare, Ctx, DType, Device, Fact, Inferred, RuleError, SizeTable, SymInt, TensorMeta,
    Term, Value, infer, lookup_function, lookup_method,
};

/// Sizes of a call: the symbols' values, by number.
type Values = Vec<i64>;

fn of_terms(table: &SizeTable, terms: &[Term], values: &[i64]) -> i64 {
    terms
        .iter()
        .map(|term| {
            let atoms = term.atoms.iter().map(|(atom, power)| {
                let n = match atom {
                    Atom::Symbol(n) => values[*n as usize],
                    Atom::Quotient(n) => {
                        let (a, b) = table.quotient(*n);
                        of_terms(table, a, values).div_euclid(of_terms(table, b, values))
                    }
                };
                n.pow(*power)
            });
            term.factor * atoms.product::<i64>()
        })
        .sum()
}

fn value(table: &SizeTable, n: SymInt, values: &[i64]) -> i64 {
    match n {
        SymInt::Const(n) => n,
        SymInt::Expr(expr) => of_terms(table, table.terms(expr), values),
    }
}

fn holds(table: &SizeTable, fact: &Fact, values: &[i64]) -> bool {
    let (a, b) = (
        value(table, fact.left, values),
        value(table, fact.right, values),
    );
    match fact.op {
        Compare::Equal => a == b,
        Compare::Differ => a != b,
        Compare::Less => a < b,
        Compare::NotLess => a >= b,
    }
}

fn number(table: &SizeTable, n: SymInt, values: &[i64]) -> SymInt {
    SymInt::Const(value(table, n, values))
}

fn known_meta(table: &SizeTable, meta: &TensorMeta, values: &[i64]) -> TensorMeta {
    let mut out = meta.clone();
    let all = |dims: &[SymInt]| dims.iter().map(|d| number(table, *d, values)).collect();
    out.shape = all(&meta.shape);
    out.strides = all(&meta.strides);
    out.storage_offset = number(table, meta.storage_offset, values);
    out
}

fn known(table: &SizeTable, result: &Inferred, values: &[i64]) -> Inferred {
    let all = |items: &[Inferred]| items.iter().map(|i| known(table, i, values)).collect();
    match result {
        Inferred::Tensor(meta) => Inferred::Tensor(known_meta(table, meta, values)),
        Inferred::Int(n) => Inferred::Int(number(table, *n, values)),
        Inferred::Size(dims) => {
            Inferred::Size(dims.iter().map(|d| number(table, *d, values)).collect())
        }
        Inferred::Tuple(items) => Inferred::Tuple(all(items)),
        Inferred::List(items) => Inferred::List(all(items)),
        Inferred::NamedTuple { type_name, items } => Inferred::NamedTuple {
            type_name,
            items: all(items),
        },
        other => other.clone(),
    }
}

/// An argument as a test writes it: sizes by the numbers of symbols.
#[derive(Clone, Debug)]
enum Arg {
    Tensor(usize),
    Tensors(Vec<usize>),
    Symbol(usize),
    Less(usize),
    Int(i64),
    Ints(Vec<i64>),
    /// `[symbol, int]`
    Mixed(usize, i64),
    From(usize),
    UpTo(usize),
    Between(i64, i64),
}

/// A tensor: its sizes (a symbol or a number) and the order of its dimensions in memory.
#[derive(Clone, Debug)]
struct Tensor {
    sizes: Vec<Result<usize, i64>>,
    turned: bool,
}

fn build(table: &mut SizeTable, symbols: &[SymInt], t: &Tensor) -> TensorMeta {
    let shape: Vec<SymInt> = t
        .sizes
        .iter()
        .map(|s| match s {
            Ok(symbol) => symbols[*symbol],
            Err(n) => SymInt::Const(*n),
        })
        .collect();
    let n = shape.len();
    let order: Vec<usize> = match t.turned {
        true => (0..n).collect(),
        false => (0..n).rev().collect(),
    };
    let mut strides = vec![SymInt::Const(1); n];
    let mut step = SymInt::Const(1);
    for d in order {
        strides[d] = step;
        step = table.multiply(step, shape[d]);
    }
    let mut meta = TensorMeta::contiguous(&vec![1; n], DType::Float32, Device::CPU);
    meta.shape = shape.into_iter().collect();
    meta.strides = strides.into_iter().collect();
    meta
}

struct Run {
    table: SizeTable,
    result: Result<Inferred, RuleError>,
    facts: Vec<Fact>,
}

/// One call with symbols of these values, or with plain numbers.
fn run(name: &str, args: &[Arg], tensors: &[Tensor], values: &[i64], symbolic: bool) -> Run {
    let mut table = SizeTable::default();
    let symbols: Vec<SymInt> = values
        .iter()
        .map(|v| match symbolic {
            true => table.symbol(*v, Some(2)),
            false => SymInt::Const(*v),
        })
        .collect();
    let less: Vec<SymInt> = symbols
        .iter()
        .map(|s| table.subtract(*s, SymInt::Const(1)))
        .collect();
    let metas: Vec<TensorMeta> = tensors
        .iter()
        .map(|t| build(&mut table, &symbols, t))
        .collect();
    let int = |n: SymInt| match n {
        SymInt::Const(n) => Value::Int(n),
        SymInt::Expr(expr) => Value::SymInt(expr),
    };
    let args: Vec<Value<'_>> = args
        .iter()
        .map(|a| match a {
            Arg::Tensor(n) => Value::Tensor(&metas[*n]),
            Arg::Tensors(all) => {
                Value::List(all.iter().map(|n| Value::Tensor(&metas[*n])).collect())
            }
            Arg::Symbol(n) => int(symbols[*n]),
            Arg::Less(n) => int(less[*n]),
            Arg::Int(n) => Value::Int(*n),
            Arg::Ints(all) => Value::ints(all),
            Arg::Mixed(n, m) => Value::List(vec![int(symbols[*n]), Value::Int(*m)]),
            Arg::From(n) => Value::slice(int(less[*n]), Value::None, Value::None),
            Arg::UpTo(n) => Value::slice(Value::None, int(symbols[*n]), Value::None),
            Arg::Between(a, b) => Value::slice(Value::Int(*a), Value::Int(*b), Value::None),
        })
        .collect();
    let rule = name
        .strip_prefix('.')
        .map_or_else(|| lookup_function(name), lookup_method);
    let rule = rule.unwrap_or_else(|| panic!("no rule for {name}"));
    let (result, facts) = table.scope(|| infer(rule, &args, &[], &Ctx::default()));
    Run {
        table,
        result,
        facts,
    }
}

/// Calls that are looked at: tensors 0 and 1 have two or three dimensions each.
fn calls() -> Vec<(&'static str, Vec<Arg>)> {
    use Arg::*;
    let (x, y) = (|| Tensor(0), || Tensor(1));
    vec![
        ("torch.relu", vec![x()]),
        ("operator.add", vec![x(), y()]),
        ("operator.mul", vec![x(), y()]),
        ("torch.where", vec![x(), x(), y()]),
        ("torch.matmul", vec![x(), y()]),
        ("torch.nn.functional.linear", vec![x(), y()]),
        ("torch.cat", vec![Tensors(vec![0, 1]), Int(0)]),
        ("torch.cat", vec![Tensors(vec![0, 1]), Int(-1)]),
        ("torch._C._nn.pad_sequence", vec![Tensors(vec![0, 1])]),
        ("torch.stack", vec![Tensors(vec![0, 1]), Int(1)]),
        ("torch.softmax", vec![x(), Int(-1)]),
        ("torch.sum", vec![x(), Int(0)]),
        ("torch.cumsum", vec![x(), Int(0)]),
        ("torch.max", vec![x(), Int(1)]),
        ("torch.topk", vec![x(), Int(2)]),
        ("torch.tril", vec![x()]),
        ("torch.zeros", vec![Symbol(0), Symbol(1)]),
        ("torch.arange", vec![Symbol(0)]),
        ("torch.arange", vec![Int(1), Symbol(0), Int(2)]),
        ("torch.full", vec![Mixed(1, 3), Int(1)]),
        ("torch.flatten", vec![x()]),
        ("torch.flatten", vec![x(), Int(1)]),
        ("torch.permute", vec![x(), Ints(vec![1, 0])]),
        ("torch.nn.functional.pad", vec![x(), Ints(vec![1, 2])]),
        (".view", vec![x(), Int(-1)]),
        (".view", vec![x(), Symbol(0), Int(-1)]),
        (".reshape", vec![x(), Int(-1), Int(2)]),
        (".reshape", vec![x(), Int(4), Int(-1)]),
        (".reshape", vec![x(), Symbol(0), Int(-1)]),
        (".expand", vec![x(), Int(3), Symbol(0), Symbol(1)]),
        (".expand_as", vec![x(), y()]),
        (".transpose", vec![x(), Int(0), Int(1)]),
        (".contiguous", vec![x()]),
        (".t", vec![x()]),
        (".squeeze", vec![x()]),
        (".unsqueeze", vec![x(), Int(1)]),
        (".size", vec![x()]),
        (".numel", vec![x()]),
        (".stride", vec![x()]),
        (".is_contiguous", vec![x()]),
        (".split", vec![x(), Int(2)]),
        (".chunk", vec![x(), Int(2), Int(-1)]),
        (".unbind", vec![x()]),
        (".repeat", vec![x(), Int(2), Symbol(1), Int(1)]),
        (".narrow", vec![x(), Int(0), Int(1), Less(0)]),
        (".select", vec![x(), Int(0), Int(-1)]),
        (".diagonal", vec![x()]),
        (".unfold", vec![x(), Int(0), Int(2), Int(1)]),
        (".clone", vec![x()]),
        (".to", vec![x(), y()]),
        (".new_zeros", vec![x(), Symbol(1), Int(4)]),
        (".copy_", vec![x(), y()]),
        (".add_", vec![x(), y()]),
        ("operator.getitem", vec![x(), Int(1)]),
        ("operator.getitem", vec![x(), Int(-2)]),
        ("operator.getitem", vec![x(), Less(0)]),
        ("operator.getitem", vec![x(), UpTo(1)]),
        ("operator.getitem", vec![x(), From(0)]),
        ("operator.getitem", vec![x(), Between(1, 5)]),
        ("operator.getitem", vec![x(), Between(-3, -1)]),
        ("operator.setitem", vec![x(), Between(0, 2), y()]),
    ]
}

fn size() -> impl Strategy<Value = Result<usize, i64>> {
    prop_oneof![4 => (0usize..3).prop_map(Ok), 1 => prop_oneof![Just(1), Just(2), Just(4)].prop_map(Err)]
}

fn tensor() -> impl Strategy<Value = Tensor> {
    let sizes = proptest::collection::vec(size(), 2..4);
    (sizes, any::<bool>()).prop_map(|(sizes, turned)| Tensor { sizes, turned })
}

fn symbols() -> impl Strategy<Value = Values> {
    proptest::collection::vec(prop_oneof![2i64..9, Just(12), Just(16)], 3)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn an_answer_holds_where_its_facts_do(
        which in any::<prop::sample::Index>(),
        tensors in proptest::collection::vec(tensor(), 2),
        now in symbols(),
        later in symbols(),
        zero in any::<bool>(),
    ) {
        let all = calls();
        let (name, args) = &all[which.index(all.len())];
        let symbolic = run(name, args, &tensors, &now, true);
        let mut later = later;
        if zero {
            // Most of them as they were, so that more facts hold.
            later[0] = now[0];
            later[2] = now[2];
        }
        for values in [&now, &later] {
            let hold = symbolic.facts.iter().all(|f| holds(&symbolic.table, f, values));
            prop_assert!(hold || !std::ptr::eq(values, &now), "a fact does not hold: {:?}", symbolic.facts);
            if !hold {
                continue;
            }
            let plain = run(name, args, &tensors, values, false).result;
            match &symbolic.result {
                Ok(result) => {
                    let result = known(&symbolic.table, result, values);
                    prop_assert_eq!(Ok(result), plain, "{} {:?} at {:?}", name, symbolic.facts, values);
                }
                Err(RuleError::WouldRaise { .. }) => {
                    prop_assert!(plain.is_err(), "{} raises at {:?} only", name, now);
                }
                Err(_) => {}
            }
        }
    }
}

/// How many facts calls of these names leave: a guard each.
#[test]
fn usual_calls_of_usual_tensors_leave_no_facts() {
    let row = |sizes: Vec<Result<usize, i64>>| Tensor {
        sizes,
        turned: false,
    };
    let tensors = [row(vec![Ok(0), Err(64)]), row(vec![Ok(0), Err(64)])];
    let mut left = BTreeMap::new();
    for (name, args) in calls() {
        let run = run(name, &args, &tensors, &[7, 5, 3], true);
        if run.result.is_ok() && !run.facts.is_empty() {
            left.insert(format!("{name} {args:?}"), run.facts.len());
        }
    }
    let names: Vec<&str> = left.keys().filter_map(|k| k.split(' ').next()).collect();
    let expected = [
        ".diagonal",
        ".split",
        ".unbind",
        "operator.getitem",
        "operator.getitem",
        "operator.getitem",
    ];
    assert_eq!(names, expected, "{left:#?}");
}
