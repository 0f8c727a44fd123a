//! Small tensors whose values are known while translating: `torch.tensor(x.size())`.
//!
//! Programs compute sizes with tensors of integers and hand them to operations that take integers,
//! and round a number to the dtype of a tensor: `x.new_tensor(0.1).item()`. The graph computes them
//! as any other tensor; what is known here is for metadata, and for `item()`.
//! Dynamic ints among them stay dynamic until somebody asks for a value that follows from them.
//!
//! Invariants: nothing is known of a tensor that an operation may have written to; ints that a value follows
//! from are guarded where it is used.

use fx_graph::{Arg, NodeId};
use tensor_meta::{DType, Does, Fold, Inferred, SymInt, TensorMeta};
use variables::KnownValues;

use crate::SoFar;
use crate::args::{MetaArg, MetaKwargs, NodeArgs};
use crate::callee::Callee;

/// Tensors of more items hold data, not sizes.
const MAX_ITEMS: usize = 16;

impl SoFar<'_, '_> {
    /// The values of an operation's result, where its arguments tell them.
    pub fn known_result(
        &self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        result: &Inferred,
    ) -> Option<KnownValues> {
        let Inferred::Tensor(meta) = result else {
            return None;
        };
        if !meta.is_cpu() || meta.requires_grad {
            return None;
        }
        let folds = callee.traits().folds?;
        let data = match (callee, folds) {
            (Callee::Function(..), Fold::Data) => args.meta_pos.first(),
            (Callee::Method(_), Fold::NewData) => args.meta_pos.get(1),
            _ => None,
        };
        if let Some(float) = data.and_then(|data| rounded(data, meta.dtype)) {
            return Some(KnownValues {
                items: [].into(),
                float: Some(float),
                of: [].into(),
            });
        }
        if meta.dtype != DType::Int64 || matches!(callee, Callee::Method(_)) {
            return None;
        }
        match folds {
            Fold::NewData => None,
            Fold::Data | Fold::LegacyData => {
                let (mut out, mut of) = (Vec::new(), Vec::new());
                let data = args.meta_pos.first()?;
                let is_size = matches!(data, MetaArg::Int(_) | MetaArg::SymInt(_));
                if folds == Fold::LegacyData && is_size {
                    return None;
                }
                self.collect(data, &mut out, &mut of)
                    .then(|| known(out, of))
            }
            Fold::Range => known_range(args, meta),
            Fold::Shape => {
                let MetaArg::Tensor(x) = args.meta_pos.first()? else {
                    return None;
                };
                let of = x.shape.iter().copied();
                let of = of.filter(|size| size.as_const().is_none()).collect();
                let sizes = x.shape.iter().map(|size| self.sizes.hint(*size));
                Some(known(sizes.collect(), of))
            }
            Fold::Divide => self.known_division(args),
            _ if self.state.effects.known_values.is_empty() || !args.kw.is_empty() => None,
            Fold::Item => self.known_item(args, meta),
            Fold::Add => self.known_pairs(args, i64::checked_add),
            Fold::Subtract => self.known_pairs(args, i64::checked_sub),
            Fold::Multiply => self.known_pairs(args, i64::checked_mul),
            Fold::FloorDivide => self.known_pairs(args, floor_div),
            Fold::Minimum => self.known_pairs(args, |x, y| Some(x.min(y))),
            Fold::Maximum => self.known_pairs(args, |x, y| Some(x.max(y))),
        }
    }

    /// `x[i]`: an index into the only dimension.
    fn known_item(&self, args: &NodeArgs, meta: &TensorMeta) -> Option<KnownValues> {
        let (x, MetaArg::Int(i)) = (self.values_at(args, 0)?, args.meta_pos.get(1)?) else {
            return None;
        };
        let n = x.items.len() as i64;
        let at = if *i < 0 { i + n } else { *i };
        let scalar = meta.shape.is_empty() && (0..n).contains(&at);
        scalar.then(|| KnownValues {
            items: [x.items[at as usize]].into(),
            float: None,
            of: x.of,
        })
    }

    /// `torch.div(a, b, rounding_mode=...)`.
    fn known_division(&self, args: &NodeArgs) -> Option<KnownValues> {
        let [(name, Arg::Str(mode))] = &args.kw[..] else {
            return None;
        };
        if &**name != "rounding_mode" {
            return None;
        }
        self.known_pairs(args, |x, y| match &**mode {
            "floor" => floor_div(x, y),
            "trunc" => x.checked_div(y),
            _ => None,
        })
    }

    /// The values of an operation of two operands, item by item.
    fn known_pairs(
        &self,
        args: &NodeArgs,
        of: impl Fn(i64, i64) -> Option<i64>,
    ) -> Option<KnownValues> {
        // A third one scales the second.
        if args.pos.len() != 2 {
            return None;
        }
        let (x, y) = (self.values_at(args, 0)?, self.values_at(args, 1)?);
        let (a, b) = (&x.items, &y.items);
        let n = a.len().max(b.len());
        if [a, b].iter().any(|v| v.len() != n && v.len() != 1) {
            return None;
        }
        let items = (0..n).map(|i| of(a[i % a.len()], b[i % b.len()]));
        let mut sizes = x.of.to_vec();
        sizes.extend(y.of.iter().filter(|size| !x.of.contains(size)));
        Some(known(items.collect::<Option<_>>()?, sizes))
    }

    /// The values of an operand: a tensor's, or a number.
    fn values_at(&self, args: &NodeArgs, i: usize) -> Option<KnownValues> {
        match (args.meta_pos.get(i)?, args.pos.get(i)?) {
            (MetaArg::Int(n), _) => Some(known(vec![*n], Vec::new())),
            (MetaArg::SymInt(n), _) => Some(known(vec![self.sizes.hint(*n)], vec![*n])),
            (_, Arg::Node(n)) => {
                let values = self.state.effects.known_values.get(&n.0).cloned();
                values.filter(|v| v.float.is_none())
            }
            _ => None,
        }
    }

    /// Arguments with the known tensors as the numbers that an operation makes of them, where they
    /// stand for sizes: in lists and slices, and where an operation takes nothing else; and the sizes that those
    /// numbers follow from. `None` where there are none.
    pub fn with_known_sizes(
        &self,
        callee: &Callee<'_>,
        args: &NodeArgs,
    ) -> Option<(Vec<MetaArg>, MetaKwargs, Vec<SymInt>)> {
        if self.state.effects.known_values.is_empty() {
            return None;
        }
        let mut found = None;
        let traits = callee.traits();
        let factory = traits.any(Does::MADE_OF_SIZES);
        let indexes = traits.any(Does::INDEXES);
        let sized = factory || indexes || traits.any(Does::ONLY_SIZES);
        let mut as_size = |m: &MetaArg, a: &Arg, operand: bool| match m {
            MetaArg::Tensor(_) if operand || !sized => m.clone(),
            _ => self.as_size(m, a, indexes, &mut found),
        };
        let pos = args.meta_pos.iter().zip(&args.pos).enumerate();
        let pos = pos.map(|(i, (m, a))| match indexes && i > 1 {
            true => m.clone(),
            false => as_size(m, a, i == 0 && !factory),
        });
        let pos = pos.collect();
        let kw = args.meta_kw.iter().zip(&args.kw);
        let kw = kw.map(|((n, m), (_, a))| (n.clone(), as_size(m, a, false)));
        let kw = kw.collect();
        Some((pos, kw, found?))
    }

    /// An argument with the known tensors in it as numbers. A tensor that is an index stays one
    /// unless it has no dimensions: only the bounds of a slice are sizes then.
    fn as_size(
        &self,
        meta: &MetaArg,
        arg: &Arg,
        index: bool,
        found: &mut Option<Vec<SymInt>>,
    ) -> MetaArg {
        let mut all = |metas: &[MetaArg], args: &[Arg], index| -> Vec<MetaArg> {
            let pairs = metas.iter().zip(args);
            pairs
                .map(|(m, a)| self.as_size(m, a, index, found))
                .collect()
        };
        match (meta, arg) {
            // A list is one index tensor.
            (MetaArg::List(_), _) if index => meta.clone(),
            (MetaArg::List(m), Arg::List(a)) => MetaArg::List(all(m, a, false)),
            (MetaArg::Tuple(m), Arg::Tuple(a)) => MetaArg::Tuple(all(m, a, index)),
            (MetaArg::Slice(m), Arg::Slice(a)) => {
                let parts = <[MetaArg; 3]>::try_from(all(&m[..], &a[..], false));
                parts.map_or_else(|_| meta.clone(), |p| MetaArg::Slice(Box::new(p)))
            }
            (MetaArg::Tensor(t), Arg::Node(n)) if !index || t.shape.is_empty() => {
                match self.known_number(*n) {
                    Some((number, of)) => {
                        found.get_or_insert_default().extend(of.iter().copied());
                        MetaArg::Int(number)
                    }
                    None => meta.clone(),
                }
            }
            _ => meta.clone(),
        }
    }

    fn known_number(&self, node: NodeId) -> Option<(i64, &[SymInt])> {
        let values = self.state.effects.known_values.get(&node.0)?;
        match values.items[..] {
            [n] => Some((n, &values.of)),
            _ => None,
        }
    }

    /// Numbers of nested lists, in order, and the sizes among them. `false` where there is anything else.
    fn collect(&self, data: &MetaArg, out: &mut Vec<i64>, of: &mut Vec<SymInt>) -> bool {
        match data {
            MetaArg::Int(n) if out.len() < MAX_ITEMS => {
                out.push(*n);
                true
            }
            MetaArg::SymInt(n) if out.len() < MAX_ITEMS => {
                out.push(self.sizes.hint(*n));
                of.push(*n);
                true
            }
            MetaArg::List(items) | MetaArg::Tuple(items) => {
                items.iter().all(|i| self.collect(i, out, of))
            }
            _ => false,
        }
    }
}

fn known(items: Vec<i64>, of: Vec<SymInt>) -> KnownValues {
    KnownValues {
        items: items.into(),
        float: None,
        of: of.into(),
    }
}

/// The numbers of a short `torch.arange`.
fn known_range(args: &NodeArgs, meta: &TensorMeta) -> Option<KnownValues> {
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
    fits.then(|| known((0..n).map(|i| start + step * i).collect(), Vec::new()))
}

/// A number as a tensor of a float dtype holds it.
fn rounded(data: &MetaArg, dtype: DType) -> Option<f64> {
    /// Up to here every int is a float of both dtypes.
    const EXACT: u64 = 1 << 24;
    let number = match data {
        MetaArg::Float(x) => *x,
        MetaArg::Int(n) if n.unsigned_abs() <= EXACT => *n as f64,
        _ => return None,
    };
    match dtype {
        DType::Float64 => Some(number),
        // Whether the least numbers are flushed to zero is up to a mode of the processor.
        DType::Float32 => Some(number as f32)
            .filter(|x| !x.is_subnormal())
            .map(f64::from),
        _ => None,
    }
}

/// Division that rounds down; `None` by zero.
fn floor_div(x: i64, y: i64) -> Option<i64> {
    let (q, r) = (x.checked_div(y)?, x.checked_rem(y)?);
    Some(q - i64::from(r != 0 && (r < 0) != (y < 0)))
}
