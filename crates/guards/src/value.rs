//! Constants and object references that guards compare with.
//!
//! What lives here: the value of a constant ([`ConstVal`]), a reference to a live Python object that the guard
//! set holds ([`ObjRef`]), and their Python spelling. Reading a Python object into a [`ConstVal`] is the
//! executing half's work.
//!
//! Invariant: two constants are equal exactly when Python would give them the same type and the same value,
//! bit for bit: `True`, `1` and `1.0` differ, `0.0` and `-0.0` differ, and a nan equals the nan of the same bits.

use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A Python object that a guard set refers to by identity.
///
/// The set's pins keep the address meaningful: a strong pin keeps the object alive, a weak pin clears the
/// entry's `valid` flag when it dies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObjRef {
    /// Address of the object (`id(obj)`).
    #[serde(skip)]
    pub addr: usize,
    /// Index of the pin in the guard set's pin table.
    pub pin: u32,
    /// How messages name the object: a class's qualified name, or the `repr` taken when it was pinned.
    #[serde(skip)]
    pub repr: Arc<str>,
    /// How messages name the object's type, as `<class 'module.Name'>`.
    #[serde(skip)]
    pub type_repr: Arc<str>,
}

impl PartialEq for ObjRef {
    fn eq(&self, other: &Self) -> bool {
        self.addr == other.addr
    }
}

impl Eq for ObjRef {}

impl Hash for ObjRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.addr.hash(state);
    }
}

/// A Python constant: the value of EQUALS_MATCH and CONSTANT_MATCH, and the key of a dictionary.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConstVal {
    /// `None`.
    None,
    /// `...`.
    Ellipsis,
    /// `NotImplemented`.
    NotImplemented,
    /// `True` or `False`.
    Bool(bool),
    /// An `int` of at most 64 bits.
    Int(i64),
    /// A wider `int`, as a Python literal (hexadecimal where it was read from an object).
    BigInt(Arc<str>),
    /// A `float`, as its bits.
    Float(u64),
    /// A `complex`, as the bits of its two parts.
    Complex(u64, u64),
    /// A `str`.
    Str(Arc<str>),
    /// A `bytes`.
    Bytes(Arc<[u8]>),
    /// A `tuple` of constants.
    Tuple(Arc<[ConstVal]>),
    /// A `torch.Size` of plain integers.
    Size(Arc<[i64]>),
    /// A `torch.device`: its type's number in torch, its index (-1 for none) and its text (`cpu`, `cuda:0`).
    Device {
        /// Number of the device type (0 is the CPU).
        kind: i8,
        /// Index, or -1 where the device names none.
        index: i8,
        /// As `str(device)` prints it.
        text: Arc<str>,
    },
    /// Any other object, compared by identity.
    Obj(ObjRef),
}

/// A constant dictionary or set key.
pub type Key = ConstVal;

impl ConstVal {
    /// A `float` constant.
    pub fn float(value: f64) -> Self {
        Self::Float(value.to_bits())
    }

    /// A `str` constant.
    pub fn str(value: &str) -> Self {
        Self::Str(value.into())
    }

    /// The Python name of the value's exact type.
    pub fn type_name(&self) -> &str {
        match self {
            Self::None => "NoneType",
            Self::Ellipsis => "ellipsis",
            Self::NotImplemented => "NotImplementedType",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::BigInt(_) => "int",
            Self::Float(_) => "float",
            Self::Complex(..) => "complex",
            Self::Str(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::Tuple(_) => "tuple",
            Self::Size(_) => "torch.Size",
            Self::Device { .. } => "torch.device",
            Self::Obj(obj) => &obj.type_repr,
        }
    }
}

impl fmt::Display for ConstVal {
    /// The value as Python's `repr` would print it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Ellipsis => f.write_str("Ellipsis"),
            Self::NotImplemented => f.write_str("NotImplemented"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(value) => write!(f, "{value}"),
            Self::BigInt(text) => f.write_str(text),
            Self::Float(bits) => f.write_str(&float_repr(f64::from_bits(*bits))),
            Self::Complex(re, im) => {
                f.write_str(&complex_repr(f64::from_bits(*re), f64::from_bits(*im)))
            }
            Self::Str(text) => f.write_str(&str_repr(text)),
            Self::Bytes(bytes) => f.write_str(&bytes_repr(bytes)),
            Self::Tuple(items) => {
                f.write_char('(')?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Self::Size(dims) => {
                write!(f, "torch.Size({dims:?})")
            }
            Self::Device { text, .. } => {
                let (kind, index) = text.split_once(':').unwrap_or((text, ""));
                if index.is_empty() {
                    write!(f, "device(type={})", str_repr(kind))
                } else {
                    write!(f, "device(type={}, index={index})", str_repr(kind))
                }
            }
            Self::Obj(obj) => f.write_str(&obj.repr),
        }
    }
}

/// A float as Python's `repr` prints it: shortest digits, exponent form below 1e-4 and from 1e16.
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) || value == 0.0 {
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

/// A complex number as Python's `repr` prints it.
pub fn complex_repr(re: f64, im: f64) -> String {
    let part = |v: f64| {
        let text = float_repr(v);
        text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
    };
    if re == 0.0 && re.is_sign_positive() {
        return format!("{}j", part(im));
    }
    let imaginary = part(im);
    let sign = if imaginary.starts_with('-') { "" } else { "+" };
    format!("({}{sign}{imaginary}j)", part(re))
}

/// A string as Python's `repr` prints it.
pub fn str_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() || is_unprintable(c) => {
                let code = c as u32;
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// Separators and format characters that Python escapes in a `repr` although they are not control characters.
fn is_unprintable(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{ad}' | '\u{1680}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' | '\u{f0000}'..='\u{10ffff}')
}

/// Bytes as Python's `repr` prints them.
pub fn bytes_repr(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') {
        b'"'
    } else {
        b'\''
    };
    let mut out = String::with_capacity(bytes.len() + 3);
    out.push('b');
    out.push(char::from(quote));
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b if b == quote => {
                out.push('\\');
                out.push(char::from(b));
            }
            0x20..=0x7e => out.push(char::from(byte)),
            b => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push(char::from(quote));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_does() {
        for (value, text) in [
            (2.5, "2.5"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (1e-5, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (0.0001, "0.0001"),
            (1e100, "1e+100"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(float_repr(value), text);
        }
    }

    #[test]
    fn complex_numbers_print_as_python_does() {
        assert_eq!(complex_repr(0.0, 2.0), "2j");
        assert_eq!(complex_repr(1.0, -2.5), "(1-2.5j)");
        assert_eq!(complex_repr(-0.0, 2.0), "(-0+2j)");
    }

    #[test]
    fn strings_print_as_python_does() {
        assert_eq!(str_repr("a"), "'a'");
        assert_eq!(str_repr("it's"), "\"it's\"");
        assert_eq!(str_repr("'\""), "'\\'\"'");
        assert_eq!(str_repr("a\n\u{1}\u{e9}"), "'a\\n\\x01\u{e9}'");
        assert_eq!(bytes_repr(b"a'\xff"), "b\"a'\\xff\"");
    }

    #[test]
    fn equality_is_exact() {
        assert_ne!(ConstVal::Bool(true), ConstVal::Int(1));
        assert_ne!(ConstVal::float(1.0), ConstVal::Int(1));
        assert_ne!(ConstVal::float(0.0), ConstVal::float(-0.0));
        assert_eq!(ConstVal::float(f64::NAN), ConstVal::float(f64::NAN));
    }

    #[test]
    fn tuples_sizes_and_devices_print() {
        let one = ConstVal::Tuple([ConstVal::Int(1)].into());
        assert_eq!(one.to_string(), "(1,)");
        assert_eq!(
            ConstVal::Size([2, 3].into()).to_string(),
            "torch.Size([2, 3])"
        );
        let device = |text: &str| ConstVal::Device {
            kind: 1,
            index: 0,
            text: text.into(),
        };
        assert_eq!(device("cuda:0").to_string(), "device(type='cuda', index=0)");
        assert_eq!(device("cpu").to_string(), "device(type='cpu')");
    }
}
