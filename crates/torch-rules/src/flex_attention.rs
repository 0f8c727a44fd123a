//! `flex_attention`: one node of the graph, which is torch's operator of graphs of the score and mask functions.
//!
//! torch's own Python is inlined down to the operator. The functions are traced once beside the graph, for one score
//! and four indices; tensors that they use besides are arguments of the node, and of the operator.
//!
//! Invariant: the functions compute one tensor each and do nothing else.

use fx_graph::{Graph, NodeId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rustc_hash::FxHashMap;
use tensor_meta::Inferred;
use torch_abi::names::FLEX_ATTENTION;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::{Obj, Var};

use crate::bodies::{Out, Taker, Traced};
use crate::higher_order::{computes, whole};

/// What a node calls.
const FUNCTION: &std::ffi::CStr = c"
def only(body):
    return lambda *given: body(*given)[0]

def first(*given):
    return given[0]

def function(op, is_first, block, places, buffers, scale, options):
    options = dict(options)
    def flex_attention(*given):
        given = list(given)
        score_mod, mask_mod = [first if none else only(given.pop(0)) for none in is_first]
        query, key, value, *given = given
        items = list(block)
        for place, tensor in zip(places, given):
            items[place] = tensor
        rest = tuple(given[len(places):])
        return op(
            query, key, value, score_mod, (*items, mask_mod), scale, options, rest[:buffers], rest[buffers:]
        )
    # Another process makes it in the same way.
    flex_attention.__ferrodyn_made__ = (
        function, op, tuple(is_first), tuple(block), tuple(places), buffers, scale, tuple(options.items())
    )
    return flex_attention
";

variables::own_module! {
    static MODULE = (FUNCTION, c"<ferrodyn flex attention>", c"ferrodyn_flex_attention");
}

const PATH: &str = "torch.nn.attention.flex_attention.flex_attention";

pub(crate) const RULES: RuleList = &[(
    FLEX_ATTENTION,
    &[("FlexAttentionHOP.__call__", operator as Rule)],
)];

/// The module that the program calls it from: to import it takes as long as torch itself, so it is not listed.
const MODULE_OF_PROGRAM: &str = "torch.nn.attention.flex_attention";

/// A call of `flex_attention`, down to the operator; `None` for any other function.
pub(crate) fn whole_call<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> Given {
    let modules = tx.known.sys_modules.bind(tx.py).cast::<PyDict>();
    let module = modules.map_err(PyErr::from)?.get_item(MODULE_OF_PROGRAM)?;
    let name = "flex_attention";
    match module.map(|m| m.getattr(name)).transpose()? {
        Some(attend) if attend.is(f) => whole(tx, MODULE_OF_PROGRAM, name, args.clone()),
        _ => Ok(None),
    }
}

/// A call of the operator.
fn operator(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let names = [
        "self",
        "query",
        "key",
        "value",
        "score_mod",
        "block_mask",
        "scale",
        "kernel_options",
        "score_mod_other_buffers",
        "mask_mod_other_buffers",
    ];
    let given = tx.by_name(name, args, &names, 8, 8)?;
    let [
        Some(_),
        Some(query),
        Some(key),
        Some(value),
        Some(score_mod),
        Some(block),
        Some(scale),
        Some(options),
        None,
        None,
    ] = &given[..]
    else {
        return Ok(None);
    };
    if tx.so_far().inference_now() || tx.st.levels.is_active() || tx.st.effects.shows_tensors {
        return Err(refused("tensors in a transform or an inference mode"));
    }
    let operands = [query, key, value].map(Clone::clone);
    let mut block = tx.iterate(block)?;
    let Some(mask_mod) = block.pop() else {
        return Err(refused("a block mask without a function"));
    };
    let around = crate::bodies::graph_around(tx, operands.iter().chain(&block))?;
    let score = score_inputs(tx, query)?;
    let score = body(tx, score_mod, score)?;
    let mask = index_inputs(tx, query)?;
    let mask = body(tx, &mask_mod, mask)?;
    // What stood for arguments is no part of the graph.
    crate::bodies::return_to(tx, &around);
    let make = MODULE.get(tx.py)?;
    let (score_mod, score_buffers) = score.finish(tx)?;
    let (mask_mod, mask_buffers) = mask.finish(tx)?;
    let block = Block::of(tx, &block)?;
    let Some(scale) = tx.as_const(scale)? else {
        return Err(refused("a scale that is no number"));
    };
    let Some(options) = tx.real_copy(options)? else {
        return Err(refused("options that are no constants"));
    };
    let op = tx.py.import(FLEX_ATTENTION)?.getattr("flex_attention")?;
    let options = options.cast::<PyDict>().map_err(PyErr::from)?.clone();
    let made = make.call_method1(
        "function",
        (
            op,
            (score_mod.is_none(), mask_mod.is_none()),
            PyTuple::new(tx.py, block.items)?,
            block.places,
            score_buffers.len(),
            scale,
            options,
        ),
    )?;
    let function = made.unbind();
    let callee = Callee::Function(&function, PATH, None);
    let pos = operands
        .into_iter()
        .chain(block.tensors)
        .chain(score_buffers)
        .chain(mask_buffers);
    let args = Args::pos(pos.collect());
    let others = tx.node_args(&args)?;
    let named = [(&score_mod, "score_mod"), (&mask_mod, "mask_mod")];
    let graphs = named.into_iter();
    let graphs = graphs.filter_map(|(graph, name)| graph.as_ref().map(|graph| (graph, name)));
    let graphs: Vec<_> = graphs.collect();
    let node_args = crate::bodies::given_graphs(tx, Taker::Ours, &graphs, others)?;
    let inferred = tx.infer_fake(&callee, &node_args, "")?;
    let result = tx.emit_inferred_as(&callee, node_args, inferred, &args, true)?;
    Ok(Some(Flow::Value(result)))
}

fn refused(what: &str) -> Stop {
    Stop::unsupported(format!("{PATH} of {what}"))
}

/// A block mask, apart from its function.
struct Block {
    /// its items; `None` for tensors
    items: Vec<Obj>,
    /// where the tensors are
    places: Vec<usize>,
    /// the tensors
    tensors: Vec<Var>,
}

impl Block {
    fn of(tx: &mut Tx<'_>, values: &[Var]) -> R<Block> {
        let mut block = Block {
            items: Vec::with_capacity(values.len()),
            places: Vec::new(),
            tensors: Vec::new(),
        };
        for v in values {
            let v = tx.realize(v)?;
            if let Var::Tensor(_) = v {
                block.places.push(block.items.len());
                block.items.push(tx.py.None());
                block.tensors.push(v);
                continue;
            }
            match tx.as_const(&v)? {
                Some(item) => block.items.push(item),
                None => return Err(refused("a block mask that holds no tensors")),
            }
        }
        Ok(block)
    }
}

/// One of the functions.
struct BodyOf {
    traced: Traced,
    /// the nodes that stood for its arguments
    inside: Vec<NodeId>,
    /// the tensors that its nodes were given
    used: FxHashMap<NodeId, Var>,
}

/// Traces a function with what stands for its arguments.
fn body(tx: &mut Tx<'_>, function: &Var, args: Vec<Var>) -> R<BodyOf> {
    let inside = args.iter().filter_map(|v| match v {
        Var::Tensor(t) => Some(t.node),
        _ => None,
    });
    let inside: Vec<NodeId> = inside.collect();
    let index = tx.known.torch.bind(tx.py).getattr("ops")?;
    let index = index.getattr("aten")?.getattr("index")?.getattr("Tensor")?;
    let before = tx.indexes_with.replace(index.unbind());
    let (traced, used) = crate::bodies::noting_used(tx, |tx| {
        crate::bodies::trace_body(tx, PATH, function, &Args::pos(args), &inside)
    });
    tx.indexes_with = before;
    let traced = traced?;
    let only_computes = traced.graph.iter().all(|(_, node)| computes(node));
    match only_computes {
        true => Ok(BodyOf {
            traced,
            inside,
            used,
        }),
        false => Err(refused("a function that does more than compute")),
    }
}

impl BodyOf {
    /// The graph of the function, unless it gives the score back, and the tensors that it gets besides the arguments.
    fn finish(mut self, tx: &mut Tx<'_>) -> R<(Option<Graph>, Vec<Var>)> {
        match &self.traced.out {
            Out::New(0) => {}
            Out::Given(Var::Tensor(t)) if self.inside.first() == Some(&t.node) => {
                return Ok((None, Vec::new()));
            }
            _ => return Err(refused("a function that gives no tensor of its own")),
        }
        let count = self.inside.len();
        let others = crate::bodies::taken_along(tx, PATH, &mut self.traced, count, &self.used)?;
        let others = others.into_iter().map(|(_, v)| v).collect();
        Ok((Some(self.traced.graph), others))
    }
}

/// What stands for one score and its four indices.
fn score_inputs(tx: &mut Tx<'_>, query: &Var) -> R<Vec<Var>> {
    let mut inputs = vec![element(tx, query, None)?];
    inputs.extend(index_inputs(tx, query)?);
    Ok(inputs)
}

/// What stands for the indices of a score.
fn index_inputs(tx: &mut Tx<'_>, query: &Var) -> R<Vec<Var>> {
    let dtype = tx.known.torch.getattr(tx.py, "int32")?;
    (0..4).map(|_| element(tx, query, Some(&dtype))).collect()
}

/// A tensor without dimensions.
fn element(tx: &mut Tx<'_>, like: &Var, dtype: Option<&Obj>) -> R<Var> {
    let kw = dtype.map(|dtype| ("dtype".into(), Var::Const(dtype.clone())));
    let args = Args {
        pos: vec![tx.realize(like)?, Var::tuple(Vec::new())],
        kw: kw.into_iter().collect(),
    };
    let made = tx.emit(&Callee::Method("new_empty"), &args)?;
    let Var::Tensor(t) = &made else {
        return Err(refused("a query that is no tensor"));
    };
    // Nothing is known of it but what it looks like.
    let meta = tensor_meta::TensorMeta::clone(tx.st.effects.meta(t));
    let args = Args::pos(vec![made.clone()]);
    let node_args = tx.node_args(&args)?;
    tx.emit_inferred(
        &Callee::Method("detach"),
        node_args,
        Inferred::Tensor(meta),
        &args,
    )
}
