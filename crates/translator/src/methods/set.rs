//! Methods of `set` and `frozenset`.

use bytecode::op::BinaryOp;
use variables::{Body, Key, OrderedMap, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use crate::values::combine;

impl Tx<'_> {
    /// A set's method, on a tracked set or a constant frozenset. `None`: there is none of this name
    /// here.
    pub(super) fn set_method(&mut self, recv: &Var, name: &str, args: Args) -> R<Option<Flow>> {
        let Some(mine) = self.set_items(recv)? else {
            return Ok(None);
        };
        let class = self.type_of(recv)?;
        let frozen = self.is_subtype(&class, &self.known.frozenset.clone());
        let base = if frozen {
            self.known.frozenset.clone()
        } else {
            self.known.set.clone()
        };
        let none = self.none();
        let value = match name {
            "union" | "intersection" | "difference" => {
                let op = operator(name);
                let args = self.positional(name, args, 0, usize::MAX)?;
                let mut out = mine;
                for a in &args {
                    out = combine(op, &out, &self.other_set(a)?);
                }
                self.make_set(base, out)?
            }
            "symmetric_difference" => {
                let other = self.one(name, args)?;
                let other = self.other_set(&other)?;
                self.make_set(base, combine(BinaryOp::Xor, &mine, &other))?
            }
            "issubset" | "issuperset" | "isdisjoint" => {
                let other = self.one(name, args)?;
                let other = self.other_set(&other)?;
                let within =
                    |a: &OrderedMap, b: &OrderedMap| a.entries().all(|(k, _, _)| b.contains(k));
                let r = match name {
                    "issubset" => within(&mine, &other),
                    "issuperset" => within(&other, &mine),
                    _ => mine.entries().all(|(k, _, _)| !other.contains(k)),
                };
                self.bool(r)
            }
            "copy" | "__copy__" => {
                self.positional(name, args, 0, 0)?;
                if frozen && class.is(&self.known.frozenset) {
                    recv.clone()
                } else {
                    self.make_set(base, mine)?
                }
            }
            "__reduce__" if class.is(&base) => {
                self.positional(name, args, 0, 0)?;
                let items = self.iterate(recv)?;
                let items = self.new_list(items);
                Var::tuple(vec![Var::py(class), Var::tuple(vec![items]), none])
            }
            "__le__" | "__lt__" | "__ge__" | "__gt__" | "__eq__" | "__ne__" => return Ok(None),
            _ if frozen => return Ok(None),
            "add" => {
                let v = self.one("set.add", args)?;
                self.set_add(recv, v)?;
                none
            }
            "discard" | "remove" => {
                let v = self.one(&format!("set.{name}"), args)?;
                let v = self.realize(&v)?;
                let key = self.lookup_key(&v)?;
                if mine.contains(&key) {
                    let mut out = mine;
                    out.remove(&key);
                    self.put_set(recv, out);
                } else if name == "remove" {
                    return Err(self.key_error(&v));
                }
                none
            }
            "pop" => {
                self.positional("set.pop", args, 0, 0)?;
                let Some(id) = self.id_of(recv) else {
                    return Ok(None);
                };
                let Some(first) = self.set_order(id)?.into_iter().next() else {
                    let message = self.str("pop from an empty set");
                    return Err(self.key_error(&message));
                };
                let key = self.key(&first)?;
                let mut out = mine;
                out.remove(&key);
                self.put_set(recv, out);
                first
            }
            "clear" => {
                self.positional("set.clear", args, 0, 0)?;
                self.put_set(recv, OrderedMap::default());
                none
            }
            "update" | "intersection_update" | "difference_update" => {
                let op = operator(name.strip_suffix("_update").unwrap_or("union"));
                let args = self.positional(name, args, 0, usize::MAX)?;
                let mut out = mine;
                for a in &args {
                    if name == "update" && self.runs_code(a)? && !self.is_opaque_set(a)? {
                        self.put_set(recv, out);
                        self.set_update(recv, a)?;
                        out = self.other_set(recv)?;
                        continue;
                    }
                    out = combine(op, &out, &self.other_set(a)?);
                }
                self.put_set(recv, out);
                none
            }
            "symmetric_difference_update" => {
                let other = self.one(name, args)?;
                let other = self.other_set(&other)?;
                self.put_set(recv, combine(BinaryOp::Xor, &mine, &other));
                none
            }
            "__init__" => {
                let a = self.positional("set", args, 0, 1)?;
                let map = match a.first() {
                    Some(v) => self.other_set(v)?,
                    None => OrderedMap::default(),
                };
                self.put_set(recv, map);
                none
            }
            _ => return Ok(None),
        };
        Ok(Some(Flow::Value(value)))
    }

    /// Gives a tracked set other items.
    pub(crate) fn put_set(&mut self, recv: &Var, map: OrderedMap) {
        if let Some(id) = self.id_of(recv)
            && let Body::Set(old) = self.st.effects.body_mut(id)
        {
            old.replace(map);
        }
    }

    /// What a set is made of or compared with: a set's own items, whatever its class says of iterating
    /// over it, and those of any other iterable.
    ///
    /// # Errors
    /// Whatever iterating or hashing raises.
    pub fn other_set(&mut self, v: &Var) -> R<OrderedMap> {
        let v = self.realize(v)?;
        match self.set_items(&v)? {
            Some(s) => Ok(s),
            None if self.is_opaque_set(&v)? => Err(opaque_set()),
            None => {
                let items = self.iterate(&v)?;
                self.set_map(items)
            }
        }
    }

    /// Whether a value is a set whose items only C reads: one of a class of its own, which may iterate
    /// over it in its own way.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub(crate) fn is_opaque_set(&mut self, v: &Var) -> R<bool> {
        let class = self.type_of(v)?;
        let known = self.known.clone();
        Ok([&known.set, &known.frozenset]
            .iter()
            .any(|base| !class.is(base) && self.is_subtype(&class, base)))
    }

    /// A set is looked up as a frozenset of its items.
    fn lookup_key(&mut self, v: &Var) -> R<Key> {
        if matches!(v, Var::Obj(_))
            && let Some(items) = self.set_items(v)?
        {
            let class = self.known.frozenset.clone();
            let frozen = self.make_set(class, items)?;
            return self.key(&frozen);
        }
        self.set_key(v)
    }
}

/// The break for [`Tx::is_opaque_set`].
pub(crate) fn opaque_set() -> Stop {
    Stop::unsupported("the items of a set of a class of its own")
}

fn operator(name: &str) -> BinaryOp {
    match name {
        "intersection" => BinaryOp::And,
        "difference" => BinaryOp::Subtract,
        _ => BinaryOp::Or,
    }
}
