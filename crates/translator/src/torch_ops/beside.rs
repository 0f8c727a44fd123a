//! What an operation does beside giving its result: tensors that it writes to, random numbers that it
//! draws, Python code that it runs.

use pyo3::prelude::*;
use tensor_meta::{Alias, Inferred};
use variables::Var;

use super::emit::Callee;
use crate::tx::{Args, Tx};

/// Methods that may give their receiver back without writing to it.
const READING: [&str; 16] = [
    "contiguous",
    "to",
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "bool",
    "type",
    "type_as",
    "cpu",
    "expand",
    "expand_as",
    "resolve_conj",
    "resolve_neg",
];

/// Whether an operation may write to a tensor that existed before it.
pub(super) fn may_write(callee: &Callee<'_>, args: &Args, inferred: &Inferred) -> bool {
    let (name, is_method) = match callee {
        Callee::Function(_, path, _) => (path.rsplit('.').next().unwrap_or(path), false),
        Callee::Method(name) => (*name, true),
    };
    if name.ends_with('_') && !name.ends_with("__") || name == "setitem" {
        return true;
    }
    if args
        .kw
        .iter()
        .any(|(n, _)| matches!(&**n, "inplace" | "out"))
    {
        return true;
    }
    let known = match callee {
        Callee::Function(_, path, _) => {
            path.starts_with("torch.")
                || path.starts_with("operator.")
                || path.starts_with("getattr.")
        }
        Callee::Method(_) => true,
    };
    if matches!(name, "batch_norm" | "instance_norm") {
        // `training` or `use_input_stats`; neither writes to its statistics without.
        let by_name = args
            .kw
            .iter()
            .find(|(n, _)| matches!(&**n, "training" | "use_input_stats"));
        let flag = by_name.map(|k| &k.1).or(args.pos.get(5));
        return Python::attach(
            |py| !matches!(flag, Some(Var::Const(o)) if o.bind(py).is_truthy().is_ok_and(|t| !t)),
        );
    }
    if !known {
        return true;
    }
    matches!(inferred, Inferred::None) && name != "_assert_async"
        || matches!(inferred, Inferred::Tensor(t) if t.alias == Alias::Identity)
            && !(is_method && READING.contains(&name))
}

/// Parts of the names of operations that may draw random numbers.
const RANDOM: [&str; 21] = [
    "rand",
    "dropout",
    "bernoulli",
    "multinomial",
    "normal",
    "poisson",
    "binomial",
    "sample",
    "gumbel",
    "rrelu",
    "attention",
    "lstm",
    "gru",
    "rnn",
    "fractional",
    "uniform",
    "exponential",
    "geometric",
    "cauchy",
    "lowrank",
    "lobpcg",
];

impl Tx<'_> {
    /// Whether nobody could tell that an operation ran twice, and the second time with what the first
    /// had written to tensors of the graph.
    pub(super) fn is_repeatable(
        &self,
        callee: &Callee<'_>,
        args: &Args,
        inferred: &Inferred,
    ) -> bool {
        let (name, is_own) = match callee {
            Callee::Function(_, path, _) => {
                let others = ["torch.ops.", "torch.utils."];
                let name = path.rsplit('.').next().unwrap_or(path);
                (name, !others.iter().any(|start| path.starts_with(start)))
            }
            Callee::Method(name) => (*name, true),
        };
        let draws = RANDOM.iter().any(|part| name.contains(part));
        is_own
            && !(draws && self.trains(args))
            && (!may_write(callee, args, inferred) || self.writes_to_own(name, args))
    }

    /// Whether a tensor of an operation is of a dtype that many kernels lack.
    pub(super) fn may_lack_kernel(&self, args: &Args, inferred: &Inferred) -> bool {
        let lacks =
            |v: &Var| matches!(v, Var::Tensor(t) if self.st.effects.meta(t).dtype.lacks_kernels());
        matches!(inferred, Inferred::Tensor(t) if t.dtype.lacks_kernels())
            || args
                .pos
                .iter()
                .chain(args.kw.iter().map(|(_, v)| v))
                .any(lacks)
    }

    /// Whether `training` may be on, for an operation that takes it.
    fn trains(&self, args: &Args) -> bool {
        let training = args.kw.iter().find(|(name, _)| &**name == "training");
        !matches!(training, Some((_, Var::Const(flag))) if flag.bind(self.py).is_truthy().is_ok_and(|t| !t))
    }

    /// Whether an in-place operation writes to a tensor that the graph has made, which goes with it.
    fn writes_to_own(&self, name: &str, args: &Args) -> bool {
        const IN_PLACE: [&str; 13] = [
            "iadd",
            "isub",
            "imul",
            "itruediv",
            "ifloordiv",
            "imod",
            "ipow",
            "iand",
            "ior",
            "ixor",
            "ilshift",
            "irshift",
            "setitem",
        ];
        let writes_first = IN_PLACE.contains(&name) || name.ends_with('_') && !name.ends_with("__");
        writes_first
            && args.kw.iter().all(|(name, _)| &**name != "out")
            && matches!(args.pos.first(), Some(Var::Tensor(t))
                if t.input.is_none() && self.st.effects.meta(t).alias == Alias::Fresh)
    }
}
