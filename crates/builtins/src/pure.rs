//! Functions without effects, state or use of identity: Python runs them on constants.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use torch_abi::names::TORCH_C_NN;
use translator::rules::{Given, List, Rule};
use translator::stop::Stop;
use translator::tx::{Args, Tx};
use variables::Var;

/// One line a module: a name for its rule, the module, its pure functions. `"*"`: all functions.
macro_rules! pure {
    ($($rule:ident: $module:tt $names:expr;)*) => {
        $(fn $rule(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
            call(tx, $module, name, args)
        })*
        const FUNCTIONS: &[(&str, &[&str], Rule)] = &[$(($module, &$names, $rule)),*];
    };
}

pure! {
    math: "math" ["*"];
    cmath: "cmath" ["*"];
    struct_: "struct" ["calcsize", "pack", "unpack", "unpack_from"];
    posix: "posix" ["fspath"];
    sys: "sys" ["getrecursionlimit", "getdefaultencoding"];
    bisect: "_bisect" ["bisect_left", "bisect_right"];
    zlib: "zlib" ["crc32", "adler32"];
    binascii: "binascii" ["hexlify", "unhexlify", "b2a_base64", "a2b_base64", "crc32"];
    unicodedata: "unicodedata" [
        "normalize", "is_normalized", "category", "name", "lookup", "combining", "bidirectional",
        "decimal", "digit", "numeric", "east_asian_width", "mirrored", "decomposition",
    ];
    posixpath: "posixpath" [
        "join", "basename", "dirname", "split", "splitext", "isabs", "normpath", "normcase",
        "commonpath", "splitroot", "splitdrive",
    ];
    re: "re" ["compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "escape"];
    json: "json" ["dumps", "loads"];
    torch_nn: TORCH_C_NN ["_parse_to"];
}

/// `"a.b[0]"` as the text `"a"` and an iterator, which each call makes anew.
fn field_name_split(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((pos, kw)) = tx.real_args(&args)? else {
        return Ok(None);
    };
    let split = tx.py.import("_string")?.getattr(name)?;
    let parts = tx.fold(move |py| {
        let made = split.call(PyTuple::new(py, pos)?, kw.as_ref())?;
        let rest = made
            .get_item(1)?
            .try_iter()?
            .collect::<PyResult<Vec<_>>>()?;
        Ok((made.get_item(0)?, rest).into_pyobject(py)?.into_any())
    })?;
    let [first, rest] = &tx.iterate(&parts)?[..] else {
        return Ok(None);
    };
    let rest = tx.get_iter(rest)?;
    crate::value(Var::tuple(vec![first.clone(), rest]))
}

/// `sys.intern`, which makes the very object that it is given the interned one: only a library, which wants to save
/// memory, does not look which one it has then.
fn intern(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    match variables::library::is_library_file(&tx.st.frame.code.filename) {
        true => call(tx, "sys", name, args),
        false => Ok(None),
    }
}

/// Lists every function.
pub(crate) fn add_all(py: Python<'_>, add: &mut List<'_>) {
    add("sys", "intern", intern);
    add("_string", "formatter_field_name_split", field_name_split);
    for (module, names, rule) in FUNCTIONS {
        if **names != ["*"] {
            names.iter().for_each(|name| add(module, name, *rule));
            continue;
        }
        let Ok(m) = py.import(*module) else { continue };
        for name in m.dir().into_iter().flat_map(|d| {
            d.iter()
                .filter_map(|n| n.extract::<String>().ok())
                .collect::<Vec<_>>()
        }) {
            if !name.starts_with('_') && m.getattr(&*name).is_ok_and(|f| f.is_callable()) {
                // Once for the process: the table lives as long.
                add(module, Box::leak(name.into_boxed_str()), *rule);
            }
        }
    }
}

/// Whether the flags of a regular expression make its compiler print.
fn prints<'py>(
    py: Python<'py>,
    pos: &[Bound<'py, PyAny>],
    kw: Option<&Bound<'py, PyDict>>,
) -> PyResult<bool> {
    let debug = py.import("re")?.getattr("DEBUG")?;
    let named = kw
        .map(|kw| kw.values().iter().collect())
        .unwrap_or_default();
    for v in pos.iter().cloned().chain::<Vec<_>>(named) {
        if v.get_type().is(debug.get_type()) && v.bitand(&debug)?.is_truthy()? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Calls a pure function on constants.
///
/// # Errors
/// What the function raises; a break for a tensor argument.
pub(crate) fn call(tx: &mut Tx<'_>, module: &str, name: &str, args: Args) -> Given {
    let function = tx.py.import(module)?.getattr(name)?;
    if let Some(v) = tx.compute_call(&function, &args)? {
        return crate::value(v);
    }
    if let Some((pos, kw)) = tx.real_args(&args)? {
        if module == "re" && prints(tx.py, &pos, kw.as_ref())? {
            return Err(Stop::unsupported("`re.DEBUG`, which prints"));
        }
        let f = function;
        if name == "getrecursionlimit" {
            let now = f.call0()?;
            tx.guard_call(&f.clone().unbind(), None, &[], &now)?;
        }
        return crate::value(tx.fold(move |py| f.call(PyTuple::new(py, pos)?, kw.as_ref()))?);
    }
    // Numbers of user classes and iterables that are no containers.
    let mut plain = Vec::with_capacity(args.pos.len());
    let mut changed = false;
    for v in &args.pos {
        let v = tx.realize(v)?;
        match &v {
            Var::Tensor(_) => {
                return Err(Stop::brk(
                    format!("{module}.{name}() of a tensor"),
                    "The function needs the tensor's value, which is known only when the graph runs.",
                    format!(
                        "Use the tensor function instead (`torch.{name}`, where there is one)."
                    ),
                ));
            }
            Var::Obj(_) if tx.is_iterator(&v)? => {
                let items = tx.iterate(&v)?;
                plain.push(tx.new_list(items));
                changed = true;
            }
            Var::Obj(_) | Var::Py(_)
                if matches!(module, "posix" | "posixpath")
                    && tx.special(&v, "__fspath__")?.is_user() =>
            {
                plain.push(tx.special_sync(&v, "__fspath__", vec![])?);
                changed = true;
            }
            // A float of any class is what it holds: its `__float__` is not asked.
            Var::Obj(_) | Var::Py(_) if tx.is_float(&v)? => plain.push(v),
            Var::Obj(_) | Var::Py(_) if tx.special(&v, "__float__")?.is_user() => {
                plain.push(tx.special_sync(&v, "__float__", vec![])?);
                changed = true;
            }
            Var::Obj(_) | Var::Py(_) if tx.special(&v, "__index__")?.is_user() => {
                plain.push(tx.special_sync(&v, "__index__", vec![])?);
                changed = true;
            }
            _ => plain.push(v),
        }
    }
    if changed {
        return call(
            tx,
            module,
            name,
            Args {
                pos: plain,
                kw: args.kw,
            },
        );
    }
    let what: Vec<String> = args.pos.iter().map(|v| tx.describe(v)).collect();
    Err(Stop::unsupported(format!(
        "{module}.{name}() of {}",
        what.join(", ")
    )))
}
