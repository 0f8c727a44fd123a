//! Hooks of tensors: they are called in the backward pass, which comes after the graph, so they are
//! registered behind it.
//!
//! Invariant: until then nothing writes to a tensor, so that the hook belongs to the value that the
//! program registered it for.

use bytecode::op::Op;
use translator::stop::R;
use translator::tx::{Args, Tx};
use variables::{DeferredCall, Var};

/// Methods of a tensor that tell its backward pass something, and how many arguments they take.
const TELLING: [(&str, usize); 3] = [
    ("register_hook", 1),
    ("register_post_accumulate_grad_hook", 1),
    ("retain_grad", 0),
];

/// A call of one of these methods, where nobody asks what it gives: it waits for the graph.
/// `None` where the call is another, or would raise.
pub(crate) fn tell_backward_later(tx: &mut Tx<'_>, callable: &Var, args: &Args) -> R<Option<Var>> {
    let Var::BuiltinMethod(method) = callable else {
        return Ok(None);
    };
    let (receiver, name) = (&method.0, &method.1);
    let fits = TELLING
        .iter()
        .any(|(n, count)| *n == &**name && args.pos.len() == *count && args.kw.is_empty());
    let waits = tx.runs_as_is && !tx.has_modes();
    if !fits || !waits || !drops_result(tx) || tx.st.vmap.is_active() {
        return Ok(None);
    }
    let receiver = tx.realize(receiver)?;
    let Var::Tensor(t) = &receiver else {
        return Ok(None);
    };
    if tx.is_subclass(t) {
        return Ok(None);
    }
    let meta = tx.st.effects.meta(t);
    let for_leaves = &**name == "register_post_accumulate_grad_hook";
    if !meta.requires_grad || for_leaves && !meta.is_leaf {
        return Ok(None);
    }
    let function = tx.known.tensor.getattr(tx.py, &**name)?;
    let mut pos = vec![receiver.clone()];
    for v in &args.pos {
        let hook = tx.realize(v)?;
        // To make the method of a container anew is to look at what it holds.
        if matches!(hook, Var::BuiltinMethod(_)) {
            return Ok(None);
        }
        pos.push(hook);
    }
    let frames = tx.call_frames(false);
    tx.st.effects.defer(DeferredCall {
        function: Var::py(function),
        pos,
        kw: Vec::new(),
        frames,
        silent: false,
    });
    tx.st.effects.shows_tensors = true;
    tx.st.needs_as_is = true;
    Ok(Some(tx.none()))
}

/// Whether the instruction's result is dropped at once.
fn drops_result(tx: &Tx<'_>) -> bool {
    let frame = &tx.st.frame;
    let next = frame.code.body.instrs.get(frame.ip + 1);
    next.is_some_and(|i| matches!(i.op, Op::PopTop))
}
