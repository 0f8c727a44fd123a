//! `str % args` with arguments that are no constants.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use variables::Var;

use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// `text % args`: Python formats; tracked arguments are turned to text first, where their
    /// conversion is `%s` or `%r`.
    ///
    /// # Errors
    /// What formatting raises; a break where an argument has no known text.
    pub(super) fn percent_format(&mut self, text: &Var, args: &Var) -> R<Var> {
        let Var::Const(text) = text else {
            return Err(Stop::Internal("format of no text".into()));
        };
        let text = text.clone();
        if let Some(a) = self.plain_args(args)? {
            return self.fold(move |py| text.bind(py).rem(a.bind(py)));
        }
        let Ok(t) = text.bind(self.py).cast::<PyString>().map(|t| t.to_string()) else {
            return Err(Stop::unsupported(
                "bytes formatting with values that are no constants",
            ));
        };
        // Whatever has items is asked for them by name, a list too (which refuses).
        let text_or_tuple = args.as_obj().is_some_and(|o| {
            let o = o.bind(self.py);
            o.is_instance_of::<PyString>() || o.is_instance_of::<PyTuple>()
        });
        let mapping = matches!(args, Var::Obj(_) | Var::Py(_))
            && !text_or_tuple
            && self.special(args, "__getitem__")? != Special::Absent;
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
                    let k = self.str(&k);
                    let f = self.getitem(args, &k)?;
                    Some(self.finish_flow(f)?)
                }
                Some(_) => return Err(self.raise("TypeError", "format requires a mapping")),
                None => next.next(),
            };
            let Some(arg) = arg else {
                return Err(self.raise("TypeError", "not enough arguments for format string"));
            };
            let (arg, conv) = match conv {
                's' => (self.str_of(&arg)?, 's'),
                'r' => (self.repr_of(&arg)?, 's'),
                c => (arg, c),
            };
            match self.as_const(&arg)? {
                Some(o) => new_args.push(o),
                None => {
                    return Err(Stop::unsupported(format!(
                        "% formatting of {}",
                        self.describe(&arg)
                    )));
                }
            }
            new_text.push(conv);
        }
        if next.next().is_some() && !mapping {
            return Err(self.raise(
                "TypeError",
                "not all arguments converted during string formatting",
            ));
        }
        let args = PyTuple::new(self.py, new_args)?;
        self.fold(move |py| PyString::new(py, &new_text).rem(args))
    }

    /// The arguments as one real object, where none is an existing object with a Python `__str__`.
    fn plain_args(&mut self, args: &Var) -> R<Option<variables::Obj>> {
        let items: Vec<Var> = match args {
            Var::Tuple(t) => t.items.clone(),
            other => vec![other.clone()],
        };
        for v in &items {
            if !matches!(self.realize(v)?, Var::Const(_)) {
                return Ok(None);
            }
        }
        self.as_const(args)
    }
}
