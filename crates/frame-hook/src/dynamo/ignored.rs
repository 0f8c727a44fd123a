//! Which frames are never captured: code of the standard library, of torch and of Ferrodyn itself. A
//! function that the user compiled explicitly is captured wherever it is, and so is what follows a
//! break in a frame of `torch.nn`.

/// Whether frames of a file are left alone unless they were asked for by name. `resumes`: the frame
/// goes on behind a break.
pub fn is_ignored_file(file: &str, resumes: bool) -> bool {
    if file.starts_with('<') {
        return file.starts_with("<frozen ") || file.starts_with("<ferrodyn ");
    }
    if let Some((_, rest)) = file.split_once("/site-packages/") {
        let package = rest.split('/').next().unwrap_or(rest);
        return match package {
            // `torch.nn.attention` calls torch.compile itself.
            "torch" => {
                !resumes
                    || !rest.starts_with("torch/nn/")
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
    fn user_code_is_captured() {
        let files = [
            "/home/me/model.py",
            "<stdin>",
            "<string>",
            "/v/lib/python3.12/site-packages/timm/models/vit.py",
        ];
        for file in files {
            assert!(!is_ignored_file(file, false), "{file}");
        }
    }

    #[test]
    fn libraries_below_the_model_are_not() {
        let files = [
            "/v/lib/python3.12/site-packages/torch/_tensor.py",
            "/usr/lib/python3.11/contextlib.py",
            "<frozen importlib._bootstrap>",
        ];
        for file in files {
            assert!(is_ignored_file(file, true), "{file}");
        }
    }

    #[test]
    fn torch_nn_is_captured_behind_a_break() {
        let file = "/v/lib/python3.12/site-packages/torch/nn/modules/transformer.py";
        assert!(is_ignored_file(file, false));
        assert!(!is_ignored_file(file, true));
    }
}
