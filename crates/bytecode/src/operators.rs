//! The operators of instructions as Python's module `operator` names them, and as special methods do.

use crate::op::{BinaryOp, CommonConst, CompareOp, Conversion, Special, UnaryOp};

/// Operators, what `operator` calls each, and what it calls the one in place.
const BINARY: [(BinaryOp, &str, &str); 13] = [
    (BinaryOp::Add, "add", "iadd"),
    (BinaryOp::Subtract, "sub", "isub"),
    (BinaryOp::Multiply, "mul", "imul"),
    (BinaryOp::TrueDivide, "truediv", "itruediv"),
    (BinaryOp::FloorDivide, "floordiv", "ifloordiv"),
    (BinaryOp::Remainder, "mod", "imod"),
    (BinaryOp::Power, "pow", "ipow"),
    (BinaryOp::MatrixMultiply, "matmul", "imatmul"),
    (BinaryOp::And, "and_", "iand"),
    (BinaryOp::Or, "or_", "ior"),
    (BinaryOp::Xor, "xor", "ixor"),
    (BinaryOp::Lshift, "lshift", "ilshift"),
    (BinaryOp::Rshift, "rshift", "irshift"),
];

const COMPARE: [(CompareOp, &str); 6] = [
    (CompareOp::Lt, "lt"),
    (CompareOp::Le, "le"),
    (CompareOp::Eq, "eq"),
    (CompareOp::Ne, "ne"),
    (CompareOp::Gt, "gt"),
    (CompareOp::Ge, "ge"),
];

const UNARY: [(UnaryOp, &str); 4] = [
    (UnaryOp::Positive, "pos"),
    (UnaryOp::Negative, "neg"),
    (UnaryOp::Not, "not_"),
    (UnaryOp::Invert, "invert"),
];

impl BinaryOp {
    /// All of them.
    pub fn all() -> impl Iterator<Item = BinaryOp> {
        BINARY.into_iter().map(|row| row.0)
    }

    /// The function of `operator`, or the one in place: `and_`, `iand`.
    pub fn function(self, in_place: bool) -> &'static str {
        let row = BINARY.iter().find(|row| row.0 == self);
        row.map_or("", |row| if in_place { row.2 } else { row.1 })
    }

    /// The operator of a function of `operator`, and whether it is one in place.
    pub fn of_function(name: &str) -> Option<(BinaryOp, bool)> {
        let row = BINARY.iter().find(|row| row.1 == name || row.2 == name)?;
        Some((row.0, row.2 == name))
    }

    /// What the names of its special methods have in common: `and` of `__and__`, `__rand__`, `__iand__`.
    pub fn method_stem(self) -> &'static str {
        let function = self.function(false);
        function.strip_suffix('_').unwrap_or(function)
    }

    /// The operator of such a stem.
    pub fn of_method_stem(stem: &str) -> Option<BinaryOp> {
        BinaryOp::all().find(|op| op.method_stem() == stem)
    }
}

impl CommonConst {
    /// What it is called in `builtins`; empty for a literal.
    pub fn builtin(self) -> &'static str {
        match self {
            CommonConst::AssertionError => "AssertionError",
            CommonConst::NotImplementedError => "NotImplementedError",
            CommonConst::Tuple => "tuple",
            CommonConst::All => "all",
            CommonConst::Any => "any",
            CommonConst::List => "list",
            CommonConst::Set => "set",
            CommonConst::None
            | CommonConst::EmptyStr
            | CommonConst::True
            | CommonConst::False
            | CommonConst::MinusOne => "",
        }
    }
}

impl Special {
    /// What the method is called.
    pub fn method(self) -> &'static str {
        match self {
            Special::Enter => "__enter__",
            Special::Exit => "__exit__",
            Special::AsyncEnter => "__aenter__",
            Special::AsyncExit => "__aexit__",
        }
    }
}

impl Conversion {
    /// The letter behind `!`.
    pub fn letter(self) -> &'static str {
        match self {
            Conversion::Str => "s",
            Conversion::Repr => "r",
            Conversion::Ascii => "a",
        }
    }
}

impl CompareOp {
    /// The function of `operator`; with underscores around it, the special method.
    pub fn function(self) -> &'static str {
        let row = COMPARE.iter().find(|row| row.0 == self);
        row.map_or("", |row| row.1)
    }

    /// The operator of such a name.
    pub fn of_function(name: &str) -> Option<CompareOp> {
        let row = COMPARE.iter().find(|row| row.1 == name)?;
        Some(row.0)
    }
}

impl UnaryOp {
    /// The function of `operator`.
    pub fn function(self) -> &'static str {
        let row = UNARY.iter().find(|row| row.0 == self);
        row.map_or("", |row| row.1)
    }

    /// The operator of such a name.
    pub fn of_function(name: &str) -> Option<UnaryOp> {
        let name = if name == "inv" { "invert" } else { name };
        let row = UNARY.iter().find(|row| row.1 == name)?;
        Some(row.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_operators_and_back() {
        for op in BinaryOp::all() {
            assert_eq!(BinaryOp::of_function(op.function(false)), Some((op, false)));
            assert_eq!(BinaryOp::of_function(op.function(true)), Some((op, true)));
            assert_eq!(BinaryOp::of_method_stem(op.method_stem()), Some(op));
        }
        assert_eq!(BinaryOp::And.method_stem(), "and");
        assert_eq!(BinaryOp::of_function("and"), None);
        for (op, name) in COMPARE {
            assert_eq!(
                (op.function(), CompareOp::of_function(name)),
                (name, Some(op))
            );
        }
        for (op, name) in UNARY {
            assert_eq!(
                (op.function(), UnaryOp::of_function(name)),
                (name, Some(op))
            );
        }
        assert_eq!(UnaryOp::of_function("inv"), Some(UnaryOp::Invert));
    }
}
