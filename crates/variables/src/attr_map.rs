//! A persistent map from attribute names to values.
//!
//! Invariant: cloning is O(1) and independent. Most objects have a handful of attributes, so these
//! are a shared list that a write copies; beyond [`SMALL`] a hash trie takes over.

use std::rc::Rc;
use std::sync::Arc;

use crate::var::Var;

/// How many attributes are kept as a list.
const SMALL: usize = 24;

type Pair = (Arc<str>, Option<Var>);

/// Attributes by name; `None` as a value means absent or deleted.
#[derive(Clone, Debug, Default)]
pub struct AttrMap {
    repr: Repr,
}

#[derive(Clone, Debug, Default)]
enum Repr {
    #[default]
    Empty,
    Small(Rc<Vec<Pair>>),
    Large(im::HashMap<Arc<str>, Option<Var>>),
}

impl AttrMap {
    /// No attributes.
    pub fn new() -> AttrMap {
        AttrMap::default()
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Option<Var>> {
        match &self.repr {
            Repr::Empty => None,
            Repr::Small(pairs) => pairs.iter().find(|p| *p.0 == *name).map(|p| &p.1),
            Repr::Large(map) => map.get(name),
        }
    }

    /// Whether the name is there.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets the value of a name.
    pub fn insert(&mut self, name: Arc<str>, value: Option<Var>) {
        match &mut self.repr {
            Repr::Empty => self.repr = Repr::Small(Rc::new(vec![(name, value)])),
            Repr::Small(pairs) => {
                if let Some(i) = pairs.iter().position(|p| p.0 == name) {
                    Rc::make_mut(pairs)[i].1 = value;
                } else if pairs.len() < SMALL {
                    Rc::make_mut(pairs).push((name, value));
                } else {
                    let mut map: im::HashMap<_, _> = pairs.iter().cloned().collect();
                    map.insert(name, value);
                    self.repr = Repr::Large(map);
                }
            }
            Repr::Large(map) => {
                map.insert(name, value);
            }
        }
    }

    /// The name is there no longer.
    pub fn remove(&mut self, name: &str) {
        match &mut self.repr {
            Repr::Empty => {}
            Repr::Small(pairs) => Rc::make_mut(pairs).retain(|pair| *pair.0 != *name),
            Repr::Large(map) => {
                map.remove(name);
            }
        }
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Empty => 0,
            Repr::Small(pairs) => pairs.len(),
            Repr::Large(map) => map.len(),
        }
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = &Option<Var>> {
        let (small, large) = match &self.repr {
            Repr::Empty => (None, None),
            Repr::Small(pairs) => (Some(pairs.iter().map(|p| &p.1)), None),
            Repr::Large(map) => (None, Some(map.values())),
        };
        small
            .into_iter()
            .flatten()
            .chain(large.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(i: usize) -> Arc<str> {
        format!("a{i}").into()
    }

    #[test]
    fn grows_from_list_to_trie_and_clones_stay_as_they_were() {
        let mut map = AttrMap::new();
        let mut copies = vec![map.clone()];
        for i in 0..SMALL * 2 {
            map.insert(name(i), None);
            copies.push(map.clone());
        }
        for (n, copy) in copies.iter().enumerate() {
            assert_eq!(copy.len(), n);
            assert_eq!(copy.values().count(), n);
            for i in 0..SMALL * 2 {
                assert_eq!(copy.contains_key(&name(i)), i < n);
            }
        }
    }

    #[test]
    fn a_second_insert_replaces() {
        let mut map = AttrMap::new();
        for _ in 0..2 {
            for i in 0..SMALL + 3 {
                map.insert(name(i), Some(Var::Null));
            }
        }
        assert_eq!(map.len(), SMALL + 3);
        map.insert(name(1), None);
        assert!(matches!(map.get("a1"), Some(None)));
        assert!(matches!(map.get("a2"), Some(Some(Var::Null))));
    }

    #[test]
    fn what_is_removed_is_gone() {
        for n in [3, SMALL + 3] {
            let mut map = AttrMap::new();
            for i in 0..n {
                map.insert(name(i), None);
            }
            let before = map.clone();
            map.remove("a1");
            assert!(!map.contains_key("a1") && map.contains_key("a2"));
            assert_eq!((map.len(), before.len()), (n - 1, n));
        }
    }
}
