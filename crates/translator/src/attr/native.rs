//! Attributes that C code gives: slots, getters, fields of tuples, constants, `super`, functions.

use std::rc::Rc;
use std::sync::Arc;

use guards::{GuardKind, Source, SourceId};
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use variables::{Body, Obj, ObjId, Origin, Var};

use super::is_heap_type;
use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::{Flow, Tx};

/// What was asked of a slot in vain.
#[derive(Clone, Copy)]
pub(crate) enum Slot {
    /// It holds nothing.
    Read,
    /// It holds nothing, and was deleted.
    Deleted,
    /// There is none to write to, and no dictionary either.
    Missing,
}

impl<'py> Tx<'py> {
    /// The dictionary in which a `threading.local` keeps the attributes that this thread sees; `None` for any other
    /// object, also for one of a subclass: its `__init__` fills it where a thread first meets it.
    pub(crate) fn thread_local_dict(&mut self, id: ObjId) -> R<Option<Var>> {
        let state = self.obj(id);
        let Origin::Source { obj, source: base } = state.origin.clone() else {
            return Ok(None);
        };
        if !state.class.is(&self.known.thread_local) {
            return Ok(None);
        }
        let dict = obj.bind(self.py).getattr("__dict__")?.unbind();
        let name = "__dict__".into();
        let source = self.source(Source::Attr { base, name });
        Ok(Some(self.lazy(dict, source)))
    }

    /// A slot or C getter: what was written here, else the real object's.
    pub(crate) fn c_attr(&mut self, obj: &Var, class: &Obj, name: &Arc<str>) -> R<Flow> {
        if let Var::Obj(id) = obj {
            if let Some(written) = self.obj(*id).attrs.get(name).cloned() {
                return match written {
                    Some(v) => Ok(Flow::Value(v)),
                    None => Err(self.refused_by_slot(class, name, Slot::Read)?),
                };
            }
            if &**name == "__dict__" {
                return self.instance_dict_view(*id);
            }
            if let Some(v) = self.obj(*id).seen.get(name).cloned().flatten() {
                return Ok(Flow::Value(v));
            }
            let Origin::Source { obj: real, source } = self.obj(*id).origin.clone() else {
                return self.new_object_c_attr(*id, class, name);
            };
            // How long a deque may get never changes.
            let is_constant = || &**name == "maxlen" && self.is_subtype(class, &self.known.deque);
            if self.obj(*id).body_dirty && !is_constant() {
                return Err(Stop::unsupported(format!(
                    "attribute {name} of a changed {}",
                    self.describe(obj)
                )));
            }
            return self.real_attr(&real, Some(source), class, name);
        }
        let real = match obj {
            // What is guarded by identity and never changes is as good as a constant.
            Var::Py(p) if self.is_fixed(&p.obj) => Some((p.obj.clone(), None)),
            Var::Py(p) => Some((p.obj.clone(), p.source)),
            Var::Tuple(t) => return self.tuple_field(&t.clone(), class, name),
            Var::Slice(s) => {
                let i = match &**name {
                    "start" => 0,
                    "stop" => 1,
                    "step" => 2,
                    _ => return Err(self.no_attribute(class, name)),
                };
                return Ok(Flow::Value(s[i].clone()));
            }
            _ => None,
        };
        let Some((real, source)) = real else {
            return Err(Stop::unsupported(format!(
                "attribute {name} of {}",
                self.describe(obj)
            )));
        };
        self.real_attr(&real, source, class, name)
    }

    /// Whether no C-level attribute of an object ever changes: `int | None`, a code object.
    fn is_fixed(&self, obj: &Obj) -> bool {
        let ty = obj.bind(self.py).get_type();
        let k = &self.known;
        let fixed = [
            &k.code,
            &k.method_descriptor,
            &k.wrapper_descriptor,
            &k.getset_descriptor,
            &k.member_descriptor,
            &k.property,
            &k.generic_alias,
            &k.union_type,
        ];
        fixed.iter().any(|t| ty.is(t.bind(self.py)))
    }

    /// Reads a C-level attribute of a real object.
    pub(crate) fn real_attr(
        &mut self,
        real: &Obj,
        source: Option<SourceId>,
        class: &Obj,
        name: &Arc<str>,
    ) -> R<Flow> {
        // A `__getattr__` of the class is the caller's to ask.
        let real_class = real.bind(self.py).get_type();
        let read = match type_lookup(&real_class, "__getattr__") {
            Some(_) => {
                let object = self.known.object.bind(self.py);
                object.call_method1(intern!(self.py, "__getattribute__"), (real, &**name))
            }
            None => real.bind(self.py).getattr(&**name),
        };
        match read {
            Ok(v) => Ok(Flow::Value(match source {
                Some(base) => {
                    let s = self.source(Source::Attr {
                        base,
                        name: name.clone(),
                    });
                    self.touch(s);
                    self.lazy(v.unbind(), s)
                }
                None => self.from_const(v)?,
            })),
            Err(error) => {
                if let Some(base) = source {
                    self.guard(
                        base,
                        GuardKind::HasAttr {
                            name: name.clone(),
                            present: false,
                        },
                    );
                }
                if error.is_instance_of::<PyAttributeError>(self.py) {
                    let text = error.value(self.py).str()?.to_string();
                    return Err(self.raise("AttributeError", &text));
                }
                Err(self.no_attribute(class, name))
            }
        }
    }

    /// Attributes that C gives to objects made while translating.
    pub(crate) fn new_object_c_attr(&mut self, id: ObjId, class: &Obj, name: &Arc<str>) -> R<Flow> {
        if self.is_subtype(class, &self.known.base_exception) {
            return (self.rules.builtins.exception_field)(self, id, name).map(Flow::Value);
        }
        match (&**name, &self.obj(id).body) {
            ("maxlen", Body::Deque(_, maxlen)) => {
                let m = *maxlen;
                Ok(Flow::Value(
                    m.map_or_else(|| self.none(), |m| self.int(m as i64)),
                ))
            }
            ("__name__" | "__qualname__", Body::Generator(state)) => {
                let names = self.generator_names(id);
                match (names, state.frame.as_ref()) {
                    (Some([short, _]), _) if &**name == "__name__" => Ok(Flow::Value(short)),
                    (Some([_, long]), _) => Ok(Flow::Value(long)),
                    (None, Some(f)) if &**name == "__name__" => {
                        Ok(Flow::Value(self.str(&f.code.name)))
                    }
                    (None, Some(f)) => Ok(Flow::Value(self.str(&f.code.qualname))),
                    (None, None) => {
                        Err(Stop::unsupported("the name of a generator that has ended"))
                    }
                }
            }
            (_, Body::Value(plain)) => {
                let field = plain.bind(self.py).getattr(&**name)?;
                self.from_const(field).map(Flow::Value)
            }
            ("cell_contents", Body::Cell(v)) => match v.clone() {
                Some(v) => Ok(Flow::Value(v)),
                None => Err(self.raise("ValueError", "Cell is empty")),
            },
            _ if class.is(&self.known.traceback) => Err(Stop::unsupported(
                "what a traceback says of an exception raised while tracing",
            )),
            ("__weakref__", _) => Err(Stop::unsupported("attribute __weakref__")),
            _ => {
                let found = type_lookup(class.bind(self.py).cast().map_err(PyErr::from)?, name);
                let owner = found.and_then(|d| d.getattr(self.py, "__objclass__").ok());
                if owner.is_some_and(|o| o.bind(self.py).cast().is_ok_and(|o| !is_heap_type(o))) {
                    return Err(Stop::unsupported(format!("attribute {name}")));
                }
                Err(self.refused_by_slot(class, name, Slot::Read)?)
            }
        }
    }

    /// The `AttributeError` of a slot that holds nothing, or of an object with no place for an attribute. Versions of
    /// Python say it in different words, so an object of an empty class with this class's name is asked.
    pub(crate) fn refused_by_slot(&mut self, class: &Obj, name: &str, asked: Slot) -> R<Stop> {
        let py = self.py;
        let of_class = |what: &str| {
            let metaclass = py.get_type::<PyType>();
            metaclass.call_method1("__getattribute__", (class, what))
        };
        let slots = match asked {
            Slot::Missing => PyTuple::empty(py),
            Slot::Read | Slot::Deleted => PyTuple::new(py, [name])?,
        };
        let body = PyDict::new(py);
        body.set_item("__slots__", slots)?;
        for what in ["__module__", "__qualname__"] {
            body.set_item(what, of_class(what)?)?;
        }
        let (named, no_bases) = (of_class("__name__")?, PyTuple::empty(py));
        let stand_in = py.get_type::<PyType>().call1((named, no_bases, body))?;
        let object = stand_in.call0()?;
        let refused = match asked {
            Slot::Read => object.getattr(name).map(drop),
            Slot::Deleted => object.delattr(name),
            Slot::Missing => object.setattr(name, py.None()),
        };
        match refused {
            Ok(()) => Err(Stop::Internal(format!("a slot {name} that is empty"))),
            Err(error) => {
                let text = error.value(py).str()?.to_string();
                Ok(self.raise("AttributeError", &text))
            }
        }
    }

    pub(crate) fn tuple_field(
        &mut self,
        t: &Rc<variables::TupleVar>,
        class: &Obj,
        name: &Arc<str>,
    ) -> R<Flow> {
        let index = match type_lookup(class.bind(self.py).cast().map_err(PyErr::from)?, name) {
            Some(d) => self.field_index(&d, class)?,
            None => None,
        };
        match index {
            Some(i) if i < t.items.len() => Ok(Flow::Value(t.items[i].clone())),
            _ => Err(Stop::unsupported(format!(
                "attribute {name} of {}",
                self.class_name(class)
            ))),
        }
    }

    /// Which item a descriptor of a named tuple or of a struct sequence gives. Its name does not say so: a class may
    /// have it under another one.
    fn field_index(&self, descriptor: &Obj, class: &Obj) -> R<Option<usize>> {
        let d = descriptor.bind(self.py);
        if let Some(index) = named_tuple_field(d)? {
            return Ok(Some(index));
        }
        // A struct sequence's member descriptors are numbered by offset; its repr order is its item order.
        let fields: Vec<String> = match class.bind(self.py).getattr("__match_args__") {
            Ok(f) => f.extract().unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let name: String = d.getattr("__name__")?.extract()?;
        Ok(fields.iter().position(|f| *f == name))
    }
}

/// The index of the item that a descriptor of a named tuple gives; `None` for other objects.
pub fn named_tuple_field(d: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if d.get_type().name()? != "_tuplegetter" {
        return Ok(None);
    }
    // What it is pickled as holds the index.
    let arguments = d.call_method0("__reduce__")?.get_item(1)?;
    arguments.get_item(0)?.extract().map(Some)
}
