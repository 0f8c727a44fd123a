//! What the workspace's packages need, read from `cargo metadata`.

use anyhow::Result;
use cargo_metadata::{MetadataCommand, PackageId, TargetKind};
use std::collections::{BTreeMap, BTreeSet};

use crate::project::Project;

/// The packages of the workspace, by whether they need an interpreter to be linked.
pub struct Workspace {
    /// Packages that build and run without Python.
    pub pure: Vec<String>,
    /// Packages that depend on PyO3, also through their tests' dependencies.
    pub python: Vec<String>,
    /// Those of them whose code is another on each Python: `each-python` in their metadata.
    pub versioned: Vec<String>,
    /// Benchmarks: package, target, and whether it needs an interpreter.
    pub benches: Vec<(String, String, bool)>,
}

impl Workspace {
    /// Reads the workspace of `project`.
    pub fn read(project: &Project) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(project.root.join("Cargo.toml"))
            .exec()?;
        let mut edges: BTreeMap<PackageId, Vec<PackageId>> = BTreeMap::new();
        for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
            edges.insert(node.id.clone(), node.dependencies.clone());
        }
        let ffi: BTreeSet<PackageId> = metadata
            .packages
            .iter()
            .filter(|package| package.name.as_str() == "pyo3-ffi")
            .map(|package| package.id.clone())
            .collect();
        let mut workspace = Self {
            pure: Vec::new(),
            python: Vec::new(),
            versioned: Vec::new(),
            benches: Vec::new(),
        };
        for package in metadata.workspace_packages() {
            let name = package.name.to_string();
            let linked = reaches(&edges, &package.id, &ffi);
            for target in &package.targets {
                if target.kind.contains(&TargetKind::Bench) {
                    workspace
                        .benches
                        .push((name.clone(), target.name.clone(), linked));
                }
            }
            if package.metadata["each-python"] == true {
                workspace.versioned.push(name.clone());
            }
            if linked {
                &mut workspace.python
            } else {
                &mut workspace.pure
            }
            .push(name);
        }
        Ok(workspace)
    }
}

/// Whether a package of `goals` is among the dependencies of `start`, at any depth.
fn reaches<T: Ord + Clone>(edges: &BTreeMap<T, Vec<T>>, start: &T, goals: &BTreeSet<T>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![start.clone()];
    while let Some(next) = open.pop() {
        if goals.contains(&next) {
            return true;
        }
        if seen.insert(next.clone()) {
            open.extend(edges.get(&next).into_iter().flatten().cloned());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_followed_at_any_depth_and_through_cycles() {
        let edges = BTreeMap::from([
            ("hook", vec!["guards"]),
            ("guards", vec!["pyo3"]),
            ("graph", vec!["petgraph"]),
            ("petgraph", vec!["graph"]),
        ]);
        let goals = BTreeSet::from(["pyo3"]);
        assert!(reaches(&edges, &"hook", &goals));
        assert!(!reaches(&edges, &"graph", &goals));
    }

    #[test]
    fn this_workspace_has_both_kinds() {
        let workspace = Workspace::read(&Project::find().unwrap()).unwrap();
        for name in [
            "ferrodyn-bytecode",
            "ferrodyn-fx-graph",
            "ferrodyn-tensor-meta",
            "xtask",
        ] {
            assert!(workspace.pure.contains(&name.to_owned()), "{name}");
        }
        for name in ["ferrodyn-frame-hook", "ferrodyn-cpython-abi"] {
            assert!(workspace.python.contains(&name.to_owned()), "{name}");
        }
        let versioned = ["ferrodyn-cpython-abi", "ferrodyn-eval-frame"];
        assert_eq!(workspace.versioned, versioned);
    }
}
