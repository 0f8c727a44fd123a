//! Which frames are never captured: code of the standard library, of torch and of Ferrodyn itself. A
//! function that the user compiled explicitly is captured wherever it is, and so is what follows a
//! break in a frame of `torch.nn`.

use translator::library::{self, Owner};

/// Whether frames of a file are left alone unless they were asked for by name. `resumes`: the frame
/// goes on behind a break.
pub fn is_ignored_file(file: &str, resumes: bool) -> bool {
    file.starts_with("<ferrodyn ") || is_ignored(&library::owner(file), resumes)
}

fn is_ignored(owner: &Owner<'_>, resumes: bool) -> bool {
    let path = match owner {
        Owner::Program => return false,
        Owner::StandardLibrary => return true,
        Owner::Package(path) => path,
    };
    match path.split('/').next().unwrap_or_default() {
        // `torch.nn.attention` calls torch.compile itself.
        "torch" => {
            !resumes
                || !path.starts_with("torch/nn/")
                || path.starts_with("torch/nn/attention/")
                || *path == "torch/nn/parameter.py"
        }
        "ferrodyn" | "numpy" | "_pytest" | "pluggy" | "functorch" | "triton" | "sympy" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_the_program_and_of_most_packages_is_captured() {
        let package = Owner::Package("timm/models/vit.py".into());
        for owner in [Owner::Program, package] {
            assert!(!is_ignored(&owner, false), "{owner:?}");
        }
    }

    #[test]
    fn libraries_below_the_model_are_not() {
        let torch = Owner::Package("torch/_tensor.py".into());
        for owner in [torch, Owner::StandardLibrary] {
            assert!(is_ignored(&owner, true), "{owner:?}");
        }
    }

    #[test]
    fn torch_nn_is_captured_behind_a_break() {
        let file = Owner::Package("torch/nn/modules/transformer.py".into());
        assert!(is_ignored(&file, false));
        assert!(!is_ignored(&file, true));
    }
}
