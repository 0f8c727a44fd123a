//! From a code object's fields to a [`Body`]. Reads only; nothing of the source is simplified.

use crate::assemble::extensions;
use crate::body::{Body, CallLocs, Enc, ExceptEntry, Instr};
use crate::code::{CodeFields, Version, kinds};
use crate::exception_table;
use crate::location::{LineEntry, LineReader, LineTableError, Location};
use crate::op::{
    BinaryOp, CommonConst, ConstIdx, FuncAttr, ImportTime, Intrinsic1, Intrinsic2, JumpCond, Label,
    LocalIdx, NameIdx, Op, UnaryOp,
};
use crate::opcode::{ArgKind, Opcode, Row, Table};
use crate::operand;

/// Why a code object cannot be read. Offsets are bytes in `co_code`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// the code ends inside an instruction
    #[error("code ends inside the instruction at {offset}")]
    Truncated {
        /// where the instruction starts
        offset: u32,
    },
    /// not an opcode that a code object of the version holds
    #[error("opcode {number} at {offset} is unknown to CPython {version}")]
    UnknownOpcode {
        /// the opcode
        number: u8,
        /// where
        offset: u32,
        /// for which version it was looked up
        version: Version,
    },
    /// an argument that has no meaning, or an index out of range
    #[error("argument {arg} of {opcode} at {offset} has no meaning")]
    BadArgument {
        /// CPython's name of the opcode
        opcode: String,
        /// the argument
        arg: u32,
        /// where
        offset: u32,
    },
    /// `KW_NAMES` or `PRECALL` without its `CALL`
    #[error("call prefix at {offset} is not followed by its CALL")]
    BrokenCall {
        /// where
        offset: u32,
    },
    /// a jump or an exception entry that leads to no instruction
    #[error("no instruction starts at {target}, which is referred to from {from}")]
    BadTarget {
        /// the offset referred to
        target: u32,
        /// the instruction, or the exception entry's start
        from: u32,
    },
    /// a damaged exception table
    #[error("the exception table is cut short")]
    ExceptionTable,
    /// a damaged line table
    #[error(transparent)]
    LineTable(#[from] LineTableError),
}

/// Positions by code unit, asked for in order.
struct Locations<'a> {
    reader: LineReader<'a>,
    entry: LineEntry,
    end: u32,
}

impl<'a> Locations<'a> {
    fn at(&mut self, unit: u32) -> Result<Location, LineTableError> {
        while unit >= self.end {
            match self.reader.entry()? {
                Some(entry) => {
                    self.end += entry.units;
                    self.entry = entry;
                }
                None => {
                    self.end = u32::MAX;
                    self.entry.loc = Location::NONE;
                }
            }
        }
        Ok(self.entry.loc)
    }
}

/// A `KW_NAMES` or `PRECALL` that waits for its `CALL`.
#[derive(Clone, Copy)]
struct Prefix {
    start: u32,
    kw_names: Option<(ConstIdx, Location)>,
    precall: Option<(u32, Location)>,
}

/// One CPython instruction.
#[derive(Clone, Copy)]
struct Unit {
    row: Row,
    arg: u32,
    /// number of `EXTENDED_ARG`s
    extended: u32,
    /// first code unit
    start: u32,
    /// code unit behind the caches
    end: u32,
    loc: Location,
}

/// No instruction starts at this code unit.
const NOWHERE: u32 = u32::MAX;

/// By how much a jump's distance may shrink together with `EXTENDED_ARG`s before its size is kept.
const JUMP_SLACK: u32 = 8;

struct Decoder<'a> {
    fields: &'a CodeFields,
    version: Version,
    instrs: Vec<Instr>,
    prefix: Option<Prefix>,
}

/// Decodes a code object. Jump targets in the result are [`Label`]s.
pub fn decode(fields: &CodeFields) -> Result<Body, DecodeError> {
    let table = Table::of(fields.version);
    let units = (fields.code.len() / 2) as u32;
    let mut index_at = vec![NOWHERE; units as usize + 1];
    let mut locations = Locations {
        reader: LineReader::new(&fields.linetable, fields.firstlineno),
        entry: LineEntry {
            units: 0,
            loc: Location::NONE,
        },
        end: 0,
    };
    let mut decoder = Decoder {
        fields,
        version: fields.version,
        instrs: Vec::with_capacity(units as usize),
        prefix: None,
    };
    if !fields.code.len().is_multiple_of(2) {
        return Err(DecodeError::Truncated { offset: 2 * units });
    }

    let mut at = 0;
    while at < units {
        let start = at;
        let mut extended = 0u32;
        let (row, arg) = loop {
            if at >= units {
                return Err(DecodeError::Truncated { offset: 2 * start });
            }
            let number = fields.code[2 * at as usize];
            let arg = extended | u32::from(fields.code[2 * at as usize + 1]);
            let row = table.number(number).ok_or(DecodeError::UnknownOpcode {
                number,
                offset: 2 * at,
                version: fields.version,
            })?;
            at += 1;
            if row.opcode != Opcode::EXTENDED_ARG {
                break (*row, arg);
            }
            extended = arg << 8;
        };
        let extended = at - start - 1;
        at += u32::from(row.caches);
        if at > units {
            return Err(DecodeError::Truncated { offset: 2 * start });
        }
        let unit = Unit {
            row,
            arg,
            extended,
            start,
            end: at,
            loc: locations.at(start)?,
        };
        if decoder.prefix.is_none() {
            index_at[start as usize] = decoder.instrs.len() as u32;
        }
        decoder.unit(unit)?;
    }
    if let Some(prefix) = decoder.prefix {
        return Err(DecodeError::BrokenCall {
            offset: 2 * prefix.start,
        });
    }
    index_at[units as usize] = decoder.instrs.len() as u32;

    let label = |unit: u32, from: u32| match index_at.get(unit as usize) {
        Some(&index) if index != NOWHERE => Ok(Label(index)),
        _ => Err(DecodeError::BadTarget {
            target: unit.saturating_mul(2),
            from,
        }),
    };
    let mut instrs = decoder.instrs;
    for instr in &mut instrs {
        if let Some(to) = instr.op.target_mut() {
            *to = label(to.0, instr.offset)?;
            if to.0 == index_at[units as usize] {
                return Err(DecodeError::BadTarget {
                    target: 2 * units,
                    from: instr.offset,
                });
            }
        }
    }
    let entries =
        exception_table::read(&fields.exceptiontable).ok_or(DecodeError::ExceptionTable)?;
    let handlers = entries
        .into_iter()
        .map(|entry| {
            let from = entry.start.saturating_mul(2);
            Ok(ExceptEntry {
                start: label(entry.start, from)?,
                end: label(entry.start.saturating_add(entry.len), from)?,
                target: label(entry.target, from)?,
                depth: entry.depth,
                lasti: entry.lasti,
            })
        })
        .collect::<Result<_, DecodeError>>()?;
    Ok(Body {
        version: fields.version,
        instrs,
        handlers,
    })
}

impl Decoder<'_> {
    fn bad(&self, unit: &Unit) -> DecodeError {
        DecodeError::BadArgument {
            opcode: format!("{:?}", unit.row.opcode),
            arg: unit.arg,
            offset: 2 * unit.start,
        }
    }

    fn push(&mut self, unit: &Unit, op: Op) {
        // A jump's own `EXTENDED_ARG`s count in its distance, so two sizes can both be right.
        let jumps = matches!(unit.row.arg, ArgKind::Forward | ArgKind::Backward);
        let least = if jumps {
            unit.arg.saturating_sub(JUMP_SLACK)
        } else {
            unit.arg
        };
        let wide = unit.extended > extensions(least);
        let enc = if wide {
            Enc::Wide(unit.extended.min(3) as u8)
        } else {
            Enc::Exact
        };
        self.push_as(unit, op, enc);
    }

    fn push_as(&mut self, unit: &Unit, op: Op, enc: Enc) {
        self.instrs.push(Instr {
            op,
            loc: unit.loc,
            offset: 2 * unit.start,
            enc,
        });
    }

    fn pair(&mut self, unit: &Unit, first: Op, second: Op) {
        self.push_as(unit, first, Enc::FuseNext);
        self.push_as(unit, second, Enc::Exact);
    }

    /// Checks that the argument is in range.
    fn check(&self, unit: &Unit) -> Result<(), DecodeError> {
        let locals = self.fields.localsplusnames.len() as u32;
        let names = self.fields.names.len() as u32;
        let arg = unit.arg;
        let good = match unit.row.arg {
            ArgKind::NoArg => arg == 0,
            ArgKind::Int => true,
            ArgKind::Const => arg < self.fields.n_consts,
            ArgKind::Name => arg < names,
            ArgKind::NameFlag => arg >> 1 < names,
            ArgKind::NameFlags => arg >> 2 < names,
            ArgKind::Local => arg < locals,
            ArgKind::LocalPair => arg >> 4 < locals && arg & 15 < locals && arg < 256,
            ArgKind::Forward => unit.end.checked_add(arg).is_some(),
            ArgKind::Backward => arg <= unit.end,
        };
        if good { Ok(()) } else { Err(self.bad(unit)) }
    }

    /// `LOAD_FAST` of 3.13 also loads cells, for which older versions have `LOAD_CLOSURE`.
    fn load_fast(&self, local: u32) -> Op {
        let kind = self
            .fields
            .localspluskinds
            .get(local as usize)
            .copied()
            .unwrap_or(0);
        let local = LocalIdx(local);
        if self.version >= Version::V313 && kind & (kinds::CELL | kinds::FREE) != 0 {
            Op::LoadClosure(local)
        } else {
            Op::LoadFast {
                local,
                check: self.version == Version::V311,
            }
        }
    }

    fn prefixed(&mut self, unit: &Unit) -> Result<bool, DecodeError> {
        let broken = DecodeError::BrokenCall {
            offset: 2 * unit.start,
        };
        match (unit.row.opcode, &mut self.prefix) {
            (Opcode::KW_NAMES, None) => {
                let kw_names = Some((ConstIdx(unit.arg), unit.loc));
                self.prefix = Some(Prefix {
                    start: unit.start,
                    kw_names,
                    precall: None,
                });
                Ok(true)
            }
            (Opcode::PRECALL, None) => {
                let precall = Some((unit.arg, unit.loc));
                self.prefix = Some(Prefix {
                    start: unit.start,
                    kw_names: None,
                    precall,
                });
                Ok(true)
            }
            (Opcode::PRECALL, Some(prefix)) if prefix.precall.is_none() => {
                prefix.precall = Some((unit.arg, unit.loc));
                Ok(true)
            }
            (Opcode::CALL, _) => {
                let prefix = self.prefix.take();
                let kw_names = prefix.and_then(|p| p.kw_names);
                let precall = prefix.and_then(|p| p.precall);
                let expects_precall = self.version == Version::V311;
                if precall.is_some() != expects_precall
                    || precall.is_some_and(|(argc, _)| argc != unit.arg)
                {
                    return Err(broken);
                }
                let locs = CallLocs {
                    kw_names: kw_names.map_or(unit.loc, |(_, loc)| loc),
                    precall: precall.map_or(unit.loc, |(_, loc)| loc),
                };
                let enc = if locs.kw_names == unit.loc && locs.precall == unit.loc {
                    Enc::Exact
                } else {
                    Enc::Call(Box::new(locs))
                };
                let start = prefix.map_or(unit.start, |p| p.start);
                let op = Op::Call {
                    argc: unit.arg,
                    kw_names: kw_names.map(|(names, _)| names),
                };
                self.instrs.push(Instr {
                    op,
                    loc: unit.loc,
                    offset: 2 * start,
                    enc,
                });
                Ok(true)
            }
            (_, Some(_)) => Err(broken),
            (_, None) => Ok(false),
        }
    }

    fn unit(&mut self, unit: Unit) -> Result<(), DecodeError> {
        self.check(&unit)?;
        if self.prefixed(&unit)? {
            return Ok(());
        }
        let unit = &unit;
        let arg = unit.arg;
        let bad = || self.bad(unit);
        let null_first = self.version.null_first();
        let local = LocalIdx(arg);
        let name = NameIdx(arg);
        let forward = || Label(unit.end + arg);
        let backward = || Label(unit.end - arg);
        let pop_jump = |cond, to| Op::PopJump { cond, to };
        let op = match unit.row.opcode {
            Opcode::CACHE => {
                return Err(DecodeError::UnknownOpcode {
                    number: unit.row.number,
                    offset: 2 * unit.start,
                    version: self.version,
                });
            }
            Opcode::NOP => Op::Nop,
            Opcode::NOT_TAKEN => {
                self.push_as(unit, Op::Nop, Enc::NotTaken);
                return Ok(());
            }
            Opcode::RESUME => Op::Resume(arg),
            Opcode::POP_TOP => Op::PopTop,
            Opcode::PUSH_NULL => Op::PushNull,
            Opcode::COPY => Op::Copy(arg),
            Opcode::SWAP => Op::Swap(arg),

            Opcode::LOAD_CONST => Op::LoadConst(ConstIdx(arg)),
            Opcode::LOAD_SMALL_INT => Op::LoadSmallInt(u8::try_from(arg).map_err(|_| bad())?),
            Opcode::LOAD_COMMON_CONSTANT => {
                Op::LoadCommon(operand::common_from(self.version, arg).ok_or_else(bad)?)
            }
            Opcode::LOAD_FAST => self.load_fast(arg),
            Opcode::LOAD_FAST_BORROW => {
                let load = self.load_fast(arg);
                self.push_as(unit, load, Enc::Borrow);
                return Ok(());
            }
            Opcode::LOAD_FAST_BORROW_LOAD_FAST_BORROW => {
                let (first, second) = (self.load_fast(arg >> 4), self.load_fast(arg & 15));
                self.push_as(unit, first, Enc::BorrowBoth);
                self.push_as(unit, second, Enc::Exact);
                return Ok(());
            }
            Opcode::LOAD_FAST_CHECK => Op::LoadFast { local, check: true },
            Opcode::LOAD_FAST_AND_CLEAR => Op::LoadFastAndClear(local),
            Opcode::LOAD_FAST_LOAD_FAST => {
                let (first, second) = (self.load_fast(arg >> 4), self.load_fast(arg & 15));
                self.pair(unit, first, second);
                return Ok(());
            }
            Opcode::STORE_FAST_LOAD_FAST => {
                let second = self.load_fast(arg & 15);
                self.pair(unit, Op::StoreFast(LocalIdx(arg >> 4)), second);
                return Ok(());
            }
            Opcode::STORE_FAST_STORE_FAST => {
                let second = Op::StoreFast(LocalIdx(arg & 15));
                self.pair(unit, Op::StoreFast(LocalIdx(arg >> 4)), second);
                return Ok(());
            }
            Opcode::STORE_FAST => Op::StoreFast(local),
            Opcode::DELETE_FAST => Op::DeleteFast(local),
            Opcode::MAKE_CELL => Op::MakeCell(local),
            Opcode::COPY_FREE_VARS => Op::CopyFreeVars(arg),
            Opcode::LOAD_CLOSURE => Op::LoadClosure(local),
            Opcode::LOAD_DEREF => Op::LoadDeref(local),
            Opcode::STORE_DEREF => Op::StoreDeref(local),
            Opcode::DELETE_DEREF => Op::DeleteDeref(local),
            Opcode::LOAD_CLASSDEREF => Op::LoadClassDeref(local),
            Opcode::LOAD_FROM_DICT_OR_DEREF => Op::LoadFromDictOrDeref(local),
            Opcode::LOAD_FROM_DICT_OR_GLOBALS => Op::LoadFromDictOrGlobals(name),
            Opcode::LOAD_LOCALS => Op::LoadLocals,
            Opcode::LOAD_GLOBAL => {
                let load = Op::LoadGlobal(NameIdx(arg >> 1));
                if arg & 1 == 0 {
                    load
                } else {
                    if null_first {
                        self.pair(unit, Op::PushNull, load);
                    } else {
                        self.pair(unit, load, Op::PushNull);
                    }
                    return Ok(());
                }
            }
            Opcode::STORE_GLOBAL => Op::StoreGlobal(name),
            Opcode::DELETE_GLOBAL => Op::DeleteGlobal(name),
            Opcode::LOAD_NAME => Op::LoadName(name),
            Opcode::STORE_NAME => Op::StoreName(name),
            Opcode::DELETE_NAME => Op::DeleteName(name),
            Opcode::LOAD_BUILD_CLASS => Op::LoadBuildClass,
            Opcode::LOAD_ASSERTION_ERROR => Op::LoadCommon(CommonConst::AssertionError),

            Opcode::LOAD_ATTR => match unit.row.arg {
                ArgKind::NameFlag if arg & 1 != 0 => Op::LoadMethod {
                    name: NameIdx(arg >> 1),
                    null_first,
                },
                ArgKind::NameFlag => Op::LoadAttr(NameIdx(arg >> 1)),
                _ => Op::LoadAttr(name),
            },
            Opcode::LOAD_METHOD => Op::LoadMethod { name, null_first },
            Opcode::LOAD_SUPER_ATTR => Op::LoadSuperAttr {
                name: NameIdx(arg >> 2),
                method: arg & 1 != 0,
                two_arg: arg & 2 != 0,
                null_first,
            },
            Opcode::LOAD_SPECIAL => Op::LoadSpecial(operand::special_from(arg).ok_or_else(bad)?),
            Opcode::STORE_ATTR => Op::StoreAttr(name),
            Opcode::DELETE_ATTR => Op::DeleteAttr(name),

            Opcode::UNARY_POSITIVE => Op::Unary(UnaryOp::Positive),
            Opcode::UNARY_NEGATIVE => Op::Unary(UnaryOp::Negative),
            Opcode::UNARY_NOT => Op::Unary(UnaryOp::Not),
            Opcode::UNARY_INVERT => Op::Unary(UnaryOp::Invert),
            Opcode::BINARY_OP if arg == operand::BINARY_SUBSCR && self.version >= Version::V314 => {
                Op::BinarySubscr
            }
            Opcode::BINARY_OP => {
                let (op, inplace): (BinaryOp, bool) = operand::binary_from(arg).ok_or_else(bad)?;
                Op::Binary { op, inplace }
            }
            Opcode::COMPARE_OP => {
                let (op, to_bool) = operand::compare_from(self.version, arg).ok_or_else(bad)?;
                Op::Compare { op, to_bool }
            }
            Opcode::IS_OP if arg < 2 => Op::Is { invert: arg == 1 },
            Opcode::CONTAINS_OP if arg < 2 => Op::Contains { invert: arg == 1 },
            Opcode::TO_BOOL => Op::ToBool,
            Opcode::BINARY_SUBSCR => Op::BinarySubscr,
            Opcode::STORE_SUBSCR => Op::StoreSubscr,
            Opcode::DELETE_SUBSCR => Op::DeleteSubscr,
            Opcode::BINARY_SLICE => Op::BinarySlice,
            Opcode::STORE_SLICE => Op::StoreSlice,

            Opcode::BUILD_TUPLE => Op::BuildTuple(arg),
            Opcode::BUILD_LIST => Op::BuildList(arg),
            Opcode::BUILD_SET => Op::BuildSet(arg),
            Opcode::BUILD_MAP => Op::BuildMap(arg),
            Opcode::BUILD_CONST_KEY_MAP => Op::BuildConstKeyMap(arg),
            Opcode::BUILD_STRING => Op::BuildString(arg),
            Opcode::BUILD_SLICE if arg == 2 || arg == 3 => Op::BuildSlice(arg),
            Opcode::LIST_TO_TUPLE => Op::ListToTuple,
            Opcode::LIST_APPEND => Op::ListAppend(arg),
            Opcode::SET_ADD => Op::SetAdd(arg),
            Opcode::MAP_ADD => Op::MapAdd(arg),
            Opcode::LIST_EXTEND => Op::ListExtend(arg),
            Opcode::SET_UPDATE => Op::SetUpdate(arg),
            Opcode::DICT_UPDATE => Op::DictUpdate(arg),
            Opcode::DICT_MERGE => Op::DictMerge(arg),
            Opcode::UNPACK_SEQUENCE => Op::UnpackSequence(arg),
            Opcode::UNPACK_EX => Op::UnpackEx {
                before: arg & 0xff,
                after: arg >> 8,
            },

            Opcode::FORMAT_VALUE if arg < 8 => Op::FormatValue {
                conv: operand::conversion_from(arg & 3),
                spec: arg & 4 != 0,
            },
            Opcode::FORMAT_SIMPLE => Op::FormatValue {
                conv: None,
                spec: false,
            },
            Opcode::FORMAT_WITH_SPEC => Op::FormatValue {
                conv: None,
                spec: true,
            },
            Opcode::CONVERT_VALUE => {
                Op::ConvertValue(operand::conversion_from(arg).ok_or_else(bad)?)
            }

            Opcode::JUMP_FORWARD => Op::Jump {
                to: forward(),
                no_interrupt: false,
            },
            Opcode::JUMP_BACKWARD => Op::Jump {
                to: backward(),
                no_interrupt: false,
            },
            Opcode::JUMP_BACKWARD_NO_INTERRUPT => Op::Jump {
                to: backward(),
                no_interrupt: true,
            },
            Opcode::POP_JUMP_IF_FALSE | Opcode::POP_JUMP_FORWARD_IF_FALSE => {
                pop_jump(JumpCond::False, forward())
            }
            Opcode::POP_JUMP_IF_TRUE | Opcode::POP_JUMP_FORWARD_IF_TRUE => {
                pop_jump(JumpCond::True, forward())
            }
            Opcode::POP_JUMP_IF_NONE | Opcode::POP_JUMP_FORWARD_IF_NONE => {
                pop_jump(JumpCond::None, forward())
            }
            Opcode::POP_JUMP_IF_NOT_NONE | Opcode::POP_JUMP_FORWARD_IF_NOT_NONE => {
                pop_jump(JumpCond::NotNone, forward())
            }
            Opcode::POP_JUMP_BACKWARD_IF_FALSE => pop_jump(JumpCond::False, backward()),
            Opcode::POP_JUMP_BACKWARD_IF_TRUE => pop_jump(JumpCond::True, backward()),
            Opcode::POP_JUMP_BACKWARD_IF_NONE => pop_jump(JumpCond::None, backward()),
            Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE => pop_jump(JumpCond::NotNone, backward()),
            Opcode::JUMP_IF_FALSE_OR_POP => Op::JumpIfOrPop {
                when: false,
                to: forward(),
            },
            Opcode::JUMP_IF_TRUE_OR_POP => Op::JumpIfOrPop {
                when: true,
                to: forward(),
            },
            Opcode::BUILD_INTERPOLATION => {
                let (conv, spec) = operand::interpolation_from(arg).ok_or_else(bad)?;
                Op::BuildInterpolation { conv, spec }
            }
            Opcode::BUILD_TEMPLATE => Op::BuildTemplate,
            Opcode::GET_ITER if arg == 0 => Op::GetIter,
            Opcode::GET_ITER if arg < 4 => Op::GetYieldFromIter(arg),
            Opcode::GET_YIELD_FROM_ITER => Op::GetYieldFromIter(0),
            Opcode::FOR_ITER => Op::ForIter { to: forward() },
            Opcode::END_FOR => Op::EndFor,
            Opcode::POP_ITER => Op::PopIter,
            Opcode::END_SEND => Op::EndSend,
            Opcode::SEND => Op::Send { to: forward() },
            Opcode::YIELD_VALUE => Op::YieldValue(arg),
            Opcode::RETURN_GENERATOR => Op::ReturnGenerator,
            Opcode::GET_AWAITABLE => Op::GetAwaitable(arg),
            Opcode::GET_AITER => Op::GetAiter,
            Opcode::GET_ANEXT => Op::GetAnext,
            Opcode::END_ASYNC_FOR => Op::EndAsyncFor {
                from: (unit.row.arg == ArgKind::Backward).then(backward),
            },
            Opcode::CLEANUP_THROW => Op::CleanupThrow,

            Opcode::CALL_KW => Op::CallKw { argc: arg },
            Opcode::CALL_FUNCTION_EX if unit.row.arg == ArgKind::NoArg => {
                Op::CallEx { kwargs: true }
            }
            Opcode::CALL_FUNCTION_EX if arg < 2 => Op::CallEx { kwargs: arg == 1 },
            Opcode::MAKE_FUNCTION if arg < 16 => Op::MakeFunction(FuncAttr(arg as u8)),
            Opcode::SET_FUNCTION_ATTRIBUTE
                if arg <= u32::from(FuncAttr::ALL) && arg.is_power_of_two() =>
            {
                Op::SetFunctionAttribute(FuncAttr(arg as u8))
            }
            Opcode::RETURN_VALUE => Op::ReturnValue,
            Opcode::RETURN_CONST => Op::ReturnConst(ConstIdx(arg)),

            Opcode::IMPORT_NAME if unit.row.arg == ArgKind::NameFlags => Op::ImportName {
                name: NameIdx(arg >> 2),
                when: operand::import_from(arg & 3).ok_or_else(bad)?,
            },
            Opcode::IMPORT_NAME => Op::ImportName {
                name,
                when: ImportTime::Now,
            },
            Opcode::IMPORT_FROM => Op::ImportFrom(name),
            // 3.11 drops the result itself.
            Opcode::IMPORT_STAR => {
                self.pair(unit, Op::CallIntrinsic1(Intrinsic1::ImportStar), Op::PopTop);
                return Ok(());
            }
            Opcode::PRINT_EXPR => {
                self.pair(unit, Op::CallIntrinsic1(Intrinsic1::Print), Op::PopTop);
                return Ok(());
            }
            Opcode::ASYNC_GEN_WRAP => Op::CallIntrinsic1(Intrinsic1::AsyncGenWrap),
            Opcode::PREP_RERAISE_STAR => Op::CallIntrinsic2(Intrinsic2::PrepReraiseStar),
            Opcode::CALL_INTRINSIC_1 => match arg {
                operand::INTRINSIC_POSITIVE => Op::Unary(UnaryOp::Positive),
                operand::INTRINSIC_LIST_TO_TUPLE => Op::ListToTuple,
                _ => Op::CallIntrinsic1(operand::intrinsic1_from(arg).ok_or_else(bad)?),
            },
            Opcode::CALL_INTRINSIC_2 => {
                Op::CallIntrinsic2(operand::intrinsic2_from(self.version, arg).ok_or_else(bad)?)
            }
            Opcode::SETUP_ANNOTATIONS => Op::SetupAnnotations,

            Opcode::BEFORE_WITH => Op::BeforeWith,
            Opcode::BEFORE_ASYNC_WITH => Op::BeforeAsyncWith,
            Opcode::WITH_EXCEPT_START => Op::WithExceptStart,
            Opcode::PUSH_EXC_INFO => Op::PushExcInfo,
            Opcode::CHECK_EXC_MATCH => Op::CheckExcMatch,
            Opcode::CHECK_EG_MATCH => Op::CheckEgMatch,
            Opcode::POP_EXCEPT => Op::PopExcept,
            Opcode::RAISE_VARARGS if arg < 3 => Op::RaiseVarargs(arg),
            Opcode::RERAISE => Op::Reraise(arg),

            Opcode::GET_LEN => Op::GetLen,
            Opcode::MATCH_MAPPING => Op::MatchMapping,
            Opcode::MATCH_SEQUENCE => Op::MatchSequence,
            Opcode::MATCH_KEYS => Op::MatchKeys,
            Opcode::MATCH_CLASS => Op::MatchClass(arg),

            Opcode::INTERPRETER_EXIT | Opcode::EXIT_INIT_CHECK | Opcode::ENTER_EXECUTOR => {
                Op::Other {
                    opcode: unit.row.number,
                    arg,
                }
            }
            Opcode::IS_OP
            | Opcode::CONTAINS_OP
            | Opcode::GET_ITER
            | Opcode::BUILD_SLICE
            | Opcode::FORMAT_VALUE
            | Opcode::CALL_FUNCTION_EX
            | Opcode::MAKE_FUNCTION
            | Opcode::SET_FUNCTION_ATTRIBUTE
            | Opcode::RAISE_VARARGS => return Err(bad()),
            // Taken out of the stream before.
            Opcode::EXTENDED_ARG | Opcode::KW_NAMES | Opcode::PRECALL | Opcode::CALL => {
                return Err(bad());
            }
        };
        self.push(unit, op);
        Ok(())
    }
}
