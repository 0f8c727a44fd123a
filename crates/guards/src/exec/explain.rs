//! Why a check failed, in PyTorch's words.
//!
//! Invariant: explaining runs no `__repr__` and no other user code.

use std::mem::MaybeUninit;
use std::sync::Arc;

use cpython_abi::iterators;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::exec::check::{CheckEnv, CheckProgram};
use crate::exec::linked::LinkedOp;
use crate::exec::objects;
use crate::guard::{Guard, GuardKind, UserFrame};
use crate::kinds::tensor;
use crate::program::Op;
use crate::source::NameStyle;
use crate::value::{ConstVal, ObjRef};

/// A failed guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reason: `tensor 'x' size mismatch at index 0. expected 3, actual 4`.
    pub reason: String,
    /// The failed guard as Python code.
    pub code: String,
    /// The user's line that asked for the guard.
    pub user_frame: Option<Arc<UserFrame>>,
    /// Whether a module has another object as a parameter or buffer than the one that was bound, or is another module.
    pub replaced_tensor: bool,
}

impl Failure {
    /// The user's line that asked for the guard: `  # return x + 1  # file.py:3 in fn`, or empty. Reads the file, so
    /// the interpreter may run.
    pub fn user_line(&self) -> String {
        let frame = self.user_frame.as_deref();
        frame.map(crate::tree::user_line).unwrap_or_default()
    }
}

impl CheckProgram {
    /// The reason why the check fails for this call, or `None` if it passes.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    pub unsafe fn explain_failure(&self, py: Python<'_>, env: &CheckEnv<'_>) -> Option<Failure> {
        if !self.validity().is_valid() {
            return Some(Failure {
                reason:
                    "___guarded_code.valid: an object that the code relied on has died or changed"
                        .into(),
                code: "___guarded_code.valid".into(),
                user_frame: None,
                replaced_tensor: false,
            });
        }
        // SAFETY: the caller's promise.
        unsafe { self.failing_op(env, |op, regs| self.explain_op(py, op, regs)) }
            .map(|(_, failure)| failure)
    }

    fn explain_op(
        &self,
        py: Python<'_>,
        op: usize,
        regs: &[MaybeUninit<*mut PyObject>],
    ) -> Failure {
        let set = self.set();
        let value = |reg: u16| {
            // SAFETY: the verifier proved that the register was written, and nothing ran since.
            unsafe { Bound::from_borrowed_ptr(py, regs[usize::from(reg)].assume_init()) }
        };
        match &self.program().ops[op] {
            Op::Load { source, .. } => {
                let name = set.sources().plain_name(*source);
                Failure {
                    reason: format!("{name} has no value that can be read"),
                    code: set.sources().name(*source),
                    user_frame: None,
                    replaced_tensor: false,
                }
            }
            Op::Check { reg, guard } => {
                let guard = set.guard(*guard);
                let actual = value(reg.0);
                let failure = self.failure(guard, self.reason(py, op, guard, &actual));
                let other_module = matches!(guard.kind, GuardKind::IdMatch { .. })
                    && is_module(&actual).unwrap_or(false);
                Failure {
                    replaced_tensor: failure.replaced_tensor || other_module,
                    ..failure
                }
            }
            Op::Ambient { guard } => {
                let guard = set.guard(*guard);
                self.failure(guard, self.state_reason(py, op, guard))
            }
            Op::Relation { regs: list, guard } => {
                let guard = set.guard(*guard);
                let reason = match &guard.kind {
                    GuardKind::NoTensorAliasing { sources } => {
                        let mut pairs = (0..list.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
                        pairs.find(|(j, i)| value(list[*j].0).is(value(list[*i].0))).map_or_else(
                            || self.plain_code(guard),
                            |(j, i)| {
                                let name = |k: usize| set.sources().plain_name(sources[k]);
                                format!("Duplicate tensors found: '{}' and '{}' are the same object", name(j), name(i))
                            },
                        )
                    }
                    GuardKind::ObjectAliasing { .. } | GuardKind::NotAliasing { .. } => {
                        let [a, b] = [0, 1].map(|i| objects::names_of(&value(list[i].0)).0);
                        let code = self.plain_code(guard);
                        if matches!(guard.kind, GuardKind::NotAliasing { .. }) {
                            format!("{code}. expected two objects, actual one: {a}")
                        } else {
                            format!("{code}. expected one object, actual {b} and {a}")
                        }
                    }
                    GuardKind::ShapeEnv { relation } => {
                        let code = self.plain_code(guard);
                        match self.op(op as u32) {
                            LinkedOp::Ints { relation: linked } => {
                                // SAFETY: registers were written, and nothing ran since.
                                let (left, right) =
                                    unsafe { linked.sides(self.abi(), |r| value(r).as_ptr()) };
                                relation.reason(&code, left, right)
                            }
                            _ => code,
                        }
                    }
                    _ => self.plain_code(guard),
                };
                self.failure(guard, reason)
            }
        }
    }

    fn failure(&self, guard: &Guard, reason: String) -> Failure {
        let cx = self.set().cx(NameStyle::Explicit);
        Failure {
            reason,
            code: guard.kind.code_parts(guard.source, &cx).join(" and "),
            user_frame: guard.user_frame.clone(),
            replaced_tensor: matches!(guard.kind, GuardKind::IdMatch { .. })
                && guard.source.is_some_and(|source| {
                    let sources = self.set().sources();
                    sources.leads_through(source, &torch_abi::names::MODULE_TENSORS)
                }),
        }
    }

    /// The guard as the tree prints it, with plain names.
    fn plain_code(&self, guard: &Guard) -> String {
        guard
            .kind
            .tree_text(guard.source, &self.set().cx(NameStyle::Plain))
    }

    fn reason(
        &self,
        py: Python<'_>,
        op: usize,
        guard: &Guard,
        actual: &Bound<'_, PyAny>,
    ) -> String {
        let name = guard
            .source
            .map(|id| self.set().sources().plain_name(id))
            .unwrap_or_default();
        let code = self.plain_code(guard);
        let actual_type = objects::class_repr(&actual.get_type());
        match &guard.kind {
            GuardKind::TensorMatch { spec } => {
                let abi = self.abi();
                let names = |keys| abi.key_set_names(py, keys).unwrap_or_default();
                // SAFETY: a live object.
                unsafe { tensor::explain(abi, spec, &name, actual.as_ptr(), names) }
            }
            GuardKind::TypeMatch { ty } => {
                format!("{code}. expected type {}, actual {actual_type}", ty.repr)
            }
            GuardKind::EqualsMatch { value } | GuardKind::ConstantMatch { value } => {
                format!(
                    "{code}. expected {value}, actual {}",
                    objects::describe(actual)
                )
            }
            GuardKind::IdMatch { obj }
            | GuardKind::FunctionMatch { obj }
            | GuardKind::ModuleMatch { obj } => {
                format!(
                    "{code}. expected {}, actual {}",
                    obj.repr,
                    objects::describe(actual)
                )
            }
            GuardKind::SequenceLength { len } | GuardKind::DictLength { len } => {
                // SAFETY: a live object.
                let have = unsafe { objects::length(actual.as_ptr()) };
                let have = have.map_or_else(
                    || format!("a {actual_type} without a length"),
                    |n| n.to_string(),
                );
                format!("{code}. expected {len}, actual {have}")
            }
            GuardKind::TupleIteratorLen { len } => {
                // SAFETY: a live object.
                let have = unsafe { iterators::tuple_left(actual.as_ptr()) };
                format!(
                    "{code}. expected {len}, actual {}",
                    have.map_or(actual_type, |n| n.to_string())
                )
            }
            GuardKind::RangeIteratorMatch { start, stop, step } => {
                // SAFETY: a live object.
                let have = unsafe { iterators::range(actual.as_ptr()) };
                let have = have.map_or(actual_type, |(a, b, c)| format!("({a}, {b}, {c})"));
                format!("{code}. expected ({start}, {stop}, {step}), actual {have}")
            }
            GuardKind::ListIteratorLen { len } | GuardKind::ListReverseIteratorLen { len } => {
                let reverse = matches!(guard.kind, GuardKind::ListReverseIteratorLen { .. });
                // SAFETY: a live object.
                let have = unsafe { iterators::list_left(actual.as_ptr(), reverse) };
                format!(
                    "{code}. expected {len}, actual {}",
                    have.map_or(actual_type, |n| n.to_string())
                )
            }
            GuardKind::CountIteratorMatch { start, step } => {
                // SAFETY: a live object.
                let have = unsafe { iterators::count(actual.as_ptr()) };
                let have = have.map_or(actual_type, |(a, b)| format!("({a}, {b})"));
                format!("{code}. expected ({start}, {step}), actual {have}")
            }
            GuardKind::DictKeys { keys } => {
                let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
                format!(
                    "{code}. expected [{}], actual {}",
                    keys.join(", "),
                    self.describe_keys(actual)
                )
            }
            GuardKind::DictContains { key, present } | GuardKind::SetContains { key, present } => {
                let (wanted, found) = if *present {
                    ("present", "absent")
                } else {
                    ("absent", "present")
                };
                format!("{code}. expected {key} to be {wanted}, but it is {found}")
            }
            GuardKind::SetItems { items } => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                format!(
                    "{code}. expected [{}], actual {}",
                    items.join(", "),
                    Self::describe_items(actual)
                )
            }
            GuardKind::CallMatch { func, args, value } => {
                self.call_reason(py, op, (func, args, value), Some(actual))
            }
            GuardKind::HasAttr {
                name: attr,
                present,
            }
            | GuardKind::GenericDictContains {
                name: attr,
                present,
            } => {
                let (wanted, found) = if *present {
                    ("present", "absent")
                } else {
                    ("absent", "present")
                };
                format!("{code}. expected attribute '{attr}' to be {wanted}, but it is {found}")
            }
            GuardKind::MroAttr { name: attr, value } => {
                let wanted = value.as_ref().map_or("nothing", |obj| &*obj.repr);
                format!(
                    "{code}. expected {wanted} for '{attr}' in {}, actual another value",
                    objects::describe(actual)
                )
            }
            GuardKind::NoneMatch | GuardKind::TrueMatch | GuardKind::FalseMatch => {
                format!("{code}. actual {}", objects::describe(actual))
            }
            GuardKind::ClosureMatch { code: wanted } => {
                format!(
                    "{code}. expected a function with {}, actual {}",
                    wanted.repr,
                    objects::describe(actual)
                )
            }
            GuardKind::NotNoneMatch => format!("{code}. expected anything but None, actual None"),
            GuardKind::WeakrefAlive => format!("{code}. expected a live object, actual a dead one"),
            _ => code,
        }
    }

    fn call_reason(
        &self,
        py: Python<'_>,
        op: usize,
        (func, args, value): (&ObjRef, &[ConstVal], &ConstVal),
        first: Option<&Bound<'_, PyAny>>,
    ) -> String {
        let list: Vec<String> = first
            .map(objects::describe)
            .into_iter()
            .chain(args.iter().map(ToString::to_string))
            .collect();
        let code = format!("{}({})", func.repr, list.join(", "));
        let LinkedOp::Call { call, .. } = self.op(op as u32) else {
            return code;
        };
        let first = first.map_or(std::ptr::null_mut(), Bound::as_ptr);
        // SAFETY: the value is live or there is none.
        let actual = unsafe { call.value(py, first) };
        let actual = actual.map_or_else(|_| "an exception".into(), |v| objects::describe(&v));
        format!("{code} changed. expected {value}, actual {actual}")
    }

    fn describe_items(actual: &Bound<'_, PyAny>) -> String {
        let mut items = Vec::new();
        // SAFETY: a live object; the type is checked first.
        let is_set = unsafe {
            pyo3::ffi::PyAnySet_Check(actual.as_ptr()) != 0
                && objects::each_item(actual.as_ptr(), |item| {
                    items.push(objects::describe(&Bound::from_borrowed_ptr(
                        actual.py(),
                        item,
                    )));
                    true
                })
        };
        if is_set {
            format!("[{}]", items.join(", "))
        } else {
            objects::describe(actual)
        }
    }

    fn describe_keys(&self, actual: &Bound<'_, PyAny>) -> String {
        let mut keys = Vec::new();
        // SAFETY: a live object; the type is checked first.
        let is_dict = unsafe {
            cpython_abi::dict::is_dictionary(actual.as_ptr())
                && objects::each_key(actual.as_ptr(), &|_| true, |key| {
                    keys.push(objects::describe(&Bound::from_borrowed_ptr(
                        actual.py(),
                        key,
                    )));
                    true
                })
        };
        if is_dict {
            format!("[{}]", keys.join(", "))
        } else {
            objects::describe(actual)
        }
    }

    fn state_reason(&self, py: Python<'_>, op: usize, guard: &Guard) -> String {
        let abi = self.abi();
        let code = self.plain_code(guard);
        match &guard.kind {
            GuardKind::CallMatch { func, args, value } => {
                self.call_reason(py, op, (func, args, value), None)
            }
            GuardKind::NotSubclass { class, base, .. } => format!(
                "not issubclass({}, {}) may not hold any more: a class was registered with an abstract class",
                class.repr, base.repr
            ),
            GuardKind::GlobalState { state } => {
                let now = crate::guard::GlobalState::read(py, abi);
                format!("GLOBAL_STATE changed: {}", state.difference(&now).join(" "))
            }
            GuardKind::GradMode { enabled } => {
                format!("{code}. expected {enabled}, actual {}", abi.grad_mode())
            }
            GuardKind::InferenceMode { enabled } => {
                format!(
                    "{code}. expected {enabled}, actual {}",
                    abi.inference_mode()
                )
            }
            GuardKind::DefaultDtype { text, .. } => {
                format!(
                    "{code}. expected {text}, actual {}",
                    objects::dtype_name(abi.default_dtype())
                )
            }
            GuardKind::DefaultDevice { device } => {
                // SAFETY: borrowed from a module's dictionary, used at once.
                let now = unsafe { Bound::from_borrowed_ptr_or_opt(py, abi.current_device()) };
                let now = now.map_or_else(|| "nothing".to_owned(), |now| objects::describe(&now));
                format!("{code}. expected {device}, actual {now}")
            }
            GuardKind::DeterministicAlgorithms { enabled, warn_only } => {
                let now = abi.deterministic();
                let wanted = (*enabled, *warn_only);
                format!("{code}. expected {wanted:?}, actual {now:?}")
            }
            GuardKind::TorchFunctionState { state } => {
                format!(
                    "{code}. expected {state}, actual {}",
                    abi.torch_function_state()
                )
            }
            GuardKind::TorchFunctionModeStack { modes } => {
                let wanted: Vec<&str> = modes.iter().map(|m| &*m.ty.repr).collect();
                let now: Vec<String> = (0..abi.torch_function_stack_len())
                    .filter_map(|i| abi.torch_function_mode(py, i).ok())
                    .map(|mode| objects::class_repr(&mode.get_type()))
                    .collect();
                format!(
                    "{code}. expected [{}], actual [{}]",
                    wanted.join(", "),
                    now.join(", ")
                )
            }
            _ => code,
        }
    }
}

/// Whether an object is an `nn.Module`.
///
/// # Errors
/// Where torch has none.
pub fn is_module(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module = object.py().import("torch.nn")?.getattr("Module")?;
    // Not `isinstance`: a class of the program may answer that.
    object.get_type().is_subclass(&module)
}
