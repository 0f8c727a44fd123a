//! Which frames are never captured: code of the standard library, of torch and of Ferrodyn itself. A
//! function that the user compiled explicitly is captured wherever it is, and so is what follows a
//! break in a frame of those parts of torch that are written as programs are, and a whole step
//! of an optimizer.

use pyo3::prelude::*;
use pyo3::types::{PyCode, PyTuple};
use torch_abi::imported::imported;
use translator::library::{self, Owner};

/// Parts of torch that compute with its operations and call the program: layers, the scaler.
const LIKE_PROGRAMS: [&str; 2] = ["torch/nn/", "torch/amp/"];

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
                || !LIKE_PROGRAMS.iter().any(|part| path.starts_with(part))
                || path.starts_with("torch/nn/attention/")
                || *path == "torch/nn/parameter.py"
        }
        "ferrodyn" | "numpy" | "_pytest" | "pluggy" | "functorch" | "triton" | "sympy" => true,
        _ => false,
    }
}

/// Whether a code object is that which torch puts around an optimizer's step. Plain code calls it, such as a loop that
/// breaks; a part of a step, such as what comes behind a break in it, is left alone.
///
/// # Errors
/// Whatever Python raises.
pub fn is_around_step(code: &Bound<'_, PyCode>) -> PyResult<bool> {
    let Some(module) = imported(code.py(), "torch.optim.optimizer")? else {
        return Ok(false);
    };
    let around = module.getattr("Optimizer")?.getattr("profile_hook_step")?;
    let held = around.getattr("__code__")?.getattr("co_consts")?;
    Ok(held.cast::<PyTuple>()?.iter().any(|held| held.is(code)))
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
    fn layers_and_the_scaler_are_captured_behind_a_break() {
        for file in [
            "torch/nn/modules/transformer.py",
            "torch/amp/grad_scaler.py",
        ] {
            let file = Owner::Package(file.into());
            assert!(is_ignored(&file, false));
            assert!(!is_ignored(&file, true));
        }
    }
}
