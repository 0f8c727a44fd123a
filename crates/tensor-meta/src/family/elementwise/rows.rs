//! The rows of operations on each element.

use super::*;
use crate::traits::facts::{KEEPS_DTYPE, MAY_GIVE_SELF, NEVER_RAISES, TAKES_NUMBERS, VIEW};
use crate::traits::{Cast, Fold};

pub(crate) fn entries(out: &mut Vec<Entry>) {
    floats(out);
    predicates(out);
    operators(out);
    others(out);
}

/// Functions of floats.
fn floats(out: &mut Vec<Entry>) {
    let float = [
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "sqrt",
        "rsqrt",
        "sigmoid",
        "tanh",
        "log2",
        "log10",
        "log1p",
        "expm1",
        "exp2",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "asinh",
        "acosh",
        "atanh",
        "reciprocal",
        "sinc",
    ];
    out.extend(float.map(|name| {
        let functions = match name {
            "sigmoid" => "* F torch.special.expit",
            "tanh" => "* F",
            "log1p" | "expm1" | "exp2" | "sinc" => "* S",
            _ => "*",
        };
        let (functions, methods, more, in_place) = match name {
            "asin" => ("* torch.arcsin", "* arcsin", "torch.arcsin_", "arcsin_"),
            "acos" => ("* torch.arccos", "* arccos", "torch.arccos_", "arccos_"),
            "atan" => ("* torch.arctan", "* arctan", "torch.arctan_", "arctan_"),
            "asinh" => ("* torch.arcsinh", "* arcsinh", "torch.arcsinh_", "arcsinh_"),
            "acosh" => ("* torch.arccosh", "* arccosh", "torch.arccosh_", "arccosh_"),
            "atanh" => ("* torch.arctanh", "* arctanh", "torch.arctanh_", "arctanh_"),
            _ => (functions, "*", "", ""),
        };
        let on_cuda = match name {
            "exp" | "log" | "tan" | "rsqrt" | "log2" | "log10" | "log1p" | "expm1" | "asin"
            | "acos" | "sinh" | "cosh" | "reciprocal" => Cast::Single,
            _ => Cast::None,
        };
        rule(name, functions, methods, float_unary)
            .inplace(more, in_place)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, on_cuda)
    }));
    let real_float = [
        ("erf", "* S"),
        ("erfc", "* S"),
        ("erfinv", "* S"),
        ("lgamma", "* torch.special.gammaln"),
        ("digamma", "* S torch.special.psi"),
        ("i0", "* S"),
        ("deg2rad", "*"),
        ("rad2deg", "*"),
    ];
    out.extend(real_float.map(|(name, functions)| {
        let on_cuda = match name {
            "erfinv" => Cast::Single,
            _ => Cast::None,
        };
        rule(name, functions, "*", real_float_unary)
            .inplace("", "")
            .does(NEVER_RAISES)
            .cast_on(Cast::None, on_cuda)
    }));
    let special = [
        "entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri",
    ];
    out.extend(special.map(|name| rule(name, "S", "", real_float_unary)));
}

/// Predicates, and rounding.
fn predicates(out: &mut Vec<Entry>) {
    let predicates = ["isnan", "isfinite", "logical_not"];
    out.extend(predicates.map(|name| rule(name, "*", "*", predicate).does(NEVER_RAISES)));
    let real_predicates = ["signbit", "isposinf", "isneginf"];
    out.extend(real_predicates.map(|name| rule(name, "*", "*", real_predicate)));
    let rounded = ["floor", "ceil", "trunc"];
    out.extend(rounded.map(|name| {
        rule(name, "*", "*", rounding)
            .inplace("", "")
            .does(NEVER_RAISES)
    }));
}

/// Operators whose rules they share: divisions, bits, comparisons, logic.
fn operators(out: &mut Vec<Entry>) {
    let divisions = ["floor_divide", "remainder", "fmod"];
    out.extend(divisions.map(|name| {
        let (f, m, i, im) = match name {
            "floor_divide" => (
                "* operator.floordiv",
                "* __floordiv__",
                "operator.ifloordiv",
                "__ifloordiv__",
            ),
            "remainder" => ("* operator.mod", "* __mod__", "operator.imod", "__imod__"),
            _ => ("*", "*", "", ""),
        };
        let row = rule(name, f, m, whole_division)
            .inplace(i, im)
            .does(TAKES_NUMBERS);
        match name {
            "floor_divide" => row.folds(Fold::FloorDivide),
            _ => row,
        }
    }));
    let bits = [
        (
            "bitwise_and",
            "* operator.and_",
            "* __and__ __rand__",
            "operator.iand",
            "__iand__",
        ),
        (
            "bitwise_or",
            "* operator.or_",
            "* __or__ __ror__",
            "operator.ior",
            "__ior__",
        ),
        (
            "bitwise_xor",
            "* operator.xor",
            "* __xor__ __rxor__",
            "operator.ixor",
            "__ixor__",
        ),
    ];
    out.extend(bits.map(|(n, f, m, i, im)| {
        rule(n, f, m, bitwise)
            .inplace(i, im)
            .does(NEVER_RAISES | TAKES_NUMBERS)
    }));
    let comparisons: [(&str, &str, &str, crate::registry::Rule); 6] = [
        ("eq", "* operator.eq", "* __eq__", equality),
        (
            "ne",
            "* operator.ne torch.not_equal",
            "* __ne__ not_equal",
            equality,
        ),
        ("lt", "* operator.lt torch.less", "* __lt__ less", ordering),
        (
            "le",
            "* operator.le torch.less_equal",
            "* __le__ less_equal",
            ordering,
        ),
        (
            "gt",
            "* operator.gt torch.greater",
            "* __gt__ greater",
            ordering,
        ),
        (
            "ge",
            "* operator.ge torch.greater_equal",
            "* __ge__ greater_equal",
            ordering,
        ),
    ];
    out.extend(comparisons.map(|(n, f, m, r)| {
        rule(n, f, m, r)
            .inplace("", "")
            .does(NEVER_RAISES | TAKES_NUMBERS | KEEPS_DTYPE)
    }));
    let logic = ["logical_and", "logical_or", "logical_xor"];
    out.extend(logic.map(|n| {
        rule(n, "*", "*", logical)
            .inplace("", "")
            .does(NEVER_RAISES)
    }));
    let real_pairs = [
        ("maximum", Some(Fold::Maximum)),
        ("minimum", Some(Fold::Minimum)),
        ("fmax", None),
        ("fmin", None),
    ];
    out.extend(real_pairs.map(|(n, fold)| {
        let row = rule(n, "*", "*", real_binary).does(NEVER_RAISES);
        fold.map_or(row, |fold| row.folds(fold))
    }));
}

/// Those with a rule of their own.
fn others(out: &mut Vec<Entry>) {
    out.extend([
        rule(
            "neg",
            "* operator.neg torch.negative",
            "* __neg__ negative",
            neg,
        )
        .does(NEVER_RAISES)
        .inplace("", "negative_"),
        rule("positive", "* operator.pos", "* __pos__", positive).does(NEVER_RAISES | VIEW),
        rule(
            "conj",
            "* torch.resolve_conj torch.resolve_neg",
            "* resolve_conj resolve_neg",
            conj_like,
        )
        .does(VIEW | MAY_GIVE_SELF),
        rule(
            "abs",
            "* operator.abs torch.absolute",
            "* __abs__ absolute",
            abs,
        )
        .does(NEVER_RAISES)
        .inplace("", "absolute_"),
        rule("round", "*", "*", round)
            .does(NEVER_RAISES)
            .inplace("", ""),
        rule("frac", "*", "*", frac).inplace("", ""),
        rule("sign", "*", "*", sign)
            .does(NEVER_RAISES)
            .inplace("", ""),
        rule("sgn", "*", "*", sgn).inplace("", ""),
        rule("square", "*", "*", square)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::Single)
            .inplace("", ""),
        rule(
            "bitwise_not",
            "* operator.invert operator.inv",
            "* __invert__",
            bitwise_not,
        )
        .does(NEVER_RAISES)
        .inplace("", ""),
        rule("isinf", "*", "*", predicate).does(NEVER_RAISES),
        rule("nan_to_num", "*", "*", nan_to_num).inplace("", ""),
        rule("logit", "* torch.special.logit", "*", logit).inplace("", ""),
        rule("add", "* operator.add", "* __add__ __radd__", add)
            .does(NEVER_RAISES | TAKES_NUMBERS | KEEPS_DTYPE)
            .scales("alpha", None, "add")
            .folds(Fold::Add)
            .inplace("operator.iadd", "__iadd__"),
        rule(
            "sub",
            "* operator.sub torch.subtract",
            "* __sub__ subtract",
            sub,
        )
        .does(NEVER_RAISES | TAKES_NUMBERS | KEEPS_DTYPE)
        .scales("alpha", None, "sub")
        .folds(Fold::Subtract)
        .inplace("operator.isub", "__isub__ subtract_"),
        rule("rsub", "*", "__rsub__", rsub).does(NEVER_RAISES | TAKES_NUMBERS),
        rule(
            "mul",
            "* operator.mul torch.multiply",
            "* __mul__ __rmul__ multiply",
            mul,
        )
        .does(NEVER_RAISES | TAKES_NUMBERS | KEEPS_DTYPE)
        .folds(Fold::Multiply)
        .inplace("operator.imul", "__imul__ multiply_"),
        rule(
            "div",
            "* operator.truediv torch.divide torch.true_divide",
            "* __truediv__ divide true_divide",
            div,
        )
        .does(NEVER_RAISES | TAKES_NUMBERS | KEEPS_DTYPE)
        .folds(Fold::Divide)
        .inplace("operator.itruediv", "__itruediv__ divide_ true_divide_"),
        rule("pow", "* operator.pow", "* __pow__", pow)
            .does(TAKES_NUMBERS)
            .cast_on(Cast::None, Cast::Single)
            .inplace("operator.ipow", "__ipow__"),
        rule("atan2", "* torch.arctan2", "* arctan2", atan2)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::NotDescribed)
            .inplace("", ""),
        rule("hypot", "*", "*", float_binary).inplace("", ""),
        rule("logaddexp", "*", "*", float_or_complex_binary),
        rule("copysign", "*", "*", float_power_ops).inplace("", ""),
        rule("xlogy", "* torch.special.xlogy", "*", float_power_ops).inplace("", ""),
        rule("xlog1py", "S", "", float_power_ops),
        rule("zeta", "S", "", float_power_ops),
        rule("logaddexp2", "*", "*", float_binary),
        rule("igamma", "* torch.special.gammainc", "*", float_binary).inplace("", ""),
        rule("igammac", "* torch.special.gammaincc", "*", float_binary).inplace("", ""),
        rule("nextafter", "*", "*", float_binary).inplace("", ""),
        rule("heaviside", "*", "*", heaviside).inplace("", ""),
        rule("float_power", "*", "*", float_power)
            .does(TAKES_NUMBERS)
            .cpu_only(),
        rule("isclose", "*", "*", isclose),
        rule("isreal", "*", "*", isreal),
        rule("polygamma", "* S", "", polygamma),
        rule("frexp", "*", "*", frexp),
        rule(
            "bitwise_left_shift",
            "* operator.lshift",
            "* __lshift__",
            shift,
        )
        .inplace("operator.ilshift", "__ilshift__"),
        rule(
            "bitwise_right_shift",
            "* operator.rshift",
            "* __rshift__",
            shift,
        )
        .inplace("operator.irshift", "__irshift__"),
        rule("gcd", "*", "*", integer_binary).inplace("", ""),
        rule("lcm", "*", "*", integer_binary).inplace("", ""),
    ]);
}
