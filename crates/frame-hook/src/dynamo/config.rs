//! Options, process-wide. Names are torch's where the meaning is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, RwLock};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use torch_abi::tracer;

/// All options.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// ints are constants until they are seen to change; where this is off, none is
    pub assume_static_by_default: bool,
    /// an int that had another value when the code was compiled before is no constant any more
    pub automatic_dynamic_shapes: bool,
    /// an int is a constant, also where it is seen to change; sizes are not meant
    pub specialize_int: bool,
    /// a float is
    pub specialize_float: bool,
    /// sizes of parameters are constants, also where they are seen to change
    pub force_parameter_static_shapes: bool,
    /// numbers that are read from tensors may be sizes
    pub capture_scalar_outputs: bool,
    /// operations whose results have sizes that depend on data are captured
    pub capture_dynamic_output_shape_ops: bool,
    /// how many times one code object is compiled before it runs plainly
    pub recompile_limit: usize,
    /// the same over all resume functions and contexts of a code object
    pub accumulated_recompile_limit: usize,
    /// a recompilation raises `RecompileError`
    pub error_on_recompile: bool,
    /// reaching the limit raises `FailOnRecompileLimitHit`
    pub fail_on_recompile_limit_hit: bool,
    /// internal errors are logged with what was being translated
    pub verbose: bool,
    /// a failing backend falls back to plain Python
    pub suppress_errors: bool,
    /// nothing is compiled
    pub disable: bool,
    /// a thread that meets code which another one compiles waits for it, and does not run it plainly
    pub wait_for_compilation: bool,
    /// results of inductor are kept on disk, and those of earlier processes are used
    pub cache: bool,
    /// captures are kept there as well, and those of earlier processes are taken instead of translating
    pub cache_captures: bool,
    /// a long compilation shows on a terminal what it is at
    pub progress: bool,
    /// instructions interpreted for one frame before it is left to Python
    pub max_instructions: usize,
    /// the same for instructions in a row that add nothing to the graph
    pub max_plain_instructions: usize,
}

impl Config {
    const DEFAULT: Config = Config {
        assume_static_by_default: true,
        automatic_dynamic_shapes: true,
        specialize_int: false,
        specialize_float: false,
        force_parameter_static_shapes: true,
        capture_scalar_outputs: false,
        capture_dynamic_output_shape_ops: false,
        recompile_limit: 8,
        accumulated_recompile_limit: 256,
        error_on_recompile: false,
        fail_on_recompile_limit_hit: false,
        verbose: false,
        suppress_errors: false,
        disable: false,
        wait_for_compilation: false,
        cache: true,
        cache_captures: true,
        progress: true,
        max_instructions: 5_000_000,
        max_plain_instructions: 500_000,
    };
}

static CONFIG: RwLock<Config> = RwLock::new(Config::DEFAULT);

/// The options now.
pub fn get() -> Config {
    CONFIG.read().map_or(Config::DEFAULT, |c| c.clone())
}

/// Where results of compilers are kept; `None` where they are not.
pub fn cache_folder() -> Option<PathBuf> {
    match CONFIG.read().is_ok_and(|config| config.cache) {
        true => possible_cache_folder(),
        false => None,
    }
}

/// Where they would be kept. As other tools have it: `FERRODYN_CACHE_DIR`, or a folder of the user's `XDG_CACHE_HOME`,
/// or of `~/.cache`.
pub fn possible_cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    folder("FERRODYN_CACHE_DIR").map(PathBuf::from).or_else(|| {
        let caches = folder("XDG_CACHE_HOME").map(PathBuf::from);
        let caches = caches.or_else(|| folder("HOME").map(|home| Path::new(&home).join(".cache")));
        caches.map(|caches| caches.join("ferrodyn"))
    })
}

/// The options now, with those that the program has set for torch's tracer: an option of the same name holds where
/// ours is as it was. Of one that means nothing here the program is told once.
///
/// # Errors
/// What reading torch's options raises.
pub fn with_torchs(py: Python<'_>) -> PyResult<Config> {
    let mut config = get();
    let mut foreign = Vec::new();
    tracer::options(py, |module, name, value, is_changed| {
        if !config.adopt(name, value) && is_changed {
            foreign.push((module, name.to_owned(), value.clone()));
        }
    })?;
    for (module, name, value) in foreign {
        if is_first(format!("{module}.{name}")) {
            py.import("ferrodyn._torch_options")?
                .call_method1("tell", (module, name, value))?;
        }
    }
    Ok(config)
}

/// Whether the program was not told of an option yet.
fn is_first(name: String) -> bool {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    TOLD.lock().is_ok_and(|mut told| told.insert(name))
}

macro_rules! options {
    ($($name:ident),* $(,)?) => {
        impl Config {
            /// Takes a value of torch's option where ours was not set; whether there is an option of that name.
            fn adopt(&mut self, name: &str, value: &Bound<'_, PyAny>) -> bool {
                match name {
                    $(stringify!($name) => {
                        if self.$name == Config::DEFAULT.$name
                            && let Ok(value) = value.extract()
                        {
                            self.$name = value;
                        }
                        true
                    })*
                    _ => false,
                }
            }
        }

        /// All options with their values.
        #[pyfunction]
        pub fn get_config(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
            let config = get();
            let out = PyDict::new(py);
            $(out.set_item(stringify!($name), config.$name)?;)*
            Ok(out)
        }

        /// Sets options; all or none.
        #[pyfunction]
        pub fn set_config(options: &Bound<'_, PyDict>) -> PyResult<()> {
            let mut config = get();
            for (key, value) in options.iter() {
                let key: String = key.extract()?;
                match key.as_str() {
                    $(stringify!($name) => config.$name = value.extract()?,)*
                    other => {
                        return Err(pyo3::exceptions::PyAttributeError::new_err(format!("ferrodyn.config has no option '{other}'")));
                    }
                }
            }
            if let Ok(mut slot) = CONFIG.write() {
                *slot = config;
            }
            Ok(())
        }
    };
}

options!(
    assume_static_by_default,
    automatic_dynamic_shapes,
    specialize_int,
    specialize_float,
    force_parameter_static_shapes,
    capture_scalar_outputs,
    capture_dynamic_output_shape_ops,
    recompile_limit,
    accumulated_recompile_limit,
    error_on_recompile,
    fail_on_recompile_limit_hit,
    verbose,
    suppress_errors,
    disable,
    wait_for_compilation,
    cache,
    cache_captures,
    progress,
    max_instructions,
    max_plain_instructions,
);
