//! Attributes of tensors.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Arg, NodeId, OpKind};
use guards::{GuardKind, Source};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use tensor_meta::Does;
use torch_abi::names;
use variables::{TensorVar, Var};

use super::emit::Callee;
use super::raising;
use crate::raw::{dict_get, instance_dict, type_lookup};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// What reads `tensor.data`.
const DATA_ATTR: &str = names::DATA_ATTR_PATH;

impl<'py> Tx<'py> {
    /// `t.name`.
    ///
    /// # Errors
    /// `AttributeError`; a break for what only exists at run time.
    pub fn tensor_attr(&mut self, t: &Rc<TensorVar>, var: &Var, name: &Arc<str>) -> R<Flow> {
        // Python finds it in the program's class first, and torch is not there to ask anybody.
        if self.is_subclass(t)
            && let Some(flow) = (self.rules.torch.own_class_attr)(self, t, var, name)?
        {
            return Ok(flow);
        }
        self.tensor_attr_of_torch(t, var, name)
    }

    /// `Class.name.__get__(t)` for torch's class of tensors.
    ///
    /// # Errors
    /// As [`Tx::tensor_attr`].
    pub fn tensor_attr_of_torch(
        &mut self,
        t: &Rc<TensorVar>,
        var: &Var,
        name: &Arc<str>,
    ) -> R<Flow> {
        if self.is_seen() || self.asks_class(var) {
            if let Some(flow) = (self.rules.torch.attribute_in_modes)(self, var, name, None)? {
                return Ok(flow);
            }
            return self.without_modes(|tx| tx.tensor_attr_of_torch(t, var, name));
        }
        if let Some(written) = self.st.effects.tensor_attr(t, name).cloned() {
            return match written {
                Some(v) => Ok(Flow::Value(v)),
                None => {
                    let class = t.class.clone();
                    Err(self.no_attribute(&class, name))
                }
            };
        }
        if !self.is_subclass(t)
            && let Some(flow) = (self.rules.torch.own_class_attr)(self, t, var, name)?
        {
            return Ok(flow);
        }
        let meta = self.st.effects.meta(t).clone();
        let value = match &**name {
            "shape" => self.sizes_of(&Var::Tensor(t.clone()), &meta.shape)?,
            "ndim" => self.int(meta.shape.len() as i64),
            "dtype" => self.dtype_var(meta.dtype)?,
            "device" => Var::Const(
                self.known
                    .device
                    .call1(self.py, (meta.device.to_string(),))?,
            ),
            "layout" => Var::Const(self.known.torch.getattr(self.py, "strided")?),
            "requires_grad" | "is_leaf" | "grad_fn" | "grad"
                if let Some(shadow) = self.st.levels.shadows.get(&t.node.0).cloned() =>
            {
                let of_level = shadow.bind(self.py).getattr(&**name)?;
                if !of_level.is_none() && !of_level.is_instance_of::<PyBool>() {
                    return Err(Stop::unsupported(format!("Tensor.{name} in a transform")));
                }
                Var::Const(of_level.unbind())
            }
            "requires_grad" => self.bool(meta.requires_grad),
            "is_leaf" if !meta.requires_grad => self.bool(true),
            "grad_fn" if !meta.requires_grad => self.none(),
            "is_leaf" if t.input.is_none() => self.bool(meta.is_leaf),
            "grad_fn" if t.input.is_none() && meta.is_leaf => self.none(),
            "is_leaf" | "grad_fn"
                if t.input.is_some()
                    && Rc::ptr_eq(&meta, &t.meta)
                    && self.outer_modes == 0
                    && !self.is_subclass(t) =>
            {
                let Some(input) = t.input.clone() else {
                    return Err(Stop::Internal("no input".into()));
                };
                let real = input.obj.bind(self.py).getattr(&**name)?;
                let source = self.source(Source::Attr {
                    base: input.source,
                    name: name.clone(),
                });
                self.lazy(real.unbind(), source)
            }
            "itemsize" => self.int(meta.dtype.itemsize() as i64),
            "nbytes" => match self.fix_meta(&meta).numel() {
                Some(n) => self.int(n * meta.dtype.itemsize() as i64),
                None => return Err(Stop::unsupported("Tensor.nbytes that is too large")),
            },
            "is_cpu" => self.bool(meta.is_cpu()),
            "is_cuda" | "is_xpu" | "is_mps" | "is_meta" | "is_xla" | "is_ipu" | "is_maia"
            | "is_vulkan" | "is_mtia" => {
                let kind = name.trim_start_matches("is_");
                self.bool(meta.device.to_string().split(':').next() == Some(kind))
            }
            "is_sparse" | "is_sparse_csr" | "is_mkldnn" | "is_nested" => self.bool(false),
            "is_quantized" => self.bool(meta.dtype.is_quantized()),
            "__class__" => Var::py(t.class.clone()),
            "_is_param" if !t.class.is(&self.known.tensor) => self.bool(true),
            // Like `detach`, but writes to it are not counted as writes to the tensor.
            "data" => {
                let data = self.known.data_attr.clone();
                let rule = tensor_meta::lookup_method("detach");
                let callee = Callee::Function(&data, DATA_ATTR, rule);
                return self
                    .emit(&callee, &Args::pos(vec![var.clone()]))
                    .map(Flow::Value);
            }
            "grad" => return self.tensor_grad(t, name),
            _ => {
                let path = format!("getattr.{name}");
                return match tensor_meta::function_traits(&path).any(Does::VIEW) {
                    true => self.emit_getattr(var, name, &path),
                    false => self.other_tensor_attr(t, var, name),
                };
            }
        };
        Ok(Flow::Value(value))
    }

    /// A view that is spelled as an attribute: `x.T`.
    fn emit_getattr(&mut self, var: &Var, name: &str, path: &str) -> R<Flow> {
        let builtins = self.known.builtins.bind(self.py);
        let getattr = builtins.getattr("getattr")?.unbind();
        let args = Args::pos(vec![var.clone(), self.str(name)]);
        let rule = tensor_meta::lookup_function(path);
        self.emit(&Callee::Function(&getattr, path, rule), &args)
            .map(Flow::Value)
    }

    fn tensor_grad(&mut self, t: &Rc<TensorVar>, name: &Arc<str>) -> R<Flow> {
        // To read it for a guard would ask them.
        let asked = self.outer_modes > 0 || self.is_subclass(t);
        let Some(input) = t.input.clone().filter(|_| !asked) else {
            return Err(Stop::unsupported(
                "`.grad` of a tensor computed in the compiled function",
            ));
        };
        let grad = input.obj.bind(self.py).getattr("grad")?;
        let source = self.source(Source::Attr {
            base: input.source,
            name: name.clone(),
        });
        Ok(Flow::Value(self.lazy(grad.unbind(), source)))
    }

    /// Whether a tensor carries a mark: an attribute that somebody set, and that counts as true.
    ///
    /// # Errors
    /// A break where the mark is not the tensor's own.
    pub(crate) fn is_marked(&mut self, t: &Rc<TensorVar>, name: &str) -> R<bool> {
        let name: Arc<str> = name.into();
        if let Some(written) = self.st.effects.tensor_attr(t, &name).cloned() {
            return written.map_or(Ok(false), |mark| self.truth(&mark));
        }
        if t.input.is_none() {
            return Ok(false);
        }
        match self.other_tensor_attr(t, &Var::Tensor(t.clone()), &name) {
            Ok(flow) => {
                let mark = self.finish_flow(flow)?;
                self.truth(&mark)
            }
            Err(stop) if self.is_raise_of(&stop, "AttributeError") => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    fn other_tensor_attr(&mut self, t: &Rc<TensorVar>, var: &Var, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        if let Some(input) = &t.input
            && let Some(dict) = instance_dict(input.obj.bind(py))
        {
            let (base, found) = (input.source, dict_get(&dict, name));
            match found {
                Some(v) => {
                    let s = self.source(Source::InstanceDictItem {
                        base,
                        name: name.clone(),
                    });
                    self.touch(s);
                    return Ok(Flow::Value(self.lazy(v.unbind(), s)));
                }
                None if self.known.tensor.bind(py).getattr(&**name).is_err() => {
                    self.guard(
                        base,
                        GuardKind::GenericDictContains {
                            name: name.clone(),
                            present: false,
                        },
                    );
                }
                None => {}
            }
        }
        // A metaclass's are not the tensor's.
        let has = type_lookup(t.class.bind(py).cast().map_err(PyErr::from)?, name).ok_or(());
        match has.and_then(|_| t.class.bind(py).getattr(&**name).map_err(drop)) {
            Ok(a) if a.is_callable() => Ok(Flow::Value(Var::BuiltinMethod(Rc::new((
                var.clone(),
                name.clone(),
            ))))),
            Ok(_) => Err(Stop::unsupported(format!("attribute `{name}` of a tensor"))),
            Err(_) => {
                self.class_lookup(&t.class.clone(), name)?;
                let class = self.class_name(&t.class);
                Err(self.raise(
                    "AttributeError",
                    &format!("'{class}' object has no attribute '{name}'"),
                ))
            }
        }
    }

    /// `t.name = value`, or `del t.name`: written by the residual code, after the graph.
    ///
    /// # Errors
    /// A break for what changes the tensor itself, and where torch would refuse.
    pub fn tensor_setattr(&mut self, t: &Var, name: &Arc<str>, value: Option<Var>) -> R<Flow> {
        if let Var::Tensor(tensor) = t
            && let Some(property) = (self.rules.torch.own_property)(self, tensor, name)?
        {
            let class = tensor.class.clone();
            return self.set_property(t.clone(), &class, name, &property, value);
        }
        if self.is_seen() || self.asks_class(t) {
            let Some(value) = value else {
                return Err(Stop::unsupported(
                    "deleting an attribute within a function mode",
                ));
            };
            if let Some(flow) = (self.rules.torch.attribute_in_modes)(self, t, name, Some(&value))?
            {
                return Ok(flow);
            }
            return self.without_modes(|tx| tx.tensor_setattr(t, name, Some(value)));
        }
        let unsupported = || Stop::unsupported(format!("setting attribute `{name}` of a tensor"));
        let Var::Tensor(t) = t else {
            return Err(unsupported());
        };
        let py = self.py;
        let value = value.map(|v| self.realize(&v)).transpose()?;
        let name = if &**name == "_grad" {
            &"grad".into()
        } else {
            name
        };
        if let ("requires_grad", Some(Var::Const(o))) = (&**name, &value)
            && let Ok(wanted) = o.bind(py).cast_exact::<PyBool>()
            && self.set_requires_grad(t, wanted.is_true())?
        {
            return Ok(Flow::Value(self.none()));
        }
        if let ("data", Some(Var::Tensor(from))) = (&**name, &value) {
            return match self.is_data_of(from, t) {
                true => Ok(Flow::Value(self.none())),
                false => (self.rules.torch.set_data)(self, t, from),
            };
        }
        let has = t.class.bind(py).hasattr(&**name)?;
        let fits = match (&**name, &value) {
            ("grad", Some(v)) if v.is_none(py) => true,
            ("grad", Some(Var::Tensor(g))) => {
                let (a, b) = (self.st.effects.meta(t), self.st.effects.meta(g));
                t.node != g.node && a.shape == b.shape && a.dtype == b.dtype && a.device == b.device
            }
            // An attribute of the instance, which nothing but the program reads.
            (_, Some(_)) => !has && !name.starts_with("_dynamo"),
            (_, None) => {
                !has && matches!(self.st.effects.tensor_attr(t, name), Some(Some(_)))
                    && t.input.is_none()
            }
        };
        // A mode that is in force, or the tensor's class, would see the residual code's write.
        let is_seen = self.outer_modes > 0 || self.is_subclass(t);
        let is_recorded = t.input.is_none() && self.st.effects.meta(t).requires_grad;
        if !fits || &**name == "grad" && (is_recorded || is_seen) {
            return Err(unsupported());
        }
        self.st.effects.write_tensor_attr(t, name, value);
        Ok(Flow::Value(self.none()))
    }

    /// Whether a tensor is what `t.data` gave, perhaps written to since: to set it changes nothing.
    fn is_data_of(&self, data: &TensorVar, t: &TensorVar) -> bool {
        let of_t = |node: NodeId, does: Does| {
            self.log.graph.get(node).is_some_and(|n| {
                matches!(n.op, OpKind::CallMethod | OpKind::CallFunction)
                    && n.args.first() == Some(&Arg::Node(t.node))
                    && raising::traits_of(n).any(does)
            })
        };
        let (a, b) = (self.st.effects.meta(data), self.st.effects.meta(t));
        of_t(data.node, Does::SHARES_DATA)
            && (&a.shape, &a.strides, a.dtype, a.device)
                == (&b.shape, &b.strides, b.dtype, b.device)
            && !self
                .log
                .graph
                .users(t.node)
                .iter()
                .any(|n| of_t(*n, Does::MOVES))
    }
}
