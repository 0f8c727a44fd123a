//! `object.__reduce_ex__` and `object.__getstate__`: how `copy` and `pickle` take an object apart.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use variables::{Body, ObjId, OrderedMap, Var};

use crate::attr::is_heap_type;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

impl Tx<'_> {
    /// `object`'s own methods of a tracked object (CPython's `object___reduce_ex__` and
    /// `object_getstate`). `None`: none of these.
    pub(super) fn reduce_method(&mut self, recv: &Var, name: &str, args: &Args) -> R<Option<Flow>> {
        let Var::Obj(id) = recv else { return Ok(None) };
        let class = self.obj(*id).class.clone();
        let object = self.known.object.bind(self.py).getattr(name);
        let own = self.class_lookup(&class, name)?;
        if !matches!((own, object), (Some(own), Ok(object)) if object.is(&own)) {
            return Ok(None);
        }
        match (name, args.pos.as_slice()) {
            ("__getstate__", []) => self.state_of(recv).map(|v| Some(Flow::Value(v))),
            ("__reduce_ex__", [protocol]) => {
                if self.index_of(protocol)? < 2 {
                    return Ok(None);
                }
                let reduce = self.known.object.bind(self.py).getattr("__reduce__")?;
                if let Some(custom) = self.class_lookup(&class, "__reduce__")?
                    && !reduce.is(&custom)
                {
                    return self.call_special(recv, "__reduce__", Vec::new());
                }
                self.reduce_new_object(recv).map(|v| Some(Flow::Value(v)))
            }
            _ => Ok(None),
        }
    }

    /// `__reduce__` of an `OrderedDict` or a `defaultdict`: how to make an empty one, its attributes and items.
    /// `None`: of another class.
    pub(super) fn reduce_derived_dict(&mut self, id: ObjId) -> R<Option<Var>> {
        let recv = Var::Obj(id);
        let class = self.obj(id).class.clone();
        let none = self.none();
        let (factory, state) = if class.is(&self.known.ordered_dict) {
            (None, self.state_of(&recv)?)
        } else if class.is(&self.known.defaultdict) {
            (self.factory_of(id), none.clone())
        } else {
            return Ok(None);
        };
        let factory = factory.filter(|f| !f.is_none(self.py));
        let items = self.items_iterator(&recv)?;
        Ok(Some(Var::tuple(vec![
            Var::py(class),
            Var::tuple(factory.into_iter().collect()),
            state,
            none,
            items,
        ])))
    }

    /// `iter(d.items())`
    fn items_iterator(&mut self, dict: &Var) -> R<Var> {
        let items = self.getattr_sync(dict, &"items".into())?;
        let items = self.call_sync(&items, Args::default())?;
        self.get_iter(&items)
    }

    /// `copyreg.__newobj__(cls, *args)` and what is to be put into its result.
    fn reduce_new_object(&mut self, recv: &Var) -> R<Var> {
        let class = self.type_of(recv)?;
        let ty = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        let (ty, body) = (ty.clone(), self.body_of(recv));
        let container = matches!(body, Some(Body::List(_) | Body::Dict(_)));
        let c_classes = ty.mro().iter().any(|c| {
            let known = [&self.known.object, &self.known.list, &self.known.dict];
            c.cast::<PyType>().is_ok_and(|t| !is_heap_type(t))
                && !known.iter().any(|k| c.is(k.bind(self.py)))
        });
        if c_classes || !(container || matches!(body, Some(Body::Plain))) {
            return Err(Stop::unsupported(format!(
                "taking apart a {} to copy it",
                self.class_name(&class)
            )));
        }
        let mut new_args = vec![Var::py(class.clone())];
        if self.class_lookup(&class, "__getnewargs_ex__")?.is_some() {
            return Err(Stop::unsupported("`__getnewargs_ex__`"));
        }
        if let Some(flow) = self.call_special(recv, "__getnewargs__", Vec::new())? {
            let more = self.finish_flow(flow)?;
            new_args.extend(self.iterate(&more)?);
        }
        let state = match self.call_special(recv, "__getstate__", Vec::new())? {
            Some(flow) => self.finish_flow(flow)?,
            None => self.state_of(recv)?,
        };
        let none = self.none();
        let list_items = match body {
            Some(Body::List(_)) => self.get_iter(recv)?,
            _ => none.clone(),
        };
        let dict_items = match body {
            Some(Body::Dict(_)) => self.items_iterator(recv)?,
            _ => none,
        };
        let new = self.py.import("copyreg")?.getattr("__newobj__")?.unbind();
        Ok(Var::tuple(vec![
            Var::py(new),
            Var::tuple(new_args),
            state,
            list_items,
            dict_items,
        ]))
    }

    /// The instance dict, and the slots where there are any; `None` without either.
    fn state_of(&mut self, recv: &Var) -> R<Var> {
        let class = self.type_of(recv)?;
        let ty = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        let has_dict = ty.getattr("__dictoffset__")?.extract::<isize>()? != 0;
        let names: Vec<String> = self
            .py
            .import("copyreg")?
            .call_method1("_slotnames", (&class,))?
            .extract()?;
        let mut state = self.none();
        if has_dict {
            let dict = self.object_getattribute(recv, &"__dict__".into())?;
            let dict = self.finish_flow(dict)?;
            let dict = self.realize(&dict)?;
            if !matches!(self.body_of(&dict), Some(Body::Dict(d)) if d.is_empty()) {
                state = dict;
            }
        }
        let mut slots = OrderedMap::default();
        for name in names {
            match self.getattr_sync(recv, &name.as_str().into()) {
                Ok(v) => {
                    let name = Var::constant(PyString::new(self.py, &name).into_any());
                    slots.insert(self.key(&name)?, name, v);
                }
                Err(stop) if self.is_raise_of(&stop, "AttributeError") => {}
                Err(stop) => return Err(stop),
            }
        }
        if slots.is_empty() {
            return Ok(state);
        }
        let slots = self.new_dict(slots);
        Ok(Var::tuple(vec![state, slots]))
    }
}
