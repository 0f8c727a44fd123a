//! What is read of fields of objects: the word of the field is compared from then on.

use std::cell::Cell;

use cpython_abi::objects::{cell_place, class_place};
use pyo3::ffi;
use pyo3::ffi::PyObject;

use super::{Builder, is_immutable};
use crate::exec::fields;
use crate::exec::linked::LinkedOp;
use crate::exec::objects;
use crate::exec::watch::clock::MANY;
use crate::exec::watch::events::Watched;
use crate::exec::watch::memo::{NONE, OtherSlot, Owned, Slot};

/// What a program asks of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Which object it is.
    Identity,
    /// That, and its class.
    Class,
    /// Something else, or something of what hangs on it.
    More,
}

impl Asked {
    pub(super) fn of<'p>(below: impl Iterator<Item = &'p LinkedOp>) -> Self {
        let mut asked = Self::Identity;
        for op in below {
            match op {
                LinkedOp::Is { .. } | LinkedOp::IsNot { .. } => {}
                LinkedOp::Type { .. } => asked = Self::Class,
                _ => return Self::More,
            }
        }
        asked
    }
}

impl Builder<'_, '_> {
    /// The place of an instance's dictionary is compared from now on. `None` where the object has no such
    /// place, `Some(None)` where it is empty.
    pub(super) unsafe fn instance(&mut self, obj: *mut PyObject) -> Option<Option<*mut PyObject>> {
        // SAFETY: a live object.
        unsafe {
            let place = objects::instance_dict_place(obj);
            if place.is_null() {
                return None;
            }
            self.slot(place.cast(), NONE);
            let dict = *place;
            if dict.is_null() || ffi::PyDict_Check(dict) == 0 {
                return Some(None);
            }
            self.owners.push((obj, dict));
            Some(Some(dict))
        }
    }

    /// An attribute in a field of the object, as slots are: the word is compared from now on.
    pub(super) unsafe fn member(
        &mut self,
        name: *mut PyObject,
        read: (u32, *mut PyObject, *mut PyObject),
        asked: Asked,
    ) -> bool {
        let (_, obj, value) = read;
        // SAFETY: a live object and value.
        unsafe {
            let place = fields::member_place(obj, name);
            if place.is_null() || *place != value {
                return false;
            }
            self.class(obj);
            self.ty(ffi::Py_TYPE(obj), read) && self.word(place.cast(), value, asked)
        }
    }

    /// An object's class is compared from now on, where it can be assigned.
    pub(super) unsafe fn class(&mut self, obj: *mut PyObject) {
        // SAFETY: a live object; the class follows the reference count.
        unsafe {
            let ty = ffi::Py_TYPE(obj);
            if !is_immutable(ty) || ffi::PyModule_Check(obj) != 0 {
                self.slot(class_place(obj), NONE);
            }
        }
    }

    pub(super) unsafe fn slot(&mut self, at: *const usize, dep: u32) -> u32 {
        let index = self.slots.len() as u32;
        if self.slot_index.insert(at as usize) {
            // SAFETY: the address of a word of a live object.
            let word = Cell::new(unsafe { *at });
            self.slots.push(Slot { at, word });
            self.slot_deps.push(dep);
        }
        index
    }

    /// The slots that are no versions of dictionaries; `None` where those are few.
    pub(super) fn other_slots(&self) -> Option<Box<[OtherSlot]>> {
        let is_version_of_dict =
            |dep: u32| dep != NONE && matches!(self.deps[dep as usize].what, Watched::Dict(_));
        let others: Box<[OtherSlot]> = (0..)
            .zip(self.slots.iter().zip(&self.slot_deps))
            .filter(|(_, (_, dep))| !is_version_of_dict(**dep))
            .map(|(index, (Slot { at, word }, _))| OtherSlot {
                copy: Slot {
                    at: *at,
                    word: word.clone(),
                },
                index,
            })
            .collect();
        (self.slots.len() - others.len() >= MANY).then_some(others)
    }

    /// The content of a remembered cell: the word is compared from now on.
    pub(super) unsafe fn cell(
        &mut self,
        cell: *mut PyObject,
        content: *mut PyObject,
        asked: Asked,
    ) -> bool {
        // SAFETY: a live cell, whose content follows its header, and is live.
        unsafe {
            let at = cell_place(cell);
            if self.word(at, content, asked) {
                return true;
            }
            if self.can_anchor(content) {
                self.slot(at, NONE);
                self.anchors.push(content);
                self.reported.insert(content as usize);
                return true;
            }
            false
        }
    }

    /// A word that holds a value is compared from now on. An address may be used again, so the value has to be
    /// one that is kept here, or of which only the address and the class matter.
    pub(super) unsafe fn word(
        &mut self,
        at: *const usize,
        value: *mut PyObject,
        asked: Asked,
    ) -> bool {
        // SAFETY: the word is one of a live object, and so is the value, whose class follows its reference count.
        unsafe {
            let keeps = self.keeps(value);
            if keeps || asked != Asked::More {
                self.slot(at, NONE);
            }
            if !keeps && asked == Asked::Class {
                self.slot(class_place(value), NONE);
            }
            keeps || asked != Asked::More
        }
    }

    /// Keeps a short tuple of small constants alive, so that its address stands for it.
    ///
    /// # Safety
    /// The value must be live.
    pub(super) unsafe fn keeps_tuple(&mut self, value: *mut PyObject) -> bool {
        const LONGEST: isize = 32;
        // SAFETY: the caller's promise; the length is that of a tuple.
        unsafe {
            let keeps = ffi::PyTuple_CheckExact(value) != 0
                && ffi::PyTuple_GET_SIZE(value) <= LONGEST
                && (0..ffi::PyTuple_GET_SIZE(value))
                    .all(|i| objects::is_small_constant(ffi::PyTuple_GET_ITEM(value, i)));
            if keeps {
                self.keep(value);
            }
            keeps
        }
    }

    unsafe fn keep(&mut self, value: *mut PyObject) {
        // SAFETY: a live object.
        unsafe { ffi::Py_INCREF(value) };
        self.held.push(Owned(value));
    }

    /// Keeps a value alive if it is a small constant, so that its address stands for it.
    ///
    /// # Safety
    /// The value must be live.
    pub(super) unsafe fn keeps(&mut self, value: *mut PyObject) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let keeps = objects::is_small_constant(value);
            if keeps {
                self.keep(value);
            }
            keeps
        }
    }
}
