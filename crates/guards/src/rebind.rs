//! Guards that were written in another process: what they name by identity is named anew.
//!
//! Not here: how the objects are found (the crate `captures`).
//!
//! Invariant: every [`ObjRef`] of a guard or a source is visited, and nothing else is changed.

use std::sync::Arc;

use crate::calls::CallExpr;
use crate::guard::{Guard, GuardKind};
use crate::source::Source;
use crate::value::{ConstVal, ObjRef};

/// Gives a reference the object that its pin stands for now.
pub type Rename<'a> = &'a mut dyn FnMut(&mut ObjRef);

impl ConstVal {
    /// Whether an object is among its parts.
    pub fn has_object(&self) -> bool {
        match self {
            Self::Obj(_) => true,
            Self::Tuple(items) => items.iter().any(Self::has_object),
            _ => false,
        }
    }

    /// Names the objects anew.
    pub fn rebind(&mut self, rename: Rename<'_>) {
        match self {
            Self::Obj(obj) => rename(obj),
            Self::Tuple(items) if items.iter().any(Self::has_object) => all(items, rename),
            _ => {}
        }
    }
}

fn all(values: &mut Arc<[ConstVal]>, rename: Rename<'_>) {
    if values.iter().any(ConstVal::has_object) {
        let mut named = values.to_vec();
        named.iter_mut().for_each(|value| value.rebind(rename));
        *values = named.into();
    }
}

impl CallExpr {
    fn rebind(&mut self, rename: Rename<'_>) {
        match self {
            Self::Source(_) => {}
            Self::Const(value) => value.rebind(rename),
            Self::Call(func, args) => {
                rename(func);
                let mut named = args.to_vec();
                named.iter_mut().for_each(|arg| arg.rebind(rename));
                *args = named.into();
            }
        }
    }
}

impl Source {
    /// Names the objects anew. Pins keep their numbers.
    pub fn rebind(&mut self, rename: Rename<'_>) {
        if let Self::DictItem { key, .. } = self {
            key.rebind(rename);
        }
    }
}

impl Guard {
    /// Names the objects anew.
    pub fn rebind(&mut self, rename: Rename<'_>) {
        match &mut self.kind {
            GuardKind::TypeMatch { ty: obj }
            | GuardKind::IdMatch { obj }
            | GuardKind::FunctionMatch { obj }
            | GuardKind::ModuleMatch { obj }
            | GuardKind::ClosureMatch { code: obj } => rename(obj),
            GuardKind::EqualsMatch { value }
            | GuardKind::ConstantMatch { value }
            | GuardKind::DefaultDevice { device: value }
            | GuardKind::DictContains { key: value, .. }
            | GuardKind::SetContains { key: value, .. } => value.rebind(rename),
            GuardKind::DictKeys { keys: values } | GuardKind::SetItems { items: values } => {
                all(values, rename);
            }
            GuardKind::TensorMatch { spec } => {
                let mut named = (**spec).clone();
                rename(&mut named.pytype);
                // Messages about tensors have the bare name of the class.
                named.pytype.type_repr = named.pytype.repr.clone();
                let class = named.pytype.repr.trim_end_matches("'>");
                named.pytype.repr = class.rsplit(['.', '\'']).next().unwrap_or(class).into();
                *spec = Arc::new(named);
            }
            GuardKind::CallMatch { func, args, value } => {
                rename(func);
                all(args, rename);
                value.rebind(rename);
            }
            GuardKind::ComputedMatch { expr, value } => {
                let mut named = (**expr).clone();
                named.rebind(rename);
                *expr = Arc::new(named);
                value.rebind(rename);
            }
            GuardKind::NotSubclass { class, base, .. } => {
                rename(class);
                rename(base);
            }
            GuardKind::MroAttr { value, .. } => {
                if let Some(obj) = value {
                    rename(obj);
                }
            }
            GuardKind::TorchFunctionModeStack { modes } => {
                let mut named = modes.to_vec();
                for mode in &mut named {
                    rename(&mut mode.ty);
                    mode.device.rebind(rename);
                }
                *modes = named.into();
            }
            GuardKind::NoneMatch
            | GuardKind::TrueMatch
            | GuardKind::FalseMatch
            | GuardKind::NotNoneMatch
            | GuardKind::SequenceLength { .. }
            | GuardKind::DictLength { .. }
            | GuardKind::HasAttr { .. }
            | GuardKind::GenericDictContains { .. }
            | GuardKind::WeakrefAlive
            | GuardKind::ObjectAliasing { .. }
            | GuardKind::NotAliasing { .. }
            | GuardKind::NoTensorAliasing { .. }
            | GuardKind::StorageOverlap { .. }
            | GuardKind::ShapeEnv { .. }
            | GuardKind::RangeIteratorMatch { .. }
            | GuardKind::TupleIteratorLen { .. }
            | GuardKind::ListIteratorLen { .. }
            | GuardKind::ListReverseIteratorLen { .. }
            | GuardKind::CountIteratorMatch { .. }
            | GuardKind::GradMode { .. }
            | GuardKind::InferenceMode { .. }
            | GuardKind::DefaultDtype { .. }
            | GuardKind::DeterministicAlgorithms { .. }
            | GuardKind::GlobalState { .. }
            | GuardKind::TorchFunctionState { .. } => {}
        }
    }
}
