//! The table of operations: which qualified name is which row, what a row says, and the checks common to all rules.
//!
//! A row has the names of an operation, its rule, and what else is known of it ([`Traits`]). Some have no rule: torch is
//! asked what they give, on fake tensors.
//!
//! Not here: what a rule computes (`family`). Invariant: a name is in the table once.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::autocast;
use crate::call::{Call, In, R, raise, tensor, unsupported};
use crate::family;
use crate::iterator::broadcast;
use crate::promote::can_cast;
use crate::size::Size;
use crate::traits::{Cast, Does, Fold, Reads, Scale, Traits, facts};
use crate::types::{Alias, Ctx, DType, DeviceKind, Inferred, RuleError, TensorMeta, Value};

/// A rule, found once by name and then called by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub(crate) u16);

impl RuleId {
    /// The rule's line in [`rules`].
    pub fn info(self) -> &'static RuleInfo {
        &TABLE.infos[self.0 as usize]
    }

    /// What its row says of one of its names.
    fn traits(self, name: &str) -> Traits {
        let mut traits = self.info().traits;
        traits.does = traits.does | Traits::named(name).does;
        traits
    }
}

/// One line of the table of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// The rule's own name, e.g. `"add"`; in-place variants end in `_`.
    pub name: String,
    /// Qualified names of the functions that it serves.
    pub functions: Vec<String>,
    /// Names of the `torch.Tensor` methods that it serves.
    pub methods: Vec<String>,
    /// Whether there is a rule for what it gives.
    pub has_rule: bool,
    /// What else is known of it.
    pub traits: Traits,
}

/// What a rule computes.
pub(crate) type Rule = fn(&Call<'_>) -> R;

/// A line as the families write it. In `functions`, `*` stands for `torch.{name}`, `F` for
/// `torch.nn.functional.{name}`, `N` for `torch._C._nn.{name}`, `S` for `torch.special.{name}`; in
/// `methods`, `*` for `{name}`.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    name: &'static str,
    functions: &'static str,
    methods: &'static str,
    inplace: Option<(&'static str, &'static str)>,
    any_dtype: bool,
    cpu_only: bool,
    mutates: bool,
    traits: Traits,
    rule: Option<Rule>,
}

/// Begins a line of the table of an operation that has no rule.
pub(crate) const fn operation(
    name: &'static str,
    functions: &'static str,
    methods: &'static str,
) -> Entry {
    Entry {
        name,
        functions,
        methods,
        inplace: None,
        any_dtype: false,
        cpu_only: false,
        mutates: false,
        traits: Traits::NONE,
        rule: None,
    }
}

/// Begins a line of the table.
pub(crate) const fn rule(
    name: &'static str,
    functions: &'static str,
    methods: &'static str,
    rule: Rule,
) -> Entry {
    let mut line = operation(name, functions, methods);
    line.rule = Some(rule);
    line
}

impl Entry {
    /// There is an in-place variant, under the name with `_` (function and method) and these
    /// more functions and methods.
    pub const fn inplace(mut self, functions: &'static str, methods: &'static str) -> Entry {
        self.inplace = Some((functions, methods));
        self
    }

    /// Holds for every dtype (float8, sub-byte, quantised), e.g. views.
    pub const fn any_dtype(mut self) -> Entry {
        self.any_dtype = true;
        self
    }

    /// Holds on the CPU alone: kernels of other devices lay out the result in another way.
    pub const fn cpu_only(mut self) -> Entry {
        self.cpu_only = true;
        self
    }

    /// Takes an `inplace` argument, at this position.
    pub const fn switch(mut self, position: usize) -> Entry {
        self.traits.inplace_at = Some(position);
        self
    }

    /// The rule itself writes to its first argument: the checks for in-place ops apply, and the
    /// result is the argument's metadata afterwards.
    pub const fn mutates(mut self) -> Entry {
        self.mutates = true;
        self.does(facts::WRITES)
    }

    /// It does these, too.
    pub const fn does(mut self, does: Does) -> Entry {
        self.traits.does = self.traits.does.and(does);
        self
    }

    /// What autocast does with its arguments on any device.
    pub const fn cast(self, cast: Cast) -> Entry {
        self.cast_on(cast, cast)
    }

    /// What autocast does with its arguments on a CPU, and on CUDA devices.
    pub const fn cast_on(mut self, cpu: Cast, cuda: Cast) -> Entry {
        self.traits.on_cpu = cpu;
        self.traits.on_cuda = cuda;
        self
    }

    /// Draws random numbers only if this argument is given and on.
    pub const fn draws_if(mut self, position: usize, name: &'static str) -> Entry {
        self.traits.draws_if = Some((position, name));
        self
    }

    /// Takes an argument `training`, at this position, and draws no random numbers where that is off.
    pub const fn training(mut self, position: usize) -> Entry {
        self.traits.training_at = Some(position);
        self
    }

    /// Fills a tensor with this number.
    pub const fn fills(mut self, position: usize, name: &'static str) -> Entry {
        self.traits.fills = Some((position, name));
        self
    }

    /// Writes to further arguments unless this one is off.
    pub const fn writes_unless(mut self, position: usize, name: &'static str) -> Entry {
        self.traits.writes_unless = Some((position, name));
        self
    }

    /// Scales its second argument by a number of this name, or what `combined` makes of the second and
    /// the third, and adds it by the method `adds`.
    pub const fn scales(
        mut self,
        keyword: &'static str,
        combined: Option<&'static str>,
        adds: &'static str,
    ) -> Entry {
        self.traits.scales = Some(Scale {
            keyword,
            combined,
            adds,
        });
        self
    }

    /// What it computes of values that are known.
    pub const fn folds(mut self, fold: Fold) -> Entry {
        self.traits.folds = Some(fold);
        self
    }

    /// What it reads of its first argument's data: the graph breaks where that is not known.
    pub const fn reads(mut self, reads: Reads) -> Entry {
        self.traits.reads = Some(reads);
        self.does(Does::BREAKS)
    }
}

struct Table {
    infos: Vec<RuleInfo>,
    entries: Vec<(Entry, bool)>,
    functions: FxHashMap<String, RuleId>,
    methods: FxHashMap<String, RuleId>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        infos: Vec::new(),
        entries: Vec::new(),
        functions: FxHashMap::default(),
        methods: FxHashMap::default(),
    };
    let mut lines = Vec::new();
    family::entries(&mut lines);
    for line in lines {
        table.add(
            line,
            line.name.to_owned(),
            line.functions,
            line.methods,
            false,
        );
        if let Some((functions, methods)) = line.inplace {
            let functions = format!("* {functions}");
            let methods = format!("* {methods}");
            table.add(line, format!("{}_", line.name), &functions, &methods, true);
        }
    }
    table
});

impl Table {
    fn add(&mut self, entry: Entry, name: String, functions: &str, methods: &str, inplace: bool) {
        let id = RuleId(self.infos.len() as u16);
        let functions: Vec<String> = functions
            .split_whitespace()
            .map(|f| match f {
                "*" => format!("torch.{name}"),
                "F" => format!("torch.nn.functional.{name}"),
                "N" => format!("torch._C._nn.{name}"),
                "S" => format!("torch.special.{name}"),
                other => other.to_owned(),
            })
            .collect();
        let methods: Vec<String> = methods
            .split_whitespace()
            .map(|m| if m == "*" { name.clone() } else { m.to_owned() })
            .collect();
        for f in &functions {
            self.functions.entry(f.clone()).or_insert(id);
        }
        for m in &methods {
            self.methods.entry(m.clone()).or_insert(id);
        }
        let traits = match inplace {
            true => entry.traits.in_place(),
            false => entry.traits,
        };
        self.infos.push(RuleInfo {
            name,
            functions,
            methods,
            has_rule: entry.rule.is_some(),
            traits,
        });
        self.entries.push((entry, inplace));
    }
}

/// Every row of the table, by number.
pub fn rules() -> &'static [RuleInfo] {
    &TABLE.infos
}

/// The rule of a function, by its qualified name: `"torch.nn.functional.linear"`, `"torch.abs"`,
/// `"operator.add"`, `"torch._C._nn.gelu"`. The spellings that torch's own objects report
/// (`_operator.add`, `torch._C._VariableFunctions.cat`, `torch._VariableFunctionsClass.cat`,
/// `torch.functional.einsum`) work too, and `torch.Tensor.view` is the method.
pub fn lookup_function(qualified_name: &str) -> Option<RuleId> {
    row_of_function(qualified_name).filter(|id| id.info().has_rule)
}

fn row_of_function(qualified_name: &str) -> Option<RuleId> {
    let table = &*TABLE;
    if let Some(id) = table.functions.get(qualified_name) {
        return Some(*id);
    }
    for prefix in [
        "torch.Tensor.",
        "torch._C.TensorBase.",
        "torch._C._TensorBase.",
    ] {
        if let Some(name) = qualified_name.strip_prefix(prefix) {
            return row_of_method(name);
        }
    }
    if let Some(name) = of_library(qualified_name) {
        return table.functions.get(&name).copied();
    }
    let aliases = [
        ("_operator.", "operator."),
        ("torch._C._VariableFunctions.", "torch."),
        ("torch._VariableFunctionsClass.", "torch."),
        ("torch._VariableFunctions.", "torch."),
        ("torch._C._VariableFunctionsClass.", "torch."),
        ("torch.functional.", "torch."),
        ("torch._C._nn.", "torch.nn.functional."),
        ("torch._C._special.special_", "torch.special."),
        ("torch.nn.functional.", "torch."),
    ];
    for (from, to) in aliases {
        if let Some(rest) = qualified_name.strip_prefix(from)
            && let Some(id) = table.functions.get(&format!("{to}{rest}"))
        {
            return Some(*id);
        }
    }
    None
}

/// `torch.ops.library.name` of an operator of a library, whose module names its C++ holder too:
/// `torch._ops.library.pybind11_....name`.
fn of_library(qualified_name: &str) -> Option<String> {
    let (library, rest) = qualified_name
        .strip_prefix("torch._ops.")?
        .split_once('.')?;
    let name = match rest.strip_prefix("pybind11_") {
        Some(rest) => rest.split_once('.')?.1,
        None => rest,
    };
    Some(format!("torch.ops.{library}.{name}"))
}

/// The rule of a method of `torch.Tensor`, by its bare name.
pub fn lookup_method(name: &str) -> Option<RuleId> {
    row_of_method(name).filter(|id| id.info().has_rule)
}

fn row_of_method(name: &str) -> Option<RuleId> {
    TABLE.methods.get(name).copied()
}

/// What is known of a function, by its qualified name: what stands in its row, or in that of an operation of torch's
/// by its last name. What no row has writes in place if its name says so, as everywhere in torch.
pub fn function_traits(qualified_name: &str) -> Traits {
    let last = match qualified_name.rsplit_once('.') {
        // `and_` is there because `and` is a keyword.
        Some(("operator" | "_operator", _)) => "",
        Some((_, last)) => last,
        None => qualified_name,
    };
    if let Some(id) = row_of_function(qualified_name) {
        return id.traits(last);
    }
    // `torch.linalg.matmul` is `torch.matmul`. A library's operation is another's, whatever its name.
    let is_of_torch = qualified_name.starts_with("torch.")
        && (!qualified_name.starts_with("torch.ops.")
            || qualified_name.starts_with("torch.ops.aten."));
    let same = match is_of_torch {
        true => row_of_function(&format!("torch.{last}")).or_else(|| row_of_method(last)),
        false => None,
    };
    match same {
        Some(id) => id.traits(last),
        None => Traits::named(last),
    }
}

/// What is known of a method of `torch.Tensor`, by its bare name.
pub fn method_traits(name: &str) -> Traits {
    match row_of_method(name) {
        Some(id) => id.traits(name),
        None => Traits::named(name),
    }
}

/// What the op returns for these arguments (`self` first for methods). `kwargs` are by name.
///
/// An op that writes to its first argument returns that argument's metadata afterwards, with
/// [`Alias::Identity`]: its `requires_grad` and `is_leaf` may differ from before. `operator.setitem`
/// does so too, although the Python function returns `None`.
///
/// # Errors
/// See [`RuleError`].
pub fn infer(
    op: RuleId,
    args: &[Value<'_>],
    kwargs: &[(&str, Value<'_>)],
    ctx: &Ctx,
) -> Result<Inferred, RuleError> {
    let Some((entry, inplace)) = TABLE.entries.get(op.0 as usize) else {
        return Err(RuleError::NoRule);
    };
    let Some(rule) = entry.rule else {
        return Err(RuleError::NoRule);
    };
    let mut seen = Seen {
        entry,
        kind: None,
        device: None,
    };
    for value in args.iter().chain(kwargs.iter().map(|(_, v)| v)) {
        seen.check(value)?;
    }
    let call = Call { args, kwargs, ctx };
    let plain = |call: &Call<'_>| match entry.any_dtype {
        true => rule(call),
        false => autocast::apply(&entry.traits, rule, call),
    };
    let asked = entry.traits.inplace_at.and_then(|position| {
        let named = kwargs.iter().find(|(k, _)| *k == "inplace").map(|(_, v)| v);
        named.or(args.get(position))
    });
    let inplace = match asked {
        None | Some(Value::Bool(false) | Value::None) => *inplace,
        Some(Value::Bool(true)) => true,
        Some(_) => return unsupported("inplace argument"),
    };
    if !inplace && !entry.mutates {
        return plain(&call);
    }
    let Some(Value::Tensor(target)) = args.first() else {
        // `2 += tensor` is `2 + tensor`.
        return plain(&call);
    };
    if entry.mutates && !inplace {
        check_writable(target, ctx)?;
    }
    let result = rule(&call)?;
    if inplace && kwargs.iter().any(|(k, v)| *k == "dtype" && !v.is_none()) {
        return unsupported("in-place op with a dtype");
    }
    let Inferred::Tensor(result) = result else {
        return unsupported("in-place op without a tensor result");
    };
    if entry.mutates && !inplace {
        return Ok(written(target, result.requires_grad));
    }
    if result.alias == Alias::Identity {
        return Ok(Inferred::Tensor(result));
    }
    if result.dtype == DType::Bool && requires_grad(args) {
        return unsupported("in-place comparison of tensors that require grad");
    }
    check_writable(target, ctx)?;
    if target.dtype.is_complex() && result.dtype.is_floating() {
        return raise("in-place op on a complex tensor has a real result");
    }
    let shape = tensor(&args[0])?.shape;
    let out = In::new(&result).shape;
    if broadcast(&shape, &out)? != shape {
        return raise("in-place result does not fit the tensor it is stored in");
    }
    if !can_cast(result.dtype, target.dtype) {
        return raise(format!("cannot store {} in {}", result.dtype, target.dtype));
    }
    Ok(written(target, result.requires_grad))
}

fn requires_grad(args: &[Value<'_>]) -> bool {
    args.iter()
        .any(|v| matches!(v, Value::Tensor(t) if t.requires_grad))
}

/// `target` after a write; `grad` when what was written requires grad.
fn written(target: &TensorMeta, grad: bool) -> Inferred {
    let mut meta = target.clone();
    meta.alias = Alias::Identity;
    if grad && target.dtype.is_differentiable() {
        meta.requires_grad = true;
        meta.is_leaf = false;
    }
    Inferred::Tensor(meta)
}

/// Whether autograd and the layout let an op write to `target`.
fn check_writable(target: &TensorMeta, ctx: &Ctx) -> R<()> {
    if target.requires_grad && ctx.grad_enabled && !ctx.inference_mode {
        if target.is_leaf {
            return raise("a leaf that requires grad is written in place");
        }
        if target.alias == Alias::View {
            return unsupported("in-place write to a view that requires grad");
        }
    }
    let In { shape, strides, .. } = In::new(target);
    if !shape.contains(&Size::ZERO)
        && shape
            .iter()
            .zip(&strides)
            .any(|(size, stride)| *size > 1 && *stride == 0)
    {
        return unsupported("in-place write to an expanded tensor");
    }
    Ok(())
}

/// What the common checks have seen of the arguments so far.
struct Seen<'e> {
    entry: &'e Entry,
    kind: Option<DeviceKind>,
    device: Option<crate::types::Device>,
}

impl Seen<'_> {
    fn check(&mut self, value: &Value<'_>) -> R<()> {
        match value {
            Value::Tensor(meta) => self.check_tensor(meta),
            Value::List(items) | Value::Tuple(items) => {
                items.iter().try_for_each(|item| self.check(item))
            }
            _ => Ok(()),
        }
    }

    fn check_tensor(&mut self, meta: &TensorMeta) -> R<()> {
        if meta.conj || meta.neg {
            return unsupported("lazily conjugated or negated tensor");
        }
        let usual = |d: DType| {
            (d.is_integral_or_bool() || d.is_floating() || d.is_complex())
                && !d.is_float8()
                && !matches!(
                    d,
                    DType::Float4E2m1fnX2 | DType::BComplex32 | DType::Complex32
                )
        };
        if !self.entry.any_dtype && !usual(meta.dtype) {
            return unsupported("unusual dtype");
        }
        match meta.device.kind {
            DeviceKind::Cpu => {}
            DeviceKind::Cuda if !self.entry.cpu_only => {}
            _ => return unsupported("device"),
        }
        if *self.kind.get_or_insert(meta.device.kind) != meta.device.kind
            || *self.device.get_or_insert(meta.device) != meta.device
        {
            return unsupported("tensors on several devices");
        }
        Ok(())
    }
}
