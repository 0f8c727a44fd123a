//! What the residual code does where the graph raises, or what is computed in front of it: the function runs from its
//! start as plain Python.
//!
//! The graph runs in front of all effects. So an operation that raises in it, because of the values that
//! it got, has nothing of what the program did before it behind it, and no handler of the program
//! around it. Where nobody can tell that the graph ran, the plain function does all that once more,
//! and raises where eager does.

use bytecode::Body;
use bytecode::op::{FuncAttr, JumpCond, LocalIdx, Op};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use translator::code::{CodeInfo, flags, kinds};
use translator::stop::{R, Stop};
use variables::Obj;

use crate::asm::Val;
use crate::emitter::Emitter;
use crate::{OutputEnv, continuation_mark};

/// The handler, with the plain function's code: a continuation that calls the function, or the exception again. `ask` says which, see
/// [`OutputEnv::left_no_trace`]; without it the function is called.
pub(crate) fn handler(
    g: &mut Emitter<'_, '_>,
    env: &mut dyn OutputEnv,
    ask: Option<&Obj>,
    names: &mut Vec<(Obj, String)>,
) -> R<(Body, Obj)> {
    let py = g.tx.py;
    let root = g.root.clone();
    let plain = plain_code(py, &root)?;
    env.leave_alone(py, &plain)?;
    let mark = continuation_mark(py);
    names.push((plain.clone(), "__plain".into()));
    names.push((mark.clone(), "__continue".into()));

    let raise = match ask {
        None => None,
        Some(ask) => {
            names.push((ask.clone(), "__left_no_trace".into()));
            let raise = g.asm.label();
            g.asm.callee(ask);
            g.asm.op(Op::Copy(3));
            g.asm.call(1);
            g.asm.body.pop_jump(JumpCond::False, raise);
            Some(raise)
        }
    };
    // Nothing in this frame holds the exception, whose traceback holds the frame.
    g.asm.op(Op::PopTop);
    g.take_draws_back()?;
    g.asm.load(&Val::Const(mark));
    let kind = |i: usize| root.fields.localspluskinds[i];
    let free = (0..root.local_names.len()).filter(|&i| kind(i) & kinds::FREE != 0);
    let free: Vec<_> = free.map(|i| Op::LoadClosure(LocalIdx(i as u32))).collect();
    let count = free.len() as u32;
    free.into_iter().for_each(|op| g.asm.op(op));
    if count > 0 {
        g.asm.op(Op::BuildTuple(count));
    }
    g.asm.load_const(&plain);
    g.asm.make_function(FuncAttr(match count {
        0 => 0,
        _ => FuncAttr::CLOSURE,
    }));
    let args = argument_slots(&root);
    for i in 0..args {
        let local = LocalIdx(i);
        match kind(i as usize) & kinds::CELL {
            0 => g.asm.load_fast(local),
            _ => g.asm.op(Op::LoadDeref(local)),
        }
    }
    g.asm.op(Op::BuildTuple(args + 2));
    g.asm.op(Op::ReturnValue);
    if let Some(raise) = raise {
        g.asm.body.bind(raise);
        g.asm.op(Op::Reraise(0));
    }
    let version = root.fields.version;
    let body = std::mem::replace(&mut g.asm.body, bytecode::BodyBuilder::new(version))
        .finish()
        .map_err(|e| Stop::Internal(format!("residual bytecode: {e}")))?;
    Ok((body, plain))
}

/// How many locals are arguments.
fn argument_slots(code: &CodeInfo) -> u32 {
    let f = &code.fields;
    let stars = [flags::VARARGS, flags::VARKEYWORDS];
    let stars = stars.iter().filter(|&&flag| f.flags & flag != 0).count();
    f.argcount + f.kwonlyargcount + stars as u32
}

/// A code object that does the same, with each argument a positional one. It is not the function's
/// own, which would be kept alive by what was made of it.
///
/// # Errors
/// `MemoryError`.
pub fn plain_code(py: Python<'_>, code: &CodeInfo) -> R<Obj> {
    let changed = PyDict::new(py);
    changed.set_item("co_argcount", argument_slots(code))?;
    changed.set_item("co_posonlyargcount", 0)?;
    changed.set_item("co_kwonlyargcount", 0)?;
    let stars = flags::VARARGS | flags::VARKEYWORDS;
    changed.set_item("co_flags", code.fields.flags & !stars)?;
    let code = code
        .obj
        .bind(py)
        .call_method("replace", (), Some(&changed))?;
    Ok(code.unbind())
}
