//! Where builtin iterators stand, and what they, mapping proxies and views of dictionaries hold.

use pyo3::ffi::{self, PyObject};

use crate::objects;
use crate::symbols::{PyListIter_Type, PyListRevIter_Type, PyRangeIter_Type, PyTupleIter_Type};

/// Index and sequence of an iterator of this type; the sequence is null once it is exhausted.
///
/// # Safety
/// `obj` must be live; the type's struct must be {header, index, sequence or null}.
unsafe fn position(
    obj: *mut PyObject,
    ty: *mut ffi::PyTypeObject,
) -> Option<(isize, *mut PyObject)> {
    // SAFETY: exact type first.
    unsafe {
        if ffi::Py_TYPE(obj) != ty {
            return None;
        }
        let words = obj.cast::<isize>();
        Some((words.add(2).read(), words.add(3).read() as *mut PyObject))
    }
}

/// What a tuple iterator has still to give; `None` for another object.
///
/// # Safety
/// `obj` must be live.
pub unsafe fn tuple_left(obj: *mut PyObject) -> Option<usize> {
    // SAFETY: the struct is as `position` wants it.
    unsafe {
        let (index, tuple) = position(obj, &raw mut PyTupleIter_Type)?;
        if tuple.is_null() {
            return Some(0);
        }
        usize::try_from(ffi::PyTuple_GET_SIZE(tuple) - index).ok()
    }
}

/// What an iterator over a list, or a reversed one, has still to give; `None` for another object.
///
/// # Safety
/// `obj` must be live.
pub unsafe fn list_left(obj: *mut PyObject, reverse: bool) -> Option<usize> {
    // SAFETY: both structs are as `position` wants it.
    unsafe {
        let ty = if reverse {
            &raw mut PyListRevIter_Type
        } else {
            &raw mut PyListIter_Type
        };
        let (index, list) = position(obj, ty)?;
        if list.is_null() {
            return Some(0);
        }
        let len = ffi::PyList_GET_SIZE(list);
        let left = match reverse {
            true if index < len => index + 1,
            true => 0,
            false => len - index,
        };
        Some(usize::try_from(left).unwrap_or(0))
    }
}

/// Next value and step of an `itertools.count` of ints; `None` for another object.
///
/// # Safety
/// `obj` must be live.
pub unsafe fn count(obj: *mut PyObject) -> Option<(i64, i64)> {
    // SAFETY: exact type first: no class of the program's has this name for its C name, and what is
    // read below are words of an object of more than their number. The struct is {header, value or
    // the largest, value as an object or null, step}.
    unsafe {
        let name = std::ffi::CStr::from_ptr((*ffi::Py_TYPE(obj)).tp_name);
        if name != c"itertools.count" || (*ffi::Py_TYPE(obj)).tp_basicsize != 40 {
            return None;
        }
        let words = obj.cast::<isize>();
        let value = words.add(2).read();
        let large = words.add(3).read() as *mut PyObject;
        let step = int(words.add(4).read() as *mut PyObject)?;
        match value {
            isize::MAX if !large.is_null() => Some((int(large)?, step)),
            value => Some((value as i64, step)),
        }
    }
}

/// The value of a small exact int.
///
/// # Safety
/// `obj` must be live or null.
unsafe fn int(obj: *mut PyObject) -> Option<i64> {
    // SAFETY: an exact int runs no code of the program's.
    unsafe {
        if obj.is_null() || ffi::PyLong_CheckExact(obj) == 0 {
            return None;
        }
        let mut overflow = 0;
        let value = ffi::PyLong_AsLongLongAndOverflow(obj, &raw mut overflow);
        (overflow == 0).then_some(value)
    }
}

/// What is under an iterator over a list or a tuple, a mapping proxy or a view of a dictionary, or lives behind a weak
/// reference; null where there is nothing.
///
/// # Safety
/// `obj` must be live.
pub unsafe fn under(obj: *mut PyObject) -> *mut PyObject {
    // SAFETY: the structs are as `position` wants it.
    unsafe {
        if objects::is_proxy(obj) || objects::DictView::of(ffi::Py_TYPE(obj)).is_some() {
            return objects::held(obj);
        }
        if ffi::PyWeakref_CheckRefExact(obj) != 0 {
            return objects::weakref_target(obj).unwrap_or(std::ptr::null_mut());
        }
        let types = [
            &raw mut PyTupleIter_Type,
            &raw mut PyListIter_Type,
            &raw mut PyListRevIter_Type,
        ];
        let found = types.iter().find_map(|ty| position(obj, *ty));
        found.map_or(std::ptr::null_mut(), |(_, sequence)| sequence)
    }
}

/// Start, end and step of what a range iterator has still to give; `None` for another object.
///
/// # Safety
/// `obj` must be live.
pub unsafe fn range(obj: *mut PyObject) -> Option<(i64, i64, i64)> {
    // SAFETY: exact type first. The struct is {header, start, step, len} of C longs from 3.12 on and
    // {header, index, start, step, len} before.
    unsafe {
        if ffi::Py_TYPE(obj) != &raw mut PyRangeIter_Type {
            return None;
        }
        let words = obj.cast::<i64>().add(2);
        let (start, step, left) = if cfg!(Py_3_12) {
            (words.read(), words.add(1).read(), words.add(2).read())
        } else {
            let (index, start, step, len) = (
                words.read(),
                words.add(1).read(),
                words.add(2).read(),
                words.add(3).read(),
            );
            (
                start.wrapping_add(index.wrapping_mul(step)),
                step,
                len - index,
            )
        };
        Some((start, start.wrapping_add(left.wrapping_mul(step)), step))
    }
}
