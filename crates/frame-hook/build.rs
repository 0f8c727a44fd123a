//! Exports PyO3's `Py_3_x` cfgs, and binds functions of CPython that this library calls to its own of `taken` and
//! `thread_end`.

/// The names of the functions of `thread_end`.
macro_rules! wrapped {
    ($(fn $name:ident($($arguments:tt)*) $(-> $result:ty)?;)*) => {
        const THREAD_END: &[&str] = &[$(stringify!($name)),*];
    };
}

include!("src/thread_end/calls.rs");

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    println!("cargo::rerun-if-changed=src/thread_end/calls.rs");
    println!("cargo::rerun-if-changed=build.rs");
    let minor = pyo3_build_config::get().version().minor;
    let taking = match minor {
        11 => "PyErr_Fetch",
        _ => "PyErr_GetRaisedException",
    };
    println!("cargo::rustc-check-cfg=cfg(ends_threads)");
    let ends_threads: &[&str] = match minor {
        ..14 => {
            println!("cargo::rustc-cfg=ends_threads");
            THREAD_END
        }
        _ => &[],
    };
    for name in [taking, "PyErr_Clear"].iter().chain(ends_threads) {
        // Which of them PyO3 calls by name depends on the Python; a name that nothing calls would not be bound.
        println!("cargo::rustc-link-arg=-Wl,--undefined={name},--wrap={name}");
    }
}
