//! Dictionaries: their version, and where keys and values lie.
//!
//! Not here: looking a key up (`torch_abi::dicts`, for one).

use pyo3::ffi::{self, Py_ssize_t, PyObject};

/// Whether a dictionary has a number that is another one after each change.
pub const COUNTS_CHANGES: bool = cfg!(not(Py_3_13));

/// Whether instances may keep their attributes inside the object, where no watcher sees them.
pub const INSTANCES_KEEP_INLINE: bool = cfg!(Py_3_13);

/// `PyDictObject`.
#[repr(C)]
struct RawDict {
    ob_base: PyObject,
    used: Py_ssize_t,
    /// On 3.13 and newer it holds no version, but who watches.
    version: usize,
    keys: *const RawKeys,
    values: *const u8,
}

/// `PyDictKeysObject`.
#[repr(C)]
struct RawKeys {
    refcnt: Py_ssize_t,
    log2_size: u8,
    log2_index_bytes: u8,
    kind: u8,
    version: u32,
    usable: Py_ssize_t,
    count: Py_ssize_t,
    /// The index, with the entries behind it.
    index: [u8; 0],
}

const _: () = {
    assert!(std::mem::offset_of!(RawDict, version) == 24);
    assert!(std::mem::offset_of!(RawDict, values) == 40);
    assert!(std::mem::offset_of!(RawKeys, kind) == 10);
    assert!(std::mem::offset_of!(RawKeys, index) == 32);
};

/// Bytes before the first of the values of a split dictionary.
const BEFORE_VALUES: usize = if cfg!(Py_3_13) { 8 } else { 0 };

/// What the keys of a dictionary are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    General,
    /// Exact strings. Each entry is a key and a value.
    Strings,
    /// Exact strings that instances of a class share. An entry is a key and nothing: values are the dictionary's own.
    Split,
    /// What no supported version has.
    Unknown,
}

/// Whether an object is laid out as a dictionary: a `dict`, a `frozendict`, or an instance of a class derived from one.
///
/// # Safety
/// `obj` is a live object.
#[inline]
pub unsafe fn is_dictionary(obj: *mut PyObject) -> bool {
    // SAFETY: the caller's promise; only the class is looked at.
    unsafe {
        #[cfg(Py_3_15)]
        if ffi::PyFrozenDict_Check(obj) != 0 {
            return true;
        }
        ffi::PyDict_Check(obj) != 0
    }
}

/// Where a dictionary's version is ([`COUNTS_CHANGES`]).
#[inline]
pub fn version_place(dict: *mut PyObject) -> *const usize {
    let offset = std::mem::offset_of!(RawDict, version);
    dict.cast::<u8>().wrapping_add(offset).cast()
}

/// A number that a dictionary has until it is changed, and no other dictionary at any time; `None` where CPython
/// counts no changes.
///
/// # Safety
/// `dict` is a live dictionary.
#[inline]
pub unsafe fn version(dict: *mut PyObject) -> Option<u64> {
    // SAFETY: the caller's promise.
    COUNTS_CHANGES.then(|| unsafe { version_place(dict).read() as u64 })
}

/// Whether anybody is told of changes of a dictionary (3.12 and later): who is stands in the lowest bits beside its
/// version.
///
/// # Safety
/// `dict` is a live dictionary.
#[inline]
pub unsafe fn is_watched(dict: *mut PyObject) -> bool {
    const WATCHERS: usize = 0xff;
    // SAFETY: the caller's promise.
    cfg!(Py_3_12) && unsafe { version_place(dict).read() } & WATCHERS != 0
}

/// Whether a split dictionary that gets keys of its own, of the size of those that it shares, has room for one more
/// item: to put one in takes no memory then.
///
/// # Safety
/// `dict` is a live dictionary.
#[inline]
pub unsafe fn has_room(dict: *mut PyObject) -> bool {
    // SAFETY: the caller's promise; a dictionary always has a keys object.
    unsafe {
        let dict = dict.cast::<RawDict>();
        // CPython fills up to two thirds of the places.
        let usable = (2usize << (*(*dict).keys).log2_size) / 3;
        ((*dict).used as usize) < usable
    }
}

/// What the keys are.
///
/// # Safety
/// `dict` is a live dictionary.
#[inline]
pub unsafe fn kind(dict: *mut PyObject) -> Kind {
    // SAFETY: the caller's promise; a dictionary always has a keys object.
    match unsafe { (*(*dict.cast::<RawDict>()).keys).kind } {
        0 => Kind::General,
        1 => Kind::Strings,
        2 => Kind::Split,
        _ => Kind::Unknown,
    }
}

/// The entries of a dictionary of [`Kind::Strings`] or [`Kind::Split`] and how many there are: keys with their values,
/// in the order of their insertion. Where a key is gone the pointers are null; in a split dictionary those to values
/// are ([`split_values`]).
///
/// # Safety
/// `dict` is a live dictionary of such a kind. The entries are good until it is changed.
#[inline]
pub unsafe fn entries(dict: *mut PyObject) -> (*const [*mut PyObject; 2], usize) {
    // SAFETY: the caller's promise. Behind the index lie as many entries as the keys object says.
    unsafe {
        let keys = (*dict.cast::<RawDict>()).keys;
        let index = 1usize << (*keys).log2_index_bytes;
        let offset = std::mem::offset_of!(RawKeys, index) + index;
        let entries = keys.cast::<u8>().add(offset).cast();
        (entries, (*keys).count as usize)
    }
}

/// The values of a split dictionary, or null where it is not split.
///
/// # Safety
/// `dict` is a live dictionary.
#[inline]
pub unsafe fn split_values(dict: *mut PyObject) -> *const *mut PyObject {
    // SAFETY: the caller's promise.
    unsafe {
        let values = (*dict.cast::<RawDict>()).values;
        match values.is_null() {
            true => std::ptr::null(),
            false => values.add(BEFORE_VALUES).cast(),
        }
    }
}
