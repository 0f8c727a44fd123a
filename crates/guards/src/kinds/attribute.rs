//! Attributes by name: HASATTR, NO_HASATTR, PRESENT_IN_GENERIC_DICT, NOT_PRESENT_IN_GENERIC_DICT, MRO_ATTR.
//!
//! Invariant: no `__getattr__`, `__getattribute__` or property is called: only dictionaries are read.

use crate::guard::GuardKind;
use crate::value::str_repr;

/// Python text.
pub(crate) fn code_parts(kind: &GuardKind, name: &str) -> Vec<String> {
    vec![match kind {
        GuardKind::HasAttr {
            name: attribute,
            present,
        } => {
            let wanted = if *present { "True" } else { "False" };
            format!("hasattr({name}, {}) == {wanted}", str_repr(attribute))
        }
        GuardKind::GenericDictContains {
            name: attribute,
            present,
        } => {
            let not = if *present { "" } else { "not " };
            format!(
                "{not}___dict_contains({}, {name}.__dict__)",
                str_repr(attribute)
            )
        }
        GuardKind::MroAttr {
            name: attribute,
            value: Some(value),
        } => {
            format!(
                "___check_obj_id(___mro_lookup({name}, {}), {})",
                str_repr(attribute),
                value.addr
            )
        }
        GuardKind::MroAttr {
            name: attribute,
            value: None,
        } => {
            format!(
                "___mro_lookup({name}, {}) is ___missing",
                str_repr(attribute)
            )
        }
        _ => String::new(),
    }]
}
