//! Whose file it is: the program's, an installed package's, or the standard library's.
//!
//! Where packages lie is what the interpreter says (`sysconfig`, `site`, the metadata of what is installed), once for
//! the process; a program may lie in a folder of any name. Not here: what follows from it for a frame or a function.

use std::borrow::Cow;
use std::path::Path;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFunction, PyModule, PyString, PyType};
use torch_abi::imported::imported;

/// Whose a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// the program's, or nobody's: text that was compiled
    Program,
    /// the standard library's, frozen modules included
    StandardLibrary,
    /// an installed package's: the path from where packages lie, such as `torch/nn/functional.py`
    Package(Cow<'a, str>),
}

/// Where packages and the standard library lie. Folders end with a slash.
#[derive(Debug, Default)]
struct Folders {
    /// folders of installed packages
    packages: Vec<String>,
    /// packages that are installed in editable form: their folders, and their names
    editable: Vec<(String, String)>,
    /// folders of the standard library, which may have folders of packages in them
    standard: Vec<String>,
}

impl Folders {
    fn owner<'a>(&self, file: &'a str) -> Owner<'a> {
        if file.starts_with("<frozen ") {
            return Owner::StandardLibrary;
        }
        let within = |folder: &String| file.strip_prefix(folder.as_str());
        if let Some(path) = self.packages.iter().find_map(within) {
            return Owner::Package(Cow::Borrowed(path));
        }
        let mut editable = self.editable.iter();
        if let Some(path) = editable.find_map(|(folder, name)| {
            file.strip_prefix(folder.as_str())
                .map(|path| format!("{name}/{path}"))
        }) {
            return Owner::Package(path.into());
        }
        match self.standard.iter().any(|folder| within(folder).is_some()) {
            true => Owner::StandardLibrary,
            false => Owner::Program,
        }
    }
}

/// Whose a file is, by the name that code objects have of it.
pub fn owner(file: &str) -> Owner<'_> {
    Python::attach(|py| folders(py).owner(file))
}

/// Whether a file belongs to an installed package or the standard library.
pub fn is_library_file(file: &str) -> bool {
    owner(file) != Owner::Program
}

/// Whether a function belongs to an installed package or the standard library.
pub fn is_library(f: &Bound<'_, PyAny>) -> bool {
    let py = f.py();
    let file = f
        .getattr(intern!(py, "__code__"))
        .and_then(|code| code.getattr(intern!(py, "co_filename")));
    let is_one = |file: &Bound<'_, PyString>| {
        file.to_str()
            .is_ok_and(|file| folders(py).owner(file) != Owner::Program)
    };
    file.is_ok_and(|file| file.cast::<PyString>().is_ok_and(is_one))
}

/// Tells what a module came with from what a program has put in its place.
pub struct Own {
    /// the folder of the module's package, with a slash behind it
    folder: Option<String>,
}

impl Own {
    /// For what is found in a module.
    pub fn of(py: Python<'_>, module: &str) -> Own {
        let root = module.split('.').next().unwrap_or(module);
        let file = file_of_module(py, root);
        let folder = file.and_then(|file| Some(Path::new(&file).parent()?.display().to_string()));
        Own {
            folder: folder.map(|folder| folder + "/"),
        }
    }

    /// Whether an object of the module may be one that it came with. Only what has been made of Python code can say
    /// that it is not: a function by its code, a class by its module. Packages wrap functions in those of the standard
    /// library.
    pub fn has(&self, object: &Bound<'_, PyAny>) -> bool {
        let py = object.py();
        let file = if object.is_exact_instance_of::<PyFunction>() {
            object
                .getattr(intern!(py, "__code__"))
                .and_then(|code| code.getattr(intern!(py, "co_filename"))?.extract())
                .ok()
        } else if object.is_instance_of::<PyType>() {
            let module = object.getattr(intern!(py, "__module__"));
            let Ok(module) = module.and_then(|module| module.extract::<String>()) else {
                return true;
            };
            match file_of_module(py, &module) {
                Some(file) => Some(file),
                None => return module != "__main__",
            }
        } else {
            None
        };
        let within = |folder: &String| file.as_ref().is_none_or(|file| file.starts_with(folder));
        file.as_ref()
            .is_none_or(|file| folders(py).owner(file) == Owner::StandardLibrary)
            || self.folder.as_ref().is_some_and(within)
    }
}

/// The file of an imported module, where it says that it has one.
fn file_of_module(py: Python<'_>, name: &str) -> Option<String> {
    let module = imported(py, name).ok()??;
    let module = module.cast::<PyModule>().ok()?;
    module.dict().get_item("__file__").ok()??.extract().ok()
}

fn folders(py: Python<'_>) -> &'static Folders {
    static FOLDERS: PyOnceLock<Folders> = PyOnceLock::new();
    // What cannot be found out leaves files to the program, which is right wherever a rule is missing.
    FOLDERS.get_or_init(py, || find(py).unwrap_or_default())
}

fn find(py: Python<'_>) -> PyResult<Folders> {
    let mut folders = Folders::default();
    let paths = py.import("sysconfig")?.call_method0("get_paths")?;
    for name in ["stdlib", "platstdlib"] {
        add(&mut folders.standard, paths.get_item(name)?.extract()?);
    }
    let os: String = py.import("os")?.getattr("__file__")?.extract()?;
    if let Some(folder) = Path::new(&os).parent() {
        add(&mut folders.standard, folder.display().to_string());
    }
    for name in ["purelib", "platlib"] {
        add(&mut folders.packages, paths.get_item(name)?.extract()?);
    }
    let site = py.import("site")?;
    let sites: Vec<String> = site.call_method0("getsitepackages")?.extract()?;
    for folder in sites {
        add(&mut folders.packages, folder);
    }
    if site.getattr("ENABLE_USER_SITE")?.is_truthy()? {
        let folder = site.call_method0("getusersitepackages")?.extract()?;
        add(&mut folders.packages, folder);
    }
    let import_path: Vec<Bound<'_, PyAny>> = py.import("sys")?.getattr("path")?.extract()?;
    for folder in import_path {
        let Ok(folder) = folder.extract::<String>() else {
            continue;
        };
        let metadata = metadata_in(Path::new(&folder));
        for distribution in &metadata {
            add_editable(py, distribution, &mut folders.editable)?;
        }
        // Other programs' environments, and those of tests.
        if !metadata.is_empty() {
            add(&mut folders.packages, folder);
        }
    }
    // However they came to be imported.
    let modules = py.import("sys")?.getattr("modules")?;
    for name in ["torch", "ferrodyn"] {
        let file = modules.get_item(name).and_then(|m| m.getattr("__file__"));
        let Ok(file) = file.and_then(|file| file.extract::<String>()) else {
            continue;
        };
        if let Some(folder) = Path::new(&file).ancestors().nth(2) {
            add(&mut folders.packages, folder.display().to_string());
        }
    }
    Ok(folders)
}

/// Adds a folder, by its name and by that of what it leads to.
fn add(folders: &mut Vec<String>, folder: String) {
    let real = std::fs::canonicalize(&folder).map(|real| real.display().to_string());
    for name in [Some(folder), real.ok()].into_iter().flatten() {
        let name = format!("{}/", name.trim_end_matches('/'));
        if name != "/" && !folders.contains(&name) {
            folders.push(name);
        }
    }
}

/// The folders of metadata (PEP 376) of what is installed in a folder.
fn metadata_in(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "dist-info"))
        .collect()
}

/// Adds the packages of a distribution that is installed in editable form (PEP 610, PEP 660): the folders of their
/// names in the project, or in its `src`. The rest of a project is a program.
fn add_editable(
    py: Python<'_>,
    metadata: &Path,
    editable: &mut Vec<(String, String)>,
) -> PyResult<()> {
    let Ok(origin) = std::fs::read_to_string(metadata.join("direct_url.json")) else {
        return Ok(());
    };
    let origin = py.import("json")?.call_method1("loads", (origin,))?;
    let is_editable = origin
        .get_item("dir_info")
        .and_then(|info| info.get_item("editable"))
        .is_ok_and(|editable| editable.is_truthy().unwrap_or(false));
    if !is_editable {
        return Ok(());
    }
    let url = py
        .import("urllib.parse")?
        .call_method1("urlsplit", (origin.get_item("url")?,))?;
    let path = url.getattr("path")?;
    let project: String = py
        .import("urllib.request")?
        .call_method1("url2pathname", (path,))?
        .extract()?;
    let names = match std::fs::read_to_string(metadata.join("top_level.txt")) {
        Ok(names) => names.split_whitespace().map(str::to_owned).collect(),
        Err(_) => vec![distribution_name(metadata)],
    };
    for name in names {
        for folder in [
            Path::new(&project).to_owned(),
            Path::new(&project).join("src"),
        ] {
            let folder = folder.join(&name);
            if folder.is_dir() {
                editable.push((format!("{}/", folder.display()), name.clone()));
            }
        }
    }
    Ok(())
}

/// `some_name` of `some_name-1.2.dist-info`.
fn distribution_name(metadata: &Path) -> String {
    let name = metadata.file_stem().unwrap_or_default().to_string_lossy();
    name.split('-').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> Folders {
        let text = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        Folders {
            packages: text(&[
                "/usr/lib/python3/dist-packages/",
                "/v/lib/python3.12/site-packages/",
            ]),
            editable: vec![("/src/tool/tool/".into(), "tool".into())],
            standard: text(&["/usr/lib/python3.12/"]),
        }
    }

    #[test]
    fn files_of_packages_are_known_by_their_folders() {
        let package = |path: &'static str| Owner::Package(path.into());
        let cases = [
            (
                "/v/lib/python3.12/site-packages/torch/nn/init.py",
                package("torch/nn/init.py"),
            ),
            (
                "/usr/lib/python3/dist-packages/numpy/core.py",
                package("numpy/core.py"),
            ),
            ("/src/tool/tool/part.py", package("tool/part.py")),
            ("/usr/lib/python3.12/contextlib.py", Owner::StandardLibrary),
            ("<frozen importlib._bootstrap>", Owner::StandardLibrary),
        ];
        for (file, owner) in cases {
            assert_eq!(folders().owner(file), owner, "{file}");
        }
    }

    #[test]
    fn a_program_may_lie_anywhere_else() {
        let files = [
            "/home/me/lib/python3.12/model.py",
            "/home/me/site-packages/model.py",
            "/src/tool/train.py",
            "<stdin>",
        ];
        for file in files {
            assert_eq!(folders().owner(file), Owner::Program, "{file}");
        }
    }

    #[test]
    fn names_of_distributions_end_at_the_version() {
        let metadata = Path::new("/v/some_name-1.2.dist-info");
        assert_eq!(distribution_name(metadata), "some_name");
    }
}
