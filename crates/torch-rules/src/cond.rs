//! `torch.cond`: which of two functions runs is decided by a tensor, or by a number that only the graph knows.
//!
//! Lives here: what decides, and the operands. Does not live here: how functions become graphs (`bodies`), the node
//! (`higher_order`).
//!
//! Invariant: nothing is decided while tracing but by a number of the program's own.

use fx_graph::NodeId;
use tensor_meta::SymInt;
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList};
use translator::tx::{Args, Tx};
use variables::Var;

use crate::bodies::{Giving, Numbers};
use crate::conditions::{answer_node, condition_node};
use crate::higher_order::{
    Constant, HigherOrder, all_tensors, higher_order, ints_that_differ, is_plain_number, refused,
    same_form, with_numbers,
};

pub(crate) const RULES: RuleList = &[(
    names::COND,
    &[("cond", whole_cond as Rule), ("CondOp.__call__", cond)],
)];

/// torch's own Python hands its arguments on to the operator, where it is captured.
fn whole_cond(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let names = ["pred", "true_fn", "false_fn", "operands"];
    let given = tx.by_name(name, args, &names, 3, 4)?;
    let [Some(pred), Some(yes), Some(no), operands] = &given[..] else {
        return Ok(None);
    };
    let operands = operands.clone().unwrap_or_else(|| Var::tuple(Vec::new()));
    let of_operator = vec![tx.none(), pred.clone(), yes.clone(), no.clone(), operands];
    cond(tx, name, Args::pos(of_operator))
}

fn cond(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    with_numbers(tx, args, |tx, args, numbers| {
        cond_node(tx, name, args, numbers)
    })
}

fn cond_node(tx: &mut Tx<'_>, name: &'static str, args: Args, numbers: &mut Numbers) -> Given {
    let names = ["self", "pred", "true_fn", "false_fn", "operands"];
    let given = tx.by_name(name, args, &names, 5, 5)?;
    let [_, Some(pred), Some(yes), Some(no), Some(operands)] = &given[..] else {
        return Ok(None);
    };
    let operands = tx.iterate(operands)?;
    let number = match condition_node(tx, pred)? {
        None => answer_node(tx, pred)?,
        number => number,
    };
    if let Some(number) = number {
        return conditional(tx, Predicate::Number(number), (yes, no), operands, numbers);
    }
    let pred = tx.realize(pred)?;
    let Var::Tensor(t) = &pred else {
        // Only a number decides while tracing; torch refuses everything else.
        if !matches!(&pred, Var::Const(o) if is_plain_number(tx, o)) {
            return Err(refused("torch.cond", "a predicate that is no tensor"));
        }
        let branch = if tx.truth(&pred)? { yes } else { no };
        return tx.call(branch, Args::pos(operands)).map(Some);
    };
    let one = |n: &SymInt| n.as_const() == Some(1);
    if !tx.st.effects.meta(t).shape.iter().all(one) {
        return Err(refused(
            "torch.cond",
            "a predicate of more than one element",
        ));
    }
    conditional(tx, Predicate::Tensor(pred), (yes, no), operands, numbers)
}

/// What decides: a tensor, or a number that the graph computes.
enum Predicate {
    Tensor(Var),
    Number(NodeId),
}

fn conditional(
    tx: &mut Tx<'_>,
    pred: Predicate,
    (yes, no): (&Var, &Var),
    operands: Vec<Var>,
    numbers: &mut Numbers,
) -> Given {
    let around = crate::bodies::graph_around(tx, &operands)?;
    let mut op = HigherOrder::new(
        "torch.cond",
        "cond",
        "cond_op",
        &["cond_true", "cond_false"],
    );
    op.constant = Constant::Int;
    op.sizes_may_differ = true;
    op.in_batches = true;
    match pred {
        Predicate::Tensor(pred) => op.before.push(pred),
        Predicate::Number(node) => op.number = Some(node),
    }
    let mut tensors = Vec::new();
    for v in &operands {
        all_tensors(tx, op.path, v, &mut tensors)?;
    }
    for t in tensors {
        op.pass(&t);
    }
    let args = Args::pos(operands);
    if let Giving::Nothing = numbers.giving {
        numbers.giving = Giving::Some(Vec::new());
    }
    let mut differ = None;
    let made = higher_order(
        tx,
        op,
        numbers,
        &[(yes, args.clone()), (no, args)],
        &around,
        |tx, bodies| {
            let [yes, no] = bodies else { return false };
            let fits = same_form(&yes.out, &no.out);
            if !fits {
                differ = ints_that_differ(tx, &yes.out, &no.out);
            }
            fits
        },
    );
    // Which of the two ints it is, only the operator knows.
    if let (Some(differ), Giving::Some(places)) = (differ, &mut numbers.giving) {
        places.extend(differ);
    }
    made
}
