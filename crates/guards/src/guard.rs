//! What a guard says: a source, a kind, and the user's line that asked for it.
//!
//! What lives here: the data. The Python text, the native check and the failure reason of each kind are together
//! in one file of [`crate::kinds`].
//!
//! Invariant: a guard that holds depends on nothing but what its sources yield, the pins of its set and, for the
//! kinds without a source, torch's thread-local and global state.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::calls::CallExpr;
use crate::expr::IntRelation;
use crate::source::SourceId;
use crate::value::{ConstVal, Key, ObjRef};

/// Gives the text of a line of a file, from 1, without its indentation; empty where it can't be had.
pub type ReadLine = fn(file: &str, line: u32) -> String;

/// The line of the user's program that a guard comes from.
#[derive(Clone, Debug)]
pub struct UserFrame {
    /// Path of the file.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Name of the function.
    pub function: Arc<str>,
    read: ReadLine,
    text: OnceLock<Box<str>>,
}

impl UserFrame {
    /// A line whose text is read when it is first asked for: most guards are never shown.
    pub fn new(file: Arc<str>, line: u32, function: Arc<str>, read: ReadLine) -> Self {
        Self {
            file,
            line,
            function,
            read,
            text: OnceLock::new(),
        }
    }

    /// The line's text without its indentation; empty where it can't be had.
    pub fn text(&self) -> &str {
        if let Some(text) = self.text.get() {
            return text;
        }
        // Reading may let another thread run, which may ask as well: nobody waits for somebody who reads.
        let text = (self.read)(&self.file, self.line).into();
        self.text.get_or_init(|| text)
    }

    fn place(&self) -> (&str, u32, &str) {
        (&self.file, self.line, &self.function)
    }
}

impl PartialEq for UserFrame {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for UserFrame {}

impl Hash for UserFrame {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place().hash(state);
    }
}

/// One assumption.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guard {
    /// The value that the assumption is about; `None` for the kinds about global state and about several sources.
    pub source: Option<SourceId>,
    /// The assumption.
    pub kind: GuardKind,
    /// The line that asked for it.
    #[serde(skip)]
    pub user_frame: Option<Arc<UserFrame>>,
}

impl Guard {
    /// A guard on the value of `source`.
    pub fn new(source: SourceId, kind: GuardKind) -> Self {
        Self {
            source: Some(source),
            kind,
            user_frame: None,
        }
    }

    /// A guard that is about no single source.
    pub fn ambient(kind: GuardKind) -> Self {
        Self {
            source: None,
            kind,
            user_frame: None,
        }
    }

    /// The same guard with the user's line.
    #[must_use]
    pub fn at(mut self, frame: Option<Arc<UserFrame>>) -> Self {
        self.user_frame = frame;
        self
    }
}

/// What a tensor must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TensorSpec {
    /// Exact Python type (its `repr` is the bare class name).
    pub pytype: ObjRef,
    /// Raw dispatch key set, with the thread's included keys added and its excluded keys removed.
    pub keys: u64,
    /// The key set's names, as `DispatchKeySet(...)` lists them.
    pub keys_text: Arc<str>,
    /// Number of the dtype in torch (`ScalarType`).
    pub dtype: u8,
    /// The dtype as Python prints it: `torch.float32`.
    pub dtype_text: Arc<str>,
    /// Number of the device type in torch (0 is the CPU).
    pub device_type: i8,
    /// Index of the device, -1 for none.
    pub device_index: i8,
    /// Whether the tensor requires grad.
    pub requires_grad: bool,
    /// Size of each dimension, `None` where any size will do.
    pub sizes: SmallVec<[Option<i64>; 5]>,
    /// Stride of each dimension in elements, `None` where any stride will do. Empty for tensors without strides
    /// (sparse).
    pub strides: SmallVec<[Option<i64>; 5]>,
    /// Whether sizes and strides are read at all (false for sparse and nested layouts).
    pub strided: bool,
}

/// What a torch function mode must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModeSpec {
    /// Its exact type.
    pub ty: ObjRef,
    /// The device in its `__dict__` (the mode of `with torch.device(...)` has one), or [`ConstVal::None`].
    pub device: ConstVal,
}

/// The part of torch's state that decides what a captured graph means.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct GlobalState {
    /// `torch.is_grad_enabled()`.
    pub grad_mode: bool,
    /// `torch.is_inference_mode_enabled()`.
    pub inference_mode: bool,
    /// Whether `__torch_function__` is enabled for subclasses (0), disabled for them (1) or altogether (2).
    pub torch_function: u8,
    /// `torch.are_deterministic_algorithms_enabled()`.
    pub deterministic: bool,
    /// `torch.is_deterministic_algorithms_warn_only_enabled()`.
    pub deterministic_warn_only: bool,
    /// Number of the default dtype (`ScalarType`).
    pub default_dtype: u8,
    /// Whether cuBLAS may use TF32.
    pub allow_tf32: bool,
    /// Reduced-precision reductions in fp16 (bit 0) and bf16 (bit 1) matrix products.
    pub reduced_precision: u8,
    /// Per device type that autocast knows, as (type, enabled, dtype).
    pub autocast: SmallVec<[(i8, bool, u8); 4]>,
    /// `torch.is_autocast_cache_enabled()`.
    pub autocast_cache: bool,
    /// Whether a level of forward-mode differentiation is active.
    pub has_forward_level: bool,
    /// The thread's included dispatch keys.
    pub included_keys: u64,
    /// The thread's excluded dispatch keys.
    pub excluded_keys: u64,
}

impl GlobalState {
    /// Names of the parts in which two states differ, as PyTorch's guard names them.
    pub fn difference(&self, other: &Self) -> Vec<&'static str> {
        let mut parts = Vec::new();
        let mut part = |name, differs: bool| {
            if differs {
                parts.push(name);
            }
        };
        part("grad_mode", self.grad_mode != other.grad_mode);
        part(
            "inference_mode",
            self.inference_mode != other.inference_mode,
        );
        part(
            "autocast",
            self.autocast != other.autocast || self.autocast_cache != other.autocast_cache,
        );
        part(
            "torch_function",
            self.torch_function != other.torch_function,
        );
        part(
            "deterministic_algorithms",
            self.deterministic != other.deterministic,
        );
        part(
            "deterministic_algorithms_warn_only",
            self.deterministic_warn_only != other.deterministic_warn_only,
        );
        part(
            "forward_level",
            self.has_forward_level != other.has_forward_level,
        );
        part("allow_tf32", self.allow_tf32 != other.allow_tf32);
        part(
            "reduced_precision",
            self.reduced_precision != other.reduced_precision,
        );
        part("default_dtype", self.default_dtype != other.default_dtype);
        part(
            "dispatch_keys",
            self.included_keys != other.included_keys || self.excluded_keys != other.excluded_keys,
        );
        parts
    }
}

/// The kinds of guards, named as in PyTorch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GuardKind {
    /// The exact type.
    TypeMatch {
        /// The class.
        ty: ObjRef,
    },
    /// The very object.
    IdMatch {
        /// The object.
        obj: ObjRef,
    },
    /// The very function or other callable.
    FunctionMatch {
        /// The callable.
        obj: ObjRef,
    },
    /// The very module (`nn.Module` instance), usually weakly pinned.
    ModuleMatch {
        /// The module.
        obj: ObjRef,
    },
    /// A function (exact type) that runs this code object.
    ClosureMatch {
        /// The code object.
        code: ObjRef,
    },
    /// `None`.
    NoneMatch,
    /// `True`.
    TrueMatch,
    /// `False`.
    FalseMatch,
    /// Anything but `None`.
    NotNoneMatch,
    /// A value of exactly the constant's type, equal to it.
    EqualsMatch {
        /// The constant.
        value: ConstVal,
    },
    /// As [`GuardKind::EqualsMatch`], where the program used the value as a literal.
    ConstantMatch {
        /// The constant.
        value: ConstVal,
    },
    /// A metadata match of a tensor.
    TensorMatch {
        /// What it must look like.
        spec: Arc<TensorSpec>,
    },
    /// Length of a list, tuple, str, bytes, set, deque, range (raw storage for subclasses).
    SequenceLength {
        /// The length.
        len: usize,
    },
    /// Number of items of a dictionary.
    DictLength {
        /// The number.
        len: usize,
    },
    /// The keys of a dictionary, in order, type-exact.
    DictKeys {
        /// The keys.
        keys: Arc<[Key]>,
    },
    /// Whether a dictionary has a key.
    DictContains {
        /// The key.
        key: Key,
        /// Whether it must be there.
        present: bool,
    },
    /// Whether a set or frozenset has an item.
    SetContains {
        /// The item.
        key: Key,
        /// Whether it must be there.
        present: bool,
    },
    /// The items of a set or frozenset, in the order of iteration, type-exact.
    SetItems {
        /// The items.
        items: Arc<[Key]>,
    },
    /// What a C function without effects gives for the source (where the guard has one) and constants.
    CallMatch {
        /// The function.
        func: ObjRef,
        /// Further positional arguments.
        args: Arc<[ConstVal]>,
        /// What it must give.
        value: ConstVal,
    },
    /// A class that an abstract class does not count as a subclass, though its bases say nothing.
    ///
    /// Holds as long as nothing is registered with any abstract class. After that the answer is asked for
    /// again, outside of the check (`CheckProgram::renew`): asking runs Python code.
    NotSubclass {
        /// The class.
        class: ObjRef,
        /// The abstract class.
        base: ObjRef,
        /// `abc.get_cache_token()` when it was asked.
        token: i64,
    },
    /// Whether the instance's `__dict__` or its class's MRO has a name. A slot that holds nothing counts
    /// as absent.
    HasAttr {
        /// The attribute.
        name: Arc<str>,
        /// Whether it must be there.
        present: bool,
    },
    /// Whether the instance's own `__dict__` has a name.
    GenericDictContains {
        /// The attribute.
        name: Arc<str>,
        /// Whether it must be there.
        present: bool,
    },
    /// What the MRO of a class (the source) gives for a name: this very object, or nothing.
    MroAttr {
        /// The attribute.
        name: Arc<str>,
        /// The raw value in the class that has it.
        value: Option<ObjRef>,
    },
    /// A weak reference (the source) whose referent is alive.
    WeakrefAlive,
    /// The same object as another source.
    ObjectAliasing {
        /// The other source.
        other: SourceId,
    },
    /// Another object than another source.
    NotAliasing {
        /// The other source.
        other: SourceId,
    },
    /// No two of these are the same object.
    NoTensorAliasing {
        /// The tensors.
        sources: Arc<[SourceId]>,
    },
    /// Which of these tensors share memory: every one of `overlapping` with another of them, none of
    /// `non_overlapping` with any.
    StorageOverlap {
        /// Tensors that share memory.
        overlapping: Arc<[SourceId]>,
        /// Tensors that share memory with none of both lists.
        non_overlapping: Arc<[SourceId]>,
    },
    /// What must hold between ints that are not constants.
    ShapeEnv {
        /// The relation.
        relation: Arc<IntRelation>,
    },
    /// What C functions without effects give of several sources.
    ComputedMatch {
        /// How it is computed.
        expr: Arc<CallExpr>,
        /// What it must be.
        value: ConstVal,
    },
    /// What a range iterator has still to give.
    RangeIteratorMatch {
        /// Next value.
        start: i64,
        /// End, as normalised by the remaining length.
        stop: i64,
        /// Step.
        step: i64,
    },
    /// How many items a tuple iterator has still to give.
    TupleIteratorLen {
        /// The number.
        len: usize,
    },
    /// How many items an iterator over a list has still to give, by the list's length now.
    ListIteratorLen {
        /// The number.
        len: usize,
    },
    /// How many items `reversed(list)` has still to give.
    ListReverseIteratorLen {
        /// The number.
        len: usize,
    },
    /// Where an `itertools.count` of ints stands.
    CountIteratorMatch {
        /// Next value.
        start: i64,
        /// Step.
        step: i64,
    },
    /// `torch.is_grad_enabled()`.
    GradMode {
        /// Whether it is enabled.
        enabled: bool,
    },
    /// `torch.is_inference_mode_enabled()`.
    InferenceMode {
        /// Whether it is enabled.
        enabled: bool,
    },
    /// `torch.utils._device.CURRENT_DEVICE`: `None` or a device.
    DefaultDevice {
        /// A [`ConstVal::None`] or [`ConstVal::Device`].
        device: ConstVal,
    },
    /// `torch.get_default_dtype()`.
    DefaultDtype {
        /// Number of the dtype.
        dtype: u8,
        /// As Python prints it.
        text: Arc<str>,
    },
    /// Deterministic algorithms.
    DeterministicAlgorithms {
        /// Whether they are enabled.
        enabled: bool,
        /// Whether they only warn.
        warn_only: bool,
    },
    /// All of torch's global state that matters.
    GlobalState {
        /// The state.
        state: Arc<GlobalState>,
    },
    /// Whether `__torch_function__` is enabled (0), disabled for subclasses (1) or altogether (2).
    TorchFunctionState {
        /// The state.
        state: u8,
    },
    /// The active torch function modes, outermost first.
    TorchFunctionModeStack {
        /// What each must be.
        modes: Arc<[ModeSpec]>,
    },
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::UserFrame;

    #[test]
    fn nobody_waits_for_who_reads_a_line() {
        // Each reader goes on when the other one reads as well.
        fn read(_: &str, line: u32) -> String {
            static BOTH: Barrier = Barrier::new(2);
            BOTH.wait();
            format!("line {line}")
        }
        let frame = UserFrame::new("file.py".into(), 3, "fn".into(), read);
        thread::scope(|scope| {
            let other = scope.spawn(|| frame.text().to_owned());
            assert_eq!(frame.text(), "line 3");
            assert_eq!(other.join().unwrap(), "line 3");
        });
    }
}
