//! Python's `repr` of constants and aggregates. Nodes print by a name that the caller chooses.

use std::fmt::Write;

use crate::arg::Arg;
use crate::node::NodeId;

/// Appends the `repr` of an argument; `name` appends what a node prints as.
pub(crate) fn write_arg(out: &mut String, arg: &Arg, name: &mut dyn FnMut(&mut String, NodeId)) {
    match arg {
        Arg::Node(id) => name(out, *id),
        Arg::None => out.push_str("None"),
        Arg::Bool(true) => out.push_str("True"),
        Arg::Bool(false) => out.push_str("False"),
        Arg::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Arg::Float(value) => out.push_str(&float_repr(*value)),
        Arg::Str(value) => write_str(out, value),
        Arg::Ellipsis => out.push_str("Ellipsis"),
        Arg::Tuple(items) => {
            out.push('(');
            write_items(out, items, name);
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
        }
        Arg::List(items) => {
            out.push('[');
            write_items(out, items, name);
            out.push(']');
        }
        Arg::Dict(items) => {
            out.push('{');
            for (i, (key, value)) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_arg(out, key, name);
                out.push_str(": ");
                write_arg(out, value, name);
            }
            out.push('}');
        }
        Arg::Slice(parts) => {
            out.push_str("slice(");
            write_items(out, &parts[..], name);
            out.push(')');
        }
        Arg::Opaque { repr, .. } => out.push_str(repr),
    }
}

fn write_items(out: &mut String, items: &[Arg], name: &mut dyn FnMut(&mut String, NodeId)) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_arg(out, item, name);
    }
}

/// Python's `repr` of a float: the shortest digits that read back as the same number, in
/// exponent form below 1e-4 and from 1e16 on.
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        // The shortest form without an exponent, and always with a point.
        let plain = format!("{value}");
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Python's `repr` of a str.
pub fn str_repr(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    write_str(&mut out, value);
    out
}

fn write_str(out: &mut String, value: &str) {
    let quote = if value.contains('\'') && !value.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            c if is_printable(c) => out.push(c),
            c => {
                let code = c as u32;
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// Python's `str.isprintable` for one character beyond ASCII, as far as Rust's tables tell.
fn is_printable(c: char) -> bool {
    if c.is_control() || c.is_whitespace() {
        return false;
    }
    // A combining mark is escaped by Rust at the start of a text only.
    let mut text = String::from("a");
    text.push(c);
    text.escape_debug().nth(1) == Some(c)
}
