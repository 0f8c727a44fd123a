//! Iterators and mapping proxies that existed before: what they hold, and where they stand.
//!
//! An iterator is captured with its position, which is guarded, and advanced for real by the residual
//! code. One that stands elsewhere whenever the code is called, or that a loop goes on with behind a
//! graph break, would be compiled for each position: it is left to plain Python.

use std::rc::Rc;

use guards::{GuardKind, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use variables::{Body, DictView, IterBody, Obj, Var};

use crate::stop::{R, Stop};
use crate::tx::Tx;
use variables::code::is_stack_name;
use variables::iter_class::IterClass;

impl<'py> Tx<'py> {
    /// Where a builtin iterator stands, guarded. `None`: it is left alone.
    pub(crate) fn existing_iterator(
        &mut self,
        it: &Bound<'py, PyAny>,
        source: SourceId,
    ) -> R<Option<IterBody>> {
        let py = self.py;
        // A loop holds its iterator on the stack.
        let is_of_a_loop = match self.facts.sources.get(source) {
            Source::Local { name, .. } => is_stack_name(name),
            _ => false,
        };
        if is_of_a_loop {
            return Ok(None);
        }
        let class = it.get_type();
        let is = |c: IterClass| -> PyResult<bool> { Ok(class.is(c.get(py)?.bind(py))) };
        if is(IterClass::Tuple)? {
            return self.over_tuple(it, source);
        }
        if is(IterClass::List)? || is(IterClass::ListReverse)? {
            let reverse = is(IterClass::ListReverse)?;
            return self.over_list(it, source, reverse);
        }
        if is(IterClass::Range)? {
            return self.over_range(it, source);
        }
        if class.is(py.import("itertools")?.getattr("count")?) {
            return self.counting(it, source);
        }
        Ok(None)
    }

    /// Guards where an iterator stands. `false`: it stood elsewhere before.
    fn stays(&mut self, source: SourceId, kind: GuardKind) -> bool {
        let before = self.ints.positions.get(&self.facts.sources.name(source));
        if before.is_some_and(|known| known.iter().any(|k| *k != kind)) {
            return false;
        }
        self.guard(source, kind);
        true
    }

    fn left(it: &Bound<'py, PyAny>) -> PyResult<usize> {
        it.call_method0("__length_hint__")?.extract()
    }

    fn over_tuple(&mut self, it: &Bound<'py, PyAny>, source: SourceId) -> R<Option<IterBody>> {
        let len = Self::left(it)?;
        if !self.stays(source, GuardKind::TupleIteratorLen { len }) {
            return Ok(None);
        }
        if len == 0 {
            return Ok(Some(IterBody::Items(Rc::new(Vec::new()), 0)));
        }
        let tuple = self.under(it, source)?;
        let Var::Tuple(t) = &tuple else {
            return Ok(None);
        };
        let items = t.items.clone();
        let at = items.len().saturating_sub(len);
        Ok(Some(IterBody::Items(Rc::new(items), at)))
    }

    fn over_list(
        &mut self,
        it: &Bound<'py, PyAny>,
        source: SourceId,
        reverse: bool,
    ) -> R<Option<IterBody>> {
        let len = Self::left(it)?;
        let list = under(it)?.filter(|l| l.cast_exact::<PyList>().is_ok());
        // One that has nothing left goes on where its list grows, or does not.
        let Some(list) = list.filter(|_| len > 0) else {
            return Ok(None);
        };
        let size = list.len()?;
        let (kind, at) = match reverse {
            true => (GuardKind::ListReverseIteratorLen { len }, len - 1),
            false => (GuardKind::ListIteratorLen { len }, size.saturating_sub(len)),
        };
        if !self.stays(source, kind) {
            return Ok(None);
        }
        let list = self.under(it, source)?;
        Ok(self.id_of(&list).map(|id| match reverse {
            true => IterBody::ListReverse(id, Some(at)),
            false => IterBody::List(id, Some(at)),
        }))
    }

    fn over_range(&mut self, it: &Bound<'py, PyAny>, source: SourceId) -> R<Option<IterBody>> {
        let Some([start, stop, step]) = range_left(it)? else {
            return Ok(None);
        };
        if !self.stays(source, GuardKind::RangeIteratorMatch { start, stop, step }) {
            return Ok(None);
        }
        let range = self.known.range.bind(self.py).call1((start, stop, step))?;
        Ok(Some(IterBody::Sequence(Var::Const(range.unbind()), 0)))
    }

    fn counting(&mut self, it: &Bound<'py, PyAny>, source: SourceId) -> R<Option<IterBody>> {
        let Some([start, step]) = count_state(it)? else {
            return Ok(None);
        };
        if !self.stays(source, GuardKind::CountIteratorMatch { start, step }) {
            return Ok(None);
        }
        Ok(Some(IterBody::Count(self.int(start), self.int(step))))
    }

    /// What an iterator goes over.
    fn under(&mut self, it: &Bound<'py, PyAny>, source: SourceId) -> R<Var> {
        let Some(found) = under(it)? else {
            return Err(Stop::Internal("an iterator over nothing".into()));
        };
        let s = self.source(Source::Under { base: source });
        self.build(&found.unbind(), s)
    }

    /// What a mapping proxy or a view shows, where that is a builtin dictionary.
    pub(crate) fn plain_mapping_under(&self, proxy: &Bound<'py, PyAny>) -> R<Option<Obj>> {
        let found =
            under(proxy)?.filter(|m| self.is_builtin_container(m.get_type().as_any().as_unbound()));
        Ok(found.map(Bound::unbind))
    }

    /// A view of a builtin dictionary from outside, as one of the dictionary.
    ///
    /// # Errors
    /// Those of realizing that.
    pub(crate) fn existing_view(
        &mut self,
        view: &Bound<'py, PyAny>,
        source: SourceId,
    ) -> R<Option<Body>> {
        let Some(kind) = DictView::of(view.get_type_ptr()) else {
            return Ok(None);
        };
        let Some(mapping) = self.plain_mapping_under(view)? else {
            return Ok(None);
        };
        let s = self.source(Source::Under { base: source });
        let mapping = self.lazy(mapping, s);
        Ok(match self.realize(&mapping)? {
            Var::Obj(id) => Some(Body::DictView(id, kind)),
            _ => None,
        })
    }

    /// What a tracked mapping proxy shows.
    ///
    /// # Errors
    /// Those of realizing it.
    pub fn mapping_under(&mut self, v: &Var) -> R<Option<Var>> {
        let Var::Obj(id) = v else { return Ok(None) };
        let variables::Body::MappingProxy(mapping) = &self.obj(*id).body else {
            return Ok(None);
        };
        let mapping = mapping.clone();
        self.realize(&mapping).map(Some)
    }
}

/// The one object that a builtin iterator, a mapping proxy or a view of a dictionary holds.
fn under<'py>(holder: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let referents = holder.py().import("gc")?.getattr("get_referents")?;
    let found = referents.call1((holder,))?.cast_into::<PyList>()?;
    match found.len() {
        1 => found.get_item(0).map(Some),
        _ => Ok(None),
    }
}

/// Start, end and step of what a range iterator has left, where they are small.
pub(crate) fn range_left(it: &Bound<'_, PyAny>) -> PyResult<Option<[i64; 3]>> {
    let parts = it.call_method0("__reduce__")?.cast_into::<PyTuple>()?;
    let range = parts.get_item(1)?.get_item(0)?;
    let skipped: i64 = match parts.get_item(2) {
        Ok(n) if !n.is_none() => n.extract()?,
        _ => 0,
    };
    let part = |name: &str| range.getattr(name)?.extract::<i64>();
    let (Ok(start), Ok(step)) = (part("start"), part("step")) else {
        return Ok(None);
    };
    let len = range.len()? as i64;
    let at = |n: i64| n.checked_mul(step).and_then(|d| start.checked_add(d));
    Ok(at(skipped).zip(at(len)).map(|(a, b)| [a, b, step]))
}

/// Next value and step of an `itertools.count` of small ints.
pub fn count_state(it: &Bound<'_, PyAny>) -> PyResult<Option<[i64; 2]>> {
    // Its text runs none of the program's code where both parts are ints.
    let text = it.repr()?.to_string();
    let parts = text.trim_start_matches("count(").trim_end_matches(')');
    let mut parts = parts.split(", ");
    let start = parts.next().and_then(|p| p.parse().ok());
    let step = parts.next().map_or(Some(1), |p| p.parse().ok());
    Ok(start.zip(step).map(|(a, b)| [a, b]))
}
