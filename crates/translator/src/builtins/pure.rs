//! Functions without effects, state or use of identity: Python runs them on constants.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{Given, Rule};
use crate::stop::Stop;
use crate::tx::{Args, Tx};

/// Modules all of whose functions are pure.
const MODULES: &[(&str, Rule)] = &[("math", math), ("cmath", cmath)];

/// Single functions: module and names.
const NAMES: &[(&str, &[&str], Rule)] = &[
    ("struct", &["calcsize", "pack", "unpack"], struct_),
    ("posix", &["fspath"], posix),
    ("sys", &["intern", "getrecursionlimit"], sys),
    ("_string", &["formatter_field_name_split"], string),
    ("_bisect", &["bisect_left", "bisect_right"], bisect),
    ("zlib", &["crc32", "adler32"], zlib),
    ("binascii", &["hexlify", "unhexlify", "crc32"], binascii),
    ("unicodedata", &["normalize", "category"], unicodedata),
    (
        "posixpath",
        &[
            "join", "basename", "dirname", "split", "splitext", "isabs", "normpath",
        ],
        posixpath,
    ),
    (
        "re",
        &[
            "compile",
            "match",
            "fullmatch",
            "search",
            "sub",
            "subn",
            "split",
            "findall",
            "escape",
        ],
        re,
    ),
    ("json", &["dumps", "loads"], json),
];

/// Lists every function.
pub(super) fn add_all(py: Python<'_>, add: &mut dyn FnMut(&str, &'static str, Rule)) {
    for (module, rule) in MODULES {
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
    for (module, names, rule) in NAMES {
        for name in *names {
            add(module, name, *rule);
        }
    }
}

macro_rules! rules {
    ($($f:ident = $module:literal),* $(,)?) => {
        $(fn $f(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
            call(tx, $module, name, args)
        })*
    };
}

rules! {
    math = "math", cmath = "cmath", struct_ = "struct", posix = "posix", sys = "sys", string = "_string",
    bisect = "_bisect", zlib = "zlib", binascii = "binascii", unicodedata = "unicodedata",
    posixpath = "posixpath", re = "re", json = "json",
}

/// Calls a pure function on constants.
///
/// # Errors
/// What the function raises; a break for a tensor argument.
pub(super) fn call(tx: &mut Tx<'_>, module: &str, name: &str, args: Args) -> Given {
    if let Some((pos, kw)) = tx.real_args(&args)? {
        let f = tx.py.import(module)?.getattr(name)?;
        if name == "getrecursionlimit" {
            let now = f.call0()?;
            tx.guard_call(&f.clone().unbind(), None, &[], &now)?;
        }
        return super::value(tx.fold(move |py| f.call(PyTuple::new(py, pos)?, kw.as_ref()))?);
    }
    // Numbers of user classes and iterables that are no containers.
    let mut plain = Vec::with_capacity(args.pos.len());
    let mut changed = false;
    for v in &args.pos {
        let v = tx.realize(v)?;
        match &v {
            variables::Var::Tensor(_) => {
                return Err(Stop::brk(
                    format!("{module}.{name}() of a tensor"),
                    "The function needs the tensor's value, which is known only when the graph runs.",
                    format!(
                        "Use the tensor function instead (`torch.{name}`, where there is one)."
                    ),
                ));
            }
            variables::Var::Obj(_) if tx.is_iterator(&v)? => {
                let items = tx.iterate(&v)?;
                plain.push(tx.new_list(items));
                changed = true;
            }
            variables::Var::Obj(_) if tx.special(&v, "__float__")?.is_user() => {
                plain.push(tx.special_sync(&v, "__float__", vec![])?);
                changed = true;
            }
            variables::Var::Obj(_) if tx.special(&v, "__index__")?.is_user() => {
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
