//! `torch.nn.Module.__getattr__` and `__setattr__`, without interpreting their Python.
//!
//! Both are called for nearly every name in a model, and what they do is fixed: look in
//! `_parameters`, `_buffers` and `_modules`.

use std::sync::Arc;

use guards::Key as GuardKey;
use guards::Source;
use variables::{Obj, Var};

use crate::raw::type_lookup;
use crate::stop::R;
use crate::tx::{Flow, Tx};

const REGISTRIES: [&str; 3] = ["_parameters", "_buffers", "_modules"];

impl Tx<'_> {
    /// A parameter, buffer or submodule; `None` where the class does not use `nn.Module`'s look-up.
    pub(crate) fn module_getattr(
        &mut self,
        obj: &Var,
        class: &Obj,
        name: &Arc<str>,
    ) -> R<Option<Flow>> {
        let ty = class
            .bind(self.py)
            .cast::<pyo3::types::PyType>()
            .map_err(pyo3::PyErr::from)?
            .clone();
        let uses_module =
            type_lookup(&ty, "__getattr__").is_some_and(|g| g.is(&self.known.module_getattr));
        if !uses_module {
            return Ok(None);
        }
        self.class_lookup(class, "__getattr__")?;
        for registry in REGISTRIES {
            let Some(dict) = self.instance_dict_attr(obj, &Arc::from(registry))? else {
                continue;
            };
            if let Some(v) = self.dict_peek(&dict, name)? {
                return Ok(Some(Flow::Value(v)));
            }
        }
        Err(self.no_attribute(class, name))
    }

    /// A write to a module; `None` where it has to run as the Python code that it is.
    pub(crate) fn module_setattr(
        &mut self,
        obj: &Var,
        class: &Obj,
        hook: &Obj,
        name: &Arc<str>,
        value: Option<&Var>,
    ) -> R<Option<Flow>> {
        let (Some(value), Var::Obj(id)) = (value, obj) else {
            return Ok(None);
        };
        if !hook.is(&self.known.module_setattr) {
            return Ok(None);
        }
        let value_class = self.type_of(value)?;
        let (parameter, buffer) = (self.known.parameter.clone(), self.known.buffer.clone());
        let derives = |tx: &Self, base| tx.is_subtype(&value_class, base);
        if derives(self, &parameter) || derives(self, &self.known.module) {
            return Ok(None);
        }
        for registry in REGISTRIES {
            let Some(dict) = self.instance_dict_attr(obj, &Arc::from(registry))? else {
                continue;
            };
            if self.dict_peek(&dict, name)?.is_some() {
                if registry != "_buffers" {
                    return Ok(None);
                }
                let dict = self.realize(&dict)?;
                let key = self.str(name);
                self.setitem(&dict, &key, value)?;
                return Ok(Some(Flow::Value(self.none())));
            }
        }
        if self.is_parameter_like(value, &value_class, &parameter)?
            || self.is_parameter_like(value, &value_class, &buffer)?
        {
            return Ok(None);
        }
        self.object_setattr(*id, class, name, Some(value.clone()))
            .map(Some)
    }

    /// Whether a source is an item of a module's `_parameters` or `_buffers`.
    pub(crate) fn is_module_tensor(&self, source: guards::SourceId) -> bool {
        let Source::DictItem {
            base,
            key: GuardKey::Str(_),
        } = self.facts.sources.get(source)
        else {
            return false;
        };
        // What plain Python gave at a break is likely to be another module at the next call.
        let root = self.facts.sources.get(self.facts.sources.root(source));
        if self.resumed.is_some()
            && matches!(root, Source::Local { name, .. } if crate::code::is_stack_name(name))
        {
            return false;
        }
        matches!(self.facts.sources.get(*base), Source::InstanceDictItem { name, .. }
            if &**name == "_parameters" || &**name == "_buffers")
    }
}
