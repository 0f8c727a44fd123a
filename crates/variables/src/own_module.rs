//! Python code of our own that graphs and residual code call: a module made at its first use.
//!
//! Not here: the code itself, which stands beside what uses it.
//!
//! Invariant: each of them is made by [`own_module!`](crate::own_module), and is found by its name from then on, which
//! no other one has: what another process has kept may name any of them.

use std::ffi::CStr;

use crate::Obj;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// One of all such modules, in a list that the linker makes.
#[doc(hidden)]
pub struct Listed(pub &'static OwnModule);

#[doc(hidden)]
pub use inventory;

inventory::collect!(Listed);

/// Defines an [`OwnModule`]: its code, the file that tracebacks name, its name; perhaps what adds functions to it that
/// are none of Python's.
#[macro_export]
macro_rules! own_module {
    ($vis:vis static $module:ident = ($code:expr, $file:expr, $name:expr $(,)?);) => {
        $crate::own_module! { $vis static $module = ($code, $file, $name, |_| Ok(())); }
    };
    ($vis:vis static $module:ident = ($code:expr, $file:expr, $name:expr, $natives:expr);) => {
        $vis static $module: $crate::own_module::OwnModule =
            $crate::own_module::OwnModule::new($code, $file, $name, $natives);
        $crate::own_module::inventory::submit! { $crate::own_module::Listed(&$module) }
    };
}

/// The names of all modules of our own, in no order.
pub fn names() -> impl Iterator<Item = &'static CStr> {
    inventory::iter::<Listed>
        .into_iter()
        .map(|listed| listed.0.name)
}

/// Makes the module of this name, where it is one of our own.
pub fn make(py: Python<'_>, name: &str) -> bool {
    let mut all = inventory::iter::<Listed>.into_iter();
    let named = all.find(|listed| listed.0.name.to_bytes() == name.as_bytes());
    named.is_some_and(|listed| listed.0.get(py).is_ok())
}

/// A module that is no file, once for the process.
pub struct OwnModule {
    module: PyOnceLock<Obj>,
    code: &'static CStr,
    file: &'static CStr,
    name: &'static CStr,
    natives: Natives,
}

/// Adds functions to a module.
type Natives = fn(&Bound<'_, PyModule>) -> PyResult<()>;

impl OwnModule {
    /// `file` is what tracebacks name. Only for [`own_module!`](crate::own_module).
    #[doc(hidden)]
    pub const fn new(
        code: &'static CStr,
        file: &'static CStr,
        name: &'static CStr,
        natives: Natives,
    ) -> OwnModule {
        OwnModule {
            module: PyOnceLock::new(),
            code,
            file,
            name,
            natives,
        }
    }

    /// The module, where it was used before.
    pub fn made<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.module.get(py).map(|module| module.bind(py).clone())
    }

    /// The module.
    ///
    /// # Errors
    /// What running the code raises the first time.
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let module = self.module.get_or_try_init(py, || -> PyResult<Obj> {
            let module = PyModule::from_code(py, self.code, self.file, self.name)?;
            (self.natives)(&module)?;
            Ok(module.into_any().unbind())
        })?;
        Ok(module.bind(py).clone())
    }
}
