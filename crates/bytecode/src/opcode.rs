//! The opcode tables, one per CPython version.
//!
//! This module and its tables are the only place that knows an opcode's number, its inline cache
//! and how its argument is written. Everything else names an [`Opcode`]. What an opcode does is not
//! here: see [`crate::op`].

mod v311;
mod v312;
mod v313;
mod v314;
mod v315;

use crate::code::Version;

/// CPython's name of an opcode, over all versions.
#[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "CPython's own names")]
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Opcode {
    CACHE, ASYNC_GEN_WRAP, BEFORE_ASYNC_WITH, BEFORE_WITH, BINARY_OP, BINARY_SLICE,
    BINARY_SUBSCR, BUILD_CONST_KEY_MAP, BUILD_INTERPOLATION, BUILD_LIST, BUILD_MAP, BUILD_SET,
    BUILD_SLICE, BUILD_STRING, BUILD_TEMPLATE, BUILD_TUPLE, CALL, CALL_FUNCTION_EX, CALL_INTRINSIC_1, CALL_INTRINSIC_2,
    CALL_KW, CHECK_EG_MATCH, CHECK_EXC_MATCH, CLEANUP_THROW, COMPARE_OP, CONTAINS_OP,
    CONVERT_VALUE, COPY, COPY_FREE_VARS, DELETE_ATTR, DELETE_DEREF, DELETE_FAST, DELETE_GLOBAL,
    DELETE_NAME, DELETE_SUBSCR, DICT_MERGE, DICT_UPDATE, END_ASYNC_FOR, END_FOR, END_SEND,
    ENTER_EXECUTOR, EXIT_INIT_CHECK, EXTENDED_ARG, FORMAT_SIMPLE, FORMAT_VALUE,
    FORMAT_WITH_SPEC, FOR_ITER, GET_AITER, GET_ANEXT, GET_AWAITABLE, GET_ITER, GET_LEN,
    GET_YIELD_FROM_ITER, IMPORT_FROM, IMPORT_NAME, IMPORT_STAR, INTERPRETER_EXIT, IS_OP,
    JUMP_BACKWARD, JUMP_BACKWARD_NO_INTERRUPT, JUMP_FORWARD, JUMP_IF_FALSE_OR_POP,
    JUMP_IF_TRUE_OR_POP, KW_NAMES, LIST_APPEND, LIST_EXTEND, LIST_TO_TUPLE,
    LOAD_ASSERTION_ERROR, LOAD_ATTR, LOAD_BUILD_CLASS, LOAD_CLASSDEREF, LOAD_CLOSURE,
    LOAD_COMMON_CONSTANT, LOAD_CONST, LOAD_DEREF, LOAD_FAST, LOAD_FAST_AND_CLEAR,
    LOAD_FAST_BORROW, LOAD_FAST_BORROW_LOAD_FAST_BORROW, LOAD_FAST_CHECK,
    LOAD_FAST_LOAD_FAST, LOAD_FROM_DICT_OR_DEREF, LOAD_FROM_DICT_OR_GLOBALS, LOAD_GLOBAL,
    LOAD_LOCALS, LOAD_METHOD, LOAD_NAME, LOAD_SMALL_INT, LOAD_SPECIAL, LOAD_SUPER_ATTR, MAKE_CELL, MAKE_FUNCTION, MAP_ADD,
    MATCH_CLASS, MATCH_KEYS, MATCH_MAPPING, MATCH_SEQUENCE, NOP, NOT_TAKEN, POP_EXCEPT,
    POP_ITER,
    POP_JUMP_BACKWARD_IF_FALSE, POP_JUMP_BACKWARD_IF_NONE, POP_JUMP_BACKWARD_IF_NOT_NONE,
    POP_JUMP_BACKWARD_IF_TRUE, POP_JUMP_FORWARD_IF_FALSE, POP_JUMP_FORWARD_IF_NONE,
    POP_JUMP_FORWARD_IF_NOT_NONE, POP_JUMP_FORWARD_IF_TRUE, POP_JUMP_IF_FALSE, POP_JUMP_IF_NONE,
    POP_JUMP_IF_NOT_NONE, POP_JUMP_IF_TRUE, POP_TOP, PRECALL, PREP_RERAISE_STAR, PRINT_EXPR,
    PUSH_EXC_INFO, PUSH_NULL, RAISE_VARARGS, RERAISE, RESUME, RETURN_CONST, RETURN_GENERATOR,
    RETURN_VALUE, SEND, SETUP_ANNOTATIONS, SET_ADD, SET_FUNCTION_ATTRIBUTE, SET_UPDATE,
    STORE_ATTR, STORE_DEREF, STORE_FAST, STORE_FAST_LOAD_FAST, STORE_FAST_STORE_FAST,
    STORE_GLOBAL, STORE_NAME, STORE_SLICE, STORE_SUBSCR, SWAP, TO_BOOL, UNARY_INVERT,
    UNARY_NEGATIVE, UNARY_NOT, UNARY_POSITIVE, UNPACK_EX, UNPACK_SEQUENCE, WITH_EXCEPT_START,
    YIELD_VALUE,
}

/// Number of [`Opcode`]s, which is one more than the last.
const OPCODES: usize = Opcode::YIELD_VALUE as usize + 1;

/// How the argument of an opcode reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgKind {
    /// always zero
    NoArg,
    /// a number that means what the opcode says
    Int,
    /// index into `co_consts`
    Const,
    /// index into `co_names`
    Name,
    /// `co_names` index above one flag bit
    NameFlag,
    /// `co_names` index above two bits of flags
    NameFlags,
    /// index into `co_localsplusnames`
    Local,
    /// two indices below 16 into `co_localsplusnames`, the first in the high four bits
    LocalPair,
    /// code units from the end of the instruction to the target
    Forward,
    /// code units from the target to the end of the instruction
    Backward,
}

/// One opcode of one version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// number, the first byte of the code unit
    pub number: u8,
    /// name
    pub opcode: Opcode,
    /// inline cache, in code units
    pub caches: u8,
    /// argument
    pub arg: ArgKind,
}

/// A row of a version's table.
const fn row(number: u8, opcode: Opcode, caches: u8, arg: ArgKind) -> Row {
    Row {
        number,
        opcode,
        caches,
        arg,
    }
}

/// The opcodes of a version, as its file lists them.
const fn rows(version: Version) -> &'static [Row] {
    match version {
        Version::V311 => v311::ROWS,
        Version::V312 => v312::ROWS,
        Version::V313 => v313::ROWS,
        Version::V314 => v314::ROWS,
        Version::V315 => v315::ROWS,
    }
}

/// The opcodes of one version, by number and by name.
pub(crate) struct Table {
    by_number: [Option<Row>; 256],
    by_opcode: [Option<Row>; OPCODES],
}

impl Table {
    const fn new(rows: &[Row]) -> Self {
        let mut table = Table {
            by_number: [None; 256],
            by_opcode: [None; OPCODES],
        };
        let mut i = 0;
        while i < rows.len() {
            let row = rows[i];
            assert!(
                table.by_number[row.number as usize].is_none(),
                "number used twice"
            );
            table.by_number[row.number as usize] = Some(row);
            table.by_opcode[row.opcode as usize] = Some(row);
            i += 1;
        }
        table
    }

    /// The table of a version.
    pub(crate) fn of(version: Version) -> &'static Table {
        static TABLES: [Table; Version::ALL.len()] = {
            let mut tables = [const { Table::new(&[]) }; Version::ALL.len()];
            let mut at = 0;
            while at < tables.len() {
                tables[at] = Table::new(rows(Version::ALL[at]));
                at += 1;
            }
            tables
        };
        &TABLES[version as usize]
    }

    /// The opcode with this number.
    pub(crate) fn number(&self, number: u8) -> Option<&Row> {
        self.by_number[number as usize].as_ref()
    }

    /// The row of an opcode, if this version has it.
    pub(crate) fn opcode(&self, opcode: Opcode) -> Option<&Row> {
        self.by_opcode[opcode as usize].as_ref()
    }
}

/// CPython's name of the opcode with this number, e.g. `LOAD_FAST`; `None` where the version has
/// no such opcode in a code object (specialised and instrumented forms have none).
pub fn opcode_name(version: Version, number: u8) -> Option<String> {
    Table::of(version)
        .number(number)
        .map(|row| format!("{:?}", row.opcode))
}

/// Number of the opcode with this CPython name.
pub fn opcode_number(version: Version, name: &str) -> Option<u8> {
    rows(version)
        .iter()
        .find(|row| format!("{:?}", row.opcode) == name)
        .map(|row| row.number)
}

/// Whether the opcode with this number raises an exception that the program has made, as `raise` does.
pub fn is_raise(version: Version, number: u8) -> bool {
    let row = Table::of(version).number(number);
    row.is_some_and(|row| matches!(row.opcode, Opcode::RAISE_VARARGS | Opcode::RERAISE))
}
