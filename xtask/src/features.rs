//! `cargo xtask features`: features as small programs, how much of each ferrodyn and torch.compile capture.

use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::extension::Profile;
use crate::project::Project;
use crate::script;

/// What of `benches/features/run.py` can be asked for here.
#[derive(Args)]
pub struct Options {
    /// Patterns of names (`func_*`); none: all programs.
    names: Vec<String>,
    /// A backend: `aot_eager`, `inductor`, or `graph` for one that gives the graph back.
    #[arg(long, value_name = "NAME", default_value = "aot_eager")]
    backend: String,
    /// Write the table to this file, in Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Options {
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![format!("--backend={}", self.backend)];
        let file = self.markdown.as_ref();
        arguments.extend(file.map(|file| format!("--markdown={}", file.display())));
        arguments.extend(self.names.iter().cloned());
        arguments
    }
}

/// Builds and runs `benches/features`; false if ferrodyn differs from eager where torch.compile does not.
pub fn run(project: &Project, environment: &Environment, options: &Options) -> Result<bool> {
    script::run(
        project,
        environment,
        Profile::Release,
        "benches/features/run.py",
        &options.arguments(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_handed_on() {
        let options = Options {
            names: vec!["func_*".into()],
            backend: "inductor".into(),
            markdown: Some("table.md".into()),
        };
        assert_eq!(
            options.arguments(),
            ["--backend=inductor", "--markdown=table.md", "func_*"]
        );
    }
}
