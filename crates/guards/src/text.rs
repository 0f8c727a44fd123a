//! Spelling of constants as executable Python.
//!
//! Differs from a `repr` only where a `repr` is no expression: nan and the infinities, devices and plain objects.

use crate::value::{ConstVal, float_repr};

/// A Python expression that evaluates to the constant in the guard code's namespace.
pub fn literal(value: &ConstVal) -> String {
    match value {
        ConstVal::Float(bits) => float_literal(f64::from_bits(*bits)),
        ConstVal::Complex(re, im) => {
            format!(
                "complex({}, {})",
                float_literal(f64::from_bits(*re)),
                float_literal(f64::from_bits(*im))
            )
        }
        ConstVal::Tuple(items) => {
            let inner: Vec<String> = items.iter().map(literal).collect();
            let comma = if inner.len() == 1 { "," } else { "" };
            format!("({}{comma})", inner.join(", "))
        }
        ConstVal::Device { text, .. } => format!("torch.device({})", crate::value::str_repr(text)),
        ConstVal::Obj(obj) => format!("___obj({})", obj.addr),
        other => other.to_string(),
    }
}

fn float_literal(value: f64) -> String {
    if value.is_finite() {
        float_repr(value)
    } else {
        format!("float('{}')", float_repr(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_floats_are_expressions() {
        assert_eq!(literal(&ConstVal::float(f64::NAN)), "float('nan')");
        assert_eq!(
            literal(&ConstVal::float(f64::NEG_INFINITY)),
            "float('-inf')"
        );
        assert_eq!(
            literal(&ConstVal::Tuple([ConstVal::float(1.5)].into())),
            "(1.5,)"
        );
    }
}
