//! Argument binding, as CPython's `initialize_locals` does it.

use std::sync::Arc;

use variables::{OrderedMap, TupleVar, Var};

use crate::code::{CodeInfo, flags};
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

/// What binding needs of a function.
pub struct Signature<'a> {
    /// its code
    pub code: &'a CodeInfo,
    /// values of the last positional parameters
    pub defaults: &'a [Var],
    /// values of keyword-only parameters
    pub kwdefaults: &'a [(Arc<str>, Var)],
}

/// The locals of a call.
///
/// # Errors
/// `TypeError` with CPython's messages.
pub fn bind(tx: &mut Tx<'_>, sig: &Signature<'_>, args: Args) -> R<im::Vector<Option<Var>>> {
    let code = sig.code;
    let (n_pos, n_posonly, n_kw) = (
        code.fields.argcount as usize,
        code.fields.posonlyargcount as usize,
        code.fields.kwonlyargcount as usize,
    );
    let total = n_pos + n_kw;
    let mut locals: Vec<Option<Var>> = vec![None; code.local_names.len()];
    let given = args.pos.len();
    let mut pos = args.pos.into_iter();
    for slot in locals.iter_mut().take(n_pos.min(given)) {
        *slot = pos.next();
    }
    let extra: Vec<Var> = pos.collect();
    let name = &code.qualname;
    if code.has(flags::VARARGS) {
        locals[total] = Some(Var::Tuple(std::rc::Rc::new(TupleVar {
            items: extra,
            class: None,
            origin: None,
        })));
    } else if !extra.is_empty() {
        return Err(too_many(tx, sig, given));
    }
    let mut rest = OrderedMap::default();
    for (k, v) in args.kw {
        match code.local_names[n_posonly..total]
            .iter()
            .position(|n| *n == k)
        {
            Some(i) => {
                let slot = &mut locals[n_posonly + i];
                if slot.is_some() {
                    return Err(tx.raise(
                        "TypeError",
                        &format!("{name}() got multiple values for argument '{k}'"),
                    ));
                }
                *slot = Some(v);
            }
            None if code.has(flags::VARKEYWORDS) => {
                let key = tx.str(&k);
                rest.insert(tx.key(&key)?, key, v);
            }
            None if code.local_names[..n_posonly].contains(&k) => {
                return Err(tx.raise(
                    "TypeError",
                    &format!("{name}() got some positional-only arguments passed as keyword arguments: '{k}'"),
                ));
            }
            None => {
                return Err(tx.raise(
                    "TypeError",
                    &format!("{name}() got an unexpected keyword argument '{k}'"),
                ));
            }
        }
    }
    let first_default = n_pos - sig.defaults.len().min(n_pos);
    for (slot, default) in locals[first_default..n_pos].iter_mut().zip(sig.defaults) {
        if slot.is_none() {
            *slot = Some(default.clone());
        }
    }
    let missing: Vec<&str> = (0..n_pos)
        .filter(|i| locals[*i].is_none())
        .map(|i| &*code.local_names[i])
        .collect();
    if !missing.is_empty() {
        return Err(missing_error(tx, name, "positional", &missing));
    }
    for (slot, name) in locals[n_pos..total]
        .iter_mut()
        .zip(&code.local_names[n_pos..])
    {
        if slot.is_none() {
            let default = sig.kwdefaults.iter().find(|(n, _)| n == name);
            *slot = default.map(|(_, v)| v.clone());
            if let Some(Var::Lazy(l)) = slot {
                tx.touch(l.source);
            }
        }
    }
    let missing: Vec<&str> = (n_pos..total)
        .filter(|i| locals[*i].is_none())
        .map(|i| &*code.local_names[i])
        .collect();
    if !missing.is_empty() {
        return Err(missing_error(tx, name, "keyword-only", &missing));
    }
    if code.has(flags::VARKEYWORDS) {
        let i = total + usize::from(code.has(flags::VARARGS));
        locals[i] = Some(tx.new_dict(rest));
    }
    Ok(locals.into_iter().collect())
}

fn too_many(tx: &mut Tx<'_>, sig: &Signature<'_>, given: usize) -> Stop {
    let n_pos = sig.code.fields.argcount as usize;
    let least = n_pos - sig.defaults.len().min(n_pos);
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let takes = if least < n_pos {
        format!("from {least} to {n_pos} positional arguments")
    } else {
        format!("{n_pos} positional argument{}", plural(n_pos))
    };
    let was = if given == 1 { "was" } else { "were" };
    tx.raise(
        "TypeError",
        &format!(
            "{}() takes {takes} but {given} {was} given",
            sig.code.qualname
        ),
    )
}

fn missing_error(tx: &mut Tx<'_>, function: &str, kind: &str, names: &[&str]) -> Stop {
    let quoted: Vec<String> = names.iter().map(|n| format!("'{n}'")).collect();
    let list = match quoted.as_slice() {
        [one] => one.clone(),
        [a, b] => format!("{a} and {b}"),
        [init @ .., last] => format!("{}, and {last}", init.join(", ")),
        [] => String::new(),
    };
    let plural = if names.len() == 1 { "" } else { "s" };
    tx.raise(
        "TypeError",
        &format!(
            "{function}() missing {} required {kind} argument{plural}: {list}",
            names.len()
        ),
    )
}
