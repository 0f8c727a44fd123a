//! Exports PyO3's `Py_3_x` cfgs, and stops a build for a Python whose layouts are not known.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    let version = pyo3_build_config::get().version();
    let (major, minor) = (version.major, version.minor);
    if major != 3 || !(11..=13).contains(&minor) {
        println!(
            "cargo::error=ferrodyn supports CPython 3.11, 3.12 and 3.13, and PYO3_PYTHON is {major}.{minor}"
        );
    }
}
