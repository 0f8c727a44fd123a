//! What an entry is found by: a digest of everything that it was made from.

use std::fmt;

/// A digest of everything that an entry was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// What [`fmt::Display`] has written; `None` for any other text.
    pub fn parse(text: &str) -> Option<Key> {
        let is_hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if text.len() != 64 || !is_hex(text) {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Key(bytes))
    }

    /// The key that has this digest.
    pub fn of_digest(digest: [u8; 32]) -> Key {
        Key(digest)
    }

    /// The digest.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Takes in the parts of a [`Key`], each with its length: no two lists of parts give the same bytes.
#[derive(Default)]
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// Without any part.
    pub fn new() -> KeyBuilder {
        KeyBuilder::default()
    }

    /// Adds text or bytes.
    pub fn part(&mut self, part: impl AsRef<[u8]>) -> &mut KeyBuilder {
        let part = part.as_ref();
        self.number(part.len() as u64);
        self.0.update(part);
        self
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) -> &mut KeyBuilder {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// The key of what was added.
    pub fn finish(&self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        let of = |parts: &[&str]| {
            let mut builder = KeyBuilder::new();
            for part in parts {
                builder.part(part);
            }
            builder.finish()
        };
        assert_eq!(of(&["a", "bc"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
        let text = of(&[]).to_string();
        assert_eq!(text.len(), 64);
        assert_eq!(Key::parse(&text), Some(of(&[])));
        for other in [
            "secret",
            &text[1..],
            &text.replace('a', "é"),
            &text.replace('a', "A"),
        ] {
            assert_eq!(Key::parse(other), None, "{other}");
        }
    }
}
