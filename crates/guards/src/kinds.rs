//! The guard kinds, a file for each family.
//!
//! Each file has the Python text of its kinds. Their native check is in `exec/check`, the reason that a failure
//! gives in `exec/explain`, the tests in `exec/tests`, by the same families; ARCHITECTURE.md lists the steps.

use std::sync::Arc;

use crate::guard::GuardKind;
use crate::set::ConstTypes;
use crate::source::{NameStyle, SourceId, SourceTable};

pub mod aliasing;
pub mod attribute;
pub mod calls;
pub mod container;
pub mod identity;
pub mod state;
pub mod symbolic;
pub mod tensor;
pub mod value;

/// What the text of a guard is made from.
#[derive(Clone, Copy)]
pub struct TextCx<'a> {
    /// The set's sources.
    pub sources: &'a SourceTable,
    /// How names are spelled.
    pub style: NameStyle,
    /// Addresses of builtin types.
    pub const_types: &'a ConstTypes,
}

impl TextCx<'_> {
    /// The spelling of a source.
    pub fn name(&self, id: SourceId) -> String {
        self.sources.name_in(id, self.style)
    }

    fn names(&self, ids: &[SourceId]) -> String {
        ids.iter()
            .map(|&id| self.name(id))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl GuardKind {
    /// The kind's name in PyTorch's guard tree, and its place among the guards of one source: what others rely on, what is
    /// cheap and what fails often is checked first.
    fn row(&self) -> (&'static str, u32) {
        match self {
            Self::TypeMatch { .. } => ("TYPE_MATCH", 0),
            Self::IdMatch { .. } => ("ID_MATCH", 2),
            Self::FunctionMatch { .. } => ("FUNCTION_MATCH", 2),
            Self::ModuleMatch { .. } => ("MODULE_MATCH", 2),
            Self::ClosureMatch { .. } => ("CLOSURE_MATCH", 7),
            Self::NoneMatch => ("NONE_MATCH", 1),
            Self::TrueMatch => ("TRUE_MATCH", 1),
            Self::FalseMatch => ("FALSE_MATCH", 1),
            Self::NotNoneMatch => ("NOT_NONE", 1),
            Self::EqualsMatch { .. } => ("EQUALS_MATCH", 4),
            Self::ConstantMatch { .. } => ("CONSTANT_MATCH", 4),
            Self::TensorMatch { .. } => ("TENSOR_MATCH", 3),
            Self::SequenceLength { .. } => ("LENGTH_CHECK", 5),
            Self::DictLength { .. } => ("DICT_LENGTH", 5),
            Self::DictKeys { .. } => ("DICT_KEYS", 10),
            Self::DictContains { .. } => ("DICT_CONTAINS", 8),
            Self::SetContains { .. } => ("SET_CONTAINS", 8),
            Self::SetItems { .. } => ("SET_ITEMS", 10),
            Self::CallMatch { .. } => ("CALL_MATCH", 19),
            Self::NotSubclass { .. } => ("NOT_SUBCLASS", 19),
            Self::HasAttr { present: true, .. } => ("HASATTR", 9),
            Self::HasAttr { present: false, .. } => ("NO_HASATTR", 9),
            Self::GenericDictContains { present: true, .. } => ("PRESENT_IN_GENERIC_DICT", 9),
            Self::GenericDictContains { present: false, .. } => ("NOT_PRESENT_IN_GENERIC_DICT", 9),
            Self::MroAttr { .. } => ("MRO_ATTR", 9),
            Self::WeakrefAlive => ("WEAKREF_ALIVE", 7),
            Self::ObjectAliasing { .. } => ("OBJECT_ALIASING", 19),
            Self::NotAliasing { .. } => ("NOT_ALIASING", 19),
            Self::NoTensorAliasing { .. } => ("NO_TENSOR_ALIASING", 20),
            Self::StorageOverlap { .. } => ("STORAGE_OVERLAPPING", 21),
            Self::ShapeEnv { .. } => ("SHAPE_ENV", 19),
            Self::ComputedMatch { .. } => ("COMPUTED_MATCH", 19),
            Self::RangeIteratorMatch { .. } => ("RANGE_ITERATOR_MATCH", 6),
            Self::TupleIteratorLen { .. } => ("TUPLE_ITERATOR_LEN", 6),
            Self::ListIteratorLen { .. } => ("LIST_ITERATOR_LEN", 6),
            Self::ListReverseIteratorLen { .. } => ("LIST_REVERSEITERATOR_LEN", 6),
            Self::CountIteratorMatch { .. } => ("COUNT_ITERATOR_MATCH", 6),
            Self::GradMode { .. } => ("GRAD_MODE", 14),
            Self::InferenceMode { .. } => ("INFERENCE_MODE", 15),
            Self::DefaultDevice { .. } => ("DEFAULT_DEVICE", 13),
            Self::DefaultDtype { .. } => ("DEFAULT_DTYPE", 16),
            Self::DeterministicAlgorithms { .. } => ("DETERMINISTIC_ALGORITHMS", 17),
            Self::GlobalState { .. } => ("GLOBAL_STATE", 11),
            Self::TorchFunctionState { .. } => ("TORCH_FUNCTION_STATE", 18),
            Self::TorchFunctionModeStack { .. } => ("TORCH_FUNCTION_MODE_STACK", 12),
        }
    }

    /// The kind's name in PyTorch's guard tree.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    /// Order of checking among guards of one source.
    pub fn rank(&self) -> u32 {
        self.row().1
    }

    /// Whether the guard is about several sources.
    pub fn is_relational(&self) -> bool {
        matches!(
            self,
            Self::ObjectAliasing { .. }
                | Self::NotAliasing { .. }
                | Self::NoTensorAliasing { .. }
                | Self::StorageOverlap { .. }
                | Self::ShapeEnv { .. }
                | Self::ComputedMatch { .. }
        )
    }

    /// The sources that the guard is about besides its own.
    pub fn other_sources(&self) -> Arc<[SourceId]> {
        match self {
            Self::ObjectAliasing { other } | Self::NotAliasing { other } => [*other].into(),
            Self::NoTensorAliasing { sources } => sources.clone(),
            Self::ShapeEnv { relation } => relation.sources().as_slice().into(),
            Self::ComputedMatch { expr, .. } => expr.sources().as_slice().into(),
            Self::StorageOverlap {
                overlapping,
                non_overlapping,
            } => overlapping
                .iter()
                .chain(non_overlapping.iter())
                .copied()
                .collect(),
            _ => [].into(),
        }
    }

    /// The guard as Python expressions, all of which must be true. `source` is its own source, if it has one.
    pub fn code_parts(&self, source: Option<SourceId>, cx: &TextCx<'_>) -> Vec<String> {
        let name = source.map(|id| cx.name(id)).unwrap_or_default();
        match self {
            Self::TypeMatch { .. }
            | Self::IdMatch { .. }
            | Self::FunctionMatch { .. }
            | Self::ModuleMatch { .. }
            | Self::ClosureMatch { .. }
            | Self::NoneMatch
            | Self::TrueMatch
            | Self::FalseMatch
            | Self::NotNoneMatch
            | Self::WeakrefAlive => identity::code_parts(self, &name),
            Self::EqualsMatch { value } | Self::ConstantMatch { value } => {
                value::code_parts(value, &name, cx)
            }
            Self::TensorMatch { .. } => vec![format!("___check_tensors({name})")],
            Self::SequenceLength { .. }
            | Self::DictLength { .. }
            | Self::DictKeys { .. }
            | Self::DictContains { .. }
            | Self::SetContains { .. }
            | Self::SetItems { .. }
            | Self::RangeIteratorMatch { .. }
            | Self::TupleIteratorLen { .. }
            | Self::ListIteratorLen { .. }
            | Self::ListReverseIteratorLen { .. }
            | Self::CountIteratorMatch { .. } => container::code_parts(self, &name),
            Self::HasAttr { .. } | Self::GenericDictContains { .. } | Self::MroAttr { .. } => {
                attribute::code_parts(self, &name)
            }
            Self::ObjectAliasing { .. }
            | Self::NotAliasing { .. }
            | Self::NoTensorAliasing { .. }
            | Self::StorageOverlap { .. } => aliasing::code_parts(self, &name, cx),
            Self::ShapeEnv { relation } => vec![symbolic::code_part(relation, cx)],
            Self::ComputedMatch { expr, value } => vec![calls::code_part(expr, value, cx)],
            Self::GradMode { .. }
            | Self::InferenceMode { .. }
            | Self::DefaultDevice { .. }
            | Self::DefaultDtype { .. }
            | Self::DeterministicAlgorithms { .. }
            | Self::GlobalState { .. }
            | Self::TorchFunctionState { .. }
            | Self::TorchFunctionModeStack { .. } => state::code_parts(self),
            Self::CallMatch { .. } => value::call_parts(self, &name),
            Self::NotSubclass { class, base, .. } => vec![format!(
                "not issubclass(___obj({}), ___obj({}))",
                class.addr, base.addr
            )],
        }
    }

    /// The guard's line in PyTorch's guard tree, after the kind's name.
    pub fn tree_text(&self, source: Option<SourceId>, cx: &TextCx<'_>) -> String {
        match self {
            Self::TensorMatch { spec } => {
                tensor::tree_text(spec, &source.map(|id| cx.name(id)).unwrap_or_default())
            }
            Self::EqualsMatch { value } | Self::ConstantMatch { value } => {
                value::tree_text(value, &source.map(|id| cx.name(id)).unwrap_or_default())
            }
            Self::TypeMatch { ty } => {
                format!(
                    "{}, type={}",
                    self.code_parts(source, cx).join(" and "),
                    ty.repr
                )
            }
            Self::IdMatch { obj } | Self::FunctionMatch { obj } | Self::ModuleMatch { obj } => {
                format!(
                    "{}, type={}",
                    self.code_parts(source, cx).join(" and "),
                    obj.type_repr
                )
            }
            _ => self.code_parts(source, cx).join(" and "),
        }
    }
}
