//! torch's state: GLOBAL_STATE, GRAD_MODE, INFERENCE_MODE, DEFAULT_DEVICE, DEFAULT_DTYPE,
//! DETERMINISTIC_ALGORITHMS, TORCH_FUNCTION_STATE, TORCH_FUNCTION_MODE_STACK.
//!
//! Invariant: thread-local state is read in the thread that calls.

use crate::guard::GuardKind;
use crate::text::literal;

/// Python text.
pub(crate) fn code_parts(kind: &GuardKind) -> Vec<String> {
    let truth = |value: bool| if value { "True" } else { "False" };
    vec![match kind {
        GuardKind::GradMode { enabled } => {
            format!("torch.is_grad_enabled() == {}", truth(*enabled))
        }
        GuardKind::InferenceMode { enabled } => {
            format!("torch.is_inference_mode_enabled() == {}", truth(*enabled))
        }
        GuardKind::DefaultDevice { device } => {
            format!("utils_device.CURRENT_DEVICE == {}", literal(device))
        }
        GuardKind::DefaultDtype { text, .. } => format!("torch.get_default_dtype() == {text}"),
        GuardKind::DeterministicAlgorithms { enabled, warn_only } => format!(
            "(torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()) \
             == ({}, {})",
            truth(*enabled),
            truth(*warn_only)
        ),
        GuardKind::GlobalState { .. } => "___check_global_state()".into(),
        GuardKind::TorchFunctionState { state } => {
            format!("int(torch._C._get_torch_function_state()) == {state}")
        }
        _ => "___check_torch_function_mode_stack()".into(),
    }]
}
