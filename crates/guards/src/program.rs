//! Check programs: a guard set as a flat list of loads and checks over registers.
//!
//! A register holds a value of one source. The register of a source is its depth in the tree, so that a program
//! needs as many registers as its deepest path, except for sources that relations compare: those keep one of
//! their own. A program ends at the first load or check that fails.
//!
//! Invariants ([`Program::verify`]): a register is written before it is read; each guard of the set is checked
//! exactly once; relations read only registers that nothing else writes.

use std::fmt::{self, Write as _};

use crate::kinds::TextCx;
use crate::plan;
use crate::set::GuardSet;
use crate::source::{NameStyle, Source, SourceId};

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg(pub u16);

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Puts the value of a source into a register; fails where there is no such value.
    Load {
        /// Target.
        dst: Reg,
        /// Where the base of the source is; `dst` for roots.
        base: Reg,
        /// The source.
        source: SourceId,
    },
    /// Checks a guard on a register.
    Check {
        /// The value.
        reg: Reg,
        /// Index of the guard in its set.
        guard: u32,
    },
    /// Checks a guard about torch's state.
    Ambient {
        /// Index of the guard in its set.
        guard: u32,
    },
    /// Checks a guard about several registers.
    Relation {
        /// The values, in the order own source, others.
        regs: Box<[Reg]>,
        /// Index of the guard in its set.
        guard: u32,
    },
}

/// A compiled guard set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The steps.
    pub ops: Vec<Op>,
    /// How many registers they use.
    pub registers: u16,
}

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// A register is read before anything was loaded.
    #[error("op {op} reads register {reg}, which holds nothing")]
    Unwritten {
        /// Index of the op.
        op: usize,
        /// The register.
        reg: u16,
    },
    /// A register holds another source than the one meant.
    #[error("op {op} means {wanted} but register {reg} holds {held}")]
    WrongSource {
        /// Index of the op.
        op: usize,
        /// The register.
        reg: u16,
        /// Name of the source meant.
        wanted: String,
        /// Name of the source held.
        held: String,
    },
    /// A guard is checked never or more than once.
    #[error("guard {guard} is checked {times} times")]
    Coverage {
        /// Index of the guard.
        guard: usize,
        /// How often it is checked.
        times: usize,
    },
}

impl Program {
    /// Compiles a set. Needs no interpreter.
    pub fn compile(set: &GuardSet) -> Self {
        let mut compiler = Compiler {
            set,
            ops: Vec::new(),
            regs: vec![None; set.sources().len()],
            next: 0,
        };
        compiler.assign_registers();
        compiler
            .ops
            .extend(set.ambient().iter().map(|&guard| Op::Ambient { guard }));
        let ops = match plan::is_split(set.guards().len()) {
            true => compiler.emit_split(set.roots(), &compiler.weights(), 0),
            false => compiler.emit(set.roots()),
        };
        compiler.ops.extend(ops);
        for &guard in set.relational() {
            let g = set.guard(guard);
            let others = g.kind.other_sources();
            let regs = g
                .source
                .iter()
                .chain(others.iter())
                .map(|&id| compiler.reg(id))
                .collect();
            compiler.ops.push(Op::Relation { regs, guard });
        }
        let program = Self {
            ops: compiler.ops,
            registers: compiler.next,
        };
        debug_assert_eq!(program.verify(set), Ok(()));
        program
    }

    /// Checks the program's invariants against the set that it was made from.
    ///
    /// # Errors
    /// The first violation.
    pub fn verify(&self, set: &GuardSet) -> Result<(), VerifyError> {
        let mut held: Vec<Option<SourceId>> = vec![None; usize::from(self.registers)];
        let mut checked = vec![0usize; set.guards().len()];
        let name = |id: SourceId| set.sources().name(id);
        let expect = |held: &[Option<SourceId>], op: usize, reg: Reg, wanted: SourceId| match held
            .get(usize::from(reg.0))
            .copied()
            .flatten()
        {
            None => Err(VerifyError::Unwritten { op, reg: reg.0 }),
            Some(source) if source != wanted => Err(VerifyError::WrongSource {
                op,
                reg: reg.0,
                wanted: name(wanted),
                held: name(source),
            }),
            Some(_) => Ok(()),
        };
        for (i, op) in self.ops.iter().enumerate() {
            match op {
                Op::Load { dst, base, source } => {
                    if let Some(wanted) = set.sources().get(*source).base() {
                        expect(&held, i, *base, wanted)?;
                    }
                    match held.get_mut(usize::from(dst.0)) {
                        Some(slot) => *slot = Some(*source),
                        None => return Err(VerifyError::Unwritten { op: i, reg: dst.0 }),
                    }
                }
                Op::Check { reg, guard } => {
                    checked[*guard as usize] += 1;
                    if let Some(wanted) = set.guard(*guard).source {
                        expect(&held, i, *reg, wanted)?;
                    }
                }
                Op::Ambient { guard } => checked[*guard as usize] += 1,
                Op::Relation { regs, guard } => {
                    checked[*guard as usize] += 1;
                    let g = set.guard(*guard);
                    let others = g.kind.other_sources();
                    for (&reg, &wanted) in regs.iter().zip(g.source.iter().chain(others.iter())) {
                        expect(&held, i, reg, wanted)?;
                    }
                }
            }
        }
        match checked.iter().position(|&times| times != 1) {
            Some(guard) => Err(VerifyError::Coverage {
                guard,
                times: checked[guard],
            }),
            None => Ok(()),
        }
    }

    /// The program as text, one op a line.
    pub fn text(&self, set: &GuardSet) -> String {
        let cx = TextCx {
            sources: set.sources(),
            style: NameStyle::Explicit,
            const_types: set.const_types(),
        };
        let mut out = String::new();
        for op in &self.ops {
            let _ = match op {
                Op::Load { dst, base, source } => match set.sources().get(*source).base() {
                    None => writeln!(out, "{dst} = {}", cx.name(*source)),
                    Some(_) => writeln!(out, "{dst} = {base} -> {}", cx.name(*source)),
                },
                Op::Check { reg, guard } => {
                    let g = set.guard(*guard);
                    writeln!(
                        out,
                        "check {reg} {} {}",
                        g.kind.name(),
                        g.kind.tree_text(g.source, &cx)
                    )
                }
                Op::Ambient { guard } => {
                    let g = set.guard(*guard);
                    writeln!(
                        out,
                        "state {} {}",
                        g.kind.name(),
                        g.kind.tree_text(g.source, &cx)
                    )
                }
                Op::Relation { regs, guard } => {
                    let g = set.guard(*guard);
                    let list: Vec<String> = regs.iter().map(Reg::to_string).collect();
                    let text = g.kind.tree_text(g.source, &cx);
                    writeln!(out, "relate {} {} {text}", list.join(" "), g.kind.name())
                }
            };
        }
        out
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

struct Compiler<'a> {
    set: &'a GuardSet,
    ops: Vec<Op>,
    /// Registers of sources that keep theirs to the end.
    regs: Vec<Option<Reg>>,
    next: u16,
}

impl Compiler<'_> {
    fn assign_registers(&mut self) {
        let sources = self.set.sources();
        let mut depth = 0;
        let mut stack: Vec<(SourceId, u16)> = self.set.roots().iter().map(|&id| (id, 1)).collect();
        while let Some((id, level)) = stack.pop() {
            depth = depth.max(level);
            stack.extend(
                self.set
                    .node(id)
                    .children
                    .iter()
                    .map(|&child| (child, level + 1)),
            );
        }
        self.next = depth;
        for &guard in self.set.relational() {
            let g = self.set.guard(guard);
            for id in g
                .source
                .into_iter()
                .chain(g.kind.other_sources().iter().copied())
            {
                debug_assert!(id.index() < sources.len());
                if self.regs[id.index()].is_none() {
                    self.regs[id.index()] = Some(Reg(self.next));
                    self.next += 1;
                }
            }
        }
    }

    fn reg(&self, id: SourceId) -> Reg {
        self.regs[id.index()].unwrap_or_else(|| Reg(self.set.sources().depth(id) as u16))
    }

    /// The steps of these sources and of what hangs on them.
    fn emit(&self, ids: &[SourceId]) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut stack: Vec<SourceId> = ids.iter().rev().copied().collect();
        while let Some(id) = stack.pop() {
            self.emit_own(id, &mut ops);
            stack.extend(self.set.node(id).children.iter().rev());
        }
        ops
    }

    /// The steps of a source itself.
    fn emit_own(&self, id: SourceId, ops: &mut Vec<Op>) {
        let dst = self.reg(id);
        let base = self.set.sources().get(id).base();
        ops.push(Op::Load {
            dst,
            base: base.map_or(dst, |base| self.reg(base)),
            source: id,
        });
        let guards = self.set.node(id).guards.iter();
        ops.extend(guards.map(|&guard| Op::Check { reg: dst, guard }));
    }

    /// How many steps each source and what hangs on it have.
    fn weights(&self) -> Vec<u32> {
        let mut weights = vec![0; self.set.sources().len()];
        for id in (0..weights.len()).rev() {
            let node = self.set.node(SourceId(id as u32));
            let below: u32 = node.children.iter().map(|c| weights[c.index()]).sum();
            weights[id] = 1 + node.guards.len() as u32 + below;
        }
        weights
    }

    /// As [`Compiler::emit`], by halves of the subtrees in several threads. `depth`: how often they were halved.
    fn emit_split(&self, ids: &[SourceId], weights: &[u32], depth: u32) -> Vec<Op> {
        /// Steps that are not worth another thread.
        const FEW: u32 = 2048;
        /// A tree that is still deep then is a list.
        const DEEPEST: u32 = 64;
        let mut ops = Vec::new();
        let mut ids = ids;
        // A source alone is done here, so that what hangs on it can be halved.
        while let [only] = ids {
            self.emit_own(*only, &mut ops);
            ids = &self.set.node(*only).children;
        }
        let total: u32 = ids.iter().map(|id| weights[id.index()]).sum();
        if total < FEW || depth == DEEPEST {
            ops.extend(self.emit(ids));
            return ops;
        }
        let mut before = 0;
        let half = ids.iter().position(|id| {
            before += weights[id.index()];
            before >= total / 2
        });
        let half = half.unwrap_or(0).clamp(1, ids.len() - 1);
        let (left, right) = rayon::join(
            || self.emit_split(&ids[..half], weights, depth + 1),
            || self.emit_split(&ids[half..], weights, depth + 1),
        );
        ops.extend(left);
        ops.extend(right);
        ops
    }
}

/// How PyTorch names the accessor that leads to a source.
pub(crate) fn accessor(source: &Source) -> String {
    use crate::value::str_repr;
    match source {
        Source::Local { index, name } => {
            format!(
                "FrameLocalsGuardAccessor(key={}, framelocals_idx={index})",
                str_repr(name)
            )
        }
        Source::Closure { index, name } => {
            format!(
                "ClosureGuardAccessor(key={}, closure_idx={index})",
                str_repr(name)
            )
        }
        Source::Cells => "ClosureGuardAccessor".into(),
        Source::Globals => "GlobalsGuardAccessor".into(),
        Source::Global { name } | Source::Builtin { name } => {
            format!("DictGetItemGuardAccessor({})", str_repr(name))
        }
        Source::GlobalsOf { name, .. } => format!("DictGetItemGuardAccessor({})", str_repr(name)),
        Source::Attr { name, .. } => format!("GetAttrGuardAccessor({name})"),
        Source::InstanceDict { .. } => "GetGenericDictGuardAccessor".into(),
        Source::InstanceDictItem { name, .. } => {
            format!("DictGetItemGuardAccessor({})", str_repr(name))
        }
        Source::DictItem { key, .. } => format!("DictGetItemGuardAccessor({key})"),
        Source::DictKeyAt { index, .. } => format!("KeyManager({index})"),
        Source::ListItem { index, .. } => format!("ListGetItemGuardAccessor({index})"),
        Source::TupleItem { index, .. } => format!("TupleGetItemGuardAccessor({index})"),
        Source::CellContents { .. } => "GetAttrGuardAccessor(cell_contents)".into(),
        Source::Under { .. } => "UnderGuardAccessor".into(),
        Source::TypeOf { .. } => "TypeGuardAccessor".into(),
        Source::MroAttr { name, .. } => format!("TypeMROGuardAccessor({})", str_repr(name)),
        Source::FuncDefaults { .. } => "FuncDefaultsGuardAccessor".into(),
        Source::FuncKwDefaults { .. } => "FuncKwDefaultsGuardAccessor".into(),
        Source::FuncClosure { .. } => "ClosureGuardAccessor".into(),
        Source::FuncCode { .. } => "CodeGuardAccessor".into(),
        Source::Pinned { name, .. } => format!("PinnedGuardAccessor({})", str_repr(name)),
        Source::WeakPinned { name, .. } => format!("WeakRefCallGuardAccessor({})", str_repr(name)),
        Source::FunctionMode { index } => format!("FunctionModeGuardAccessor({index})"),
        Source::Early { index } => format!("EarlyGuardAccessor({index})"),
    }
}
