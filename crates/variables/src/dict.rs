//! A persistent dictionary in insertion order.

use crate::key::Key;
use crate::var::Var;

/// Key-value pairs in insertion order; cloning is O(1).
#[derive(Clone, Debug, Default)]
pub struct OrderedMap {
    slots: im::OrdMap<u64, (Key, Var, Var)>,
    index: im::HashMap<Key, u64>,
    next: u64,
}

impl OrderedMap {
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<&Var> {
        self.index
            .get(key)
            .and_then(|i| self.slots.get(i))
            .map(|s| &s.2)
    }

    /// The key as it was first inserted.
    pub fn get_key(&self, key: &Key) -> Option<&Var> {
        self.index
            .get(key)
            .and_then(|i| self.slots.get(i))
            .map(|s| &s.1)
    }

    /// Whether the key is there.
    pub fn contains(&self, key: &Key) -> bool {
        self.index.contains_key(key)
    }

    /// Sets a value: an existing key keeps its place and its key object, as in `dict`.
    pub fn insert(&mut self, key: Key, key_var: Var, value: Var) {
        if let Some(i) = self.index.get(&key) {
            let old = self.slots.get(i).expect("index and slots agree").clone();
            self.slots.insert(*i, (old.0, old.1, value));
            return;
        }
        let i = self.next;
        self.next += 1;
        self.index.insert(key.clone(), i);
        self.slots.insert(i, (key, key_var, value));
    }

    /// Removes a key and gives its value.
    pub fn remove(&mut self, key: &Key) -> Option<Var> {
        let i = self.index.remove(key)?;
        self.slots.remove(&i).map(|s| s.2)
    }

    /// Removes the last pair, or the first.
    pub fn pop_end(&mut self, last: bool) -> Option<(Var, Var)> {
        let (i, (k, kv, v)) = if last {
            self.slots.get_max()
        } else {
            self.slots.get_min()
        }
        .cloned()?;
        self.slots.remove(&i);
        self.index.remove(&k);
        Some((kv, v))
    }

    /// Moves a key to the end or the beginning (`OrderedDict.move_to_end`).
    pub fn move_to_end(&mut self, key: &Key, last: bool) -> bool {
        let Some(i) = self.index.get(key).copied() else {
            return false;
        };
        let slot = self.slots.remove(&i).expect("index and slots agree");
        if last {
            let n = self.next;
            self.next += 1;
            self.index.insert(slot.0.clone(), n);
            self.slots.insert(n, slot);
        } else {
            let all: Vec<_> = std::iter::once(slot)
                .chain(self.slots.values().cloned())
                .collect();
            *self = OrderedMap::default();
            for (k, kv, v) in all {
                self.insert(k, kv, v);
            }
        }
        true
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        *self = OrderedMap::default();
    }

    /// Pairs in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Var, &Var)> {
        self.slots.values().map(|s| (&s.1, &s.2))
    }

    /// Keys, as hash keys and as values, with their values, in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (&Key, &Var, &Var)> {
        self.slots.values().map(|s| (&s.0, &s.1, &s.2))
    }

    /// The `n`th pair in order.
    pub fn nth(&self, n: usize) -> Option<(&Var, &Var)> {
        self.iter().nth(n)
    }

    /// The first pair at or behind a slot, with the slot behind it: where a dict iterator goes on.
    /// Slots only grow, so that removals do not move what is behind them.
    pub fn next_from(&self, slot: u64) -> Option<(u64, &Var, &Var)> {
        self.slots
            .range(slot..)
            .next()
            .map(|(i, s)| (i + 1, &s.1, &s.2))
    }

    /// How many pairs stand before a slot.
    pub fn rank(&self, slot: u64) -> usize {
        self.slots.range(..slot).count()
    }
}
