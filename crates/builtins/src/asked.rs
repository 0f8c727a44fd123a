//! What rules of methods ask of a value: is it constant, what is its text, which range does it mean.

use pyo3::prelude::*;
use variables::Var;

use translator::stop::R;
use translator::tx::Tx;

/// `start` and `stop` of `index(x, start, stop)`, clipped.
///
/// # Errors
/// `TypeError` where one is no index.
pub(crate) fn search_range(tx: &mut Tx<'_>, a: &[Var], len: usize) -> R<(usize, usize)> {
    let clip = |i: isize| if i < 0 { (i + len as isize).max(0) } else { i } as usize;
    let start = match a.get(1) {
        Some(v) => clip(tx.index_of(v)?),
        None => 0,
    };
    let stop = match a.get(2) {
        Some(v) => clip(tx.index_of(v)?),
        None => usize::MAX,
    };
    Ok((start, stop))
}

/// A constant `str` as Rust text.
pub(crate) fn text_of(tx: &Tx<'_>, v: &Var) -> String {
    match v {
        Var::Const(o) => o
            .bind(tx.py)
            .str()
            .map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned()),
        other => tx.describe(other),
    }
}

/// A value that consists of constants of builtin types alone, so that operations on it run no
/// user code.
///
/// # Errors
/// Those of realizing lazy values.
pub(crate) fn pure_const(tx: &mut Tx<'_>, v: &Var) -> R<Option<variables::Obj>> {
    fn pure(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
        Ok(match tx.realize(v)? {
            Var::Const(_) => true,
            Var::Tuple(t) => {
                for v in &t.items {
                    if !pure(tx, v)? {
                        return Ok(false);
                    }
                }
                true
            }
            Var::Slice(s) => {
                for v in s.iter() {
                    if !pure(tx, v)? {
                        return Ok(false);
                    }
                }
                true
            }
            _ => false,
        })
    }
    if pure(tx, v)? {
        tx.as_const(v)
    } else {
        Ok(None)
    }
}
