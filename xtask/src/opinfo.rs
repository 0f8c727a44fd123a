//! `cargo xtask opinfo`: torch's operator and module databases under eager, ferrodyn and torch.compile.

use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::extension::Profile;
use crate::project::Project;
use crate::script;

/// What of `benches/opinfo/run.py` can be asked for here.
#[derive(Args)]
pub struct Options {
    /// Patterns of names (`nn.functional.*`, `module:*`); none: all entries.
    names: Vec<String>,
    /// A backend: plain, aot_eager, ...; may be given several times.
    #[arg(long, value_name = "NAME")]
    backend: Vec<String>,
    /// A dtype: float32, ...; may be given several times.
    #[arg(long, value_name = "NAME")]
    dtype: Vec<String>,
    /// Where tensors are: cuda.
    #[arg(long)]
    device: Option<String>,
    /// Use no more samples of an entry than these.
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// The I-th of N parts.
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// How many processes run at once.
    #[arg(long, value_name = "COUNT")]
    jobs: Option<usize>,
    /// The forward pass only.
    #[arg(long)]
    no_backward: bool,
    /// Write all that is not the same to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Build without optimisation, with debug assertions and verifiers.
    #[arg(long)]
    debug: bool,
}

impl Options {
    fn arguments(&self) -> Vec<String> {
        let text = |name: &str, value: String| format!("--{name}={value}");
        let mut arguments = Vec::new();
        arguments.extend(self.backend.iter().map(|b| text("backend", b.clone())));
        arguments.extend(self.dtype.iter().map(|d| text("dtype", d.clone())));
        arguments.extend(self.device.iter().map(|d| text("device", d.clone())));
        arguments.extend(self.limit.map(|limit| text("limit", limit.to_string())));
        arguments.extend(self.shard.iter().map(|s| text("shard", s.clone())));
        arguments.extend(self.jobs.map(|jobs| text("jobs", jobs.to_string())));
        arguments.extend(self.no_backward.then(|| "--no-backward".to_owned()));
        let json = self.json.as_ref();
        arguments.extend(json.map(|file| text("json", file.display().to_string())));
        arguments.extend(self.names.iter().cloned());
        arguments
    }
}

/// Builds and runs `benches/opinfo`; false if ferrodyn differs from eager where torch.compile does not.
pub fn run(project: &Project, environment: &Environment, options: &Options) -> Result<bool> {
    let profile = match options.debug {
        true => Profile::Dev,
        false => Profile::Release,
    };
    script::run(
        project,
        environment,
        profile,
        "benches/opinfo/run.py",
        &options.arguments(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_handed_on() {
        let options = Options {
            names: vec!["module:*".into()],
            backend: vec!["plain".into(), "aot_eager".into()],
            dtype: vec!["float64".into()],
            device: None,
            limit: Some(4),
            shard: Some("1/2".into()),
            jobs: Some(2),
            no_backward: true,
            json: None,
            debug: false,
        };
        assert_eq!(
            options.arguments(),
            [
                "--backend=plain",
                "--backend=aot_eager",
                "--dtype=float64",
                "--limit=4",
                "--shard=1/2",
                "--jobs=2",
                "--no-backward",
                "module:*"
            ]
        );
    }
}
