//! Constants: EQUALS_MATCH, CONSTANT_MATCH, and CALL_MATCH of C functions without effects.
//!
//! Invariant: type-exact at every depth: `True`, `1` and `1.0` differ, `0.0` and `-0.0` differ, nan matches nan.

use crate::guard::GuardKind;
use crate::kinds::TextCx;
use crate::text::literal;
use crate::value::ConstVal;

/// Python text: a type check and a comparison, as PyTorch's guard code has them.
pub(crate) fn code_parts(value: &ConstVal, name: &str, cx: &TextCx<'_>) -> Vec<String> {
    let types = cx.const_types;
    let ty = match value {
        ConstVal::None | ConstVal::Ellipsis | ConstVal::NotImplemented | ConstVal::Bool(_) => {
            return vec![format!("{name} is {value}")];
        }
        ConstVal::Obj(obj) => return vec![format!("___check_obj_id({name}, {})", obj.addr)],
        ConstVal::Int(_) | ConstVal::BigInt(_) => types.int,
        ConstVal::Float(_) => types.float,
        ConstVal::Complex(..) => types.complex,
        ConstVal::Str(_) => types.str_,
        ConstVal::Bytes(_) => types.bytes,
        ConstVal::Tuple(_) => types.tuple,
        ConstVal::Size(_) => types.size,
        ConstVal::Device { .. } => types.device,
    };
    vec![
        format!("___check_type_id({name}, {ty})"),
        comparison(value, name),
    ]
}

/// `==` says enough only for some types: floats have two zeros and nan, tuples hold values of any type.
fn comparison(value: &ConstVal, name: &str) -> String {
    match value {
        ConstVal::Float(bits) if f64::from_bits(*bits).is_nan() => format!("__math_isnan({name})"),
        ConstVal::Float(bits) if f64::from_bits(*bits) == 0.0 => {
            format!("___exactly({name}, {})", literal(value))
        }
        ConstVal::Complex(..) => format!("___exactly({name}, {})", literal(value)),
        ConstVal::Tuple(items)
            if !items
                .iter()
                .all(|i| matches!(i, ConstVal::Str(_) | ConstVal::Bytes(_))) =>
        {
            format!("___exactly({name}, {})", literal(value))
        }
        _ => format!("{name} == {}", literal(value)),
    }
}

/// Python text of a call and what it must give.
pub(crate) fn call_parts(kind: &GuardKind, name: &str) -> Vec<String> {
    let GuardKind::CallMatch { func, args, value } = kind else {
        return Vec::new();
    };
    let args: Vec<String> = std::iter::once(name.to_owned())
        .filter(|name| !name.is_empty())
        .chain(args.iter().map(literal))
        .collect();
    vec![format!(
        "___exactly(___obj({})({}), {})",
        func.addr,
        args.join(", "),
        literal(value)
    )]
}

/// The line in PyTorch's tree, which leaves the type out.
pub(crate) fn tree_text(value: &ConstVal, name: &str) -> String {
    match value {
        ConstVal::Float(bits) if f64::from_bits(*bits).is_nan() => {
            format!("(type({name}) is float and __math_isnan({name}))")
        }
        ConstVal::Obj(obj) => format!(
            "___check_obj_id({name}, {}), type={}",
            obj.addr, obj.type_repr
        ),
        _ => format!("{name} == {value}"),
    }
}
