//! From normalised instructions to the instructions of one CPython version.
//!
//! The rules are listed in the crate's documentation. Offsets and sizes are not known here.

use crate::assemble::AsmError;
use crate::body::{Body, CallLocs, Enc, Instr};
use crate::code::Version;
use crate::location::Location;
use crate::op::{
    CommonConst, Conversion, FuncAttr, Intrinsic1, Intrinsic2, JumpCond, Label, LocalIdx, Op,
    UnaryOp,
};
use crate::opcode::{ArgKind, Opcode, Table};
use crate::operand;

/// Where a lowered jump leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// not a jump
    None,
    /// the first lowered instruction of an instruction
    Label(Label),
    /// the lowered instruction with this index
    Lowered(u32),
}

/// One CPython instruction, its jump distance yet open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowered {
    pub number: u8,
    pub caches: u8,
    pub arg: u32,
    pub target: Target,
    pub backward: bool,
    /// `EXTENDED_ARG`s that it has at least
    pub extended: u32,
    pub loc: Location,
}

/// A body in the instructions of its version.
pub(crate) struct LoweredBody {
    pub instrs: Vec<Lowered>,
    /// index into `instrs` of what each instruction starts with, and the end
    pub first: Vec<u32>,
    /// instructions that reach further above the depth before them than their effect says, and how
    /// far
    pub peaks: Vec<(u32, u32)>,
}

struct Lowerer<'a> {
    body: &'a Body,
    version: Version,
    table: &'static Table,
    out: Vec<Lowered>,
    peaks: Vec<(u32, u32)>,
    targets: Vec<bool>,
    /// where the coverage of an exception entry starts or ends
    edges: Vec<bool>,
    /// instruction being lowered
    at: usize,
    loc: Location,
    extended: u32,
}

/// The opcode and argument that do two instructions at once.
fn join(version: Version, first: &Op, second: &Op) -> Option<(Opcode, u32)> {
    let small_load = |op: &Op| match *op {
        Op::LoadFast {
            local: LocalIdx(n),
            check: false,
        }
        | Op::LoadClosure(LocalIdx(n)) => Some(n),
        _ => None,
    };
    let pair = |opcode, first: u32, second: u32| {
        (version >= Version::V313 && first < 16 && second < 16)
            .then_some((opcode, (first << 4) | second))
    };
    match (first, second) {
        (Op::PushNull, Op::LoadGlobal(name)) if version.null_first() => {
            Some((Opcode::LOAD_GLOBAL, (name.0 << 1) | 1))
        }
        (Op::LoadGlobal(name), Op::PushNull) if !version.null_first() => {
            Some((Opcode::LOAD_GLOBAL, (name.0 << 1) | 1))
        }
        (Op::StoreFast(first), Op::StoreFast(second)) => {
            pair(Opcode::STORE_FAST_STORE_FAST, first.0, second.0)
        }
        (Op::StoreFast(first), second) => {
            pair(Opcode::STORE_FAST_LOAD_FAST, first.0, small_load(second)?)
        }
        (first, second) => pair(
            Opcode::LOAD_FAST_LOAD_FAST,
            small_load(first)?,
            small_load(second)?,
        ),
    }
}

/// For each instruction whether the coverage of an exception entry starts or ends at it.
fn handler_edges(body: &Body) -> Vec<bool> {
    let mut edges = vec![false; body.instrs.len()];
    for label in body
        .handlers
        .iter()
        .flat_map(|entry| [entry.start, entry.end])
    {
        if let Some(edge) = edges.get_mut(label.0 as usize) {
            *edge = true;
        }
    }
    edges
}

/// Lowers a body.
pub(crate) fn lower(body: &Body) -> Result<LoweredBody, AsmError> {
    let mut lowerer = Lowerer {
        body,
        version: body.version,
        table: Table::of(body.version),
        // Some instructions become several; room that is not used costs nothing.
        out: Vec::with_capacity(body.instrs.len() * 3 / 2 + 8),
        peaks: Vec::new(),
        targets: body.targets(),
        edges: handler_edges(body),
        at: 0,
        loc: Location::NONE,
        extended: 0,
    };
    let mut first = Vec::with_capacity(body.instrs.len() + 1);
    while lowerer.at < body.instrs.len() {
        let start = lowerer.out.len() as u32;
        let taken = lowerer.step()?;
        first.extend(std::iter::repeat_n(start, taken));
        lowerer.at += taken;
    }
    first.push(lowerer.out.len() as u32);
    Ok(LoweredBody {
        instrs: lowerer.out,
        first,
        peaks: lowerer.peaks,
    })
}

impl Lowerer<'_> {
    fn no_form(&self) -> AsmError {
        AsmError::NoForm {
            version: self.version,
            at: self.at as u32,
            op: format!("{:?}", self.body.instrs[self.at].op),
        }
    }

    fn emit(&mut self, opcode: Opcode, arg: u32) -> Result<(), AsmError> {
        self.emit_to(opcode, arg, Target::None)
    }

    fn emit_to(&mut self, opcode: Opcode, arg: u32, target: Target) -> Result<(), AsmError> {
        let row = self.table.opcode(opcode).ok_or_else(|| self.no_form())?;
        self.out.push(Lowered {
            number: row.number,
            caches: row.caches,
            arg,
            target,
            backward: row.arg == ArgKind::Backward,
            extended: self.extended,
            loc: self.loc,
        });
        Ok(())
    }

    /// An index shifted above flag bits.
    fn shifted(&self, index: u32, bits: u32, flags: u32) -> Result<u32, AsmError> {
        if index.leading_zeros() < bits {
            return Err(self.no_form());
        }
        Ok((index << bits) | flags)
    }

    /// The instruction that follows, unless a jump leads to it.
    fn next_op(&self) -> Option<&Op> {
        let next = self.at + 1;
        (!*self.targets.get(next)?).then(|| &self.body.instrs[next].op)
    }

    /// Lowers one instruction, or two that are joined; returns how many.
    fn step(&mut self) -> Result<usize, AsmError> {
        let body = self.body;
        let instr = &body.instrs[self.at];
        self.loc = instr.loc;
        self.extended = if let Enc::Wide(n) = instr.enc {
            u32::from(n.min(3))
        } else {
            0
        };
        let borrows = matches!(instr.enc, Enc::BorrowBoth);
        if (borrows || matches!(instr.enc, Enc::FuseNext))
            && let Some(next) = self.next_op()
            && !self.edges[self.at + 1]
            && let Some((opcode, arg)) = join(self.version, &instr.op, next)
        {
            let opcode = match opcode {
                Opcode::LOAD_FAST_LOAD_FAST if borrows => Opcode::LOAD_FAST_BORROW_LOAD_FAST_BORROW,
                opcode => opcode,
            };
            self.emit(opcode, arg)?;
            return Ok(2);
        }
        // 3.11 has these only together with the drop of their result.
        if self.version == Version::V311
            && let Op::CallIntrinsic1(intrinsic) = instr.op
        {
            let opcode = match intrinsic {
                Intrinsic1::Print => Some(Opcode::PRINT_EXPR),
                Intrinsic1::ImportStar => Some(Opcode::IMPORT_STAR),
                _ => None,
            };
            if let Some(opcode) = opcode {
                if self.next_op() != Some(&Op::PopTop) {
                    return Err(self.no_form());
                }
                self.emit(opcode, 0)?;
                return Ok(2);
            }
        }
        self.one(instr)?;
        Ok(1)
    }

    fn is_backward(&self, to: Label) -> bool {
        to.0 as usize <= self.at
    }

    fn peak(&mut self, above: u32) {
        self.peaks.push((self.at as u32, above));
    }

    /// Whether an exact `bool` is on the stack before the instruction, however it is reached.
    fn bool_before(&self) -> bool {
        !self.targets[self.at]
            && self
                .at
                .checked_sub(1)
                .is_some_and(|before| self.body.instrs[before].op.leaves_exact_bool())
    }

    fn pop_jump(&mut self, cond: JumpCond, to: Label) -> Result<(), AsmError> {
        let backward = self.is_backward(to);
        let target = Target::Label(to);
        if self.version == Version::V311 {
            let opcode = match (cond, backward) {
                (JumpCond::False, false) => Opcode::POP_JUMP_FORWARD_IF_FALSE,
                (JumpCond::True, false) => Opcode::POP_JUMP_FORWARD_IF_TRUE,
                (JumpCond::None, false) => Opcode::POP_JUMP_FORWARD_IF_NONE,
                (JumpCond::NotNone, false) => Opcode::POP_JUMP_FORWARD_IF_NOT_NONE,
                (JumpCond::False, true) => Opcode::POP_JUMP_BACKWARD_IF_FALSE,
                (JumpCond::True, true) => Opcode::POP_JUMP_BACKWARD_IF_TRUE,
                (JumpCond::None, true) => Opcode::POP_JUMP_BACKWARD_IF_NONE,
                (JumpCond::NotNone, true) => Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE,
            };
            return self.emit_to(opcode, 0, target);
        }
        let (opcode, opposite) = match cond {
            JumpCond::False => (Opcode::POP_JUMP_IF_FALSE, Opcode::POP_JUMP_IF_TRUE),
            JumpCond::True => (Opcode::POP_JUMP_IF_TRUE, Opcode::POP_JUMP_IF_FALSE),
            JumpCond::None => (Opcode::POP_JUMP_IF_NONE, Opcode::POP_JUMP_IF_NOT_NONE),
            JumpCond::NotNone => (Opcode::POP_JUMP_IF_NOT_NONE, Opcode::POP_JUMP_IF_NONE),
        };
        if !backward {
            return self.emit_to(opcode, 0, target);
        }
        let over = self.out.len() as u32 + 2;
        self.emit_to(opposite, 0, Target::Lowered(over))?;
        self.emit_to(Opcode::JUMP_BACKWARD, 0, target)
    }

    fn twice_not(&mut self) -> Result<(), AsmError> {
        self.emit(Opcode::UNARY_NOT, 0)?;
        self.emit(Opcode::UNARY_NOT, 0)
    }

    fn call(&mut self, instr: &Instr, argc: u32) -> Result<(), AsmError> {
        let Op::Call { kw_names, .. } = instr.op else {
            return Err(self.no_form());
        };
        if self.version >= Version::V313 {
            let Some(names) = kw_names else {
                return self.emit(Opcode::CALL, argc);
            };
            self.peak(1);
            self.emit(Opcode::LOAD_CONST, names.0)?;
            return self.emit(Opcode::CALL_KW, argc);
        }
        let locs = match &instr.enc {
            Enc::Call(locs) => **locs,
            _ => CallLocs {
                kw_names: instr.loc,
                precall: instr.loc,
            },
        };
        if let Some(names) = kw_names {
            self.loc = locs.kw_names;
            self.emit(Opcode::KW_NAMES, names.0)?;
        }
        if self.version == Version::V311 {
            self.loc = locs.precall;
            self.emit(Opcode::PRECALL, argc)?;
        }
        self.loc = instr.loc;
        self.emit(Opcode::CALL, argc)
    }

    fn format_value(&mut self, conv: Option<Conversion>, spec: bool) -> Result<(), AsmError> {
        if self.version < Version::V313 {
            let conv = conv.map_or(0, operand::conversion_to);
            return self.emit(Opcode::FORMAT_VALUE, conv | (u32::from(spec) << 2));
        }
        if let Some(conv) = conv {
            if spec {
                self.emit(Opcode::SWAP, 2)?;
            }
            self.emit(Opcode::CONVERT_VALUE, operand::conversion_to(conv))?;
            if spec {
                self.emit(Opcode::SWAP, 2)?;
            }
        }
        self.emit(
            if spec {
                Opcode::FORMAT_WITH_SPEC
            } else {
                Opcode::FORMAT_SIMPLE
            },
            0,
        )
    }

    fn intrinsic1(&mut self, intrinsic: Intrinsic1) -> Result<(), AsmError> {
        match (self.version, intrinsic) {
            (Version::V311, Intrinsic1::AsyncGenWrap) => self.emit(Opcode::ASYNC_GEN_WRAP, 0),
            (Version::V311, _) => Err(self.no_form()),
            _ => {
                let arg = operand::intrinsic1_to(intrinsic).ok_or_else(|| self.no_form())?;
                self.emit(Opcode::CALL_INTRINSIC_1, arg)
            }
        }
    }

    fn intrinsic2(&mut self, intrinsic: Intrinsic2) -> Result<(), AsmError> {
        match (self.version, intrinsic) {
            (Version::V311, Intrinsic2::PrepReraiseStar) => self.emit(Opcode::PREP_RERAISE_STAR, 0),
            (Version::V311, _) => Err(self.no_form()),
            _ => {
                let arg = operand::intrinsic2_to(self.version, intrinsic)
                    .ok_or_else(|| self.no_form())?;
                self.emit(Opcode::CALL_INTRINSIC_2, arg)
            }
        }
    }

    fn subscript(&self) -> (Opcode, u32) {
        if self.version >= Version::V314 {
            (Opcode::BINARY_OP, operand::BINARY_SUBSCR)
        } else {
            (Opcode::BINARY_SUBSCR, 0)
        }
    }

    fn make_function(&mut self, parts: FuncAttr) -> Result<(), AsmError> {
        if self.version < Version::V314 && parts.0 & FuncAttr::ANNOTATE != 0 {
            return Err(self.no_form());
        }
        if self.version < Version::V313 {
            return self.emit(Opcode::MAKE_FUNCTION, u32::from(parts.0));
        }
        self.emit(Opcode::MAKE_FUNCTION, 0)?;
        // The part of the highest bit is next to the code.
        for bit in [
            FuncAttr::ANNOTATE,
            FuncAttr::CLOSURE,
            FuncAttr::ANNOTATIONS,
            FuncAttr::KWDEFAULTS,
            FuncAttr::DEFAULTS,
        ] {
            if parts.0 & bit != 0 {
                self.emit(Opcode::SET_FUNCTION_ATTRIBUTE, u32::from(bit))?;
            }
        }
        Ok(())
    }

    fn one(&mut self, instr: &Instr) -> Result<(), AsmError> {
        let version = self.version;
        let plain = |opcode: Opcode| (opcode, 0);
        let (opcode, arg) = match instr.op {
            Op::Nop if matches!(instr.enc, Enc::NotTaken) && version >= Version::V314 => {
                plain(Opcode::NOT_TAKEN)
            }
            Op::Nop => plain(Opcode::NOP),
            Op::Resume(arg) => (Opcode::RESUME, arg),
            Op::PopTop => plain(Opcode::POP_TOP),
            Op::PushNull => plain(Opcode::PUSH_NULL),
            Op::Copy(n) => (Opcode::COPY, n),
            Op::Swap(n) => (Opcode::SWAP, n),

            Op::LoadConst(c) => (Opcode::LOAD_CONST, c.0),
            Op::LoadSmallInt(n) => (Opcode::LOAD_SMALL_INT, n.into()),
            Op::LoadCommon(CommonConst::AssertionError) if version < Version::V314 => {
                plain(Opcode::LOAD_ASSERTION_ERROR)
            }
            Op::LoadCommon(which) => {
                let arg = operand::common_to(version, which).ok_or_else(|| self.no_form())?;
                (Opcode::LOAD_COMMON_CONSTANT, arg)
            }
            Op::LoadFast { local, check } if check && version >= Version::V312 => {
                (Opcode::LOAD_FAST_CHECK, local.0)
            }
            Op::LoadFast { local, .. } | Op::LoadClosure(local)
                if matches!(instr.enc, Enc::Borrow) && version >= Version::V314 =>
            {
                (Opcode::LOAD_FAST_BORROW, local.0)
            }
            Op::LoadFast { local, .. } => (Opcode::LOAD_FAST, local.0),
            Op::LoadFastAndClear(local) => (Opcode::LOAD_FAST_AND_CLEAR, local.0),
            Op::StoreFast(local) => (Opcode::STORE_FAST, local.0),
            Op::DeleteFast(local) => (Opcode::DELETE_FAST, local.0),
            Op::MakeCell(local) => (Opcode::MAKE_CELL, local.0),
            Op::CopyFreeVars(n) => (Opcode::COPY_FREE_VARS, n),
            Op::LoadClosure(local) if version >= Version::V313 => (Opcode::LOAD_FAST, local.0),
            Op::LoadClosure(local) => (Opcode::LOAD_CLOSURE, local.0),
            Op::LoadDeref(local) => (Opcode::LOAD_DEREF, local.0),
            Op::StoreDeref(local) => (Opcode::STORE_DEREF, local.0),
            Op::DeleteDeref(local) => (Opcode::DELETE_DEREF, local.0),
            Op::LoadClassDeref(local) if version >= Version::V312 => {
                self.emit(Opcode::LOAD_LOCALS, 0)?;
                (Opcode::LOAD_FROM_DICT_OR_DEREF, local.0)
            }
            Op::LoadClassDeref(local) => (Opcode::LOAD_CLASSDEREF, local.0),
            Op::LoadFromDictOrDeref(local) => (Opcode::LOAD_FROM_DICT_OR_DEREF, local.0),
            Op::LoadFromDictOrGlobals(name) => (Opcode::LOAD_FROM_DICT_OR_GLOBALS, name.0),
            Op::LoadLocals => plain(Opcode::LOAD_LOCALS),
            Op::LoadGlobal(name) => (Opcode::LOAD_GLOBAL, self.shifted(name.0, 1, 0)?),
            Op::StoreGlobal(name) => (Opcode::STORE_GLOBAL, name.0),
            Op::DeleteGlobal(name) => (Opcode::DELETE_GLOBAL, name.0),
            Op::LoadName(name) => (Opcode::LOAD_NAME, name.0),
            Op::StoreName(name) => (Opcode::STORE_NAME, name.0),
            Op::DeleteName(name) => (Opcode::DELETE_NAME, name.0),
            Op::LoadBuildClass => plain(Opcode::LOAD_BUILD_CLASS),

            Op::LoadAttr(name) if version == Version::V311 => (Opcode::LOAD_ATTR, name.0),
            Op::LoadAttr(name) => (Opcode::LOAD_ATTR, self.shifted(name.0, 1, 0)?),
            Op::LoadMethod { null_first, .. } | Op::LoadSuperAttr { null_first, .. }
                if null_first != version.null_first() =>
            {
                return Err(self.no_form());
            }
            Op::LoadMethod { name, .. } if version == Version::V311 => {
                (Opcode::LOAD_METHOD, name.0)
            }
            Op::LoadMethod { name, .. } => (Opcode::LOAD_ATTR, self.shifted(name.0, 1, 1)?),
            Op::LoadSuperAttr {
                name,
                method,
                two_arg,
                ..
            } => {
                let flags = u32::from(method) | (u32::from(two_arg) << 1);
                (Opcode::LOAD_SUPER_ATTR, self.shifted(name.0, 2, flags)?)
            }
            Op::LoadSpecial(which) => (Opcode::LOAD_SPECIAL, operand::special_to(which)),
            Op::StoreAttr(name) => (Opcode::STORE_ATTR, name.0),
            Op::DeleteAttr(name) => (Opcode::DELETE_ATTR, name.0),

            Op::Unary(UnaryOp::Positive) if version >= Version::V312 => {
                (Opcode::CALL_INTRINSIC_1, operand::INTRINSIC_POSITIVE)
            }
            Op::Unary(UnaryOp::Positive) => plain(Opcode::UNARY_POSITIVE),
            Op::Unary(UnaryOp::Negative) => plain(Opcode::UNARY_NEGATIVE),
            Op::Unary(UnaryOp::Not) => plain(Opcode::UNARY_NOT),
            Op::Unary(UnaryOp::Invert) => plain(Opcode::UNARY_INVERT),
            Op::Binary { op, inplace } => (Opcode::BINARY_OP, operand::binary_to(op, inplace)),
            Op::Compare { op, to_bool } => {
                self.emit(
                    Opcode::COMPARE_OP,
                    operand::compare_to(version, op, to_bool),
                )?;
                let tested = matches!(
                    self.next_op(),
                    Some(Op::PopJump {
                        cond: JumpCond::False | JumpCond::True,
                        ..
                    })
                );
                if to_bool && version < Version::V313 && !tested {
                    self.twice_not()?;
                }
                return Ok(());
            }
            Op::Is { invert } => (Opcode::IS_OP, invert.into()),
            Op::Contains { invert } => (Opcode::CONTAINS_OP, invert.into()),
            Op::ToBool if version < Version::V313 => return self.twice_not(),
            Op::ToBool => plain(Opcode::TO_BOOL),
            Op::BinarySubscr => self.subscript(),
            Op::StoreSubscr => plain(Opcode::STORE_SUBSCR),
            Op::DeleteSubscr => plain(Opcode::DELETE_SUBSCR),
            Op::BinarySlice if version == Version::V311 => {
                self.emit(Opcode::BUILD_SLICE, 2)?;
                self.subscript()
            }
            Op::BinarySlice => plain(Opcode::BINARY_SLICE),
            Op::StoreSlice if version == Version::V311 => {
                self.emit(Opcode::BUILD_SLICE, 2)?;
                plain(Opcode::STORE_SUBSCR)
            }
            Op::StoreSlice => plain(Opcode::STORE_SLICE),

            Op::BuildTuple(n) => (Opcode::BUILD_TUPLE, n),
            Op::BuildList(n) => (Opcode::BUILD_LIST, n),
            Op::BuildSet(n) => (Opcode::BUILD_SET, n),
            Op::BuildMap(n) => (Opcode::BUILD_MAP, n),
            Op::BuildConstKeyMap(n) => (Opcode::BUILD_CONST_KEY_MAP, n),
            Op::BuildString(n) => (Opcode::BUILD_STRING, n),
            Op::BuildSlice(n) => (Opcode::BUILD_SLICE, n),
            Op::ListToTuple if version == Version::V311 => plain(Opcode::LIST_TO_TUPLE),
            Op::ListToTuple => (Opcode::CALL_INTRINSIC_1, operand::INTRINSIC_LIST_TO_TUPLE),
            Op::ListAppend(n) => (Opcode::LIST_APPEND, n),
            Op::SetAdd(n) => (Opcode::SET_ADD, n),
            Op::MapAdd(n) => (Opcode::MAP_ADD, n),
            Op::ListExtend(n) => (Opcode::LIST_EXTEND, n),
            Op::SetUpdate(n) => (Opcode::SET_UPDATE, n),
            Op::DictUpdate(n) => (Opcode::DICT_UPDATE, n),
            Op::DictMerge(n) => (Opcode::DICT_MERGE, n),
            Op::UnpackSequence(n) => (Opcode::UNPACK_SEQUENCE, n),
            Op::UnpackEx { before, .. } if before > 0xff => return Err(self.no_form()),
            Op::UnpackEx { before, after } => (Opcode::UNPACK_EX, self.shifted(after, 8, before)?),

            Op::FormatValue { conv, spec } => return self.format_value(conv, spec),
            Op::BuildInterpolation { conv, spec } => {
                let arg = operand::interpolation_to(conv, spec);
                (Opcode::BUILD_INTERPOLATION, arg)
            }
            Op::BuildTemplate => plain(Opcode::BUILD_TEMPLATE),
            Op::ConvertValue(conv) => (Opcode::CONVERT_VALUE, operand::conversion_to(conv)),

            Op::Jump { to, no_interrupt } => {
                let opcode = match (self.is_backward(to), no_interrupt) {
                    (false, _) => Opcode::JUMP_FORWARD,
                    (true, false) => Opcode::JUMP_BACKWARD,
                    (true, true) => Opcode::JUMP_BACKWARD_NO_INTERRUPT,
                };
                return self.emit_to(opcode, 0, Target::Label(to));
            }
            Op::PopJump { cond, to } => {
                if version >= Version::V313
                    && matches!(cond, JumpCond::False | JumpCond::True)
                    && matches!(instr.enc, Enc::Synthetic)
                    && !self.bool_before()
                {
                    self.emit(Opcode::TO_BOOL, 0)?;
                }
                return self.pop_jump(cond, to);
            }
            Op::JumpIfOrPop { when, to } => {
                if version == Version::V311 && !self.is_backward(to) {
                    let opcode = if when {
                        Opcode::JUMP_IF_TRUE_OR_POP
                    } else {
                        Opcode::JUMP_IF_FALSE_OR_POP
                    };
                    return self.emit_to(opcode, 0, Target::Label(to));
                }
                self.peak(1);
                self.emit(Opcode::COPY, 1)?;
                if version >= Version::V313 {
                    self.emit(Opcode::TO_BOOL, 0)?;
                }
                self.pop_jump(
                    if when {
                        JumpCond::True
                    } else {
                        JumpCond::False
                    },
                    to,
                )?;
                plain(Opcode::POP_TOP)
            }
            Op::GetIter => plain(Opcode::GET_ITER),
            Op::GetYieldFromIter(arg) if version >= Version::V315 => {
                (Opcode::GET_ITER, operand::yield_from(arg))
            }
            Op::GetYieldFromIter(_) => plain(Opcode::GET_YIELD_FROM_ITER),
            Op::ForIter { to } | Op::Send { to } if self.is_backward(to) => {
                return Err(self.no_form());
            }
            Op::ForIter { to } => return self.emit_to(Opcode::FOR_ITER, 0, Target::Label(to)),
            Op::EndFor => plain(Opcode::END_FOR),
            Op::PopIter => plain(Opcode::POP_ITER),
            Op::EndSend if version == Version::V311 => {
                self.emit(Opcode::SWAP, 2)?;
                plain(Opcode::POP_TOP)
            }
            Op::EndSend => plain(Opcode::END_SEND),
            Op::Send { to } => return self.emit_to(Opcode::SEND, 0, Target::Label(to)),
            Op::YieldValue(arg) => (Opcode::YIELD_VALUE, arg),
            Op::ReturnGenerator => plain(Opcode::RETURN_GENERATOR),
            Op::GetAwaitable(arg) => (Opcode::GET_AWAITABLE, arg),
            Op::GetAiter => plain(Opcode::GET_AITER),
            Op::GetAnext => plain(Opcode::GET_ANEXT),
            Op::EndAsyncFor { from: Some(from) }
                if version >= Version::V314 && self.is_backward(from) =>
            {
                return self.emit_to(Opcode::END_ASYNC_FOR, 0, Target::Label(from));
            }
            Op::EndAsyncFor { .. } => plain(Opcode::END_ASYNC_FOR),
            Op::CleanupThrow => plain(Opcode::CLEANUP_THROW),

            Op::Call { argc, .. } => return self.call(instr, argc),
            Op::CallKw { argc } => (Opcode::CALL_KW, argc),
            Op::CallEx { kwargs } if version.call_ex_has_kwargs() => {
                if !kwargs {
                    self.peak(1);
                    self.emit(Opcode::PUSH_NULL, 0)?;
                }
                plain(Opcode::CALL_FUNCTION_EX)
            }
            Op::CallEx { kwargs } => (Opcode::CALL_FUNCTION_EX, kwargs.into()),
            Op::MakeFunction(parts) => return self.make_function(parts),
            Op::SetFunctionAttribute(part) => (Opcode::SET_FUNCTION_ATTRIBUTE, u32::from(part.0)),
            Op::ReturnValue => plain(Opcode::RETURN_VALUE),
            Op::ReturnConst(c) if version == Version::V311 || version >= Version::V314 => {
                self.peak(1);
                self.emit(Opcode::LOAD_CONST, c.0)?;
                plain(Opcode::RETURN_VALUE)
            }
            Op::ReturnConst(c) => (Opcode::RETURN_CONST, c.0),

            Op::ImportName { name, when } if version >= Version::V315 => {
                let flags = operand::import_to(when);
                (Opcode::IMPORT_NAME, self.shifted(name.0, 2, flags)?)
            }
            Op::ImportName { name, .. } => (Opcode::IMPORT_NAME, name.0),
            Op::ImportFrom(name) => (Opcode::IMPORT_FROM, name.0),
            Op::CallIntrinsic1(intrinsic) => return self.intrinsic1(intrinsic),
            Op::CallIntrinsic2(intrinsic) => return self.intrinsic2(intrinsic),
            Op::SetupAnnotations => plain(Opcode::SETUP_ANNOTATIONS),

            Op::BeforeWith => plain(Opcode::BEFORE_WITH),
            Op::BeforeAsyncWith => plain(Opcode::BEFORE_ASYNC_WITH),
            Op::WithExceptStart => plain(Opcode::WITH_EXCEPT_START),
            Op::PushExcInfo => plain(Opcode::PUSH_EXC_INFO),
            Op::CheckExcMatch => plain(Opcode::CHECK_EXC_MATCH),
            Op::CheckEgMatch => plain(Opcode::CHECK_EG_MATCH),
            Op::PopExcept => plain(Opcode::POP_EXCEPT),
            Op::RaiseVarargs(n) => (Opcode::RAISE_VARARGS, n),
            Op::Reraise(lasti) => (Opcode::RERAISE, lasti),

            Op::GetLen => plain(Opcode::GET_LEN),
            Op::MatchMapping => plain(Opcode::MATCH_MAPPING),
            Op::MatchSequence => plain(Opcode::MATCH_SEQUENCE),
            Op::MatchKeys => plain(Opcode::MATCH_KEYS),
            Op::MatchClass(n) => (Opcode::MATCH_CLASS, n),

            Op::Other { opcode, arg } => {
                let row = self.table.number(opcode).ok_or_else(|| self.no_form())?;
                (row.opcode, arg)
            }
        };
        self.emit(opcode, arg)
    }
}
