//! Every kind of entry as text: what it prints as, what it wraps, what it runs under.

use std::fmt::Write as _;

use eval_frame::context::Context;
use eval_frame::{entry, entry_type};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

const PROGRAM: &std::ffi::CStr = c"
def fn(x, *, k=1):
    'A doc.'
    return x

class C:
    def __call__(self, x):
        return x

    def __repr__(self):
        return '<C>'
";

/// An entry in a few lines.
fn describe(entry: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut text = String::new();
    let line = |name: &str| -> PyResult<String> {
        Ok(match entry.getattr_opt(name)? {
            Some(value) => without_addresses(&value.repr()?.to_string()),
            None => "none".into(),
        })
    };
    let _ = writeln!(text, "{}", without_addresses(&entry.repr()?.to_string()));
    let _ = writeln!(text, "  class: {}", entry.get_type().name()?);
    for name in ["__name__", "__doc__", "__kwdefaults__", "__wrapped__"] {
        let _ = writeln!(text, "  {name}: {}", line(name)?);
    }
    let wrapped = entry_type::wrapped(entry).map(|of| of.repr().map(|r| r.to_string()));
    let wrapped = wrapped.transpose()?.unwrap_or_else(|| "nothing".into());
    let _ = writeln!(text, "  wraps: {}", without_addresses(&wrapped));
    let under = match entry_type::context_of(entry).is_some() {
        true => "a context of its own",
        false => "that of its caller",
    };
    let _ = writeln!(text, "  runs under: {under}");
    Ok(text)
}

fn without_addresses(text: &str) -> String {
    let mut parts = text.split(" at 0x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    out
}

#[test]
fn entries_say_what_they_are() {
    let text = Python::attach(|py| -> PyResult<String> {
        let module = PyModule::new(py, "entries")?;
        eval_frame::initialise(&module, &[])
            .map_err(|error| pyo3::exceptions::PyImportError::new_err(error.to_string()))?;
        let scope = PyDict::new(py);
        py.run(PROGRAM, Some(&scope), None)?;
        let function = scope.as_any().get_item("fn")?;
        let object = scope.as_any().get_item("C")?.call0()?;
        let context = Context::without_choices(py)?;
        let compiled = entry::make_compiled(&function, &context)?;
        let mut text = String::new();
        for entry in [
            compiled.clone(),
            entry::make_compiled(&compiled, &context)?,
            entry::make_compiled(&object, &context)?,
            entry::make_disabled(&function)?,
            entry::make_resume(&function)?,
            entry::make_graph_call(&function, vec![None])?,
        ] {
            text.push_str(&describe(&entry)?);
        }
        Ok(text)
    });
    insta::assert_snapshot!(text.unwrap_or_else(|error| panic!("{error}")));
}
