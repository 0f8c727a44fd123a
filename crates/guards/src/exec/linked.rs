//! A program's instructions with pointers of this interpreter in the place of names and constants.
//!
//! Only data: `link.rs` makes it, `step.rs` runs it. Invariant: every pointer is owned by the program that the
//! instruction is of, pinned by its pins, or immortal.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU32};

use pyo3::ffi;
use pyo3::ffi::PyObject;

use crate::exec::abc::AbcAnswer;
use crate::exec::check::LinkedComputed;
use crate::guard::GlobalState;
use crate::kinds::symbolic::LinkedRelation;
use crate::kinds::tensor::LinkedTensor;
use crate::value::ConstVal;

/// A constant, ready to be compared with.
pub(crate) enum LinkedConst {
    /// By identity.
    Same(*mut PyObject),
    Int(i64),
    /// An exact `int` beyond 64 bits.
    BigInt(*mut PyObject),
    Float(u64),
    Complex(u64, u64),
    Str(*mut PyObject),
    Bytes(*mut PyObject),
    Tuple(Box<[LinkedConst]>),
    Size(Box<[i64]>),
    Device(i8, i8),
}

/// A dictionary or set key, ready to be looked up.
pub(crate) struct LinkedKey {
    pub(crate) obj: *mut PyObject,
    pub(crate) is_str: bool,
    pub(crate) is_plain: bool,
    /// Where a scan found the key last time.
    pub(crate) hint: AtomicIsize,
}

/// A call of a C function and what it must give.
pub(crate) struct LinkedCall {
    pub(crate) func: *mut PyObject,
    pub(crate) args: Box<[*mut PyObject]>,
    pub(crate) value: LinkedConst,
}

/// A field of a function object.
#[derive(Clone, Copy)]
pub(crate) enum FuncField {
    Defaults,
    KwDefaults,
    Closure,
    Code,
}

/// A step with everything resolved. `d`, `b` and `r` are registers: target, base, value.
pub(crate) enum LinkedOp {
    Local {
        d: u16,
        index: u32,
    },
    Closure {
        d: u16,
        index: u32,
    },
    Cells {
        d: u16,
    },
    Globals {
        d: u16,
    },
    Global {
        d: u16,
        name: *mut PyObject,
    },
    GlobalsOf {
        d: u16,
        dict: *mut PyObject,
        weak: bool,
        name: *mut PyObject,
    },
    Builtin {
        d: u16,
        name: *mut PyObject,
    },
    Pinned {
        d: u16,
        obj: *mut PyObject,
    },
    WeakPinned {
        d: u16,
        weak: *mut PyObject,
    },
    FunctionMode {
        d: u16,
        index: u32,
    },
    Attr {
        d: u16,
        b: u16,
        name: *mut PyObject,
    },
    InstanceDict {
        d: u16,
        b: u16,
    },
    InstanceItem {
        d: u16,
        b: u16,
        name: *mut PyObject,
    },
    DictItem {
        d: u16,
        b: u16,
        key: Box<LinkedKey>,
    },
    DictKeyAt {
        d: u16,
        b: u16,
        index: u32,
    },
    ListItem {
        d: u16,
        b: u16,
        index: u32,
    },
    TupleItem {
        d: u16,
        b: u16,
        index: u32,
    },
    Under {
        d: u16,
        b: u16,
    },
    Cell {
        d: u16,
        b: u16,
    },
    TypeOf {
        d: u16,
        b: u16,
    },
    Mro {
        d: u16,
        b: u16,
        name: *mut PyObject,
    },
    Func {
        d: u16,
        b: u16,
        field: FuncField,
    },

    Type {
        r: u16,
        ty: *mut ffi::PyTypeObject,
    },
    Is {
        r: u16,
        obj: *mut PyObject,
    },
    IsNot {
        r: u16,
        obj: *mut PyObject,
    },
    Code {
        r: u16,
        code: *mut PyObject,
    },
    WeakAlive {
        r: u16,
    },
    Int {
        r: u16,
        value: i64,
    },
    Str {
        r: u16,
        value: *mut PyObject,
    },
    Const {
        r: u16,
        value: Box<LinkedConst>,
    },
    Tensor {
        r: u16,
        spec: Box<LinkedTensor>,
    },
    Len {
        r: u16,
        len: usize,
    },
    DictLen {
        r: u16,
        len: usize,
    },
    DictKeys {
        r: u16,
        keys: Box<[LinkedConst]>,
    },
    DictHas {
        r: u16,
        key: Box<LinkedKey>,
        present: bool,
    },
    SetHas {
        r: u16,
        key: Box<LinkedKey>,
        present: bool,
    },
    SetItems {
        r: u16,
        items: Box<[LinkedConst]>,
    },
    /// `r` is read only where `on_value` is set.
    Call {
        r: u16,
        on_value: bool,
        call: Box<LinkedCall>,
    },
    NotSubclass {
        answer: AbcAnswer,
    },
    HasAttr {
        r: u16,
        name: *mut PyObject,
        present: bool,
        /// Version of a class that was found to have nothing for the name.
        absent: AtomicU32,
    },
    OwnDictHas {
        r: u16,
        name: *mut PyObject,
        present: bool,
    },
    MroIs {
        r: u16,
        name: *mut PyObject,
        value: *mut PyObject,
    },
    RangeIter {
        r: u16,
        start: i64,
        stop: i64,
        step: i64,
    },
    TupleIter {
        r: u16,
        len: usize,
    },
    ListIter {
        r: u16,
        reverse: bool,
        len: usize,
    },
    CountIter {
        r: u16,
        start: i64,
        step: i64,
    },

    GradMode {
        enabled: bool,
    },
    InferenceMode {
        enabled: bool,
    },
    DefaultDevice {
        device: Box<LinkedConst>,
    },
    DefaultDtype {
        dtype: u8,
    },
    Deterministic {
        enabled: bool,
        warn_only: bool,
    },
    GlobalState {
        state: Arc<GlobalState>,
    },
    TorchFunction {
        state: u8,
    },
    ModeStack {
        modes: Box<[(*mut ffi::PyTypeObject, ConstVal)]>,
    },

    Same {
        a: u16,
        b: u16,
    },
    Differ {
        a: u16,
        b: u16,
    },
    Ints {
        relation: Box<LinkedRelation>,
    },
    Computed {
        computed: Box<LinkedComputed>,
    },
    NoAliasing {
        regs: Box<[u16]>,
    },
    Overlap {
        regs: Box<[u16]>,
        overlapping: usize,
    },
}
