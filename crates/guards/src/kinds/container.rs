//! Lengths, keys and members of containers, and what iterators have still to give: LENGTH_CHECK, DICT_LENGTH,
//! DICT_KEYS, DICT_CONTAINS, SET_CONTAINS, SET_ITEMS, RANGE_ITERATOR_MATCH, TUPLE_ITERATOR_LEN,
//! LIST_ITERATOR_LEN, LIST_REVERSEITERATOR_LEN, COUNT_ITERATOR_MATCH.
//!
//! Invariant: subclasses are read by their raw storage; nothing of theirs is called.

use crate::guard::GuardKind;
use crate::text::literal;
use crate::value::Key;

/// Python text.
pub(crate) fn code_parts(kind: &GuardKind, name: &str) -> Vec<String> {
    let not = |present: bool| if present { "" } else { "not " };
    vec![match kind {
        GuardKind::SequenceLength { len } | GuardKind::DictLength { len } => {
            format!("len({name}) == {len}")
        }
        GuardKind::DictKeys { keys } => {
            let list: Vec<String> = keys.iter().map(literal).collect();
            let list = list.join(", ");
            if keys.iter().all(|key| matches!(key, Key::Str(_))) {
                format!("___dict_keys({name}) == [{list}]")
            } else {
                format!("___exactly(___dict_keys({name}), [{list}])")
            }
        }
        GuardKind::DictContains { key, present } => {
            format!(
                "{}___dict_contains({}, {name})",
                not(*present),
                literal(key)
            )
        }
        GuardKind::SetContains { key, present } => {
            format!("{}___set_contains({}, {name})", not(*present), literal(key))
        }
        GuardKind::SetItems { items } => {
            let list: Vec<String> = items.iter().map(literal).collect();
            format!("___exactly(___set_items({name}), [{}])", list.join(", "))
        }
        GuardKind::RangeIteratorMatch { start, stop, step } => {
            format!("___normalize_range_iter({name}) == ({start}, {stop}, {step})")
        }
        GuardKind::TupleIteratorLen { len } => format!("___tuple_iterator_len({name}) == {len}"),
        GuardKind::ListIteratorLen { len } => format!("___list_iterator_len({name}) == {len}"),
        GuardKind::ListReverseIteratorLen { len } => {
            format!("___list_reverseiterator_len({name}) == {len}")
        }
        GuardKind::CountIteratorMatch { start, step } => {
            format!("___normalize_count_iter({name}) == ({start}, {step})")
        }
        _ => String::new(),
    }]
}
