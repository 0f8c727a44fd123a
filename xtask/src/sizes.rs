//! `cargo xtask sizes`: programs over sizes, made from seeds and compared with eager below a compiler.

use anyhow::Result;
use clap::Args;

use crate::environment::Environment;
use crate::extension::Profile;
use crate::project::Project;
use crate::script;

/// What of `tests/python/size_programs.py` can be asked for here.
#[derive(Args)]
pub struct Options {
    /// How many pairs of program and sizes.
    #[arg(long, value_name = "COUNT", default_value_t = 10240)]
    pairs: usize,
    /// These programs instead; the last one is left out.
    #[arg(long, value_name = "FIRST-LAST")]
    seeds: Option<String>,
    /// A backend: aot_eager, inductor; eager gives the graph back.
    #[arg(long, value_name = "NAME", default_value = "aot_eager")]
    backend: String,
    /// torch.compile beside it, and how many graphs it needs.
    #[arg(long)]
    torch: bool,
    /// How many processes run at once.
    #[arg(long, value_name = "COUNT")]
    jobs: Option<usize>,
}

impl Options {
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--pairs={}", self.pairs),
            format!("--backend={}", self.backend),
        ];
        arguments.extend(self.seeds.iter().map(|seeds| format!("--seeds={seeds}")));
        arguments.extend(self.torch.then(|| "--torch".to_owned()));
        arguments.extend(self.jobs.map(|jobs| format!("--jobs={jobs}")));
        arguments
    }
}

/// Builds and runs the programs; false if one differs from eager where torch.compile does not.
pub fn run(project: &Project, environment: &Environment, options: &Options) -> Result<bool> {
    script::run(
        project,
        environment,
        Profile::Release,
        "tests/python/size_programs.py",
        &options.arguments(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_handed_on() {
        let options = Options {
            pairs: 80,
            seeds: Some("3-5".into()),
            backend: "inductor".into(),
            torch: true,
            jobs: Some(2),
        };
        assert_eq!(
            options.arguments(),
            [
                "--pairs=80",
                "--backend=inductor",
                "--seeds=3-5",
                "--torch",
                "--jobs=2"
            ]
        );
    }
}
