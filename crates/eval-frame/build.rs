//! Exports PyO3's `Py_3_x` cfgs, and lets the example, which embeds an interpreter, find its shared library.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    pyo3_build_config::add_libpython_rpath_link_args();
}
