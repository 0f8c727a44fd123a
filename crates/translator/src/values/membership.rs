//! `in` of a set from outside that nothing has looked at as a whole.
//!
//! Not here: what other containers hold (`compare`), and what is looked up in dictionaries (`attr::instance_dict`).
//! Invariant: the guard says of the one item what the program asked, and nothing of the order, which is another in each
//! process where items are hashed by their addresses.

use guards::{ConstVal, GuardKind};
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PySet, PyType};
use variables::Var;
use variables::constants::const_val;

use super::computed::is_simple;
use crate::attr::instance_dict::LARGE;
use crate::builder::MAX_CONTAINER;
use crate::stop::R;
use crate::tx::Tx;

impl Tx<'_> {
    /// Whether a set holds an item, which is a class or, for a large set, a constant; `None`: it is taken in as a whole.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub(crate) fn peek_membership(&mut self, set: &Var, item: &Var) -> R<Option<bool>> {
        let Var::Lazy(l) = set else { return Ok(None) };
        let set = l.obj.bind(self.py).clone();
        let is_set =
            set.is_exact_instance_of::<PySet>() || set.is_exact_instance_of::<PyFrozenSet>();
        let is_unseen = self.st.effects.known(l.obj.as_ptr() as usize).is_none();
        if !is_set || !is_unseen || set.len()? > MAX_CONTAINER {
            return Ok(None);
        }
        let (item, key) = match self.realize(item)? {
            Var::Py(p) if p.obj.bind(self.py).is_instance_of::<PyType>() => {
                if !self.is_told_by_identity(p.obj.bind(self.py)) {
                    return Ok(None);
                }
                (p.obj.clone(), ConstVal::Obj(self.pin(&p.obj, true)))
            }
            Var::Const(item) if set.len()? >= LARGE && is_simple(item.bind(self.py)) => {
                match const_val(item.bind(self.py)) {
                    // A float that is no number is found as the object that it is.
                    Some(key) if item.bind(self.py).eq(&item)? => (item, key),
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        // An item whose class defines `__eq__` may be equal to anything.
        for other in set.try_iter()? {
            let other = other?;
            if !is_simple(&other) && !self.is_told_by_identity(&other) {
                return Ok(None);
            }
        }
        self.guard_type(&set, l.source);
        let present = set.contains(item)?;
        self.guard(l.source, GuardKind::SetContains { key, present });
        Ok(Some(present))
    }
}
