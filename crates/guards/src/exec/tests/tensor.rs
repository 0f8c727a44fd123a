//! Tensors' metadata.

use std::sync::Arc;

use super::{case, tensor};
use crate::guard::GuardKind;

#[test]
fn tensor_match() {
    case(
        "class Sub(torch.Tensor): pass",
        |w, pins| tensor(w, pins, "torch.ones(3, 3)"),
        &[
            "torch.zeros(3, 3)",
            "torch.ones(9)[:].view(3, 3)",
            "torch.nn.Buffer(torch.ones(3, 3))",
        ],
        &[
            (
                "torch.ones(4, 3)",
                "tensor 'x' size mismatch at index 0. expected 3, actual 4",
            ),
            (
                "torch.ones(3, 3).t()",
                "tensor 'x' stride mismatch at index 0. expected 3, actual 1",
            ),
            (
                "torch.ones(3)",
                "tensor 'x' rank mismatch. expected 2, actual 1",
            ),
            (
                "torch.ones(3, 3).double()",
                "tensor 'x' dtype mismatch. expected torch.float32, actual torch.float64",
            ),
            (
                "torch.ones(3, 3, requires_grad=True)",
                "tensor 'x' requires_grad mismatch. expected requires_grad=0",
            ),
            (
                "torch.ones(3, 3, device='meta')",
                "tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), actual DispatchKeySet(",
            ),
            (
                "torch.nn.Parameter(torch.ones(3, 3))",
                "expected type of 'x' to be <class 'torch.Tensor'>",
            ),
            ("torch.ones(3, 3).as_subclass(Sub)", "expected type of 'x'"),
            ("torch._neg_view(torch.ones(3, 3))", "dispatch key set"),
            (
                "torch.inference_mode()(torch.ones)(3, 3)",
                "dispatch key set",
            ),
            ("[[1]]", "but found <class 'list'>"),
            ("torch.eye(3).to_sparse()", "dispatch key set"),
        ],
    );
    case(
        "",
        |w, pins| match tensor(w, pins, "torch.ones(3, 4)") {
            GuardKind::TensorMatch { spec } => {
                let mut spec = (*spec).clone();
                spec.sizes[0] = None;
                GuardKind::TensorMatch {
                    spec: Arc::new(spec),
                }
            }
            kind => kind,
        },
        &["torch.ones(3, 4)", "torch.ones(7, 4)"],
        &[
            ("torch.ones(3, 5)", "index 1. expected 4, actual 5"),
            ("torch.ones(3, 4, 1)", "rank"),
        ],
    );
    case(
        "",
        |w, pins| tensor(w, pins, "torch.ones(1, 2, 3, 4, 5, 6)"),
        &["torch.zeros(1, 2, 3, 4, 5, 6)"],
        &[
            (
                "torch.ones(1, 2, 3, 4, 5, 7)",
                "index 5. expected 6, actual 7",
            ),
            ("torch.ones(1, 2, 3, 4, 5)", "rank"),
        ],
    );
    case(
        "",
        |w, pins| tensor(w, pins, "torch.eye(3).to_sparse()"),
        &["torch.eye(3).to_sparse()"],
        &[("torch.eye(3)", "dispatch key set")],
    );
    case(
        "",
        |w, pins| tensor(w, pins, "torch.nn.Parameter(torch.ones(2))"),
        &["torch.nn.Parameter(torch.ones(2))"],
        &[
            (
                "torch.ones(2, requires_grad=True)",
                "torch.nn.parameter.Parameter",
            ),
            (
                "torch.nn.Parameter(torch.ones(2), False)",
                "requires_grad=1",
            ),
        ],
    );
}
