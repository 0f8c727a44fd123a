//! Methods of `tuple`, `torch.Size` and of slices.

use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use variables::{TupleVar, Var};

use crate::stop::R;
use crate::tx::{Args, Flow, Tx};

impl Tx<'_> {
    /// A tuple's method. `None`: there is none of this name here.
    pub(super) fn tuple_method(&mut self, t: &TupleVar, name: &str, args: Args) -> R<Option<Flow>> {
        let value = match name {
            "index" => {
                let a = self.positional("index", args, 1, 3)?;
                let (start, stop) = self.search_range(&a, t.items.len())?;
                for (i, v) in t.items.iter().enumerate().skip(start) {
                    if i >= stop {
                        break;
                    }
                    if self.equals(v, &a[0])? {
                        return Ok(Some(Flow::Value(self.int(i as i64))));
                    }
                }
                return Err(self.raise("ValueError", "tuple.index(x): x not in tuple"));
            }
            "count" => {
                let v = self.one("tuple.count", args)?;
                let mut n = 0;
                for item in &t.items {
                    n += i64::from(self.equals(item, &v)?);
                }
                self.int(n)
            }
            "numel" if t.class.as_ref().is_some_and(|c| c.is(&self.known.size)) => {
                self.positional("numel", args, 0, 0)?;
                let mut n = self.int(1);
                for v in &t.items {
                    n = self.binary_sync(BinaryOp::Multiply, &n, v)?;
                }
                n
            }
            "__getnewargs__" => {
                self.positional(name, args, 0, 0)?;
                Var::tuple(vec![Var::tuple(t.items.clone())])
            }
            _ => return Ok(None),
        };
        Ok(Some(Flow::Value(value)))
    }

    /// `slice.indices(len)`.
    pub(super) fn slice_method(&mut self, s: &[Var; 3], name: &str, args: Args) -> R<Option<Flow>> {
        if name != "indices" {
            return Ok(None);
        }
        let n = self.one("slice.indices", args)?;
        let n = self.index_obj(&n)?;
        let mut parts = Vec::with_capacity(3);
        for p in s {
            let p = self.realize(p)?;
            parts.push(if p.is_none(self.py) {
                self.py.None()
            } else {
                self.index_obj(&p)?
            });
        }
        let slice = self.known.slice.clone();
        let parts: [variables::Obj; 3] = [parts[0].clone(), parts[1].clone(), parts[2].clone()];
        self.fold(move |py| {
            slice
                .bind(py)
                .call1((&parts[0], &parts[1], &parts[2]))?
                .call_method1("indices", (n,))
        })
        .map(|v| Some(Flow::Value(v)))
    }
}
