//! Which tensors of the graph the program still holds where a call lets go of the graph's gradients.

use bytecode::op::LocalIdx;
use variables::{Body, Var};

use translator::stop::{R, Stop};
use translator::tx::Tx;

/// How deep lists and tuples are looked into.
const DEPTH: usize = 3;

/// Whether the program, once the current call has returned, still has tensors of the graph through which gradients
/// may come. Those in `given`, the call's arguments, do not count.
///
/// # Errors
/// [`Stop::Internal`] where code can't be analysed.
pub(crate) fn keeps_gradients(tx: &Tx<'_>, given: &[Var]) -> R<bool> {
    let mut frame = Some(&tx.st.frame);
    while let Some(f) = frame {
        let live = bytecode::live_locals(&f.code.body)
            .map_err(|e| Stop::Internal(format!("live locals of {}: {e}", f.code.qualname)))?;
        let locals = f.locals.iter().enumerate().filter_map(|(i, local)| {
            let is_live = live.contains(f.ip as u32, LocalIdx(i as u32));
            local.as_ref().filter(|_| is_live)
        });
        if locals
            .chain(&f.stack)
            .any(|held| has_gradients(tx, held, given, DEPTH))
        {
            return Ok(true);
        }
        frame = f.parent.as_deref();
    }
    Ok(false)
}

fn has_gradients(tx: &Tx<'_>, held: &Var, given: &[Var], depth: usize) -> bool {
    let inside = |v: &Var| depth > 0 && has_gradients(tx, v, given, depth - 1);
    match held {
        Var::Tensor(t) => {
            let is_given = |v: &Var| matches!(v, Var::Tensor(other) if other.node == t.node);
            t.input.is_none() && tx.st.effects.meta(t).requires_grad && !given.iter().any(is_given)
        }
        Var::Tuple(t) => t.items.iter().any(inside),
        Var::Obj(id) => match &tx.obj(*id).body {
            Body::List(items) => items.iter().any(inside),
            Body::Cell(Some(v)) => inside(v),
            _ => false,
        },
        _ => false,
    }
}
