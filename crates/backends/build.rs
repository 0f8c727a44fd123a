//! Lets the tests, which embed an interpreter, find its shared library and its site-packages.

fn main() {
    println!("cargo:rerun-if-env-changed=PYO3_PYTHON");
    pyo3_build_config::add_libpython_rpath_link_args();
    if let Some(executable) = pyo3_build_config::get().executable() {
        println!("cargo:rustc-env=FERRODYN_TEST_PYTHON={executable}");
    }
}
