//! Globals, builtins and imports.

use crate::attr::absent_key;
use crate::raw::{dict_get, instance_dict};
use crate::state::Globals;
use crate::stop::{R, Stop};
use crate::tx::Tx;
use guards::{GuardKind, Source};
use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use std::sync::Arc;
use variables::{GlobalKey, Obj, Var};
impl<'py> Tx<'py> {
    /// A global or builtin.
    pub fn load_global(&mut self, name: &Arc<str>) -> R<Var> {
        let globals = self.st.frame.globals.clone();
        self.global_of(&globals, name)
    }

    /// A global or builtin, as a function with these globals finds it.
    pub(crate) fn global_of(&mut self, globals: &Globals, name: &Arc<str>) -> R<Var> {
        let py = self.py;
        let key = GlobalKey {
            dict: globals.dict.as_ptr() as usize,
            name: name.clone(),
        };
        if let Some(written) = self.st.effects.global(&key) {
            if let Some(v) = written {
                return Ok(v);
            }
        } else {
            let dict = globals
                .dict
                .bind(py)
                .cast::<pyo3::types::PyDict>()
                .map_err(PyErr::from)?
                .clone();
            if let Some(v) = dict_get(&dict, name) {
                if self.known.is_lazy_import(&v) {
                    return Err(Stop::lazy_import(name));
                }
                let source = match globals.source {
                    None => self.source(Source::Global { name: name.clone() }),
                    Some(s) => {
                        let (pin, module) = match self.facts.sources.get(s) {
                            Source::Pinned { pin, name } => (*pin, name.clone()),
                            _ => return Err(Stop::Internal("globals source".into())),
                        };
                        self.source(Source::GlobalsOf {
                            pin,
                            module,
                            name: name.clone(),
                        })
                    }
                };
                self.touch(source);
                return Ok(self.lazy(v.unbind(), source));
            }
            let dict_source = self.pinned_source(&globals.dict, false, "globals");
            self.guard(dict_source, absent_key(guards::Key::str(name)));
        }
        let builtins = self.known.builtins.bind(py).getattr("__dict__")?;
        let key = GlobalKey {
            dict: builtins.as_ptr() as usize,
            name: name.clone(),
        };
        let found = match self.st.effects.global(&key) {
            Some(Some(written)) => return Ok(written),
            // It was deleted.
            Some(None) => None,
            None => self.known.builtins.bind(py).getattr(&**name).ok(),
        };
        match found {
            Some(v) => {
                let source = self.source(Source::Builtin { name: name.clone() });
                let obj: Obj = v.unbind();
                self.build(&obj, source)
            }
            None => {
                if self.st.effects.global(&key).is_none() {
                    let source = self.pinned_source(&builtins.unbind(), false, "builtins");
                    self.guard(source, absent_key(guards::Key::str(name)));
                }
                Err(self.raise("NameError", &format!("name '{name}' is not defined")))
            }
        }
    }

    /// The module that `sys.modules` has under a name now.
    fn guard_import(&mut self, name: &str) -> R<()> {
        let modules = self.known.sys_modules.clone();
        let base = self.pinned_source(&modules, false, "sys.modules");
        let source = self.source(Source::DictItem {
            base,
            key: guards::Key::str(name),
        });
        let module = modules.bind(self.py).get_item(name)?.unbind();
        let obj = self.pin(&module, false);
        self.guard(source, GuardKind::IdMatch { obj });
        Ok(())
    }

    /// `from module import name`: an attribute, else a submodule that was imported.
    pub(crate) fn import_from(&mut self, module: &Var, name: &Arc<str>) -> R<Var> {
        let stop = match self.getattr_sync(module, name) {
            Ok(v) => return Ok(v),
            Err(stop) => stop,
        };
        let Stop::Raise(raised) = &stop else {
            return Err(stop);
        };
        let class = self.type_of(raised)?;
        let attribute_error = self.known.attribute_error.clone();
        if !self.is_subtype(&class, &attribute_error) {
            return Err(stop);
        }
        let package = self.realize(module)?;
        let full = match package.as_obj() {
            Some(p) => p
                .bind(self.py)
                .getattr("__name__")
                .map(|n| format!("{n}.{name}"))
                .unwrap_or_default(),
            None => String::new(),
        };
        // `import` itself does this for the names that it is asked for.
        let Some(found) = self.imported(&full)? else {
            return Err(Stop::unsupported(format!(
                "import of {name}, which is not there: Python raises the ImportError"
            )));
        };
        let source = self.pinned_source(&found, false, &full);
        self.build(&found, source)
    }

    /// What `sys.modules` has under a name, guarded; a module of a library is imported for it.
    fn imported(&mut self, name: &str) -> R<Option<Obj>> {
        let modules = self.known.sys_modules.clone();
        if let Some(Var::Obj(id)) = self.st.effects.known(modules.as_ptr() as usize)
            && self.obj(*id).is_dirty()
        {
            return Err(Stop::brk(
                format!("Import of {name} behind a change of sys.modules"),
                "The function has changed `sys.modules`, which takes effect when the graph has run, and importing looks there.",
                "Change `sys.modules` before the compiled function runs.",
            ));
        }
        let modules = modules.bind(self.py);
        if modules.get_item(name).is_err() && (name.is_empty() || !self.import_of_library(name)) {
            return Ok(None);
        }
        let Ok(module) = modules.get_item(name) else {
            return Ok(None);
        };
        self.guard_import(name)?;
        Ok(Some(module.unbind()))
    }

    /// Imports a module of an installed package or of the standard library, as the program is
    /// about to do; what these do when they are imported does not depend on when that is.
    /// `false` where this is not such a module, or the import fails.
    fn import_of_library(&self, name: &str) -> bool {
        let py = self.py;
        let top = name.split('.').next().unwrap_or(name);
        let import = || -> PyResult<bool> {
            let spec = py
                .import("importlib.util")?
                .call_method1("find_spec", (top,))?;
            let origin: String = spec.getattr("origin")?.extract()?;
            let interpreter = matches!(&*origin, "built-in" | "frozen");
            if !interpreter && !crate::library::is_library_file(&origin) {
                return Ok(false);
            }
            py.import("importlib")?
                .call_method1("import_module", (name,))
                .map(|_| true)
        };
        import().unwrap_or(false)
    }

    /// The statement calls `__import__`, which programs replace.
    fn guard_import_function(&mut self) -> R<()> {
        let name = "__import__";
        let function = match self.known.builtins.bind(self.py).getattr(name) {
            Ok(f) if f.is_instance_of::<PyCFunction>() && f.getattr("__name__")?.eq(name)? => f,
            _ => return Err(Stop::unsupported("an import by a replaced __import__")),
        };
        let source = self.source(Source::Builtin { name: name.into() });
        let obj = self.pin(&function.unbind(), false);
        self.guard(source, GuardKind::IdMatch { obj });
        Ok(())
    }

    pub(crate) fn import_name(&mut self, name: &Arc<str>, level: &Var, fromlist: &Var) -> R<Var> {
        let py = self.py;
        self.guard_import_function()?;
        let level: i64 = match level {
            Var::Const(o) => o.extract(py)?,
            _ => return Err(Stop::unsupported("import with a computed level")),
        };
        let full = if level == 0 {
            name.to_string()
        } else {
            let package: Option<String> =
                match self.st.frame.globals.dict.bind(py).get_item("__package__") {
                    Ok(p) => p.extract().ok(),
                    Err(_) => None,
                };
            let package =
                package.ok_or_else(|| Stop::unsupported("a relative import outside a package"))?;
            let parts: Vec<&str> = package.split('.').collect();
            let keep = parts
                .len()
                .checked_sub(level as usize - 1)
                .ok_or_else(|| Stop::unsupported("a relative import beyond the package"))?;
            let base = parts[..keep].join(".");
            if name.is_empty() {
                base
            } else {
                format!("{base}.{name}")
            }
        };
        let Some(module) = self.imported(&full)? else {
            return Err(Stop::brk(
                format!("Import of {full}"),
                format!(
                    "The module {full} is not imported yet; importing runs its code, so it happens in eager mode."
                ),
                "Import the module before the compiled function runs.",
            ));
        };
        let (wanted, module) = if fromlist.is_none(py) {
            let top = full.split('.').next().unwrap_or(&full).to_string();
            self.guard_import(&top)?;
            let package = self.known.sys_modules.bind(py).get_item(&top)?;
            (top, package.unbind())
        } else {
            (full, module)
        };
        if !fromlist.is_none(py) && self.imports_submodule(&wanted, &module, fromlist)? {
            return Err(Stop::unsupported(format!(
                "importing modules of {wanted} that are not imported yet"
            )));
        }
        let source = self.pinned_source(&module, false, &wanted);
        self.build(&module, source)
    }

    /// Whether `from package import names` would import a module of the user's.
    fn imports_submodule(&mut self, package: &str, module: &Obj, names: &Var) -> R<bool> {
        let py = self.py;
        if !module.bind(py).hasattr("__path__")? {
            return Ok(false);
        }
        let Some(dict) = instance_dict(module.bind(py)) else {
            return Ok(false);
        };
        for name in self.iterate(names)? {
            let Some(name) = self.as_const(&name)? else {
                return Ok(true);
            };
            let full = format!("{package}.{name}");
            if !dict.contains(&name)?
                && !self.known.sys_modules.bind(py).contains(&full)?
                && !self.import_of_library(&full)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
