//! `cargo xtask models`: real models under eager, ferrodyn and torch.compile.

use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::extension::Profile;
use crate::project::Project;
use crate::script;

/// What of `benches/models/run.py` can be asked for here.
#[derive(Args)]
pub struct Options {
    /// Patterns of names (`tv_*`); none: all models.
    names: Vec<String>,
    /// Write all results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the table to this file, in Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Take a graph break for an error.
    #[arg(long)]
    fullgraph: bool,
    /// Below this compiler (aot_eager, inductor), beside torch.compile: graphs, operations,
    /// equality, what a call takes, and the first one of a process.
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
    /// With --backend: several batches and lengths, and both meanings of `dynamic`.
    #[arg(long, requires = "backend")]
    sizes: bool,
    /// With --backend: instead of all else, whether a second process gives what the first one gives.
    #[arg(long, requires = "backend")]
    second: bool,
    /// With --second: this many more processes of each compiler that find what one has left, in
    /// turns; medians.
    #[arg(long, requires = "second", value_name = "N")]
    warm: Option<u32>,
    /// In training mode, with gradients.
    #[arg(long)]
    train: bool,
    /// Where models and inputs are: cuda.
    #[arg(long)]
    device: Option<String>,
}

impl Options {
    fn arguments(&self) -> Vec<String> {
        let mut arguments = match &self.backend {
            Some(backend) if self.second => vec![format!("--backend={backend}")],
            Some(backend) => vec![format!("--backend={backend}"), "--times".to_owned()],
            None => vec!["--table".to_owned()],
        };
        let flags = [
            ("--fullgraph", self.fullgraph),
            ("--train", self.train),
            ("--sizes", self.sizes),
            ("--second", self.second),
        ];
        arguments.extend(flags.iter().filter(|f| f.1).map(|f| f.0.to_owned()));
        arguments.extend(self.warm.iter().map(|count| format!("--warm={count}")));
        let files = [("--json", &self.json), ("--markdown", &self.markdown)];
        arguments.extend(
            files
                .iter()
                .filter_map(|(flag, file)| Some(format!("{flag}={}", file.as_ref()?.display()))),
        );
        arguments.extend(
            self.device
                .iter()
                .map(|device| format!("--device={device}")),
        );
        arguments.extend(self.names.iter().cloned());
        arguments
    }
}

/// Installs the model packages, builds in release mode and runs `benches/models`; false if a model
/// differs from eager.
pub fn run(project: &Project, environment: &Environment, options: &Options) -> Result<bool> {
    for venv in &environment.venvs {
        environment.add(project, venv, "models", "benches/models/requirements.txt")?;
    }
    script::run(
        project,
        environment,
        Profile::Release,
        "benches/models/run.py",
        &options.arguments(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_handed_on() {
        let options = Options {
            names: vec!["tv_*".into()],
            json: Some("out.json".into()),
            markdown: None,
            fullgraph: true,
            backend: None,
            sizes: false,
            second: false,
            warm: None,
            train: false,
            device: Some("cuda".into()),
        };
        assert_eq!(
            options.arguments(),
            [
                "--table",
                "--fullgraph",
                "--json=out.json",
                "--device=cuda",
                "tv_*"
            ]
        );
    }
}
