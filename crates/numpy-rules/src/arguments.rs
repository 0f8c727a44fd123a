//! The arguments of a call, as NumPy is asked with them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PySlice, PyTuple, PyType};
use translator::attr::is_heap_type;
use translator::stop::R;
use translator::torch_ops::args::{MetaArg, NodeArgs};
use translator::tx::{Args, Tx};
use variables::{Body, Var};

use crate::probe::{Call, Probed, Stand};
use crate::sizes::SizesAt;
use crate::values::array_of;
use crate::what::What;

/// The arguments of a call, as NumPy gets them.
pub(crate) struct Asked<'py> {
    stands: Vec<Stand<'py>>,
    pos: Bound<'py, PyTuple>,
    kw: Bound<'py, PyDict>,
    /// whether sizes and numbers among them are no constants
    pub(crate) changes: bool,
    /// whether numbers are
    has_number: bool,
}

impl<'py> Asked<'py> {
    /// `None`: an argument is nothing that NumPy is asked with.
    pub(crate) fn new(
        tx: &mut Tx<'py>,
        what: &What<'_, 'py>,
        args: &Args,
        at: SizesAt,
    ) -> R<Option<Asked<'py>>> {
        let py = tx.py;
        let mut made = Reals {
            stands: Vec::new(),
            at,
            keeps_numbers: at != SizesAt::Fixed && !what.is_subscript,
            has_number: false,
            integer: u8::from(what.is_universal),
        };
        let mut pos = Vec::with_capacity(args.pos.len());
        let mut holds_number = false;
        let mut of = |tx: &mut Tx<'py>, v: &Var, is_named: bool| {
            let number = match (made.keeps_numbers || is_named, tx.look(v)?) {
                (false, _) | (true, Var::Float(_)) => real_number(tx, what, v)?,
                _ => None,
            };
            holds_number |= number.is_some();
            number.map_or_else(|| made.of(tx, v), |n| Ok(Some(n)))
        };
        for v in &args.pos {
            match of(tx, v, false)? {
                Some(real) => pos.push(real),
                None => return Ok(None),
            }
        }
        let kw = PyDict::new(py);
        for (name, v) in &args.kw {
            match of(tx, v, true)? {
                Some(real) => kw.set_item(&**name, real)?,
                None => return Ok(None),
            }
        }
        let stands = made.stands;
        Ok(Some(Asked {
            changes: made.has_number || stands.iter().any(|stand| stand.changes(tx)),
            has_number: made.has_number || holds_number,
            stands,
            pos: PyTuple::new(py, pos)?,
            kw,
        }))
    }

    /// Asks NumPy.
    pub(crate) fn probe<'a>(&'a self, what: &'a What<'_, 'py>) -> R<(Call<'a, 'py>, Probed<'py>)> {
        let call = Call {
            function: &what.real,
            pos: &self.pos,
            kw: &self.kw,
            stands: &self.stands,
            is_known: !self.has_number && self.stands.iter().all(|stand| stand.is_known),
        };
        let probed = call.probe(what.name)?;
        Ok((call, probed))
    }
}

/// A number that stays an input of the graph, as it is in this call; `None` for any other argument.
pub(crate) fn real_number<'py>(
    tx: &mut Tx<'py>,
    what: &What<'_, 'py>,
    v: &Var,
) -> R<Option<Bound<'py, PyAny>>> {
    let py = tx.py;
    if !what.takes_any_number {
        return Ok(None);
    }
    Ok(match tx.look(v)? {
        Var::Int(i) => Some(i.value.into_pyobject(py).map_err(PyErr::from)?.into_any()),
        Var::Float(f) => Some(PyFloat::new(py, f.value).into_any()),
        _ => None,
    })
}

/// Both forms of a node's arguments, where numbers that are no constants decide neither sizes nor dtypes: they are inputs
/// of the graph, and metadata follows from what they are in this call.
///
/// # Errors
/// As [`Tx::node_args`].
pub(crate) fn node_args_with_numbers(tx: &mut Tx<'_>, args: &Args) -> R<NodeArgs> {
    let mut out = tx.node_args_with_sizes(args)?;
    let metas = out.meta_kw.iter_mut().map(|(_, m)| m);
    for (v, meta) in args.values().zip(out.meta_pos.iter_mut().chain(metas)) {
        match v {
            Var::Int(i) => *meta = MetaArg::Int(i.value),
            Var::Float(f) => *meta = MetaArg::Float(f.value),
            Var::Computed(c) => {
                if let (MetaArg::SymInt(_), Ok(value)) = (&*meta, c.value.extract(tx.py)) {
                    *meta = MetaArg::Int(value);
                }
            }
            _ => {}
        }
    }
    Ok(out)
}

/// Arguments as NumPy gets them.
struct Reals<'py> {
    stands: Vec<Stand<'py>>,
    at: SizesAt,
    /// whether ints that are no constants stay that
    keeps_numbers: bool,
    /// whether there was such an int
    has_number: bool,
    /// the items of arrays of integers: 0 is an index of any array, and 1 is what any integer can be divided by
    integer: u8,
}

impl<'py> Reals<'py> {
    /// `None` for what is neither an array, nor a constant, nor made of these.
    fn of(&mut self, tx: &mut Tx<'py>, v: &Var) -> R<Option<Bound<'py, PyAny>>> {
        let py = tx.py;
        if self.keeps_numbers
            && let Var::Int(int) = tx.look(v)?
        {
            self.has_number = true;
            let value = self.at.int(tx, &int)?.into_pyobject(py);
            return Ok(Some(value.map_err(PyErr::from)?.into_any()));
        }
        let v = tx.realize(v)?;
        if let Some(stand) = self.stands.iter().find(|s| s.is_of(&v)) {
            return Ok(Some(stand.real.clone()));
        }
        let stand = match (&v, array_of(tx, &v)?) {
            (_, Some(array)) => Some(Stand::of_array(tx, &array, self.at, self.integer)?),
            (Var::Tensor(t), None) => {
                let Some(meta) = crate::tensors::meta_for_numpy(tx, t, false, self.at)? else {
                    return Ok(None);
                };
                Some(Stand::of_tensor(tx, &v, &meta, self.integer)?)
            }
            _ => None,
        };
        if let Some(stand) = stand {
            let real = stand.real.clone();
            self.stands.push(stand);
            return Ok(Some(real));
        }
        let items: Vec<Var> = match &v {
            Var::Tuple(t) if t.class.is_none() => t.items.clone(),
            Var::Slice(parts) => parts.to_vec(),
            Var::Obj(id) => match &tx.obj(*id).body {
                Body::List(items) if tx.obj(*id).class.is(&tx.known.list) => {
                    items.iter().cloned().collect()
                }
                _ => return Ok(None),
            },
            _ => {
                let Some((pos, _)) = tx.real_args(&Args::pos(vec![v.clone()]))? else {
                    return Ok(None);
                };
                return Ok(pos.into_iter().next().filter(|o| is_plain(tx, o)));
            }
        };
        let outside = self.keeps_numbers;
        // Nothing is refused by the value of a part of a slice.
        self.keeps_numbers |= matches!(v, Var::Slice(_)) && self.at != SizesAt::Fixed;
        let mut all = Vec::with_capacity(items.len());
        for item in &items {
            match tx.inside(|tx| self.of(tx, item))? {
                Some(real) => all.push(real),
                None => return Ok(None),
            }
        }
        self.keeps_numbers = outside;
        Ok(Some(match &v {
            Var::Tuple(_) => PyTuple::new(py, all)?.into_any(),
            Var::Slice(_) => py.get_type::<PySlice>().call1(PyTuple::new(py, all)?)?,
            _ => PyList::new(py, all)?.into_any(),
        }))
    }
}

/// Whether NumPy meets no code of the user in a constant: numbers, text, classes of numbers, and sequences of these.
fn is_plain(tx: &Tx<'_>, o: &Bound<'_, PyAny>) -> bool {
    if let Ok(class) = o.cast::<PyType>() {
        return tx.known.is_const_type(class.as_any()) || is_class_of_numbers(class);
    }
    let class = o.get_type();
    tx.known.is_const_type(class.as_any()) || class.is(tx.known.size.bind(o.py()))
}

/// Whether a class is one of NumPy's own for numbers, or a kind of them.
fn is_class_of_numbers(class: &Bound<'_, PyType>) -> bool {
    let generic = class
        .py()
        .import("numpy")
        .and_then(|n| n.getattr("generic"));
    // A class that a program derives is on the heap.
    !is_heap_type(class) && generic.is_ok_and(|g| class.is_subclass(&g).unwrap_or(false))
}
