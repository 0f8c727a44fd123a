//! Operators of builtin containers and of constants mixed with existing objects.

use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use variables::{Body, Obj, ObjId, ObjState, OrderedMap, TupleVar, Var};

use super::arith::{apply, names};
use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::Tx;

/// No constant repetition that fills the memory.
const MAX_REPEAT: usize = 1 << 16;

impl Tx<'_> {
    /// `a op b` where neither class defines it in Python. `None`: `NotImplemented` from both.
    ///
    /// # Errors
    /// Whatever the operation raises; a break where it has no rule.
    pub fn builtin_binary(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        if op == BinaryOp::Remainder && self.plain_value(a).is_some_and(|v| self.is_text(&v)) {
            return Err(Stop::unsupported("`%` of a text of a class of its own"));
        }
        if let Some((a, b)) = self.plain_values(a, b) {
            let made = self.binary_sync(op, &a, &b).map(Some);
            return self.of_plain_values(made);
        }
        self.no_broadcast(a, names(op).symbol, b)?;
        match op {
            BinaryOp::Add => {
                if let Some(v) = self.concat(a, b)? {
                    return Ok(Some(v));
                }
            }
            BinaryOp::Multiply => {
                for (seq, n) in [(a, b), (b, a)] {
                    if self.is_sequence(seq) && self.special(n, "__index__")? != Special::Absent {
                        return self.repeat(seq, n).map(Some);
                    }
                }
            }
            BinaryOp::Remainder if self.is_text(a) => {
                return (self.rules.builtins.percent_format)(self, a, b).map(Some);
            }
            BinaryOp::Or | BinaryOp::And | BinaryOp::Subtract | BinaryOp::Xor => {
                // A mapping proxy stands for what it shows, as in `mappingproxy_or`.
                let shown = (self.mapping_under(a)?, self.mapping_under(b)?);
                if op == BinaryOp::Or && (shown.0.is_some() || shown.1.is_some()) {
                    let (a, b) = (shown.0.as_ref().unwrap_or(a), shown.1.as_ref().unwrap_or(b));
                    return self.binary_sync(op, a, b).map(Some);
                }
                if let Some(v) = self.set_operator(op, a, b)? {
                    return Ok(Some(v));
                }
                if op == BinaryOp::Or
                    && let Some(v) = self.dict_or(a, b)?
                {
                    return Ok(Some(v));
                }
            }
            _ => {}
        }
        self.fold_objects(op, a, b)
    }

    /// A number of NumPy makes an array of the sequence that it meets.
    ///
    /// # Errors
    /// A break for such operands.
    pub(super) fn no_broadcast(&self, a: &Var, symbol: &str, b: &Var) -> R<()> {
        for v in [a, b] {
            if let Var::Const(o) = v
                && self
                    .known
                    .is_numpy_scalar(o.bind(self.py).get_type().as_any())
            {
                return Err(Stop::unsupported(format!(
                    "{} {symbol} {}",
                    self.describe(a),
                    self.describe(b)
                )));
            }
        }
        Ok(())
    }

    /// Both operands exist as real objects, and their classes' operators are C code.
    fn fold_objects(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        let n = names(op);
        let any = self.special(a, n.direct)? == Special::Builtin
            || self.special(b, n.reflected)? == Special::Builtin;
        if !any && !matches!(op, BinaryOp::Add | BinaryOp::Multiply) {
            return Ok(None);
        }
        if let (Some(x), Some(y)) = (self.as_const(a)?, self.as_const(b)?) {
            return match apply(op, x.bind(self.py), y.bind(self.py)) {
                Ok(o) => self.from_const(o).map(Some),
                Err(e) => Err(self.raise_pyerr(&e)),
            };
        }
        if any
            && !self.is_sequence(a)
            && !self.is_sequence(b)
            && !matches!((a, b), (Var::Obj(_), _) | (_, Var::Obj(_)))
        {
            return Err(Stop::unsupported(format!(
                "{} {} {}",
                self.describe(a),
                n.symbol,
                self.describe(b)
            )));
        }
        // An object of a class with C slots of its own (a number type of an extension module).
        for v in [a, b] {
            if let Var::Obj(id) = v
                && matches!(self.obj(*id).body, Body::Plain)
                && (self.special(v, n.direct)? == Special::Builtin
                    || self.special(v, n.reflected)? == Special::Builtin)
            {
                return Err(Stop::unsupported(format!(
                    "{} {} {}",
                    self.describe(a),
                    n.symbol,
                    self.describe(b)
                )));
            }
        }
        Ok(None)
    }

    pub(super) fn is_sequence(&self, v: &Var) -> bool {
        match v {
            Var::Tuple(_) => true,
            Var::Obj(id) => matches!(self.obj(*id).body, Body::List(_) | Body::Deque(..)),
            v => self.is_text(v),
        }
    }

    /// A new container of the same kind as an existing one, without its subclass.
    pub fn new_like(&mut self, class: Obj, body: Body) -> Var {
        Var::Obj(self.st.effects.add(ObjState::new(class, body)))
    }

    fn concat(&mut self, a: &Var, b: &Var) -> R<Option<Var>> {
        match (a, b) {
            // CPython gives the very tuple where nothing is added to it.
            (Var::Tuple(x), Var::Tuple(y))
                if x.items.is_empty() && y.class.is_none() && x.class.is_none() =>
            {
                Ok(Some(b.clone()))
            }
            (Var::Tuple(x), Var::Tuple(y))
                if y.items.is_empty() && x.class.is_none() && y.class.is_none() =>
            {
                Ok(Some(a.clone()))
            }
            (Var::Tuple(x), Var::Tuple(y)) => {
                let items: Vec<Var> = x.items.iter().chain(&y.items).cloned().collect();
                // `torch.Size + tuple` is a `torch.Size`, and so is `tuple + torch.Size` where the class
                // has the reflected operator.
                let known = self.known.clone();
                let is_size = |t: &TupleVar| t.class.as_ref().is_some_and(|c| c.is(&known.size));
                let reflected = || known.size.bind(self.py).hasattr("__radd__");
                let size = is_size(x) || is_size(y) && reflected()?;
                let class = size.then(|| self.known.size.clone());
                Ok(Some(Var::Tuple(std::rc::Rc::new(TupleVar {
                    items,
                    class,
                    origin: None,
                }))))
            }
            (Var::Obj(i), Var::Obj(j)) => match (&self.obj(*i).body, &self.obj(*j).body) {
                (Body::List(x), Body::List(y)) => {
                    let mut out = x.clone();
                    out.append(y.clone());
                    Ok(Some(self.new_list(out)))
                }
                (Body::Deque(x, max), Body::Deque(y, _)) => {
                    let max = *max;
                    let mut out = x.clone();
                    out.append(y.clone());
                    trim_left(&mut out, max);
                    let class = self.obj(*i).class.clone();
                    Ok(Some(self.new_like(class, Body::Deque(out, max))))
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn repeat(&mut self, seq: &Var, n: &Var) -> R<Var> {
        let n = self.index_of(n)?.max(0) as usize;
        let n = checked_repeats(self.value_len(seq)?.unwrap_or(0), n)?;
        match seq {
            Var::Tuple(t) if n == 1 && t.class.is_none() => Ok(seq.clone()),
            Var::Tuple(t) => {
                let items = std::iter::repeat_n(t.items.iter(), n)
                    .flatten()
                    .cloned()
                    .collect();
                let class = t.class.clone().filter(|c| c.is(&self.known.size));
                Ok(Var::Tuple(std::rc::Rc::new(TupleVar {
                    items,
                    class,
                    origin: None,
                })))
            }
            Var::Obj(id) => {
                let (body, class) = (self.obj(*id).body.clone(), self.obj(*id).class.clone());
                match body {
                    Body::List(v) => Ok(self.new_list(repeated(&v, n))),
                    Body::Deque(v, max) => {
                        let mut out = repeated(&v, n);
                        trim_left(&mut out, max);
                        Ok(self.new_like(class, Body::Deque(out, max)))
                    }
                    _ => Err(Stop::Internal("repeat of no sequence".into())),
                }
            }
            Var::Const(o) => {
                let o = o.clone();
                self.fold(move |py| o.bind(py).mul(n))
            }
            _ => Err(Stop::Internal("repeat of no sequence".into())),
        }
    }

    /// The items of a set, frozenset, or set-like dict view; `None` for anything else.
    pub fn set_items(&mut self, v: &Var) -> R<Option<OrderedMap>> {
        match v {
            Var::Obj(id) => match self.obj(*id).body.clone() {
                Body::Set(s) => Ok(Some(s)),
                Body::DictView(_, variables::DictView::Values) => Ok(None),
                Body::DictView(..) => {
                    let items = self.iterate(v)?;
                    self.set_map(items).map(Some)
                }
                _ => Ok(None),
            },
            Var::Const(o)
                if o.bind(self.py)
                    .get_type()
                    .is(self.known.frozenset.bind(self.py)) =>
            {
                // Whose order nobody sees here: who iterates over them asks for it.
                let items = o.bind(self.py).try_iter()?.collect::<PyResult<Vec<_>>>()?;
                let items = items.into_iter().map(|item| self.from_const(item));
                let items = items.collect::<R<Vec<_>>>()?;
                self.set_map(items).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Items as a set, hashed.
    ///
    /// # Errors
    /// Those of hashing.
    pub fn set_map(&mut self, items: Vec<Var>) -> R<OrderedMap> {
        let mut map = OrderedMap::default();
        let none = self.none();
        for v in items {
            let v = self.realize(&v)?;
            let key = self.set_key(&v)?;
            if !map.contains(&key) {
                map.insert(key, v, none.clone());
            }
        }
        Ok(map)
    }

    /// A set or, where its items are all constants and the class is `frozenset`, a constant.
    pub fn make_set(&mut self, class: Obj, map: OrderedMap) -> R<Var> {
        if class.is(&self.known.frozenset) {
            let items: Vec<Var> = map.iter().map(|(k, _)| k.clone()).collect();
            let mut real = Vec::with_capacity(items.len());
            for v in &items {
                match v {
                    Var::Const(o) => real.push(o.clone()),
                    Var::Tuple(_) => match self.as_const(v)? {
                        Some(o) => real.push(o),
                        None => break,
                    },
                    _ => break,
                }
            }
            if real.len() == items.len() {
                let list = pyo3::types::PyList::new(self.py, real)?;
                return Ok(Var::Const(class.call1(self.py, (list,))?));
            }
        }
        Ok(self.new_like(class, Body::Set(map)))
    }

    fn set_operator(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        let view = |tx: &Self, v: &Var| matches!(tx.body_of(v), Some(Body::DictView(_, w)) if w != variables::DictView::Values);
        if op == BinaryOp::And && view(self, a) {
            // What is not in the view needs no hash: values of items may be unhashable.
            let mut both = Vec::new();
            for v in self.iterate(b)? {
                if self.contains(a, &v)? {
                    both.push(v);
                }
            }
            let map = self.set_map(both)?;
            return self.make_set(self.known.set.clone(), map).map(Some);
        }
        let (x, y) = match (self.set_items(a)?, self.set_items(b)?) {
            (Some(x), Some(y)) => (x, y),
            // A view takes any iterable.
            (Some(x), None) if view(self, a) => (x, self.other_set(b)?),
            (None, Some(y)) if view(self, b) => (self.other_set(a)?, y),
            _ => return Ok(None),
        };
        let frozen = self.known.frozenset.clone();
        let class = self.type_of(a)?;
        // `set.__or__` makes a `set` even for a subclass; a frozenset makes a frozenset.
        let class = if self.is_subtype(&class, &frozen) {
            frozen
        } else {
            self.known.set.clone()
        };
        let map = combine(op, &x, &y);
        self.make_set(class, map).map(Some)
    }

    /// Whether what is made of a dict of this class is made by calling the class: `dict` itself makes a
    /// plain one for subclasses, the collections do not.
    pub fn copies_its_class(&self, class: &Obj) -> bool {
        let bases = [&self.known.ordered_dict, &self.known.defaultdict];
        !self.is_builtin_container(class) && bases.iter().any(|b| self.is_subtype(class, b))
    }

    /// `d | e`: a new dict of the left operand's class.
    fn dict_or(&mut self, a: &Var, b: &Var) -> R<Option<Var>> {
        let (Var::Obj(i), Var::Obj(j)) = (a, b) else {
            return Ok(None);
        };
        let (Body::Dict(x), Body::Dict(y)) = (&self.obj(*i).body, &self.obj(*j).body) else {
            return Ok(None);
        };
        let frozen = |id: &variables::ObjId| self.known.is_frozendict(&self.obj(*id).class);
        if frozen(i) && (y.is_empty() || x.is_empty() && frozen(j)) {
            return Ok(Some(if y.is_empty() { a } else { b }.clone()));
        }
        let (mut out, y) = (x.clone(), y.clone());
        for (k, kv, v) in y.entries() {
            out.insert(k.clone(), kv.clone(), v.clone());
        }
        let (left, right) = (self.obj(*i).class.clone(), self.obj(*j).class.clone());
        if self.is_read_by_methods(&left)? || self.is_read_by_methods(&right)? {
            return Err(Stop::unsupported(
                "`|` of a subclass, whose methods it asks",
            ));
        }
        if self.copies_its_class(&left) || self.copies_its_class(&right) {
            return Err(Stop::unsupported("`|` of a subclass, which calls it"));
        }
        // `dict | OrderedDict` is the right operand's `__ror__`.
        let reflected =
            !left.is(&right) && self.is_builtin_container(&right) && self.is_subtype(&right, &left);
        let (class, owner) = if reflected { (right, *j) } else { (left, *i) };
        if !self.is_builtin_container(&class) {
            return Ok(Some(self.new_dict(out)));
        }
        let factory = self.obj(owner).seen.get("default_factory").cloned();
        let made = self.new_like(class, Body::Dict(out));
        if let (Var::Obj(id), Some(f)) = (&made, factory) {
            self.st
                .effects
                .get_mut(*id)
                .seen
                .insert("default_factory".into(), f);
        }
        Ok(Some(made))
    }

    /// `a op= b` of a builtin mutable container. `None`: there is no in-place form.
    ///
    /// # Errors
    /// Whatever the operation raises.
    pub fn builtin_inplace(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        let Var::Obj(id) = a else { return Ok(None) };
        let id = *id;
        match (self.obj(id).body.clone(), op) {
            (Body::List(_) | Body::Deque(..), BinaryOp::Add) => {
                self.extend_items(a, b)?;
                Ok(Some(a.clone()))
            }
            (Body::List(_), BinaryOp::Multiply) => {
                if self.special(b, "__index__")? == Special::Absent {
                    return Ok(None);
                }
                let n = self.index_of(b)?.max(0) as usize;
                let n = checked_repeats(self.value_len(a)?.unwrap_or(0), n)?;
                if let Body::List(v) = self.st.effects.body_mut(id) {
                    *v = repeated(v, n);
                }
                Ok(Some(a.clone()))
            }
            (Body::Deque(v, max), BinaryOp::Multiply) => {
                let n = self.index_of(b)?.max(0) as usize;
                let n = checked_repeats(v.len(), n)?;
                let mut out = repeated(&v, n);
                trim_left(&mut out, max);
                if n != 1 {
                    *self.st.effects.items_mut(id) = Body::Deque(out, max);
                }
                Ok(Some(a.clone()))
            }
            (Body::Set(x), BinaryOp::Or | BinaryOp::And | BinaryOp::Subtract | BinaryOp::Xor)
                if !self.is_subtype(&self.obj(id).class, &self.known.frozenset) =>
            {
                let Some(y) = self.set_items(b)? else {
                    return Ok(None);
                };
                let map = combine(op, &x, &y);
                self.put_set(a, map);
                Ok(Some(a.clone()))
            }
            (Body::MappingProxy(_), BinaryOp::Or) => {
                let message = "'|=' is not supported by mappingproxy; use '|' instead";
                Err(self.raise("TypeError", message))
            }
            (Body::Dict(_), BinaryOp::Or) if !self.known.is_frozendict(&self.obj(id).class) => {
                self.update_items(a, b)?;
                Ok(Some(a.clone()))
            }
            _ => Ok(None),
        }
    }

    /// The id of a tracked object.
    pub fn id_of(&self, v: &Var) -> Option<ObjId> {
        match v {
            Var::Obj(id) => Some(*id),
            _ => None,
        }
    }
}

/// How often a sequence of `len` items is repeated: nothing stays nothing, however often.
fn checked_repeats(len: usize, n: usize) -> R<usize> {
    if len.saturating_mul(n) > MAX_REPEAT {
        return Err(Stop::unsupported(format!(
            "a sequence of {len} items repeated {n} times"
        )));
    }
    Ok(if len == 0 { 0 } else { n })
}

fn repeated(v: &im::Vector<Var>, n: usize) -> im::Vector<Var> {
    let mut out = im::Vector::new();
    for _ in 0..n {
        out.append(v.clone());
    }
    out
}

/// A full deque drops from the left.
pub(crate) fn trim_left(v: &mut im::Vector<Var>, max: Option<usize>) {
    if let Some(max) = max {
        while v.len() > max {
            v.pop_front();
        }
    }
}

/// A set operator.
pub fn combine(op: BinaryOp, x: &OrderedMap, y: &OrderedMap) -> OrderedMap {
    let mut out = OrderedMap::default();
    let mut put = |m: &OrderedMap, keep: &dyn Fn(&variables::Key) -> bool| {
        for (k, kv, v) in m.entries() {
            if keep(k) {
                out.insert(k.clone(), kv.clone(), v.clone());
            }
        }
    };
    match op {
        BinaryOp::And => {
            // CPython iterates over the smaller one, and keeps its objects.
            let (small, large) = if y.len() > x.len() { (x, y) } else { (y, x) };
            put(small, &|k| large.contains(k));
        }
        BinaryOp::Subtract => put(x, &|k| !y.contains(k)),
        BinaryOp::Xor => {
            put(x, &|k| !y.contains(k));
            put(y, &|k| !x.contains(k));
        }
        _ => {
            put(x, &|_| true);
            put(y, &|k| !x.contains(k));
        }
    }
    out
}
