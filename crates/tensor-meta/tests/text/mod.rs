//! Reader of the text form that `cases/spec.py` writes.

use tensor_meta::{Alias, DType, Device, MemoryFormat, TensorMeta, Value};

/// A parsed argument or result.
#[derive(Debug)]
pub enum Parsed {
    Tensor(Box<TensorMeta>, bool),
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Str(String),
    DType(DType),
    Device(Device),
    Format(MemoryFormat),
    Strided,
    Ellipsis,
    Slice(Vec<Parsed>),
    Size(Vec<i64>),
    Named(String, Vec<Parsed>),
    Tuple(Vec<Parsed>),
    List(Vec<Parsed>),
}

impl Parsed {
    /// As an argument of a rule.
    pub fn value(&self) -> Value<'_> {
        match self {
            Parsed::Tensor(meta, _) => Value::Tensor(meta),
            Parsed::None => Value::None,
            Parsed::Bool(b) => Value::Bool(*b),
            Parsed::Int(n) => Value::Int(*n),
            Parsed::Float(x) => Value::Float(*x),
            Parsed::Complex(a, b) => Value::Complex(*a, *b),
            Parsed::Str(s) => Value::Str(s),
            Parsed::DType(d) => Value::DType(*d),
            Parsed::Device(d) => Value::Device(*d),
            Parsed::Format(m) => Value::MemoryFormat(*m),
            Parsed::Strided => Value::Strided,
            Parsed::Ellipsis => Value::Ellipsis,
            Parsed::Slice(s) => Value::slice(s[0].value(), s[1].value(), s[2].value()),
            Parsed::Size(s) => Value::Tuple(s.iter().copied().map(Value::Int).collect()),
            Parsed::Named(_, items) | Parsed::Tuple(items) => {
                Value::Tuple(items.iter().map(Parsed::value).collect())
            }
            Parsed::List(items) => Value::List(items.iter().map(Parsed::value).collect()),
        }
    }
}

fn numbers(text: &str) -> Vec<i64> {
    text.split(',')
        .filter(|s| !s.is_empty())
        .map(|s| s.parse().expect("int"))
        .collect()
}

fn float(text: &str) -> f64 {
    text.parse().expect("float")
}

fn tensor(body: &str) -> Parsed {
    let f: Vec<&str> = body.split(';').collect();
    let dtype = DType::from_name(f[3]).expect("dtype");
    let device = Device::parse(f[9]).expect("device");
    let mut meta = TensorMeta::strided(&numbers(f[0]), &numbers(f[1]), dtype, device);
    meta.storage_offset = f[2].parse::<i64>().expect("offset").into();
    meta.requires_grad = f[4] == "1";
    meta.is_leaf = f[5] == "1";
    meta.conj = f[6] == "1";
    meta.neg = f[7] == "1";
    let known = f[8] != "?";
    meta.alias = match f[8] {
        "i" => Alias::Identity,
        "v" => Alias::View,
        _ => Alias::Fresh,
    };
    Parsed::Tensor(Box::new(meta), known)
}

fn sequence<'t>(tokens: &mut impl Iterator<Item = &'t str>, close: &str) -> Vec<Parsed> {
    let mut items = Vec::new();
    loop {
        let token = tokens.next().expect("unclosed sequence");
        if token == close {
            return items;
        }
        items.push(item(token, tokens));
    }
}

fn item<'t>(token: &'t str, tokens: &mut impl Iterator<Item = &'t str>) -> Parsed {
    let body = &token[1..];
    match token.as_bytes()[0] {
        b'T' => tensor(&body[1..body.len() - 1]),
        b'N' => Parsed::None,
        b'b' => Parsed::Bool(body == "1"),
        b'i' => Parsed::Int(body.parse().expect("int")),
        b'f' => Parsed::Float(float(body)),
        b'c' => {
            let (re, im) = body.split_once(',').expect("complex");
            Parsed::Complex(float(re), float(im))
        }
        b's' => Parsed::Str(body.trim_matches('"').to_owned()),
        b'd' => Parsed::DType(DType::from_name(body).expect("dtype")),
        b'D' => Parsed::Device(Device::parse(body).expect("device")),
        b'M' => Parsed::Format(match body {
            "contiguous_format" => MemoryFormat::Contiguous,
            "preserve_format" => MemoryFormat::Preserve,
            "channels_last" => MemoryFormat::ChannelsLast,
            _ => MemoryFormat::ChannelsLast3d,
        }),
        b'L' => Parsed::Strided,
        b'E' => Parsed::Ellipsis,
        b'S' => Parsed::Slice(sequence(tokens, ")")),
        b'Z' => Parsed::Size(
            sequence(tokens, ")")
                .into_iter()
                .map(|p| match p {
                    Parsed::Int(n) => n,
                    other => panic!("not an int: {other:?}"),
                })
                .collect(),
        ),
        b'n' => Parsed::Named(body.trim_end_matches('(').to_owned(), sequence(tokens, ")")),
        b'{' => Parsed::Tuple(sequence(tokens, "}")),
        b'[' => Parsed::List(sequence(tokens, "]")),
        _ => panic!("unknown token {token}"),
    }
}

/// Reads one value.
pub fn parse(text: &str) -> Parsed {
    let mut tokens = text.split_whitespace();
    let first = tokens.next().expect("empty value");
    item(first, &mut tokens)
}

/// Reads a list of arguments.
pub fn parse_args(text: &str) -> Vec<Parsed> {
    match parse(text) {
        Parsed::List(items) | Parsed::Tuple(items) => items,
        other => vec![other],
    }
}

/// Reads `key=value` pairs.
pub fn parse_kwargs(text: &str) -> Vec<(String, Parsed)> {
    let mut pairs = Vec::new();
    let mut tokens = text.split_whitespace();
    while let Some(token) = tokens.next() {
        let (key, first) = token.split_once('=').expect("key=value");
        let value = item(first, &mut tokens);
        pairs.push((key.to_owned(), value));
    }
    pairs
}
