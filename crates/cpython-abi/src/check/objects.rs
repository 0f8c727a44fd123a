//! The part of the self-check that is about builtin objects.

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::missing;
use crate::dict::{self, COUNTS_CHANGES, Kind};
use crate::symbols::PyMemberDescr_Type;
use crate::{iterators, objects};

const PROBE: &std::ffi::CStr = c"
import itertools, types, weakref
class Instance:
    def __init__(self):
        self.a, self.b = object(), object()
class Slots:
    __slots__ = ('a', 'b', '__weakref__')
value = object()
slots = Slots()
slots.a, slots.b = object(), value
strings = {'one': object(), 'two': value, 'three': object()}
general = {1: value, 'two': value}
instance = Instance()
split = instance.__dict__
cell = (lambda c: (lambda: c).__closure__[0])(value)
listed = [1, 2, 3, 4, 5]
weak = weakref.ref(slots)
proxy = types.MappingProxyType(strings)
def begun(iterator, steps):
    for _ in range(steps):
        next(iterator)
    return iterator
tuple_iterator = begun(iter((1, 2, 3, 4)), 1)
list_iterator = begun(iter(listed), 2)
reverse_iterator = begun(reversed(listed), 1)
range_iterator = begun(iter(range(10, 70, 7)), 2)
counter = begun(itertools.count(5, 3), 2)
descriptor = Slots.__dict__['b']
";

/// The first word that is not where it should be.
pub(super) fn check(py: Python<'_>) -> PyResult<Option<&'static str>> {
    let scope = PyDict::new(py);
    py.run(PROBE, Some(&scope), None)?;
    let get = |name: &str| scope.get_item(name)?.ok_or_else(|| missing(name));
    for part in [check_dicts, check_words, check_iterators] {
        if let Some(field) = part(&get)? {
            return Ok(Some(field));
        }
    }
    Ok(None)
}

type Get<'a, 'py> = &'a dyn Fn(&str) -> PyResult<Bound<'py, PyAny>>;

fn first_wrong<const N: usize>(checks: [(&'static str, bool); N]) -> Option<&'static str> {
    let mut wrong = checks.into_iter().filter(|(_, holds)| !holds);
    wrong.next().map(|(name, _)| name)
}

fn check_dicts(get: Get<'_, '_>) -> PyResult<Option<&'static str>> {
    let (strings, general, split) = (get("strings")?, get("general")?, get("split")?);
    let [raw_strings, raw_general, raw_split] = [&strings, &general, &split].map(Bound::as_ptr);
    // SAFETY: live dictionaries. The words that are read lie inside a dictionary of every version; its keys object,
    // the only thing of which a pointer is followed, is compared with what it holds by addresses.
    let ([first, second], split_fits) = unsafe {
        let kinds = [raw_strings, raw_general, raw_split].map(|dict| dict::kind(dict));
        if kinds[0] != Kind::Strings || kinds[1] != Kind::General {
            return Ok(Some("dk_kind"));
        }
        let (entries, count) = dict::entries(raw_strings);
        if count != 3 {
            return Ok(Some("dk_nentries"));
        }
        // A program's trace function may have had the attributes moved.
        let split_fits = match kinds[2] {
            Kind::Split => {
                let (entries, _) = dict::entries(raw_split);
                let (key, values) = ((*entries)[0], dict::split_values(raw_split));
                !values.is_null() && ffi::PyDict_GetItemWithError(raw_split, key) == values.read()
            }
            kind => kind == Kind::Strings && dict::split_values(raw_split).is_null(),
        };
        ([entries.read(), entries.add(1).read()], split_fits)
    };
    let keys = strings.call_method0("keys")?;
    let keys: Vec<Bound<'_, PyAny>> = keys.try_iter()?.collect::<PyResult<_>>()?;
    let entry = |at: usize| -> PyResult<[*mut PyObject; 2]> {
        Ok([keys[at].as_ptr(), strings.get_item(&keys[at])?.as_ptr()])
    };
    let fits = first_wrong([
        ("dk_entries", first == entry(0)? && second == entry(1)?),
        ("ma_values", split_fits),
    ]);
    if fits.is_some() || !COUNTS_CHANGES {
        return Ok(fits);
    }
    // SAFETY: live dictionaries, whose version is a word inside of them.
    let versions = || unsafe { [dict::version(raw_strings), dict::version(raw_general)] };
    let before = versions();
    strings.set_item("four", 4)?;
    let after = versions();
    Ok(first_wrong([(
        "ma_version_tag",
        before[0] != after[0] && before[1] == after[1] && !before.contains(&after[0]),
    )]))
}

fn check_words(get: Get<'_, '_>) -> PyResult<Option<&'static str>> {
    let (value, listed, cell, slots) = (get("value")?, get("listed")?, get("cell")?, get("slots")?);
    let (weak, proxy, strings) = (get("weak")?, get("proxy")?, get("strings")?);
    let descriptor = get("descriptor")?;
    let is_member = descriptor.get_type_ptr() == &raw mut PyMemberDescr_Type;
    // SAFETY: each object is of the type that has these words.
    unsafe {
        let raw = &*descriptor.as_ptr().cast::<objects::MemberDescriptor>();
        let of_class = is_member && raw.class == slots.get_type_ptr();
        let in_slot = |raw: &objects::MemberDescriptor| {
            let at = slots.as_ptr().cast::<u8>().offset((*raw.member).offset);
            at.cast::<*mut PyObject>().read()
        };
        Ok(first_wrong([
            (
                "ob_type",
                objects::class_place(value.as_ptr()).read() == value.get_type_ptr() as usize,
            ),
            ("ob_size", objects::size_place(listed.as_ptr()).read() == 5),
            ("ob_ref", objects::held(cell.as_ptr()) == value.as_ptr()),
            (
                "ob_ref",
                objects::cell_place(cell.as_ptr()).read() == value.as_ptr() as usize,
            ),
            ("wr_object", objects::held(weak.as_ptr()) == slots.as_ptr()),
            (
                "mapping",
                objects::is_proxy(proxy.as_ptr())
                    && objects::held(proxy.as_ptr()) == strings.as_ptr(),
            ),
            ("d_type", of_class),
            ("d_member", of_class && in_slot(raw) == value.as_ptr()),
        ]))
    }
}

fn check_iterators(get: Get<'_, '_>) -> PyResult<Option<&'static str>> {
    let listed = get("listed")?;
    let [tuple, list, reverse, range, counter] = [
        get("tuple_iterator")?,
        get("list_iterator")?,
        get("reverse_iterator")?,
        get("range_iterator")?,
        get("counter")?,
    ];
    // SAFETY: live objects.
    unsafe {
        Ok(first_wrong([
            ("it_index", iterators::tuple_left(tuple.as_ptr()) == Some(3)),
            (
                "it_index",
                iterators::list_left(list.as_ptr(), false) == Some(3),
            ),
            (
                "it_index",
                iterators::list_left(reverse.as_ptr(), true) == Some(4),
            ),
            ("it_seq", iterators::under(list.as_ptr()) == listed.as_ptr()),
            (
                "rangeiterobject",
                iterators::range(range.as_ptr()) == Some((24, 73, 7)),
            ),
            (
                "countobject",
                iterators::count(counter.as_ptr()) == Some((11, 3)),
            ),
        ]))
    }
}
