//! `torch.func.vjp`: a node that gives, behind the results, torch's own function that computes gradients later, which
//! is called by a node as well.
//!
//! While tracing, that function is the one that torch gave for fake tensors. It is private to the translation: what
//! hands it out has the graph break in front of `vjp`.
//!
//! Not here: how the program's function is traced and what a node is given (`transforms`).

use fx_graph::Arg;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use translator::rules::{Given, value};
use translator::stop::R;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::{Obj, Var};

use crate::transforms::{
    Handed, MODULE, ProgramGiven, ProgramNode, TRANSFORMS, Transform, can_be_node, filled,
    handed_on, options, program_given, result_template,
};

pub(crate) fn vjp(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let Some(options) = options(tx, &mut args, &["has_aux"])? else {
        return Ok(None);
    };
    let Some((func, primals)) = args.pos.split_first() else {
        return Ok(None);
    };
    if !args.kw.is_empty() || primals.is_empty() || !can_be_node(tx) {
        return Ok(None);
    }
    let py = tx.py;
    let implementation = py.import(TRANSFORMS)?.getattr(name)?;
    let module = MODULE.get(py)?;
    let run = module.call_method1(name, (implementation, options))?;
    let transform = Transform {
        name,
        run: run.unbind(),
        records: true,
    };
    let path = transform.path();
    let ProgramGiven {
        traced,
        given,
        inputs,
        count,
    } = program_given(tx, &transform, func, &Args::pos(primals.to_vec()), None)?;
    let results = result_template(tx, &path, &traced.inputs, &traced.out)?;
    let made = module.call_method1("with_pullback", (&transform.run, given, count, results))?;
    let node = ProgramNode {
        path: &path,
        described: made.get_item(0)?.unbind(),
        function: made.get_item(1)?.unbind(),
    };
    let args = Args::pos(inputs);
    let (tensors, node) = node.emit(tx, &traced, &args)?;
    let pullback = made.get_item(3)?.call_method0("pop")?.unbind();
    tx.keep_private_object(pullback.bind(py));
    let pulls = tx.item_of(node, tensors.len())?;
    let address = pullback.as_ptr() as usize;
    (tx.st.levels.pullbacks).insert(address, (pullback.clone(), pulls));
    let template = made.get_item(2)?.get_item(0)?.getattr("template")?;
    let Var::Tuple(results) = filled(tx, &template, &args.pos, &tensors)? else {
        return Ok(None);
    };
    let mut results = results.items.clone();
    results.insert(1, Var::py(pullback));
    value(Var::tuple(results))
}

/// A call of what `vjp` gave; `None` for any other function.
pub(crate) fn call<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> Given {
    let address = f.as_ptr() as usize;
    let Some((pullback, pulls)) = tx.st.levels.pullbacks.get(&address).cloned() else {
        return Ok(None);
    };
    pull_back(tx, &pullback, Arg::Node(pulls), args).and_then(value)
}

fn pull_back(tx: &mut Tx<'_>, pullback: &Obj, pulls: Arg, args: &Args) -> R<Var> {
    let py = tx.py;
    let mut args = args.clone();
    let names = ["retain_graph", "create_graph"];
    let options = options(tx, &mut args, &names)?;
    let (Some(options), true) = (options, args.kw.is_empty()) else {
        return Err(translator::stop::Stop::unsupported(
            "a function of torch.func.vjp with other arguments",
        ));
    };
    let around = crate::bodies::graph_around(tx, args.values())?;
    let mut handed = Handed::default();
    let mut given = Vec::new();
    for v in &args.pos {
        given.push(handed_on(tx, v, &mut handed)?.0);
    }
    crate::bodies::return_to(tx, &around);
    let made = MODULE
        .get(py)?
        .call_method1("pulling", (PyTuple::new(py, given)?, &options))?;
    let function = made.get_item(0)?.unbind();
    let callee = Callee::Function(&function, "torch.func.vjp.pullback", None);
    let args = Args::pos(handed.tensors);
    let mut pos = vec![Var::py(pullback.clone())];
    pos.extend(args.pos.iter().cloned());
    let mut node_args = tx.node_args(&Args::pos(pos))?;
    let (inferred, fake) = tx.infer_fake_result(&callee, &node_args, "")?;
    if let Some(first) = node_args.pos.first_mut() {
        *first = pulls;
    }
    let batched = tx.gives_shadow(&node_args);
    // Only what torch keeps of the function can be asked twice.
    let repeatable = options.is_empty();
    let result = tx.emit_inferred_as(&callee, node_args, inferred, &args, repeatable)?;
    if batched {
        tx.keep_shadow(&result, fake.bind(py))?;
    }
    let Var::Tuple(tensors) = result else {
        return Err(translator::stop::Stop::Internal(
            "what a pullback gives".into(),
        ));
    };
    let template = made.get_item(1)?.get_item(0)?.getattr("template")?;
    filled(tx, &template, &args.pos, &tensors.items)
}
