//! Numbers inside arguments: operators, comparisons, conversions and intrinsics. Two-way tables;
//! nothing else reads or writes these numbers.

use crate::code::Version;
use crate::op::{
    BinaryOp, CommonConst, CompareOp, Conversion, ImportTime, Intrinsic1, Intrinsic2, Special,
};

/// `NB_*`, in order.
const BINARY: [BinaryOp; 13] = [
    BinaryOp::Add,
    BinaryOp::And,
    BinaryOp::FloorDivide,
    BinaryOp::Lshift,
    BinaryOp::MatrixMultiply,
    BinaryOp::Multiply,
    BinaryOp::Remainder,
    BinaryOp::Or,
    BinaryOp::Power,
    BinaryOp::Rshift,
    BinaryOp::Subtract,
    BinaryOp::TrueDivide,
    BinaryOp::Xor,
];

/// `Py_LT` and so on in order, each with the result bits that specialised comparisons of 3.12 and
/// later test (unordered 1, less 2, greater 4, equal 8).
const COMPARE: [(CompareOp, u32); 6] = [
    (CompareOp::Lt, 2),
    (CompareOp::Le, 10),
    (CompareOp::Eq, 8),
    (CompareOp::Ne, 7),
    (CompareOp::Gt, 4),
    (CompareOp::Ge, 12),
];
/// 3.13's "convert to bool" bit.
const COMPARE_TO_BOOL: u32 = 16;

/// Where `COMPARE_OP`'s operator starts.
fn compare_shift(version: Version) -> u32 {
    match version {
        Version::V311 => 0,
        Version::V312 => 4,
        Version::V313 | Version::V314 | Version::V315 => 5,
    }
}

/// `BINARY_OP`'s subscript (3.14+).
pub(crate) const BINARY_SUBSCR: u32 = 26;

/// `CALL_INTRINSIC_1`'s `+x`.
pub(crate) const INTRINSIC_POSITIVE: u32 = 5;
/// `CALL_INTRINSIC_1`'s list to tuple.
pub(crate) const INTRINSIC_LIST_TO_TUPLE: u32 = 6;

const INTRINSIC1: [(u32, Intrinsic1); 9] = [
    (1, Intrinsic1::Print),
    (2, Intrinsic1::ImportStar),
    (3, Intrinsic1::StopIterationError),
    (4, Intrinsic1::AsyncGenWrap),
    (7, Intrinsic1::TypeVar),
    (8, Intrinsic1::ParamSpec),
    (9, Intrinsic1::TypeVarTuple),
    (10, Intrinsic1::SubscriptGeneric),
    (11, Intrinsic1::TypeAlias),
];

const INTRINSIC2: [(u32, Intrinsic2, Version); 5] = [
    (1, Intrinsic2::PrepReraiseStar, Version::V312),
    (2, Intrinsic2::TypeVarWithBound, Version::V312),
    (3, Intrinsic2::TypeVarWithConstraints, Version::V312),
    (4, Intrinsic2::SetFunctionTypeParams, Version::V312),
    (5, Intrinsic2::SetTypeparamDefault, Version::V313),
];

/// What `LOAD_COMMON_CONSTANT` loads, in order; 3.14 has as many as [`COMMON_314`] says.
const COMMON: [CommonConst; 12] = [
    CommonConst::AssertionError,
    CommonConst::NotImplementedError,
    CommonConst::Tuple,
    CommonConst::All,
    CommonConst::Any,
    CommonConst::List,
    CommonConst::Set,
    CommonConst::None,
    CommonConst::EmptyStr,
    CommonConst::True,
    CommonConst::False,
    CommonConst::MinusOne,
];
const COMMON_314: usize = 5;

/// What `LOAD_SPECIAL` loads, in order.
const SPECIAL: [Special; 4] = [
    Special::Enter,
    Special::Exit,
    Special::AsyncEnter,
    Special::AsyncExit,
];

/// The flags of 3.15's `IMPORT_NAME`.
const IMPORT: [(u32, ImportTime); 3] = [
    (0, ImportTime::Setting),
    (1, ImportTime::Lazy),
    (2, ImportTime::Now),
];

/// `BUILD_INTERPOLATION`'s flag for a format spec.
const INTERPOLATION_SPEC: u32 = 1;
/// The flag that `BUILD_INTERPOLATION` always has.
const INTERPOLATION_ALWAYS: u32 = 2;

/// The place of 3.15's `RESUME` in a generator expression that is no generator yet, among the bits
/// of the argument that say where it stands.
const RESUME_GENERATOR_EXPRESSION: u32 = 4;
const RESUME_PLACE: u32 = 7;

/// `GET_ITER`'s argument for a `yield from` that refuses a coroutine (3.15).
const YIELD_FROM_CHECKED: u32 = 3;

const CONVERSION: [Conversion; 3] = [Conversion::Str, Conversion::Repr, Conversion::Ascii];

pub(crate) fn binary_from(arg: u32) -> Option<(BinaryOp, bool)> {
    let arg = arg as usize;
    let op = *BINARY.get(arg % BINARY.len())?;
    (arg < 2 * BINARY.len()).then_some((op, arg >= BINARY.len()))
}

pub(crate) fn binary_to(op: BinaryOp, inplace: bool) -> u32 {
    let index = BINARY.iter().position(|&o| o == op).unwrap_or(0);
    (index + if inplace { BINARY.len() } else { 0 }) as u32
}

pub(crate) fn compare_from(version: Version, arg: u32) -> Option<(CompareOp, bool)> {
    let &(op, _) = COMPARE.get((arg >> compare_shift(version)) as usize)?;
    let to_bool = version >= Version::V313 && arg & COMPARE_TO_BOOL != 0;
    (compare_to(version, op, to_bool) == arg).then_some((op, to_bool))
}

pub(crate) fn compare_to(version: Version, op: CompareOp, to_bool: bool) -> u32 {
    let index = COMPARE.iter().position(|&(o, _)| o == op).unwrap_or(0);
    let number = (index as u32) << compare_shift(version);
    match version {
        Version::V311 => number,
        Version::V312 => number | COMPARE[index].1,
        _ => number | COMPARE[index].1 | if to_bool { COMPARE_TO_BOOL } else { 0 },
    }
}

fn commons(version: Version) -> &'static [CommonConst] {
    match version {
        Version::V311 | Version::V312 | Version::V313 => &COMMON[..1],
        Version::V314 => &COMMON[..COMMON_314],
        Version::V315 => &COMMON,
    }
}

pub(crate) fn common_from(version: Version, arg: u32) -> Option<CommonConst> {
    commons(version).get(arg as usize).copied()
}

pub(crate) fn common_to(version: Version, which: CommonConst) -> Option<u32> {
    let at = commons(version).iter().position(|&c| c == which)?;
    Some(at as u32)
}

pub(crate) fn special_from(arg: u32) -> Option<Special> {
    SPECIAL.get(arg as usize).copied()
}

pub(crate) fn special_to(special: Special) -> u32 {
    SPECIAL.iter().position(|&s| s == special).unwrap_or(0) as u32
}

pub(crate) fn import_from(flags: u32) -> Option<ImportTime> {
    IMPORT.iter().find(|(n, _)| *n == flags).map(|&(_, t)| t)
}

pub(crate) fn import_to(when: ImportTime) -> u32 {
    IMPORT.iter().find(|(_, t)| *t == when).map_or(0, |t| t.0)
}

pub(crate) fn interpolation_from(arg: u32) -> Option<(Option<Conversion>, bool)> {
    let conv = match arg >> 2 {
        0 => None,
        conv => Some(conversion_from(conv)?),
    };
    (arg & INTERPOLATION_ALWAYS != 0).then_some((conv, arg & INTERPOLATION_SPEC != 0))
}

pub(crate) fn interpolation_to(conv: Option<Conversion>, spec: bool) -> u32 {
    let spec = if spec { INTERPOLATION_SPEC } else { 0 };
    (conv.map_or(0, conversion_to) << 2) | INTERPOLATION_ALWAYS | spec
}

/// The argument of 3.15's `GET_ITER` for a `yield from`; older versions have none.
pub(crate) fn yield_from(arg: u32) -> u32 {
    if arg == 0 { YIELD_FROM_CHECKED } else { arg }
}

/// Whether a `RESUME` with this argument stands where the generator is still to be made.
pub(crate) fn resumes_before_generator(version: Version, arg: u32) -> bool {
    version >= Version::V315 && arg & RESUME_PLACE == RESUME_GENERATOR_EXPRESSION
}

/// 1 to 3.
pub(crate) fn conversion_from(arg: u32) -> Option<Conversion> {
    CONVERSION.get((arg as usize).checked_sub(1)?).copied()
}

pub(crate) fn conversion_to(conv: Conversion) -> u32 {
    1 + CONVERSION.iter().position(|&c| c == conv).unwrap_or(0) as u32
}

pub(crate) fn intrinsic1_from(arg: u32) -> Option<Intrinsic1> {
    INTRINSIC1.iter().find(|(n, _)| *n == arg).map(|&(_, i)| i)
}

pub(crate) fn intrinsic1_to(intrinsic: Intrinsic1) -> Option<u32> {
    INTRINSIC1
        .iter()
        .find(|(_, i)| *i == intrinsic)
        .map(|&(n, _)| n)
}

pub(crate) fn intrinsic2_from(version: Version, arg: u32) -> Option<Intrinsic2> {
    INTRINSIC2
        .iter()
        .find(|(n, _, since)| *n == arg && version >= *since)
        .map(|&(_, i, _)| i)
}

pub(crate) fn intrinsic2_to(version: Version, intrinsic: Intrinsic2) -> Option<u32> {
    INTRINSIC2
        .iter()
        .find(|(_, i, since)| *i == intrinsic && version >= *since)
        .map(|&(n, ..)| n)
}
