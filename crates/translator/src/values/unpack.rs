//! Taking iterables apart.

use pyo3::prelude::*;
use variables::{Body, Var};

use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::Tx;

/// No loop over an iterator that does not end.
const MAX_ITEMS: usize = 1 << 16;

impl Tx<'_> {
    /// All items of an iterable for a list or a tuple, which asks how many there are: whoever sees what is done with
    /// a tensor sees that.
    ///
    /// # Errors
    /// As [`Tx::iterate`] and [`Tx::length`].
    pub fn listed(&mut self, v: &Var) -> R<Vec<Var>> {
        let v = self.realize(v)?;
        let items = self.iterate(&v)?;
        if matches!(v, Var::Tensor(_)) && self.is_seen_with([&v].into_iter()) {
            self.length(&v)?;
        }
        Ok(items)
    }

    /// All items of an iterable.
    ///
    /// # Errors
    /// Whatever iterating raises; a break for iterators that do not end.
    pub fn iterate(&mut self, v: &Var) -> R<Vec<Var>> {
        let v = self.realize(v)?;
        if let Some(items) = self.items_now(&v)? {
            return Ok(items);
        }
        let it = self.get_iter(&v)?;
        let mut out = Vec::new();
        while let Some(item) = self.iter_next(&it)? {
            out.push(item);
            if out.len() > MAX_ITEMS {
                return Err(Stop::unsupported(format!(
                    "an iterator of more than {MAX_ITEMS} items"
                )));
            }
        }
        Ok(out)
    }

    /// The items of a builtin container whose iteration nobody has overridden.
    fn items_now(&mut self, v: &Var) -> R<Option<Vec<Var>>> {
        match v {
            Var::Tuple(t) if t.class.is_none() => Ok(Some(t.items.clone())),
            Var::Obj(id) => {
                let id = *id;
                let class = self.obj(id).class.clone();
                if !self.is_builtin_container(&class) {
                    return Ok(None);
                }
                Ok(match &self.obj(id).body {
                    Body::List(l) | Body::Deque(l, _) => Some(l.iter().cloned().collect()),
                    Body::Dict(d) => Some(d.iter().map(|(k, _)| k.clone()).collect()),
                    Body::Set(_) => Some(self.set_order(id)?),
                    _ => None,
                })
            }
            _ => Ok(None),
        }
    }

    fn cannot_unpack(&mut self, v: &Var) -> R<()> {
        // `PyObject_GetIter`'s TypeError gets a message of its own in unpacking.
        let v = self.realize(v)?;
        let iterable = match &v {
            Var::Tensor(_) => true,
            Var::Const(o) => o.bind(self.py).len().is_ok(),
            _ => {
                self.special(&v, "__iter__")? != Special::Absent
                    || self.special(&v, "__getitem__")? != Special::Absent
            }
        };
        if iterable {
            return Ok(());
        }
        let name = self.type_name(&v)?;
        Err(self.raise(
            "TypeError",
            &format!("cannot unpack non-iterable {name} object"),
        ))
    }

    /// `a, b, c = v`: exactly `n` items, in order.
    ///
    /// # Errors
    /// `ValueError` or `TypeError` with CPython's messages.
    pub fn unpack(&mut self, v: &Var, n: usize) -> R<Vec<Var>> {
        let v = self.realize(v)?;
        if let Some(items) = self.items_now(&v)? {
            return match items.len() {
                len if len == n => Ok(items),
                len if len < n => Err(self.raise(
                    "ValueError",
                    &format!("not enough values to unpack (expected {n}, got {len})"),
                )),
                len => {
                    // The interpreter looks at the length of these only.
                    let class = self.type_of(&v)?;
                    let k = &self.known;
                    let counted = [&k.list, &k.tuple, &k.dict].iter().any(|c| class.is(c));
                    Err(self.too_many(n, Some(len).filter(|_| counted)))
                }
            };
        }
        self.cannot_unpack(&v)?;
        let it = self.get_iter(&v)?;
        let mut out = Vec::with_capacity(n);
        for got in 0..n {
            match self.iter_next(&it)? {
                Some(item) => out.push(item),
                None => {
                    return Err(self.raise(
                        "ValueError",
                        &format!("not enough values to unpack (expected {n}, got {got})"),
                    ));
                }
            }
        }
        if self.iter_next(&it)?.is_some() {
            return Err(self.too_many(n, None));
        }
        Ok(out)
    }

    fn too_many(&mut self, n: usize, len: Option<usize>) -> Stop {
        let got = match len.filter(|_| self.version().unpacking_counts()) {
            Some(len) => format!(", got {len}"),
            None => String::new(),
        };
        self.raise(
            "ValueError",
            &format!("too many values to unpack (expected {n}{got})"),
        )
    }

    /// `a, *b, c = v`: `before` items, a list, `after` items, in order.
    ///
    /// # Errors
    /// `ValueError` or `TypeError` with CPython's messages.
    pub fn unpack_ex(&mut self, v: &Var, before: usize, after: usize) -> R<Vec<Var>> {
        self.cannot_unpack(v)?;
        let mut items = self.iterate(v)?;
        if items.len() < before + after {
            let (least, got) = (before + after, items.len());
            return Err(self.raise(
                "ValueError",
                &format!("not enough values to unpack (expected at least {least}, got {got})"),
            ));
        }
        let tail = items.split_off(items.len() - after);
        let middle = items.split_off(before);
        let middle = self.new_list(middle);
        items.push(middle);
        items.extend(tail);
        Ok(items)
    }
}
