//! Classes of builtin iterators and views, which no module names.

use crate::{DictView, Obj};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

/// A class that only an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(usize)]
pub enum IterClass {
    List,
    ListReverse,
    Tuple,
    Str,
    Bytes,
    Range,
    Set,
    DictKey,
    DictValue,
    DictItem,
    DictKeyReverse,
    DictValueReverse,
    DictItemReverse,
    Deque,
    DequeReverse,
    Call,
    Sequence,
    KeysView,
    ValuesView,
    ItemsView,
    Reversed,
    Group,
    Tee,
    OrderedDict,
}

const EXPRESSION: &std::ffi::CStr = c"[type(x) for x in (\
    iter([]), reversed([]), iter(()), iter(''), iter(b''), iter(range(0)), iter(set()), \
    iter({}), iter({}.values()), iter({}.items()), reversed({}), reversed({}.values()), reversed({}.items()), \
    iter(c.deque()), reversed(c.deque()), iter(int, 1), iter(type('S', (), {'__getitem__': None})()), \
    {}.keys(), {}.values(), {}.items(), reversed(()), next(i.groupby([0]))[1], i.tee(())[0], \
    iter(c.OrderedDict()))]";

static CLASSES: PyOnceLock<Vec<Obj>> = PyOnceLock::new();

impl IterClass {
    /// The class object.
    ///
    /// # Errors
    /// Only where Python cannot allocate.
    pub fn get(self, py: Python<'_>) -> PyResult<Obj> {
        let all = CLASSES.get_or_try_init(py, || -> PyResult<Vec<Obj>> {
            let names = pyo3::types::PyDict::new(py);
            names.set_item("c", py.import("collections")?)?;
            names.set_item("i", py.import("itertools")?)?;
            let list = py.eval(EXPRESSION, Some(&names), None)?;
            Ok(list.cast::<PyList>()?.iter().map(Bound::unbind).collect())
        })?;
        Ok(all[self as usize].clone_ref(py))
    }

    /// The class of a dict's view.
    pub fn of_view(view: DictView) -> IterClass {
        match view {
            DictView::Keys => IterClass::KeysView,
            DictView::Values => IterClass::ValuesView,
            DictView::Items => IterClass::ItemsView,
        }
    }

    /// The class of a dict's iterator, forwards or backwards.
    pub fn of_dict_iter(view: DictView, reverse: bool) -> IterClass {
        match (view, reverse) {
            (DictView::Keys, false) => IterClass::DictKey,
            (DictView::Values, false) => IterClass::DictValue,
            (DictView::Items, false) => IterClass::DictItem,
            (DictView::Keys, true) => IterClass::DictKeyReverse,
            (DictView::Values, true) => IterClass::DictValueReverse,
            (DictView::Items, true) => IterClass::DictItemReverse,
        }
    }
}
