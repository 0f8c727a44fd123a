//! Small integer tensors whose values are known while translating: `torch.tensor(x.size())`.
//!
//! Programs compute sizes with such tensors and hand them to operations that take integers. The
//! graph computes them as any other tensor; what is known here is for metadata, and for `item()`.
//!
//! Invariant: nothing is known of a tensor that an operation may have written to.

use std::rc::Rc;

use fx_graph::{Arg, NodeId};
use tensor_meta::{DType, Inferred};
use variables::Var;

use super::args::{MetaArg, NodeArgs};
use super::emit::Callee;
use crate::stop::R;
use crate::tx::Tx;

/// Tensors of more items hold data, not sizes.
const MAX_ITEMS: usize = 16;

impl Tx<'_> {
    /// The values of an operation's result, where its arguments tell them.
    pub(super) fn known_result(
        &self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        result: &Inferred,
    ) -> Option<Rc<[i64]>> {
        let Callee::Function(_, path, _) = callee else {
            return None;
        };
        let Inferred::Tensor(meta) = result else {
            return None;
        };
        if meta.dtype != DType::Int64 || !meta.is_cpu() || meta.requires_grad {
            return None;
        }
        if matches!(
            *path,
            "torch.tensor" | "torch.as_tensor" | "torch.LongTensor"
        ) {
            let mut out = Vec::new();
            let data = args.meta_pos.first()?;
            // `torch.LongTensor(3)` is given a size.
            if *path == "torch.LongTensor" && matches!(data, MetaArg::Int(_)) {
                return None;
            }
            return collect(data, &mut out).then(|| out.into());
        }
        if *path == "torch.arange" {
            let ints = args.meta_pos.iter().map(|m| match m {
                MetaArg::Int(n) => Some(*n),
                _ => None,
            });
            let (start, end, step) = match ints.collect::<Option<Vec<_>>>()?[..] {
                [end] => (0, end, 1),
                [start, end] => (start, end, 1),
                [start, end, step] => (start, end, step),
                _ => return None,
            };
            let n = meta.shape.first()?.as_const()?;
            let last = start.checked_add(step.checked_mul(n)?)?;
            // The rule counted the items; nothing else may have a say in them.
            let named = ["start", "end", "step"];
            let plain = !args.kw.iter().any(|(k, _)| named.contains(&&**k));
            let fits = plain && n <= MAX_ITEMS as i64 && (end - last).signum() * step.signum() <= 0;
            return fits.then(|| (0..n).map(|i| start + step * i).collect());
        }
        let operator = path.strip_prefix("operator.")?;
        if self.st.effects.known_values.is_empty() || !args.kw.is_empty() {
            return None;
        }
        if operator == "getitem" {
            let (x, MetaArg::Int(i)) = (self.values_at(args, 0)?, args.meta_pos.get(1)?) else {
                return None;
            };
            // An index into the only dimension.
            let n = x.len() as i64;
            let at = if *i < 0 { i + n } else { *i };
            let scalar = meta.shape.is_empty() && (0..n).contains(&at);
            return scalar.then(|| [x[at as usize]].into());
        }
        let (a, b) = (self.values_at(args, 0)?, self.values_at(args, 1)?);
        let n = a.len().max(b.len());
        if [&a, &b].iter().any(|v| v.len() != n && v.len() != 1) {
            return None;
        }
        let items = (0..n).map(|i| {
            let (x, y) = (a[i % a.len()], b[i % b.len()]);
            match operator {
                "add" => x.checked_add(y),
                "sub" => x.checked_sub(y),
                "mul" => x.checked_mul(y),
                "floordiv" if y != 0 => {
                    let (q, r) = (x.checked_div(y)?, x % y);
                    Some(if r != 0 && (r < 0) != (y < 0) {
                        q - 1
                    } else {
                        q
                    })
                }
                _ => None,
            }
        });
        items.collect()
    }

    /// The values of an operand: a tensor's, or a number.
    fn values_at(&self, args: &NodeArgs, i: usize) -> Option<Rc<[i64]>> {
        match (args.meta_pos.get(i)?, args.pos.get(i)?) {
            (MetaArg::Int(n), _) => Some([*n].into()),
            (_, Arg::Node(n)) => self.st.effects.known_values.get(&n.0).cloned(),
            _ => None,
        }
    }

    /// Arguments with known tensors as the numbers that an operation makes of them; `None` where
    /// there are none.
    pub(super) fn with_known_numbers(
        &self,
        callee: &Callee<'_>,
        args: &NodeArgs,
    ) -> Option<Vec<MetaArg>> {
        if self.st.effects.known_values.is_empty() {
            return None;
        }
        let indexing = match callee {
            Callee::Function(_, path, _) => {
                matches!(*path, "operator.getitem" | "operator.setitem")
            }
            Callee::Method(_) => false,
        };
        let mut found = false;
        let both = args.meta_pos.iter().zip(&args.pos);
        let out = both.enumerate().map(|(i, (m, a))| match indexing {
            true if i == 1 => self.index_of_numbers(m, a, &mut found),
            true => Some(m.clone()),
            false => self.sizes_of_numbers(m, a, &mut found),
        });
        let out = out.collect::<Option<Vec<_>>>()?;
        found.then_some(out)
    }

    /// A list of sizes: each tensor in it is one number.
    fn sizes_of_numbers(&self, meta: &MetaArg, arg: &Arg, found: &mut bool) -> Option<MetaArg> {
        let (MetaArg::List(items) | MetaArg::Tuple(items), Arg::List(nodes) | Arg::Tuple(nodes)) =
            (meta, arg)
        else {
            return Some(meta.clone());
        };
        let numbers = items.iter().zip(nodes).map(|(m, a)| match (m, a) {
            (MetaArg::Tensor(_), Arg::Node(n)) => {
                *found = true;
                self.known_number(*n).map(MetaArg::Int)
            }
            (m, _) => Some(m.clone()),
        });
        Some(MetaArg::List(numbers.collect::<Option<Vec<_>>>()?))
    }

    /// An index: tensors without dimensions select as numbers do, others gather. A list is one
    /// index tensor.
    fn index_of_numbers(&self, meta: &MetaArg, arg: &Arg, found: &mut bool) -> Option<MetaArg> {
        match (meta, arg) {
            (MetaArg::Tensor(t), Arg::Node(n)) if t.shape.is_empty() => {
                *found = true;
                self.known_number(*n).map(MetaArg::Int)
            }
            (MetaArg::Tuple(items), Arg::Tuple(nodes)) => {
                let parts = items.iter().zip(nodes);
                let parts = parts.map(|(m, a)| self.index_of_numbers(m, a, found));
                Some(MetaArg::Tuple(parts.collect::<Option<_>>()?))
            }
            _ => Some(meta.clone()),
        }
    }

    fn known_number(&self, node: NodeId) -> Option<i64> {
        match self.st.effects.known_values.get(&node.0).map(|v| &v[..]) {
            Some([n]) => Some(*n),
            _ => None,
        }
    }

    /// What `t.item()` or `t.tolist()` gives, where it is known.
    ///
    /// # Errors
    /// None of its own.
    pub fn known_data(&mut self, t: &Var, name: &str) -> R<Option<Var>> {
        let Var::Tensor(t) = t else { return Ok(None) };
        let Some(values) = self.st.effects.known_values.get(&t.node.0).cloned() else {
            return Ok(None);
        };
        let rank = self.st.effects.meta(t).shape.len();
        Ok(match (name, &values[..], rank) {
            ("item" | "__int__" | "__index__", [n], _) | ("tolist", [n], 0) => Some(self.int(*n)),
            ("tolist", items, 1) => {
                let items = items
                    .iter()
                    .map(|n| self.int(*n))
                    .collect::<im::Vector<_>>();
                Some(self.new_list(items))
            }
            _ => None,
        })
    }
}

/// Numbers of nested lists, in order. `false` where there is anything else.
fn collect(data: &MetaArg, out: &mut Vec<i64>) -> bool {
    match data {
        MetaArg::Int(n) if out.len() < MAX_ITEMS => {
            out.push(*n);
            true
        }
        MetaArg::List(items) | MetaArg::Tuple(items) => items.iter().all(|i| collect(i, out)),
        _ => false,
    }
}
