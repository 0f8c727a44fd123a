//! A persistent dictionary in insertion order.
//!
//! Invariant: a clone is O(1) and independent. Up to [`SMALL`] pairs are a shared list that a write
//! copies, as nearly all dictionaries of a program are; more are kept in trees.

use std::rc::Rc;

use crate::key::Key;
use crate::var::Var;

/// How many pairs are kept as a list.
const SMALL: usize = 16;

/// Key-value pairs in insertion order; cloning is O(1).
#[derive(Clone, Debug, Default)]
pub struct OrderedMap {
    repr: Repr,
    next: u64,
    changes: u64,
}

/// A key, as a hash key and as a value, and its value.
type Pair = (Key, Var, Var);

#[derive(Clone, Debug, Default)]
enum Repr {
    #[default]
    Empty,
    /// with their slots, which ascend
    Small(Rc<Vec<(u64, Pair)>>),
    Large(Box<Large>),
}

#[derive(Clone, Debug)]
struct Large {
    slots: im::OrdMap<u64, Pair>,
    index: im::HashMap<Key, u64>,
}

impl OrderedMap {
    /// Number of pairs.
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Empty => 0,
            Repr::Small(pairs) => pairs.len(),
            Repr::Large(large) => large.slots.len(),
        }
    }

    /// How often a key was added, removed or moved.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn pair(&self, key: &Key) -> Option<&Pair> {
        match &self.repr {
            Repr::Empty => None,
            Repr::Small(pairs) => pairs.iter().find(|p| p.1.0 == *key).map(|p| &p.1),
            Repr::Large(large) => large.slots.get(large.index.get(key)?),
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<&Var> {
        self.pair(key).map(|p| &p.2)
    }

    /// Whether the key is there.
    pub fn contains(&self, key: &Key) -> bool {
        self.pair(key).is_some()
    }

    /// Sets a value: an existing key keeps its place and its key object, as in `dict`.
    pub fn insert(&mut self, key: Key, key_var: Var, value: Var) {
        match &mut self.repr {
            Repr::Empty => {}
            Repr::Small(pairs) => {
                if let Some(i) = pairs.iter().position(|p| p.1.0 == key) {
                    Rc::make_mut(pairs)[i].1.2 = value;
                    return;
                }
            }
            Repr::Large(large) => {
                if let Some(i) = large.index.get(&key)
                    && let Some(pair) = large.slots.get_mut(i)
                {
                    pair.2 = value;
                    return;
                }
            }
        }
        let slot = self.next;
        self.next += 1;
        self.append(slot, (key, key_var, value));
    }

    /// Adds a new key behind all others.
    fn append(&mut self, slot: u64, pair: Pair) {
        self.changes += 1;
        match &mut self.repr {
            Repr::Empty => self.repr = Repr::Small(Rc::new(vec![(slot, pair)])),
            Repr::Small(pairs) if pairs.len() < SMALL => Rc::make_mut(pairs).push((slot, pair)),
            Repr::Small(pairs) => {
                let all = || pairs.iter().cloned().chain([(slot, pair.clone())]);
                self.repr = Repr::Large(Box::new(Large {
                    index: all().map(|(i, p)| (p.0, i)).collect(),
                    slots: all().collect(),
                }));
            }
            Repr::Large(large) => {
                large.index.insert(pair.0.clone(), slot);
                large.slots.insert(slot, pair);
            }
        }
    }

    /// Removes a key and gives its pair.
    fn take(&mut self, key: &Key) -> Option<Pair> {
        let taken = match &mut self.repr {
            Repr::Empty => None,
            Repr::Small(pairs) => {
                let i = pairs.iter().position(|p| p.1.0 == *key)?;
                Some(Rc::make_mut(pairs).remove(i).1)
            }
            Repr::Large(large) => {
                let i = large.index.remove(key)?;
                large.slots.remove(&i)
            }
        };
        self.changes += u64::from(taken.is_some());
        taken
    }

    /// Removes a key and gives its value.
    pub fn remove(&mut self, key: &Key) -> Option<Var> {
        self.take(key).map(|p| p.2)
    }

    /// Removes the last pair, or the first.
    pub fn pop_end(&mut self, last: bool) -> Option<(Var, Var)> {
        let mut keys = self.entries().map(|e| e.0);
        let key = if last { keys.next_back() } else { keys.next() }.cloned();
        drop(keys);
        self.take(&key?).map(|p| (p.1, p.2))
    }

    /// Moves a key to the end or the beginning (`OrderedDict.move_to_end`).
    pub fn move_to_end(&mut self, key: &Key, last: bool) -> bool {
        let mut keys = self.entries().map(|e| e.0);
        let there = if last { keys.next_back() } else { keys.next() };
        if there == Some(key) {
            return true;
        }
        drop(keys);
        let Some(pair) = self.take(key) else {
            return false;
        };
        if last {
            let slot = self.next;
            self.next += 1;
            self.append(slot, pair);
        } else {
            let rest = std::mem::take(self);
            self.changes = rest.changes;
            self.insert(pair.0, pair.1, pair.2);
            for (k, kv, v) in rest.entries() {
                self.insert(k.clone(), kv.clone(), v.clone());
            }
        }
        true
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.replace(OrderedMap::default());
    }

    /// Takes other contents.
    pub fn replace(&mut self, other: OrderedMap) {
        let changes = self.changes + 1;
        *self = OrderedMap { changes, ..other };
    }

    /// Pairs in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Var, &Var)> {
        self.entries().map(|(_, key, value)| (key, value))
    }

    /// Keys, as hash keys and as values, with their values, in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (&Key, &Var, &Var)> {
        let (small, large) = match &self.repr {
            Repr::Empty => (None, None),
            Repr::Small(pairs) => (Some(pairs.iter().map(|p| &p.1)), None),
            Repr::Large(large) => (None, Some(large.slots.values())),
        };
        let pairs = small
            .into_iter()
            .flatten()
            .chain(large.into_iter().flatten());
        pairs.map(|p| (&p.0, &p.1, &p.2))
    }

    /// The `n`th pair in order.
    pub fn nth(&self, n: usize) -> Option<(&Var, &Var)> {
        self.iter().nth(n)
    }

    /// The first pair at or behind a slot, with the slot behind it: where a dict iterator goes on.
    /// Slots only grow, so that removals do not move what is behind them.
    pub fn next_from(&self, slot: u64) -> Option<(u64, &Var, &Var)> {
        let (i, pair) = match &self.repr {
            Repr::Empty => return None,
            Repr::Small(pairs) => pairs.iter().find(|p| p.0 >= slot).map(|p| (p.0, &p.1)),
            Repr::Large(large) => large.slots.range(slot..).next().map(|(i, p)| (*i, p)),
        }?;
        Some((i + 1, &pair.1, &pair.2))
    }

    /// How many pairs stand before a slot.
    pub fn rank(&self, slot: u64) -> usize {
        match &self.repr {
            Repr::Empty => 0,
            Repr::Small(pairs) => pairs.iter().take_while(|p| p.0 < slot).count(),
            Repr::Large(large) => large.slots.range(..slot).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjId;

    fn key(i: u32) -> Key {
        Key::Obj(ObjId(i))
    }

    fn filled(n: u32) -> OrderedMap {
        let mut map = OrderedMap::default();
        for i in 0..n {
            map.insert(key(i), Var::Obj(ObjId(i)), Var::Obj(ObjId(i + 1000)));
        }
        map
    }

    fn order(map: &OrderedMap) -> Vec<u32> {
        let id = |k: &Key| match k {
            Key::Obj(id) => id.0,
            _ => u32::MAX,
        };
        map.entries().map(|e| id(e.0)).collect()
    }

    #[test]
    fn both_forms_keep_the_order_of_insertion() {
        for n in [0, 1, SMALL as u32, SMALL as u32 + 1, 50] {
            let mut map = filled(n);
            let before = map.clone();
            assert_eq!(order(&map), (0..n).collect::<Vec<_>>());
            for i in (0..n).step_by(2) {
                assert!(matches!(map.remove(&key(i)), Some(Var::Obj(v)) if v.0 == i + 1000));
            }
            assert_eq!(order(&map), (0..n).skip(1).step_by(2).collect::<Vec<_>>());
            assert_eq!(order(&before), (0..n).collect::<Vec<_>>());
            for i in 0..n {
                assert_eq!(map.contains(&key(i)), i % 2 == 1);
            }
        }
    }

    #[test]
    fn slots_outlive_removals() {
        for n in [8, 40] {
            let mut map = filled(n);
            map.remove(&key(2));
            let (next, k, _) = map.next_from(2).expect("a pair");
            assert!(matches!(k, Var::Obj(ObjId(3))));
            assert_eq!((next, map.rank(next)), (4, 3));
            assert!(map.next_from(u64::from(n)).is_none());
        }
    }

    #[test]
    fn ends_move_and_pop() {
        for n in [5, 40] {
            let mut map = filled(n);
            assert!(map.move_to_end(&key(1), true));
            assert!(map.move_to_end(&key(3), false));
            assert!(!map.move_to_end(&key(n), true));
            assert_eq!(order(&map)[0], 3);
            assert_eq!(order(&map)[n as usize - 1], 1);
            assert!(matches!(map.pop_end(true), Some((Var::Obj(ObjId(1)), _))));
            assert!(matches!(map.pop_end(false), Some((Var::Obj(ObjId(3)), _))));
            assert_eq!(map.len(), n as usize - 2);
        }
    }
}
