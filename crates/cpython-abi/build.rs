//! Exports PyO3's `Py_3_x` cfgs, and stops a build for a Python whose layouts are not known.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    let python = pyo3_build_config::get();
    let version = python.version();
    let (major, minor) = (version.major, version.minor);
    if major != 3 || !(11..=15).contains(&minor) {
        println!(
            "cargo::error=ferrodyn supports CPython 3.11 to 3.15, and PYO3_PYTHON is {major}.{minor}"
        );
    }
    if python.is_free_threaded() {
        println!(
            "cargo::error=ferrodyn supports builds of CPython with the GIL, and PYO3_PYTHON is a free-threaded one"
        );
    }
}
