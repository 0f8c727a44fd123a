//! `a is b`.

use std::rc::Rc;

use guards::{GuardKind, Source};
use pyo3::prelude::*;
use variables::{Body, ObjId, Origin, Var};

use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// The operator `is`. Which of several equal strings or numbers a name stands for is not
    /// guarded, so it is not decided on either.
    ///
    /// # Errors
    /// As [`Tx::is_same`]; a break for equal constants that need not be one object.
    pub fn is_operator(&mut self, a: &Var, b: &Var) -> R<bool> {
        if let Some(same) = self.int_identity(a, b)? {
            return Ok(same);
        }
        let (x, y) = (self.realize(a)?, self.realize(b)?);
        if let (Var::Const(p), Var::Const(q)) = (&x, &y)
            && self.may_be_two(p)
            && p.bind(self.py).get_type().is(q.bind(self.py).get_type())
            && p.bind(self.py).eq(q.bind(self.py))?
            && !(p.is(q) && one_path(a, b))
        {
            return Err(Stop::brk(
                "Identity of equal constants",
                "Whether two equal strings or numbers are one object is known only where they are made.",
                "Compare them with `==`.",
            ));
        }
        self.is_same(a, b)
    }

    /// Whether there may be two objects of a constant's value.
    fn may_be_two(&self, o: &variables::Obj) -> bool {
        let b = o.bind(self.py);
        if b.is_exact_instance_of::<pyo3::types::PyInt>() {
            return !b.extract::<i64>().is_ok_and(|i| (-5..=256).contains(&i));
        }
        if b.is_exact_instance_of::<pyo3::types::PyString>()
            || b.is_exact_instance_of::<pyo3::types::PyBytes>()
        {
            return b.len().is_ok_and(|n| n > 1);
        }
        b.is_exact_instance_of::<pyo3::types::PyFloat>()
            || b.is_exact_instance_of::<pyo3::types::PyComplex>()
            || self.known.is_numpy_scalar(b.get_type().as_any())
    }

    /// Whether two values are one object.
    ///
    /// # Errors
    /// A break for two tensors of which an operation may have returned its own argument.
    pub fn is_same(&mut self, a: &Var, b: &Var) -> R<bool> {
        if let (Var::Lazy(x), Var::Lazy(y)) = (a, b)
            && x.source == y.source
        {
            return Ok(true);
        }
        if let (Var::Lazy(l), other) | (other, Var::Lazy(l)) = (a, b)
            && other.is_none(self.py)
            && !l.obj.is_none(self.py)
            && matches!(self.facts.sources.get(l.source), Source::Attr { name, .. } if &**name == "grad")
        {
            // A gradient that is only asked for need not be the same tensor each time.
            self.guard(l.source, GuardKind::NotNoneMatch);
            return Ok(false);
        }
        if let Some(same) = self.int_identity(a, b)? {
            return Ok(same);
        }
        let (a, b) = (self.realize(a)?, self.realize(b)?);
        Ok(match (&a, &b) {
            (Var::Tensor(x), Var::Tensor(y)) => {
                if x.node == y.node {
                    true
                } else if let (Some(i), Some(j)) = (&x.input, &y.input) {
                    i.obj.is(&j.obj)
                } else if self.is_one_of_lengths(x, y) {
                    true
                } else if (x.fresh || y.fresh)
                    && [x, y]
                        .iter()
                        .all(|t| self.log.graph.chosen(t.node).is_none())
                {
                    false
                } else {
                    return Err(Stop::brk(
                        "Identity of two tensors",
                        "An operation may have returned one of its arguments, so whether two tensors are one object is known only when the graph runs.",
                        "Compare the values that the tensors come from, or keep a flag beside them.",
                    ));
                }
            }
            (Var::Obj(x), Var::Obj(y)) => {
                if x != y {
                    self.guard_apart(*x, *y);
                    // A call may give an object that exists.
                    let is_result = |id: &ObjId| matches!(self.obj(*id).body, Body::Result(_));
                    let one_class = self.obj(*x).class.is(&self.obj(*y).class);
                    if one_class && is_result(x) != is_result(y) {
                        return Err(Stop::unsupported("identity of what a call gives"));
                    }
                }
                x == y
            }
            (Var::Func(x), Var::Func(y)) => x.obj == y.obj,
            (Var::Tuple(x), Var::Tuple(y)) => {
                Rc::ptr_eq(x, y)
                    || (x.items.is_empty()
                        && y.items.is_empty()
                        && x.class.is_none()
                        && y.class.is_none())
                    || match (&x.origin, &y.origin) {
                        (Some(i), Some(j)) if !i.0.is(&j.0) => {
                            self.guard(i.1, GuardKind::NotAliasing { other: j.1 });
                            false
                        }
                        (Some(_), Some(_)) => true,
                        _ => false,
                    }
            }
            (Var::Method(x), Var::Method(y)) => Rc::ptr_eq(x, y),
            (Var::BuiltinMethod(x), Var::BuiltinMethod(y)) => Rc::ptr_eq(x, y),
            (Var::Slice(x), Var::Slice(y)) => Rc::ptr_eq(x, y),
            (Var::Super(x), Var::Super(y)) => Rc::ptr_eq(x, y),
            (Var::Py(x), Var::Obj(id)) | (Var::Obj(id), Var::Py(x)) => {
                matches!(&self.obj(*id).origin, Origin::Source { obj, .. } if obj.is(&x.obj))
            }
            _ => match (a.as_obj(), b.as_obj()) {
                (Some(x), Some(y)) => x.is(y) || self.same_immortal(x, y),
                _ => false,
            },
        })
    }

    /// Two objects from outside were told apart: the next call may reach one object through both
    /// names.
    pub(crate) fn guard_apart(&mut self, a: ObjId, b: ObjId) {
        if let (Origin::Source { source: a, .. }, Origin::Source { source: b, .. }) =
            (&self.obj(a).origin, &self.obj(b).origin)
        {
            let (a, b) = (*a, *b);
            self.guard(a, GuardKind::NotAliasing { other: b });
        }
    }

    /// Small integers, one-character strings and other constants of which CPython keeps one object.
    fn same_immortal(&self, x: &variables::Obj, y: &variables::Obj) -> bool {
        let (x, y) = (x.bind(self.py), y.bind(self.py));
        let empty = |o: &Bound<'_, PyAny>| {
            (o.is_exact_instance_of::<pyo3::types::PyString>()
                || o.is_exact_instance_of::<pyo3::types::PyBytes>())
                && o.len().is_ok_and(|n| n == 0)
        };
        x.get_type().is(y.get_type()) && empty(x) && empty(y)
    }
}

/// Whether two values are not known to come from two places.
fn one_path(a: &Var, b: &Var) -> bool {
    match (a, b) {
        (Var::Lazy(x), Var::Lazy(y)) => x.source == y.source,
        _ => true,
    }
}
