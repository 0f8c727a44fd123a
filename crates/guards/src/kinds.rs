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
    /// The kind's name in PyTorch's guard tree.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TypeMatch { .. } => "TYPE_MATCH",
            Self::IdMatch { .. } => "ID_MATCH",
            Self::FunctionMatch { .. } => "FUNCTION_MATCH",
            Self::ModuleMatch { .. } => "MODULE_MATCH",
            Self::ClosureMatch { .. } => "CLOSURE_MATCH",
            Self::NoneMatch => "NONE_MATCH",
            Self::TrueMatch => "TRUE_MATCH",
            Self::FalseMatch => "FALSE_MATCH",
            Self::NotNoneMatch => "NOT_NONE",
            Self::EqualsMatch { .. } => "EQUALS_MATCH",
            Self::ConstantMatch { .. } => "CONSTANT_MATCH",
            Self::TensorMatch { .. } => "TENSOR_MATCH",
            Self::SequenceLength { .. } => "LENGTH_CHECK",
            Self::DictLength { .. } => "DICT_LENGTH",
            Self::DictKeys { .. } => "DICT_KEYS",
            Self::DictContains { .. } => "DICT_CONTAINS",
            Self::SetContains { .. } => "SET_CONTAINS",
            Self::SetItems { .. } => "SET_ITEMS",
            Self::CallMatch { .. } => "CALL_MATCH",
            Self::NotSubclass { .. } => "NOT_SUBCLASS",
            Self::HasAttr { present: true, .. } => "HASATTR",
            Self::HasAttr { present: false, .. } => "NO_HASATTR",
            Self::GenericDictContains { present: true, .. } => "PRESENT_IN_GENERIC_DICT",
            Self::GenericDictContains { present: false, .. } => "NOT_PRESENT_IN_GENERIC_DICT",
            Self::MroAttr { .. } => "MRO_ATTR",
            Self::WeakrefAlive => "WEAKREF_ALIVE",
            Self::ObjectAliasing { .. } => "OBJECT_ALIASING",
            Self::NotAliasing { .. } => "NOT_ALIASING",
            Self::NoTensorAliasing { .. } => "NO_TENSOR_ALIASING",
            Self::StorageOverlap { .. } => "STORAGE_OVERLAPPING",
            Self::ShapeEnv { .. } => "SHAPE_ENV",
            Self::ComputedMatch { .. } => "COMPUTED_MATCH",
            Self::RangeIteratorMatch { .. } => "RANGE_ITERATOR_MATCH",
            Self::TupleIteratorLen { .. } => "TUPLE_ITERATOR_LEN",
            Self::ListIteratorLen { .. } => "LIST_ITERATOR_LEN",
            Self::ListReverseIteratorLen { .. } => "LIST_REVERSEITERATOR_LEN",
            Self::CountIteratorMatch { .. } => "COUNT_ITERATOR_MATCH",
            Self::GradMode { .. } => "GRAD_MODE",
            Self::InferenceMode { .. } => "INFERENCE_MODE",
            Self::DefaultDevice { .. } => "DEFAULT_DEVICE",
            Self::DefaultDtype { .. } => "DEFAULT_DTYPE",
            Self::DeterministicAlgorithms { .. } => "DETERMINISTIC_ALGORITHMS",
            Self::GlobalState { .. } => "GLOBAL_STATE",
            Self::TorchFunctionState { .. } => "TORCH_FUNCTION_STATE",
            Self::TorchFunctionModeStack { .. } => "TORCH_FUNCTION_MODE_STACK",
        }
    }

    /// Order of checking among guards of one source: what others rely on, what is cheap and what fails often
    /// come first.
    pub fn rank(&self) -> u32 {
        match self {
            Self::TypeMatch { .. } => 0,
            Self::NoneMatch | Self::TrueMatch | Self::FalseMatch | Self::NotNoneMatch => 1,
            Self::IdMatch { .. } | Self::FunctionMatch { .. } | Self::ModuleMatch { .. } => 2,
            Self::TensorMatch { .. } => 3,
            Self::EqualsMatch { .. } | Self::ConstantMatch { .. } => 4,
            Self::SequenceLength { .. } | Self::DictLength { .. } => 5,
            Self::TupleIteratorLen { .. }
            | Self::RangeIteratorMatch { .. }
            | Self::ListIteratorLen { .. }
            | Self::ListReverseIteratorLen { .. }
            | Self::CountIteratorMatch { .. } => 6,
            Self::ClosureMatch { .. } | Self::WeakrefAlive => 7,
            Self::DictContains { .. } | Self::SetContains { .. } => 8,
            Self::HasAttr { .. } | Self::GenericDictContains { .. } | Self::MroAttr { .. } => 9,
            Self::DictKeys { .. } | Self::SetItems { .. } => 10,
            Self::GlobalState { .. } => 11,
            Self::TorchFunctionModeStack { .. } => 12,
            Self::DefaultDevice { .. } => 13,
            Self::GradMode { .. } => 14,
            Self::InferenceMode { .. } => 15,
            Self::DefaultDtype { .. } => 16,
            Self::DeterministicAlgorithms { .. } => 17,
            Self::TorchFunctionState { .. } => 18,
            Self::ObjectAliasing { .. } | Self::NotAliasing { .. } | Self::CallMatch { .. } => 19,
            Self::ShapeEnv { .. } | Self::NotSubclass { .. } | Self::ComputedMatch { .. } => 19,
            Self::NoTensorAliasing { .. } => 20,
            Self::StorageOverlap { .. } => 21,
        }
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
