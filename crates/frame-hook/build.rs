//! Exports PyO3's `Py_3_x` cfgs, and binds the functions that take an exception from Python to those of `taken`.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    let taking = match pyo3_build_config::get().version().minor {
        11 => "PyErr_Fetch",
        _ => "PyErr_GetRaisedException",
    };
    for name in [taking, "PyErr_Clear"] {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap={name}");
    }
}
