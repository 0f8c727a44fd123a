//! Names of values, as `torch.fx` makes them (`torch.fx.graph._Namespace`). Knows nothing of nodes.
//!
//! Invariant: no name is given out twice, none is a Python keyword or builtin.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

/// Names in use, and how far the numbering of each stem has come.
#[derive(Clone, Debug, Default)]
pub struct Namespace {
    used: FxHashSet<Arc<str>>,
    counts: FxHashMap<Arc<str>, u64>,
    journal: Vec<Undo>,
}

/// What [`Namespace::create`] changed.
#[derive(Clone, Debug)]
struct Undo {
    name: Arc<str>,
    /// Whether the name was not in use before (a taken name can only come from `reserve`).
    added: bool,
    stem: Arc<str>,
    count: Option<u64>,
}

impl Namespace {
    /// An empty namespace.
    pub fn new() -> Namespace {
        Namespace::default()
    }

    /// A name like `candidate` that is free, made unique by a number, and never a keyword or a
    /// builtin. The candidate is used as it is where it can be.
    pub fn create(&mut self, candidate: &str) -> Arc<str> {
        self.create_for(candidate, false)
    }

    /// As [`Namespace::create`], for an object that itself is the builtin or module of that name
    /// where `is_builtin` says so.
    pub(crate) fn create_for(&mut self, candidate: &str, is_builtin: bool) -> Arc<str> {
        let candidate = legal(candidate);
        let (stem, number) = split(&candidate);
        let taken = self.used.contains(&*candidate);
        let (mut name, mut number) = match number {
            Some(number) if !taken => (Cow::Borrowed(&*candidate), number),
            _ => {
                let number = self.counts.get(stem).copied().unwrap_or(0);
                if !is_builtin && is_reserved(&candidate) {
                    (Cow::Owned(format!("{stem}_{}", number + 1)), number + 1)
                } else {
                    (Cow::Borrowed(&*candidate), number)
                }
            }
        };
        while self.used.contains(&*name) {
            number = number.saturating_add(1);
            name = Cow::Owned(format!("{stem}_{number}"));
        }
        let name: Arc<str> = Arc::from(&*name);
        self.record(name.clone(), stem, number);
        name
    }

    /// Takes exactly `name`, whatever the rules say; false where it is in use already.
    pub fn reserve(&mut self, name: &str) -> bool {
        if self.used.contains(name) {
            return false;
        }
        let (stem, number) = split(name);
        let number = number.unwrap_or_else(|| self.counts.get(stem).copied().unwrap_or(0));
        self.record(name.into(), stem, number);
        true
    }

    fn record(&mut self, name: Arc<str>, stem: &str, number: u64) {
        let (stem, count) = match self.counts.get_key_value(stem) {
            Some((stem, count)) => (stem.clone(), Some(*count)),
            None if stem.len() == name.len() => (name.clone(), None),
            None => (Arc::from(stem), None),
        };
        self.counts.insert(stem.clone(), number);
        let added = self.used.insert(name.clone());
        self.journal.push(Undo {
            name,
            added,
            stem,
            count,
        });
    }

    /// How many names were made: a mark for [`Namespace::rewind`].
    pub fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Forgets the names made since `mark`, in time proportional to their number.
    pub fn rewind(&mut self, mark: usize) {
        while self.journal.len() > mark {
            let Some(undo) = self.journal.pop() else {
                return;
            };
            if undo.added {
                self.used.remove(&undo.name);
            }
            match undo.count {
                Some(count) => self.counts.insert(undo.stem, count),
                None => self.counts.remove(&undo.stem),
            };
        }
    }

    /// The names in use, in no order.
    pub fn used(&self) -> impl Iterator<Item = &Arc<str>> {
        self.used.iter()
    }

    /// The stems and the number that each has come to, in no order.
    pub fn counts(&self) -> impl Iterator<Item = (&Arc<str>, u64)> {
        self.counts.iter().map(|(stem, count)| (stem, *count))
    }
}

/// `candidate` with each run of characters that no identifier has replaced by `_`.
fn legal(candidate: &str) -> Cow<'_, str> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let bytes = candidate.as_bytes();
    if !bytes.is_empty() && !bytes[0].is_ascii_digit() && bytes.iter().all(|&b| word(b)) {
        return Cow::Borrowed(candidate);
    }
    let mut name = String::with_capacity(candidate.len() + 1);
    let mut in_run = false;
    for &byte in bytes {
        if word(byte) {
            name.push(byte as char);
        } else if !in_run {
            name.push('_');
        }
        in_run = !word(byte);
    }
    if name.is_empty() {
        name.push_str("_unnamed");
    }
    if name.as_bytes()[0].is_ascii_digit() {
        name.insert(0, '_');
    }
    Cow::Owned(name)
}

/// Splits `conv_2` into `conv` and 2. The stem is never empty.
fn split(name: &str) -> (&str, Option<u64>) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[stem.len()..];
    match stem.strip_suffix('_') {
        Some(stem) if !stem.is_empty() && !digits.is_empty() => {
            (stem, Some(digits.parse().unwrap_or(u64::MAX)))
        }
        _ => (name, None),
    }
}

/// The stem that `torch.fx` takes from a target: `__add__` is `add`, `someName` is `some_name`.
/// A function's `__name__` keeps its underscores (`is_function`).
pub fn target_stem(target: &str, is_function: bool) -> Cow<'_, str> {
    let bare = if is_function {
        target
    } else {
        match target.strip_prefix("__") {
            // What `__` and `___` leave behind is empty, as a Python slice would be.
            Some(rest) if target.ends_with("__") => rest.strip_suffix("__").unwrap_or(""),
            _ => target,
        }
    };
    snake_case(bare)
}

/// `camelCase` as `camel_case`: an underscore between a lower and an upper ASCII letter, then all
/// in lower case.
pub fn snake_case(name: &str) -> Cow<'_, str> {
    if name
        .bytes()
        .all(|b| b.is_ascii() && !b.is_ascii_uppercase())
    {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for c in name.chars() {
        if after_lower && c.is_ascii_uppercase() {
            out.push('_');
        }
        after_lower = c.is_ascii_lowercase();
        out.push(c);
    }
    Cow::Owned(out.to_lowercase())
}

/// Whether no value may be called so: Python's keywords, its builtins (including those that
/// `site` adds), and the names that generated code has as globals.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok()
}

/// The globals of all generated code.
pub(crate) const CODE_GLOBALS: [&str; 7] = [
    "inf",
    "nan",
    "NoneType",
    "torch",
    "device",
    "fx_pytree",
    "pytree",
];

include!("reserved.rs");
