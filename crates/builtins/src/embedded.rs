//! The interpreter of unit tests: that of the build, with the site-packages that hold torch.

use pyo3::prelude::*;

/// Runs `body` with the interpreter, torch within reach (`FERRODYN_SITE` names its site-packages).
pub fn with_torch<T>(body: impl for<'py> FnOnce(Python<'py>) -> T) -> T {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    // Cases redirect `sys.stdout` and change torch's global state.
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    Python::initialize();
    Python::attach(|py| {
        if let Ok(site) = std::env::var("FERRODYN_SITE") {
            py.import("site")
                .and_then(|m| m.call_method1("addsitedir", (site,)))
                .expect("site-packages");
        }
        body(py)
    })
}
