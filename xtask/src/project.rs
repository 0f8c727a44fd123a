//! Where things are in the repository.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The repository's folders.
pub struct Project {
    /// The folder of the workspace's `Cargo.toml`.
    pub root: PathBuf,
}

impl Project {
    /// The repository that this program was built from.
    pub fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask has no parent folder")?
            .to_path_buf();
        Ok(Self { root })
    }

    /// `.ferrodyn`: environments and tools; ignored by git.
    pub fn state(&self) -> PathBuf {
        self.root.join(".ferrodyn")
    }

    /// The build folder for crates that do not need Python.
    pub fn target(&self) -> PathBuf {
        self.root.join("target")
    }

    /// The build folder for crates that link one Python (see `build_folder`).
    pub fn target_for(&self, name: &str) -> PathBuf {
        self.target().join(name)
    }

    /// Where the output of each step of a run is kept.
    pub fn logs(&self) -> PathBuf {
        self.target().join("xtask-logs")
    }
}
