//! `str % args` with arguments that are no constants.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use translator::stop::{R, Stop};
use translator::tx::Tx;
use translator::values::Special;
use variables::Var;

/// `text % args`: Python formats; tracked arguments are turned to text first, where their
/// conversion is `%s` or `%r`.
///
/// # Errors
/// What formatting raises; a break where an argument has no known text.
pub(crate) fn percent_format(tx: &mut Tx<'_>, text: &Var, args: &Var) -> R<Var> {
    let Var::Const(text) = text else {
        return Err(Stop::Internal("format of no text".into()));
    };
    let text = text.clone();
    if let Some(a) = plain_args(tx, args)? {
        return tx.fold(move |py| text.bind(py).rem(a.bind(py)));
    }
    let Ok(t) = text.bind(tx.py).cast::<PyString>().map(|t| t.to_string()) else {
        return Err(Stop::unsupported(
            "bytes formatting with values that are no constants",
        ));
    };
    // Whatever has items is asked for them by name, a list too (which refuses).
    let text_or_tuple = args.as_obj().is_some_and(|o| {
        let o = o.bind(tx.py);
        o.is_instance_of::<PyString>() || o.is_instance_of::<PyTuple>()
    });
    let mapping = matches!(args, Var::Obj(_) | Var::Py(_))
        && !text_or_tuple
        && tx.special(args, "__getitem__")? != Special::Absent;
    let (mut new_text, mut new_args) = (String::new(), Vec::new());
    let items: Vec<Var> = match args {
        Var::Tuple(t) => t.items.clone(),
        other => vec![other.clone()],
    };
    let mut next = items.into_iter();
    let chars: Vec<char> = t.chars().collect();
    let mut i = 0;
    while i < chars.len() {
        new_text.push(chars[i]);
        i += 1;
        if chars[i - 1] != '%' {
            continue;
        }
        let mut key = None;
        if chars.get(i) == Some(&'(') {
            let close = chars[i..]
                .iter()
                .position(|c| *c == ')')
                .map_or(chars.len(), |p| p + i);
            key = Some(chars[i + 1..close].iter().collect::<String>());
            i = (close + 1).min(chars.len());
        }
        while i < chars.len()
            && (matches!(chars[i], '#' | '-' | '+' | ' ' | '.') || chars[i].is_ascii_digit())
        {
            new_text.push(chars[i]);
            i += 1;
        }
        let Some(&conv) = chars.get(i) else { break };
        i += 1;
        if conv == '%' {
            new_text.push('%');
            continue;
        }
        if conv == '*' {
            return Err(Stop::unsupported(
                "% formatting with a `*` width and values that are no constants",
            ));
        }
        let arg = match key {
            Some(k) if mapping => {
                let k = tx.str(&k);
                let f = tx.getitem(args, &k)?;
                Some(tx.finish_flow(f)?)
            }
            Some(_) => return Err(tx.raise("TypeError", "format requires a mapping")),
            None => next.next(),
        };
        let Some(arg) = arg else {
            return Err(tx.raise("TypeError", "not enough arguments for format string"));
        };
        let (arg, conv) = match conv {
            's' => (crate::format::str_of(tx, &arg)?, 's'),
            'r' => (crate::format::repr_of(tx, &arg)?, 's'),
            c => (arg, c),
        };
        match tx.as_const(&arg)? {
            Some(o) => new_args.push(o),
            None => {
                return Err(Stop::unsupported(format!(
                    "% formatting of {}",
                    tx.describe(&arg)
                )));
            }
        }
        new_text.push(conv);
    }
    if next.next().is_some() && !mapping {
        return Err(tx.raise(
            "TypeError",
            "not all arguments converted during string formatting",
        ));
    }
    let args = PyTuple::new(tx.py, new_args)?;
    tx.fold(move |py| PyString::new(py, &new_text).rem(args))
}

/// The arguments as one real object, where none is an existing object with a Python `__str__`.
fn plain_args(tx: &mut Tx<'_>, args: &Var) -> R<Option<variables::Obj>> {
    let items: Vec<Var> = match args {
        Var::Tuple(t) => t.items.clone(),
        other => vec![other.clone()],
    };
    for v in &items {
        if !matches!(tx.realize(v)?, Var::Const(_)) {
            return Ok(None);
        }
    }
    tx.as_const(args)
}
