//! Which frames are never captured: code of the standard library, of torch outside `torch.nn`, and
//! of Ferrodyn itself. A function that the user compiled explicitly is captured wherever it is.

/// Whether frames of a file are left alone unless they were asked for by name.
pub fn is_ignored_file(file: &str) -> bool {
    if file.starts_with('<') {
        return file.starts_with("<frozen ") || file.starts_with("<ferrodyn ");
    }
    if let Some((_, rest)) = file.split_once("/site-packages/") {
        let package = rest.split('/').next().unwrap_or(rest);
        return match package {
            // `torch.nn.attention` calls torch.compile itself.
            "torch" => {
                !rest.starts_with("torch/nn/")
                    || rest.starts_with("torch/nn/attention/")
                    || rest == "torch/nn/parameter.py"
            }
            "ferrodyn" | "numpy" | "_pytest" | "pluggy" | "functorch" | "triton" | "sympy" => true,
            _ => false,
        };
    }
    file.contains("/python/ferrodyn/") || file.contains("/lib/python3.")
}

#[cfg(test)]
mod tests {
    use super::is_ignored_file;

    #[test]
    fn user_code_and_torch_nn_are_captured() {
        assert!(!is_ignored_file("/home/me/model.py"));
        assert!(!is_ignored_file("<stdin>"));
        assert!(!is_ignored_file("<string>"));
        assert!(!is_ignored_file(
            "/v/lib/python3.12/site-packages/torch/nn/modules/linear.py"
        ));
        assert!(!is_ignored_file(
            "/v/lib/python3.12/site-packages/timm/models/vit.py"
        ));
    }

    #[test]
    fn libraries_below_the_model_are_not() {
        assert!(is_ignored_file(
            "/v/lib/python3.12/site-packages/torch/_tensor.py"
        ));
        assert!(is_ignored_file("/usr/lib/python3.11/contextlib.py"));
        assert!(is_ignored_file("<frozen importlib._bootstrap>"));
    }
}
