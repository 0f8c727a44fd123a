//! Comparison, equality and membership.

use bytecode::op::CompareOp;
use pyo3::class::basic::CompareOp as PyOp;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use variables::{Body, DictView, OrderedMap, Var};

use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::{Flow, Tx};

pub(super) fn method(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Lt => "__lt__",
        CompareOp::Le => "__le__",
        CompareOp::Eq => "__eq__",
        CompareOp::Ne => "__ne__",
        CompareOp::Gt => "__gt__",
        CompareOp::Ge => "__ge__",
    }
}

pub(crate) fn swapped(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
        o => o,
    }
}

fn symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Eq => "==",
        CompareOp::Ne => "!=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
    }
}

fn real(op: CompareOp) -> PyOp {
    match op {
        CompareOp::Lt => PyOp::Lt,
        CompareOp::Le => PyOp::Le,
        CompareOp::Eq => PyOp::Eq,
        CompareOp::Ne => PyOp::Ne,
        CompareOp::Gt => PyOp::Gt,
        CompareOp::Ge => PyOp::Ge,
    }
}

fn holds<T: Ord + ?Sized>(op: CompareOp, a: &T, b: &T) -> bool {
    match op {
        CompareOp::Lt => a < b,
        CompareOp::Le => a <= b,
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::Gt => a > b,
        CompareOp::Ge => a >= b,
    }
}

impl Tx<'_> {
    /// Of what a value is a bound method of C code, and its name. Slots are bound anew by each look-up.
    fn bound_slot(&self, v: &Var) -> Option<(Var, Arc<str>)> {
        match v {
            Var::BuiltinMethod(bound) => Some((**bound).clone()),
            Var::Py(p) => {
                let b = p.obj.bind(self.py);
                let of = |name| b.getattr(name).ok();
                let is_slot = b.get_type().is(self.known.method_wrapper.bind(self.py));
                let name: String = of("__name__").filter(|_| is_slot)?.extract().ok()?;
                Some((Var::py(of("__self__")?.unbind()), name.into()))
            }
            _ => None,
        }
    }

    /// `a op b` (CPython's `PyObject_RichCompare`).
    ///
    /// # Errors
    /// Whatever the comparison raises; a break where it has no rule.
    pub fn compare(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Flow> {
        if let Some(holds) = self.compare_ragged(op, a, b)? {
            return Ok(Flow::Value(self.bool(holds)));
        }
        let computed = |v: &Var| matches!(v, Var::Computed(_));
        if (computed(a) || computed(b))
            && let Some(answer) = self.compare_changing(op, a, b)?
        {
            return Ok(Flow::Value(answer));
        }
        if let Some(flow) = self.beside_tensor(a, b, |tx, a, b| tx.tensor_compare(op, a, b))? {
            return Ok(flow);
        }
        let (a, b) = match self.array_operator(method(op), a, b)? {
            Ok(flow) => return Ok(flow),
            Err(operands) => operands,
        };
        if a.is_dynamic_number() || b.is_dynamic_number() {
            if let Some(answer) = self.compare_changing(op, &a, &b)? {
                return Ok(Flow::Value(answer));
            }
            if matches!(a, Var::Tensor(_)) || matches!(b, Var::Tensor(_)) {
                return self.tensor_compare(op, &a, &b);
            }
            let (a, b) = (self.realize(&a)?, self.realize(&b)?);
            return self.compare(op, &a, &b);
        }
        if let (Var::Const(x), Var::Const(y)) = (&a, &b) {
            let (x, y) = (x.clone(), y.clone());
            return self
                .fold(move |py| x.bind(py).rich_compare(y.bind(py), real(op)))
                .map(Flow::Value);
        }
        let tensor = matches!(a, Var::Tensor(_)) || matches!(b, Var::Tensor(_));
        let plain = |v: &Var| matches!(v, Var::Const(_) | Var::Tensor(_));
        if tensor && plain(&a) && plain(&b) {
            return self.tensor_compare(op, &a, &b);
        }
        let (class_a, class_b) = (self.type_of(&a)?, self.type_of(&b)?);
        let reflected = swapped(op);
        let mut tried_right = false;
        if !class_a.is(&class_b) && self.is_subtype(&class_b, &class_a) {
            tried_right = true;
            if let Some(v) = self.compare_by(&b, reflected, &a)? {
                return Ok(Flow::Value(v));
            }
        }
        if tensor
            && !self.compares_itself(&a, op)?
            && (tried_right || !self.compares_itself(&b, reflected)?)
        {
            return self.tensor_compare(op, &a, &b);
        }
        if let Some(v) = self.compare_by(&a, op, &b)? {
            return Ok(Flow::Value(v));
        }
        if !tried_right && let Some(v) = self.compare_by(&b, reflected, &a)? {
            return Ok(Flow::Value(v));
        }
        match op {
            CompareOp::Eq | CompareOp::Ne => {
                let same = self.is_same(&a, &b)?;
                Ok(Flow::Value(self.bool(same == (op == CompareOp::Eq))))
            }
            _ => {
                let (x, y) = (self.class_name(&class_a), self.class_name(&class_b));
                let message = format!(
                    "'{}' not supported between instances of '{x}' and '{y}'",
                    symbol(op)
                );
                Err(self.raise("TypeError", &message))
            }
        }
    }

    fn compares_itself(&mut self, v: &Var, op: CompareOp) -> R<bool> {
        Ok(match v {
            Var::Tensor(_) | Var::Const(_) => false,
            _ => self.special(v, method(op))?.is_user(),
        })
    }

    /// `type(a).__op__(a, b)`; `None` stands for `NotImplemented`.
    fn compare_by(&mut self, a: &Var, op: CompareOp, b: &Var) -> R<Option<Var>> {
        self.inside(|tx| tx.compare_by_class(a, op, b))
    }

    fn compare_by_class(&mut self, a: &Var, op: CompareOp, b: &Var) -> R<Option<Var>> {
        let name = method(op);
        match self.special(a, name)? {
            Special::Absent => Ok(None),
            Special::User => {
                let r = self.special_sync(a, name, vec![b.clone()])?;
                Ok((!self.is_not_implemented(&r)).then_some(r))
            }
            Special::Builtin => {
                if op == CompareOp::Ne && self.special(a, "__eq__")?.is_user() {
                    // `object.__ne__` inverts a user's `__eq__`.
                    let r = self.special_sync(a, "__eq__", vec![b.clone()])?;
                    if self.is_not_implemented(&r) {
                        return Ok(None);
                    }
                    let t = self.truth(&r)?;
                    return Ok(Some(self.bool(!t)));
                }
                self.compare_builtin(a, op, b)
            }
        }
    }

    /// A comparison of two values of builtin types, as their classes make it; `None` where they leave it to the other.
    ///
    /// # Errors
    /// What comparing items raises; a break for values whose order is not known.
    pub fn compare_builtin(&mut self, a: &Var, op: CompareOp, b: &Var) -> R<Option<Var>> {
        if let Some(mapping) = self.mapping_under(a)? {
            let flow = self.compare(op, &mapping, b)?;
            return self.finish_flow(flow).map(Some);
        }
        if let Some((a, b)) = self.plain_values(a, b) {
            let made = self
                .compare(op, &a, &b)
                .and_then(|flow| self.finish_flow(flow));
            return self.of_plain_values(made.map(Some));
        }
        self.no_broadcast(a, symbol(op), b)?;
        match (a, b) {
            (Var::Tuple(x), Var::Tuple(y)) => {
                return self.compare_items(op, &x.items, &y.items).map(Some);
            }
            (Var::Slice(x), Var::Slice(y)) => {
                return self.compare_items(op, &x[..], &y[..]).map(Some);
            }
            (Var::Tensor(_), _) => {
                let f = self.tensor_compare(op, a, b)?;
                return self.finish_flow(f).map(Some);
            }
            (Var::Obj(i), _) => {
                let id = *i;
                match (self.obj(id).body.clone(), self.body_of(b)) {
                    (Body::List(x), Some(Body::List(y)))
                    | (Body::Deque(x, _), Some(Body::Deque(y, _))) => {
                        let items = |v: &im::Vector<Var>| v.iter().cloned().collect::<Vec<_>>();
                        let result = self.compare_items(op, &items(&x), &items(&y))?;
                        self.still_holds(a, &x)?;
                        self.still_holds(b, &y)?;
                        return Ok(Some(result));
                    }
                    (Body::Dict(x), Some(Body::Dict(y))) => {
                        if !matches!(op, CompareOp::Eq | CompareOp::Ne) {
                            return Ok(None);
                        }
                        let ordered = |tx: &Self, v: &Var| {
                            tx.id_of(v).is_some_and(|i| {
                                tx.is_subtype(&tx.obj(i).class, &tx.known.ordered_dict)
                            })
                        };
                        let in_order = ordered(self, a) && ordered(self, b);
                        let same = self.dicts_equal(&x, &y, in_order)?;
                        return Ok(Some(self.bool(same == (op == CompareOp::Eq))));
                    }
                    (Body::Address(x), Some(Body::Address(y)))
                        if matches!(op, CompareOp::Eq | CompareOp::Ne) =>
                    {
                        let same = self.is_same(&x, &y)?;
                        return Ok(Some(self.bool(same == (op == CompareOp::Eq))));
                    }
                    (Body::DataPointer(x), Some(Body::DataPointer(y)))
                        if matches!(op, CompareOp::Eq | CompareOp::Ne) =>
                    {
                        let same = self.same_data_pointer(&x, &y)?;
                        return Ok(Some(self.bool(same == (op == CompareOp::Eq))));
                    }
                    (Body::DataPointer(_), _) => {
                        return Err(Stop::unsupported("a comparison of a tensor's address"));
                    }
                    (
                        Body::Plain
                        | Body::Result(_)
                        | Body::Array(_)
                        | Body::OfNode(_)
                        | Body::Address(_)
                        | Body::Cell(_)
                        | Body::Iter(_)
                        | Body::Generator(_),
                        _,
                    ) => {
                        return self.compare_identity(a, op, b);
                    }
                    _ => {}
                }
            }
            (Var::Func(_) | Var::Super(_), _) => return self.compare_identity(a, op, b),
            (Var::Method(x), Var::Method(y)) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                let same =
                    self.is_same(&x.receiver, &y.receiver)? && self.equals(&x.func, &y.func)?;
                return Ok(Some(self.bool(same == (op == CompareOp::Eq))));
            }
            _ => {}
        }
        if matches!(op, CompareOp::Eq | CompareOp::Ne)
            && let (Some(x), Some(y)) = (self.bound_slot(a), self.bound_slot(b))
        {
            let same = x.1 == y.1 && self.is_same(&x.0, &y.0)?;
            return Ok(Some(self.bool(same == (op == CompareOp::Eq))));
        }
        if self.is_set_view(a) {
            return self.compare_view(op, a, b);
        }
        if let (Some(x), Some(y)) = (self.set_items(a)?, self.set_items(b)?) {
            return self.compare_sets(op, &x, &y).map(Some);
        }
        if let (Some(x), Some(y)) = (self.tuple_items(a)?, self.tuple_items(b)?)
            && (matches!(a, Var::Tuple(_)) || matches!(b, Var::Tuple(_)))
        {
            return self.compare_items(op, &x, &y).map(Some);
        }
        if let (Some(x), Some(y)) = (a.as_obj(), b.as_obj()) {
            // The method of the left operand's class alone, so that the right one is still asked.
            let (x, y) = (x.clone(), y.clone());
            let class = self.type_of(a)?;
            let r = class
                .bind(self.py)
                .getattr(method(op))
                .map_err(Stop::from)?;
            // Attribute look-up on a class whose instances are classes finds `type`'s own slot.
            let r = r.call1((x.bind(self.py), y.bind(self.py)));
            return match r {
                Ok(r) if r.is(self.py.NotImplemented()) => Ok(None),
                Ok(r) => self.from_const(r).map(Some),
                Err(e) => Err(self.raise_pyerr(&e)),
            };
        }
        Ok(None)
    }

    /// The items of a tuple, an object of a subclass that is used as a whole included: a member of an
    /// enum.
    fn tuple_items(&mut self, v: &Var) -> R<Option<Vec<Var>>> {
        Ok(match v {
            Var::Tuple(t) => Some(t.items.clone()),
            Var::Py(p) => match p.obj.clone().bind(self.py).cast::<PyTuple>() {
                Ok(t) => {
                    let items = t.as_sequence().to_list()?;
                    let items = items.iter().map(|i| self.from_const(i));
                    Some(items.collect::<R<Vec<_>>>()?)
                }
                Err(_) => None,
            },
            _ => None,
        })
    }

    /// `object`'s comparison: equal if identical, else not decided.
    fn compare_identity(&mut self, a: &Var, op: CompareOp, b: &Var) -> R<Option<Var>> {
        // A builtin base class other than `object` has a rule of its own that needs the contents.
        let class = self.type_of(a)?;
        let theirs = class.bind(self.py).getattr(method(op))?;
        let namespace = self.known.namespace.clone();
        if theirs.is(&namespace.bind(self.py).getattr(method(op))?) {
            let other = self.type_of(b)?;
            if !self.is_subtype(&other, &namespace) || !matches!(op, CompareOp::Eq | CompareOp::Ne)
            {
                return Ok(None);
            }
            let name = "__dict__".into();
            let (x, y) = (self.getattr_sync(a, &name)?, self.getattr_sync(b, &name)?);
            let same = self.equals(&x, &y)?;
            return Ok(Some(self.bool(same == (op == CompareOp::Eq))));
        }
        let plain = theirs.is(&self.known.object.bind(self.py).getattr(method(op))?);
        let base_exception = self.known.base_exception.clone();
        if !plain && !self.is_subtype(&class, &base_exception) {
            return Err(Stop::unsupported(format!("comparing {}", self.describe(a))));
        }
        match op {
            CompareOp::Eq if self.is_same(a, b)? => Ok(Some(self.bool(true))),
            CompareOp::Ne if self.is_same(a, b)? => Ok(Some(self.bool(false))),
            _ => Ok(None),
        }
    }

    /// Lexicographic comparison with the identity shortcut (CPython's `list_richcompare`).
    fn compare_items(&mut self, op: CompareOp, x: &[Var], y: &[Var]) -> R<Var> {
        if x.len() != y.len() && matches!(op, CompareOp::Eq | CompareOp::Ne) {
            return Ok(self.bool(op == CompareOp::Ne));
        }
        for (a, b) in x.iter().zip(y) {
            if !self.equals(a, b)? {
                return match op {
                    CompareOp::Eq => Ok(self.bool(false)),
                    CompareOp::Ne => Ok(self.bool(true)),
                    _ => {
                        let f = self.compare(op, a, b)?;
                        self.finish_flow(f)
                    }
                };
            }
        }
        Ok(self.bool(holds(op, &x.len(), &y.len())))
    }

    fn dicts_equal(&mut self, x: &OrderedMap, y: &OrderedMap, in_order: bool) -> R<bool> {
        if x.len() != y.len() {
            return Ok(false);
        }
        for (k, _, v) in x.entries() {
            let Some(w) = y.get(k).cloned() else {
                return Ok(false);
            };
            if !self.equals(v, &w)? {
                return Ok(false);
            }
        }
        Ok(!in_order || x.entries().zip(y.entries()).all(|(a, b)| a.0 == b.0))
    }

    fn is_set_view(&self, v: &Var) -> bool {
        matches!(self.body_of(v), Some(Body::DictView(_, w)) if w != DictView::Values)
    }

    /// A keys or items view with a set or another such view (CPython's `dictview_richcompare`): by
    /// membership, so that values of items need not be hashable.
    fn compare_view(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Option<Var>> {
        let frozen = matches!(b, Var::Const(o) if o.bind(self.py).get_type().is(self.known.frozenset.bind(self.py)));
        if !frozen && !self.is_set_view(b) && !matches!(self.body_of(b), Some(Body::Set(_))) {
            return Ok(None);
        }
        let (m, n) = (
            self.value_len(a)?.unwrap_or(0),
            self.value_len(b)?.unwrap_or(0),
        );
        let within = |tx: &mut Self, x: &Var, y: &Var| -> R<bool> {
            for v in tx.iterate(x)? {
                if !tx.contains(y, &v)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let r = match op {
            CompareOp::Eq => m == n && within(self, a, b)?,
            CompareOp::Ne => !(m == n && within(self, a, b)?),
            CompareOp::Lt => m < n && within(self, a, b)?,
            CompareOp::Le => m <= n && within(self, a, b)?,
            CompareOp::Gt => m > n && within(self, b, a)?,
            CompareOp::Ge => m >= n && within(self, b, a)?,
        };
        Ok(Some(self.bool(r)))
    }

    fn compare_sets(&mut self, op: CompareOp, x: &OrderedMap, y: &OrderedMap) -> R<Var> {
        let within = |a: &OrderedMap, b: &OrderedMap| a.entries().all(|(k, _, _)| b.contains(k));
        let r = match op {
            CompareOp::Eq => x.len() == y.len() && within(x, y),
            CompareOp::Ne => !(x.len() == y.len() && within(x, y)),
            CompareOp::Le => x.len() <= y.len() && within(x, y),
            CompareOp::Lt => x.len() < y.len() && within(x, y),
            CompareOp::Ge => y.len() <= x.len() && within(y, x),
            CompareOp::Gt => y.len() < x.len() && within(y, x),
        };
        Ok(self.bool(r))
    }

    /// `a is b or a == b` (CPython's `PyObject_RichCompareBool`).
    ///
    /// # Errors
    /// As [`Tx::compare`] and [`Tx::truth`].
    pub fn equals(&mut self, a: &Var, b: &Var) -> R<bool> {
        if let Some(equal) = self.int_compare(CompareOp::Eq, a, b)? {
            return Ok(equal);
        }
        let (a, b) = (self.realize(a)?, self.realize(b)?);
        if let (Var::Const(x), Var::Const(y)) = (&a, &b) {
            return Ok(x.is(y) || x.bind(self.py).eq(y.bind(self.py))?);
        }
        match self.is_same(&a, &b) {
            Ok(true) => return Ok(true),
            Ok(false) | Err(Stop::Break(_)) => {}
            Err(stop) => return Err(stop),
        }
        let f = self.compare(CompareOp::Eq, &a, &b)?;
        let r = self.finish_flow(f)?;
        self.truth(&r)
    }

    /// `item in container` (CPython's `PySequence_Contains`).
    ///
    /// # Errors
    /// Whatever the test raises; a break where it has no rule.
    pub fn contains(&mut self, container: &Var, item: &Var) -> R<bool> {
        if let Some(found) = self.peek_item(container, item)? {
            return Ok(found.is_some());
        }
        if let Some(found) = self.peek_membership(container, item)? {
            return Ok(found);
        }
        let c = self.realize(container)?;
        // A number that changes is compared with one item after the other, which says more than its value.
        let item = match self.look(item)? {
            item @ Var::Int(_) if self.compares_items(&c) => item,
            item => self.realize(&item)?,
        };
        if let Some(mapping) = self.mapping_under(&c)? {
            return self.contains(&mapping, &item);
        }
        match &c {
            Var::Const(o) => return self.const_contains(&c, &o.clone(), &item),
            Var::Tuple(t) if t.class.as_ref().is_none_or(|k| k.is(&self.known.size)) => {
                let items = t.items.clone();
                return self.any_equal(&items, &item);
            }
            Var::Tensor(_) => {
                let f = self.tensor_method(&c, "__contains__", crate::tx::Args::pos(vec![item]))?;
                let r = self.finish_flow(f)?;
                return self.truth(&r);
            }
            _ => {}
        }
        match self.special(&c, "__contains__")? {
            Special::User => {
                let r = self.special_sync(&c, "__contains__", vec![item])?;
                self.truth(&r)
            }
            Special::Builtin => match &c {
                Var::Tuple(t) => {
                    let items = t.items.clone();
                    self.any_equal(&items, &item)
                }
                Var::Obj(id) => self.body_contains(&c, self.obj(*id).body.clone(), &item),
                Var::Py(p) => match self.as_const(&item)?.filter(|_| self.is_changeless(p)) {
                    Some(i) => match p.obj.clone().bind(self.py).contains(i) {
                        Ok(found) => Ok(found),
                        Err(e) => Err(self.raise_pyerr(&e)),
                    },
                    None => Err(Stop::unsupported(format!(
                        "membership in {}",
                        self.describe(&c)
                    ))),
                },
                _ => Err(Stop::unsupported(format!(
                    "membership in {}",
                    self.describe(&c)
                ))),
            },
            Special::Absent => {
                let name = self.type_name(&c)?;
                let iterable = self.special(&c, "__iter__")? != Special::Absent
                    || self.special(&c, "__getitem__")? != Special::Absent;
                if !iterable {
                    return Err(self.no_container(&name));
                }
                let it = self.get_iter(&c)?;
                while let Some(v) = self.iter_next(&it)? {
                    if self.equals(&v, &item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// Whether `in` compares what a container holds in order, with nothing looked up.
    fn compares_items(&self, c: &Var) -> bool {
        match c {
            Var::Tuple(t) => t.class.as_ref().is_none_or(|k| k.is(&self.known.size)),
            Var::Obj(id) => matches!(self.obj(*id).body, Body::List(_)),
            Var::Const(o) => o
                .bind(self.py)
                .is_exact_instance_of::<pyo3::types::PyTuple>(),
            _ => false,
        }
    }

    /// `item in container`, of what the container holds.
    ///
    /// # Errors
    /// What comparing items raises.
    pub fn body_contains(&mut self, c: &Var, body: Body, item: &Var) -> R<bool> {
        match body {
            Body::List(v) | Body::Deque(v, _) => {
                let items: Vec<Var> = v.iter().cloned().collect();
                let found = self.any_equal(&items, item)?;
                self.still_holds(c, &v)?;
                Ok(found)
            }
            Body::Dict(d) => Ok(d.contains(&self.dict_key(item)?)),
            Body::Set(s) => {
                // A set is looked up as the frozenset of its items.
                if let Some(items) = self.set_items(item)?
                    && matches!(item, Var::Obj(_))
                {
                    let frozen = self.make_set(self.known.frozenset.clone(), items)?;
                    return Ok(s.contains(&self.key(&frozen)?));
                }
                Ok(s.contains(&self.set_key(item)?))
            }
            Body::DictView(d, view) => {
                let Body::Dict(map) = self.obj(d).body.clone() else {
                    return Err(Stop::Internal("view of no dict".into()));
                };
                match view {
                    DictView::Keys => Ok(map.contains(&self.dict_key(item)?)),
                    DictView::Items => {
                        let Var::Tuple(t) = item else {
                            return Ok(false);
                        };
                        if t.items.len() != 2 {
                            return Ok(false);
                        }
                        let key = self.dict_key(&t.items[0])?;
                        match map.get(&key) {
                            Some(v) => self.equals(v, &t.items[1]),
                            None => Ok(false),
                        }
                    }
                    DictView::Values => {
                        let items: Vec<Var> = map.iter().map(|(_, v)| v.clone()).collect();
                        self.any_equal(&items, item)
                    }
                }
            }
            Body::Value(plain) => self.contains(&Var::Const(plain), item),
            _ => Err(Stop::unsupported(format!(
                "membership in {}",
                self.describe(c)
            ))),
        }
    }

    /// A list or deque whose items were compared, which may have run code of the user's that changed
    /// it: where the comparison went on then is CPython's business.
    ///
    /// # Errors
    /// A break where it was changed.
    pub fn still_holds(&self, sequence: &Var, items: &im::Vector<Var>) -> R<()> {
        match self.body_of(sequence) {
            Some(Body::List(now) | Body::Deque(now, _)) if now.len() != items.len() => Err(
                Stop::unsupported("a sequence that is changed while its items are compared"),
            ),
            _ => Ok(()),
        }
    }

    /// Whether an item is identical or equal to one of a few.
    pub fn any_equal(&mut self, items: &[Var], item: &Var) -> R<bool> {
        for v in items {
            if self.equals(v, item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn const_contains(&mut self, c: &Var, o: &variables::Obj, item: &Var) -> R<bool> {
        if matches!(item, Var::Int(_)) {
            let items = self.iterate(c)?;
            return self.any_equal(&items, item);
        }
        // A text is searched for the characters of another, whatever its class says.
        let is_text = o
            .bind(self.py)
            .is_exact_instance_of::<pyo3::types::PyString>();
        let plain = self.plain_value(item).filter(|_| is_text);
        if let Some(i) = self.as_const(plain.as_ref().unwrap_or(item))? {
            return match o.bind(self.py).contains(i) {
                Ok(found) => Ok(found),
                Err(e) => Err(self.raise_pyerr(&e)),
            };
        }
        let b = o.bind(self.py);
        if b.get_type().is(self.known.frozenset.bind(self.py)) {
            let items = self.set_items(c)?.unwrap_or_default();
            return Ok(items.contains(&self.set_key(item)?));
        }
        if b.is_exact_instance_of::<pyo3::types::PyRange>() {
            let items = self.iterate(c)?;
            return self.any_equal(&items, item);
        }
        let name = self.type_name(item)?;
        if b.is_exact_instance_of::<pyo3::types::PyString>() {
            return Err(self.raise(
                "TypeError",
                &format!("'in <string>' requires string as left operand, not {name}"),
            ));
        }
        if b.is_exact_instance_of::<pyo3::types::PyBytes>() {
            return Err(self.raise(
                "TypeError",
                &format!("a bytes-like object is required, not '{name}'"),
            ));
        }
        let name = self.type_name(c)?;
        Err(self.no_container(&name))
    }

    /// The error of `in` for a value of a type that has no items.
    fn no_container(&mut self, name: &str) -> Stop {
        let is_not = self.version().no_container();
        let message = format!("argument of type '{name}' is not {is_not}");
        self.raise("TypeError", &message)
    }
}
