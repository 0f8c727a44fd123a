//! Listings of bytecode for logs and snapshots. Deterministic: no addresses.

use bytecode::{Names, decompile, disassemble};
use pyo3::prelude::*;
use translator::code::CodeInfo;
use translator::tx::qualified_name;
use variables::Obj;

use crate::asm::Built;

/// `CO_VARARGS`, `CO_VARKEYWORDS`.
const VARARGS: u32 = 0x04;
const VARKEYWORDS: u32 = 0x08;

/// The listing of a code object; `names` gives the names of compiled and resume functions.
pub fn listing(py: Python<'_>, code: &CodeInfo, names: &[(Obj, String)]) -> String {
    let consts: Vec<String> = code.consts.iter().map(|c| constant(py, c, names)).collect();
    let tables = Names {
        consts: &consts,
        names: &code.fields.names,
        locals: &code.fields.localsplusnames,
    };
    disassemble(&code.body, &tables)
}

/// The same as Python, with a line `def` above.
pub fn python(py: Python<'_>, name: &str, code: &CodeInfo, names: &[(Obj, String)]) -> String {
    let consts: Vec<String> = code.consts.iter().map(|c| constant(py, c, names)).collect();
    let tables = Names {
        consts: &consts,
        names: &code.fields.names,
        locals: &code.fields.localsplusnames,
    };
    let fields = &code.fields;
    let plain = (fields.argcount + fields.kwonlyargcount) as usize;
    let stars = [(VARARGS, "*"), (VARKEYWORDS, "**")];
    let stars = stars
        .into_iter()
        .filter(|(flag, _)| fields.flags & flag != 0);
    let stars = std::iter::repeat_n("", plain).chain(stars.map(|(_, star)| star));
    let arguments = stars.zip(&fields.localsplusnames);
    let arguments: Vec<_> = arguments
        .map(|(star, name)| format!("{star}{name}"))
        .collect();
    let mut out = format!("def {name}({}):\n", arguments.join(", "));
    for line in decompile(&code.body, &tables).lines() {
        out.push_str(&format!("    {line}\n"));
    }
    out
}

/// As [`listing`], of code that was just made.
pub(crate) fn built_listing(py: Python<'_>, built: &Built, names: &[(Obj, String)]) -> String {
    let consts: Vec<String> = built
        .consts
        .iter()
        .map(|c| constant(py, c, names))
        .collect();
    let tables = Names {
        consts: &consts,
        names: &built.names,
        locals: &built.locals,
    };
    disassemble(&built.body, &tables)
}

fn constant(py: Python<'_>, c: &Obj, names: &[(Obj, String)]) -> String {
    if let Some((_, name)) = names.iter().find(|(o, _)| o.is(c)) {
        return name.clone();
    }
    let b = c.bind(py);
    if let Ok(code) = b.getattr("co_qualname") {
        return format!("<code {code}>");
    }
    if let Ok(t) = b.cast_exact::<pyo3::types::PyTuple>() {
        let items: Vec<String> = t.iter().map(|i| constant(py, &i.unbind(), names)).collect();
        return format!(
            "({}{})",
            items.join(", "),
            if items.len() == 1 { "," } else { "" }
        );
    }
    let ty = b.get_type();
    let plain = [
        "NoneType", "bool", "int", "float", "complex", "str", "bytes", "ellipsis", "range", "slice",
    ];
    if ty
        .module()
        .is_ok_and(|m| m.to_cow().is_ok_and(|m| &*m == "builtins"))
        && ty
            .name()
            .is_ok_and(|n| n.to_cow().is_ok_and(|n| plain.contains(&&*n)))
    {
        return b.repr().map_or_else(|_| "?".into(), |r| r.to_string());
    }
    let callable =
        b.is_instance_of::<pyo3::types::PyType>() || b.hasattr("__qualname__").unwrap_or(false);
    if callable {
        qualified_name(b)
    } else {
        format!("<{}>", qualified_name(ty.as_any()))
    }
}
