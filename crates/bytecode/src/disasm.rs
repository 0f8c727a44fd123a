//! Text of a [`Body`], for people and snapshots. Not meant to be read back.

use std::fmt::Write;

use crate::body::Body;
use crate::code::CodeFields;
use crate::op::{
    BinaryOp, CommonConst, CompareOp, ConstIdx, Conversion, FuncAttr, ImportTime, JumpCond,
    LocalIdx, NameIdx, Op,
};
use crate::opcode::opcode_name;

/// What the indices of instructions stand for. Anything may be left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// `repr` of each constant
    pub consts: &'a [String],
    /// `co_names`
    pub names: &'a [String],
    /// locals, cells and free variables
    pub locals: &'a [String],
}

impl<'a> Names<'a> {
    /// The names of a code object; its constants are shown by number.
    pub fn of(fields: &'a CodeFields) -> Self {
        Names {
            consts: &[],
            names: &fields.names,
            locals: &fields.localsplusnames,
        }
    }

    fn constant(&self, c: ConstIdx) -> String {
        match self.consts.get(c.0 as usize) {
            Some(text) => format!("{} ({text})", c.0),
            None => c.0.to_string(),
        }
    }

    pub(crate) fn name(&self, name: NameIdx) -> String {
        self.names
            .get(name.0 as usize)
            .cloned()
            .unwrap_or_else(|| format!("name{}", name.0))
    }

    pub(crate) fn local(&self, local: LocalIdx) -> String {
        self.locals
            .get(local.0 as usize)
            .cloned()
            .unwrap_or_else(|| format!("local{}", local.0))
    }
}

pub(crate) fn binary_symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::And => "&",
        BinaryOp::FloorDivide => "//",
        BinaryOp::Lshift => "<<",
        BinaryOp::MatrixMultiply => "@",
        BinaryOp::Multiply => "*",
        BinaryOp::Remainder => "%",
        BinaryOp::Or => "|",
        BinaryOp::Power => "**",
        BinaryOp::Rshift => ">>",
        BinaryOp::Subtract => "-",
        BinaryOp::TrueDivide => "/",
        BinaryOp::Xor => "^",
    }
}

pub(crate) fn compare_symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Eq => "==",
        CompareOp::Ne => "!=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
    }
}

fn conversion(conv: Option<Conversion>) -> String {
    conv.map(|conv| format!(" !{}", conv.letter()))
        .unwrap_or_default()
}

fn parts(attr: FuncAttr) -> String {
    let all = [
        (FuncAttr::DEFAULTS, "defaults"),
        (FuncAttr::KWDEFAULTS, "kwdefaults"),
        (FuncAttr::ANNOTATIONS, "annotations"),
        (FuncAttr::CLOSURE, "closure"),
        (FuncAttr::ANNOTATE, "annotate"),
    ];
    let set: Vec<_> = all
        .iter()
        .filter(|(bit, _)| attr.0 & bit != 0)
        .map(|(_, s)| *s)
        .collect();
    set.join(", ")
}

/// One instruction as text: its name and operands, names resolved, jump targets as `-> index`.
pub fn describe(op: &Op, names: &Names<'_>) -> String {
    let flag = |set: bool, text: &str| {
        if set {
            format!(" {text}")
        } else {
            String::new()
        }
    };
    let null = |first: bool| if first { "null first" } else { "null last" };
    match *op {
        Op::Resume(n) => format!("Resume {n}"),
        Op::Copy(n) => format!("Copy {n}"),
        Op::Swap(n) => format!("Swap {n}"),
        Op::LoadConst(c) => format!("LoadConst {}", names.constant(c)),
        Op::LoadSmallInt(n) => format!("LoadSmallInt {n}"),
        Op::LoadCommon(CommonConst::AssertionError) => "LoadAssertionError".into(),
        Op::LoadCommon(which) => format!("LoadCommon {which:?}"),
        Op::LoadFast { local, check } => {
            format!("LoadFast {}{}", names.local(local), flag(check, "check"))
        }
        Op::LoadFastAndClear(l) => format!("LoadFastAndClear {}", names.local(l)),
        Op::StoreFast(l) => format!("StoreFast {}", names.local(l)),
        Op::DeleteFast(l) => format!("DeleteFast {}", names.local(l)),
        Op::MakeCell(l) => format!("MakeCell {}", names.local(l)),
        Op::CopyFreeVars(n) => format!("CopyFreeVars {n}"),
        Op::LoadClosure(l) => format!("LoadClosure {}", names.local(l)),
        Op::LoadDeref(l) => format!("LoadDeref {}", names.local(l)),
        Op::StoreDeref(l) => format!("StoreDeref {}", names.local(l)),
        Op::DeleteDeref(l) => format!("DeleteDeref {}", names.local(l)),
        Op::LoadClassDeref(l) => format!("LoadClassDeref {}", names.local(l)),
        Op::LoadFromDictOrDeref(l) => format!("LoadFromDictOrDeref {}", names.local(l)),
        Op::LoadFromDictOrGlobals(n) => format!("LoadFromDictOrGlobals {}", names.name(n)),
        Op::LoadGlobal(n) => format!("LoadGlobal {}", names.name(n)),
        Op::StoreGlobal(n) => format!("StoreGlobal {}", names.name(n)),
        Op::DeleteGlobal(n) => format!("DeleteGlobal {}", names.name(n)),
        Op::LoadName(n) => format!("LoadName {}", names.name(n)),
        Op::StoreName(n) => format!("StoreName {}", names.name(n)),
        Op::DeleteName(n) => format!("DeleteName {}", names.name(n)),
        Op::LoadAttr(n) => format!("LoadAttr {}", names.name(n)),
        Op::LoadMethod { name, null_first } => {
            format!("LoadMethod {} ({})", names.name(name), null(null_first))
        }
        Op::LoadSuperAttr {
            name,
            method,
            two_arg,
            null_first,
        } => {
            let method = if method {
                format!(" method ({})", null(null_first))
            } else {
                String::new()
            };
            format!(
                "LoadSuperAttr {}{method}{}",
                names.name(name),
                flag(two_arg, "two-arg")
            )
        }
        Op::LoadSpecial(method) => format!("LoadSpecial {method:?}"),
        Op::StoreAttr(n) => format!("StoreAttr {}", names.name(n)),
        Op::DeleteAttr(n) => format!("DeleteAttr {}", names.name(n)),
        Op::Unary(op) => format!("Unary {op:?}"),
        Op::Binary { op, inplace } => {
            format!(
                "Binary {}{}",
                binary_symbol(op),
                if inplace { "=" } else { "" }
            )
        }
        Op::Compare { op, to_bool } => {
            format!("Compare {}{}", compare_symbol(op), flag(to_bool, "bool"))
        }
        Op::Is { invert } => format!("Is{}", flag(invert, "not")),
        Op::Contains { invert } => format!("Contains{}", flag(invert, "not")),
        Op::BuildTuple(n) => format!("BuildTuple {n}"),
        Op::BuildList(n) => format!("BuildList {n}"),
        Op::BuildSet(n) => format!("BuildSet {n}"),
        Op::BuildMap(n) => format!("BuildMap {n}"),
        Op::BuildConstKeyMap(n) => format!("BuildConstKeyMap {n}"),
        Op::BuildString(n) => format!("BuildString {n}"),
        Op::BuildSlice(n) => format!("BuildSlice {n}"),
        Op::ListAppend(n) => format!("ListAppend {n}"),
        Op::SetAdd(n) => format!("SetAdd {n}"),
        Op::MapAdd(n) => format!("MapAdd {n}"),
        Op::ListExtend(n) => format!("ListExtend {n}"),
        Op::SetUpdate(n) => format!("SetUpdate {n}"),
        Op::DictUpdate(n) => format!("DictUpdate {n}"),
        Op::DictMerge(n) => format!("DictMerge {n}"),
        Op::UnpackSequence(n) => format!("UnpackSequence {n}"),
        Op::UnpackEx { before, after } => format!("UnpackEx {before} before, {after} after"),
        Op::FormatValue { conv, spec } => {
            format!("FormatValue{}{}", conversion(conv), flag(spec, "spec"))
        }
        Op::BuildInterpolation { conv, spec } => {
            let conv = conversion(conv);
            format!("BuildInterpolation{conv}{}", flag(spec, "spec"))
        }
        Op::ConvertValue(conv) => format!("ConvertValue !{}", conv.letter()),
        Op::Jump { to, no_interrupt } => {
            format!("Jump{} -> {}", flag(no_interrupt, "no-interrupt"), to.0)
        }
        Op::PopJump { cond, to } => {
            let cond = match cond {
                JumpCond::False => "if false",
                JumpCond::True => "if true",
                JumpCond::None => "if None",
                JumpCond::NotNone => "if not None",
            };
            format!("PopJump {cond} -> {}", to.0)
        }
        Op::JumpIfOrPop { when, to } => format!("JumpIfOrPop if {when} -> {}", to.0),
        Op::ForIter { to } => format!("ForIter -> {}", to.0),
        Op::Send { to } => format!("Send -> {}", to.0),
        Op::EndAsyncFor { from: Some(from) } => format!("EndAsyncFor from {}", from.0),
        Op::EndAsyncFor { from: None } => "EndAsyncFor".into(),
        Op::GetYieldFromIter(0) => "GetYieldFromIter".into(),
        Op::GetYieldFromIter(n) => format!("GetYieldFromIter {n}"),
        Op::YieldValue(n) => format!("YieldValue {n}"),
        Op::GetAwaitable(n) => format!("GetAwaitable {n}"),
        Op::Call { argc, kw_names } => {
            let names = kw_names.map(|c| format!(", keywords {}", names.constant(c)));
            format!("Call {argc}{}", names.unwrap_or_default())
        }
        Op::CallKw { argc } => format!("CallKw {argc}"),
        Op::CallEx { kwargs } => format!("CallEx{}", flag(kwargs, "kwargs")),
        Op::MakeFunction(attr) if attr.0 == 0 => "MakeFunction".into(),
        Op::MakeFunction(attr) => format!("MakeFunction {}", parts(attr)),
        Op::SetFunctionAttribute(attr) => format!("SetFunctionAttribute {}", parts(attr)),
        Op::ReturnConst(c) => format!("ReturnConst {}", names.constant(c)),
        Op::ImportName { name, when } => {
            let when = match when {
                ImportTime::Now => "",
                ImportTime::Lazy => " lazy",
                ImportTime::Setting => " setting",
            };
            format!("ImportName {}{when}", names.name(name))
        }
        Op::ImportFrom(n) => format!("ImportFrom {}", names.name(n)),
        Op::CallIntrinsic1(i) => format!("CallIntrinsic1 {i:?}"),
        Op::CallIntrinsic2(i) => format!("CallIntrinsic2 {i:?}"),
        Op::RaiseVarargs(n) => format!("RaiseVarargs {n}"),
        Op::Reraise(n) => format!("Reraise {n}"),
        Op::MatchClass(n) => format!("MatchClass {n}"),
        Op::Other { opcode, arg } => format!("Other {opcode} {arg}"),
        // The rest have no operands.
        ref op => format!("{op:?}"),
    }
}

/// The listing of a body: an instruction a line with the source line where it changes, `>>` where
/// a jump or an exception leads, the index, the original byte offset and the text; then the
/// exception table.
pub fn disassemble(body: &Body, names: &Names<'_>) -> String {
    let targets = body.targets();
    let mut text = String::new();
    let mut line = None;
    for (i, instr) in body.instrs.iter().enumerate() {
        let shown = match instr.loc.line {
            Some(n) if line != Some(n) => n.to_string(),
            _ => String::new(),
        };
        line = instr.loc.line.or(line);
        let offset = match instr.offset {
            crate::body::Instr::NO_OFFSET => "-".into(),
            offset => offset.to_string(),
        };
        let mark = if targets[i] { ">>" } else { "" };
        let described = match instr.op {
            Op::Other { opcode, arg } => {
                let name = opcode_name(body.version, opcode);
                format!("Other {} {arg}", name.unwrap_or_else(|| opcode.to_string()))
            }
            ref op => describe(op, names),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{shown:>5} {mark:>2} {i:>4} @{offset:<4} {described}");
    }
    if !body.handlers.is_empty() {
        text.push_str("Exceptions:\n");
    }
    for entry in &body.handlers {
        let lasti = if entry.lasti { " lasti" } else { "" };
        let (start, end, target) = (entry.start.0, entry.end.0, entry.target.0);
        let _ = writeln!(
            text,
            "  {start}..{end} -> {target} [{}]{lasti}",
            entry.depth
        );
    }
    text
}
