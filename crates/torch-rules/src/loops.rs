//! `while_loop`, `map`, `scan` and `associative_scan`: their arguments, and what stands for them in the functions.
//!
//! torch's own Python is inlined down to the operators. Does not live here: the node (`higher_order`), how functions
//! become graphs (`bodies`).

use tensor_meta::{Alias, DType, Inferred, TensorMeta};
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::Var;

use crate::bodies::{Giving, Numbers, Out, Traced};
use crate::higher_order::{
    Constant, HigherOrder, higher_order, is_int, refused, tensors_in, whole, with_numbers,
};

pub(crate) const RULES: RuleList = &[
    (
        names::WHILE_LOOP,
        &[
            ("while_loop", whole_while_loop as Rule),
            ("WhileLoopOp.__call__", while_loop),
        ],
    ),
    (
        names::MAP,
        &[("map", whole_map as Rule), ("MapImpl.__call__", map)],
    ),
    (
        names::SCAN,
        &[("scan", whole_scan as Rule), ("ScanOp.__call__", scan)],
    ),
    (
        names::ASSOCIATIVE_SCAN,
        &[
            ("associative_scan", whole_associative_scan as Rule),
            ("AssociativeScanOp.__call__", associative_scan),
        ],
    ),
    (
        names::OPERATOR_UTILS,
        &[(names::COMPILED_OR_RUN, compiled_or_run as Rule)],
    ),
];

/// An operator that is none of these runs in eager mode, where torch compiles the whole call.
fn compiled_or_run(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    whole(tx, names::OPERATOR_UTILS, name, args)
}

fn whole_while_loop(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    whole(tx, names::WHILE_LOOP, name, args)
}

fn whole_map(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    whole(tx, names::MAP, name, args)
}

fn whole_scan(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    whole(tx, names::SCAN, name, args)
}

fn whole_associative_scan(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    whole(tx, names::ASSOCIATIVE_SCAN, name, args)
}

fn while_loop(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    with_numbers(tx, args, |tx, args, numbers| {
        while_loop_node(tx, name, args, numbers)
    })
}

fn while_loop_node(
    tx: &mut Tx<'_>,
    name: &'static str,
    args: Args,
    numbers: &mut Numbers,
) -> Given {
    let names = ["self", "cond_fn", "body_fn", "carried", "additional"];
    let given = tx.by_name(name, args, &names, 5, 5)?;
    let [_, Some(goes_on), Some(body), Some(carried), Some(others)] = &given[..] else {
        return Ok(None);
    };
    let (carried, others) = (tx.iterate(carried)?, tx.iterate(others)?);
    let path = "torch.while_loop";
    for v in &carried {
        // What the functions use of it besides is the same input of the graph.
        if let int @ Var::Int(_) = tx.look(v)? {
            tx.given_number(&int)?;
        }
    }
    let around = crate::bodies::graph_around(tx, carried.iter().chain(&others))?;
    let mut op = HigherOrder::new(path, "while_loop", "while_loop_op", &["cond_fn", "body_fn"]);
    op.may_be_copies = true;
    op.counts.push(carried.len());
    let mut all = Vec::new();
    for v in &carried {
        let v = tx.look(v)?;
        all.push(match is_int(tx, &v) {
            true => int_stand_in(tx, &mut op, v)?,
            false => stand_in(tx, &mut op, &v, false)?,
        });
    }
    numbers.giving = Giving::All;
    for v in others {
        all.push(passed(tx, &mut op, &v)?);
    }
    let args = Args::pos(all);
    let count = carried.len();
    higher_order(
        tx,
        op,
        numbers,
        &[(goes_on, args.clone()), (body, args)],
        &around,
        |_, bodies| {
            let [goes_on, body] = bodies else {
                return false;
            };
            let decides = |m: &TensorMeta| m.dtype == DType::Bool && m.shape.is_empty();
            matches!(goes_on.out, Out::New(_) | Out::Number(_))
                && goes_on.metas.iter().all(decides)
                && tensors_in(&body.out) == count
        },
    )
}

fn map(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    with_numbers(tx, args, |tx, args, numbers| {
        map_node(tx, name, args, numbers)
    })
}

fn map_node(tx: &mut Tx<'_>, name: &'static str, args: Args, numbers: &mut Numbers) -> Given {
    let given = tx.by_name(name, args, &["self", "f", "xs", "pos_args"], 4, 4)?;
    let [_, Some(f), Some(xs), Some(others)] = &given[..] else {
        return Ok(None);
    };
    let (xs, others) = (tx.iterate(xs)?, tx.iterate(others)?);
    let path = names::MAP;
    let around = crate::bodies::graph_around(tx, xs.iter().chain(&others))?;
    let mut op = HigherOrder::new(path, "map", "map_impl", &["map_body"]);
    op.constant = Constant::None;
    op.counts.push(xs.len());
    let mut all = Vec::new();
    for v in &xs {
        all.push(stand_in(tx, &mut op, v, true)?);
    }
    for v in others {
        all.push(passed(tx, &mut op, &v)?);
    }
    higher_order(tx, op, numbers, &[(f, Args::pos(all))], &around, |_, _| {
        true
    })
}

fn scan(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    with_numbers(tx, args, |tx, args, numbers| {
        scan_node(tx, name, args, numbers)
    })
}

fn scan_node(tx: &mut Tx<'_>, name: &'static str, args: Args, numbers: &mut Numbers) -> Given {
    let names = ["self", "combine_fn", "init", "xs", "additional"];
    let given = tx.by_name(name, args, &names, 5, 5)?;
    let [_, Some(f), Some(init), Some(xs), Some(others)] = &given[..] else {
        return Ok(None);
    };
    let (init, xs) = (tx.iterate(init)?, tx.iterate(xs)?);
    let others = tx.iterate(others)?;
    let path = names::SCAN;
    let around = crate::bodies::graph_around(tx, init.iter().chain(&xs).chain(&others))?;
    let mut op = HigherOrder::new(path, "scan", "scan_op", &["scan_combine_fn"]);
    op.in_batches = true;
    op.may_be_copies = true;
    op.may_share = init.len()..init.len() + xs.len();
    op.counts = vec![init.len(), init.len() + xs.len()];
    op.constant = Constant::None;
    let mut all = Vec::new();
    for v in &init {
        all.push(stand_in(tx, &mut op, v, false)?);
    }
    for v in &xs {
        all.push(stand_in(tx, &mut op, v, true)?);
    }
    for v in others {
        all.push(passed(tx, &mut op, &v)?);
    }
    let count = init.len();
    higher_order(
        tx,
        op,
        numbers,
        &[(f, Args::pos(all))],
        &around,
        |_, bodies| {
            let [
                Traced {
                    out: Out::Tuple(parts, None),
                    ..
                },
            ] = bodies
            else {
                return false;
            };
            matches!(&parts[..], [carry, _] if tensors_in(carry) == count)
        },
    )
}

fn associative_scan(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    with_numbers(tx, args, |tx, args, numbers| {
        associative_scan_node(tx, name, args, numbers)
    })
}

fn associative_scan_node(
    tx: &mut Tx<'_>,
    name: &'static str,
    args: Args,
    numbers: &mut Numbers,
) -> Given {
    let names = ["self", "combine_fn", "xs", "additional_inputs"];
    let given = tx.by_name(name, args, &names, 4, 4)?;
    let [_, Some(f), Some(xs), Some(others)] = &given[..] else {
        return Ok(None);
    };
    let (xs, others) = (tx.iterate(xs)?, tx.iterate(others)?);
    let path = names::ASSOCIATIVE_SCAN;
    let around = crate::bodies::graph_around(tx, xs.iter().chain(&others))?;
    let parts = &["associative_scan_combine_fn"];
    let mut op = HigherOrder::new(path, "associative_scan", "associative_scan_op", parts);
    let count = xs.len();
    op.counts.push(count);
    op.at_two_rows = count;
    let mut all = Vec::new();
    for v in xs.iter().chain(&xs) {
        all.push(stand_in(tx, &mut op, v, true)?);
    }
    for v in others {
        all.push(passed(tx, &mut op, &v)?);
    }
    let args = Args::pos(all);
    higher_order(
        tx,
        op,
        numbers,
        &[(f, args)],
        &around,
        |_, bodies| matches!(bodies, [body] if tensors_in(&body.out) == count),
    )
}

/// A tensor that the functions get as it is.
fn passed(tx: &mut Tx<'_>, op: &mut HigherOrder, v: &Var) -> R<Var> {
    let v = tx.look(v)?;
    if is_int(tx, &v) {
        return Ok(v);
    }
    if !matches!(v, Var::Tensor(_)) {
        return Err(refused(op.path, "an operand that is no tensor"));
    }
    op.pass(&v);
    Ok(v)
}

/// What stands in the functions for an int that is another one each time.
fn int_stand_in(tx: &mut Tx<'_>, op: &mut HigherOrder, v: Var) -> R<Var> {
    let node = tx.own_int_node(&v)?;
    let node = node.ok_or_else(|| Stop::Internal("an int that is carried".into()))?;
    op.inside.push(node);
    op.inputs.push(v);
    tx.number_of_node(node, false)
}

/// What stands in the functions for a tensor that is another one each time, of which nothing is known but
/// what it looks like; `row`: for what is at one place of its first dimension.
fn stand_in(tx: &mut Tx<'_>, op: &mut HigherOrder, v: &Var, row: bool) -> R<Var> {
    let v = tx.realize(v)?;
    let Var::Tensor(_) = &v else {
        return Err(refused(op.path, "an operand that is no tensor"));
    };
    let like = match row {
        true => {
            let args = Args::pos(vec![v.clone(), tx.int(0), tx.int(0)]);
            tx.emit(&Callee::Method("select"), &args)?
        }
        false => v.clone(),
    };
    let Var::Tensor(t) = &like else {
        return Err(Stop::Internal("a row of a tensor".into()));
    };
    let shadow = tx.st.levels.shadows.get(&t.node.0).cloned();
    let mut meta = TensorMeta::clone(tx.st.effects.meta(t));
    meta.alias = Alias::View;
    let args = Args::pos(vec![like]);
    let node_args = tx.node_args(&args)?;
    let made = Inferred::Tensor(meta);
    let inside = tx.emit_inferred(&Callee::Method("detach"), node_args, made, &args)?;
    if let Some(shadow) = shadow {
        tx.keep_shadow(&inside, shadow.bind(tx.py))?;
    }
    if let Var::Tensor(t) = &inside {
        op.inside.push(t.node);
        op.inputs.push(v);
    }
    Ok(inside)
}
