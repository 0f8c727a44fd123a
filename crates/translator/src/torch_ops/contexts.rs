//! Contexts of torch that have rules of their own: `torch.autocast` and `torch.inference_mode`, which
//! nodes of the graph enter and leave, labels for the profiler, which a graph has not, the function mode
//! that makes subscripts of a tensor look-ups by tensors, and devices, of which `entered_device.rs` says more.
//!
//! Invariant: a graph leaves every context that it enters. One that is open where a graph ends is
//! entered by the residual code, as the object that it is.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Arg, Kwargs, NodeId};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyType};
use tensor_meta::{Autocast, DType, DeviceKind};
use variables::{Body, Obj, Var};

use super::emit::Callee;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// A context that was entered in the compiled function.
#[derive(Clone, Debug)]
pub struct OpenContext {
    /// the context: an object, or a device
    pub context: Var,
    /// what it does
    pub(super) effect: Effect,
}

impl OpenContext {
    /// Whether it is a function mode of the program: its own `__enter__` was followed, and is not run again.
    pub fn is_function_mode(&self) -> bool {
        matches!(self.effect, Effect::Functions)
    }

    fn is(&self, context: &Var) -> bool {
        match (&self.context, context) {
            (Var::Obj(a), Var::Obj(b)) => a == b,
            // One device is like another: leaving it leaves the last.
            (Var::Const(_), Var::Const(_)) => true,
            _ => false,
        }
    }
}

/// What entering a context changed.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// nothing that a graph could show
    Label,
    /// casts of arguments
    Cast(Rc<Cast>),
    /// whether new tensors are inference tensors
    Inference(Inference),
    /// subscripts are calls of another function
    Subscripts,
    /// factories make tensors on the device that the context is
    Device,
    /// torch asks a mode of the program before it runs a function
    Functions,
    /// torch asks no class of tensors; whether that was so before
    Classes(bool),
}

/// An inference mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inference {
    /// the node that entered it
    node: NodeId,
    enabled: bool,
    /// the grad mode to go back to
    grad_enabled: bool,
}

/// An autocast context.
#[derive(Debug)]
pub(super) struct Cast {
    /// the node that entered it
    node: NodeId,
    device: String,
    enabled: bool,
    dtype: Obj,
    cache: bool,
}

const MODULE: &str = "torch.amp.autocast_mode";
const GRAD_MODE: &str = "torch.autograd.grad_mode";
const SUBSCRIPTS: &str = "torch._dynamo._trace_wrapped_higher_order_op";

/// Whether a class is that of the mode that makes subscripts look-ups by tensors.
pub(super) fn is_subscript_mode(class: &Bound<'_, PyType>) -> PyResult<bool> {
    Ok(class.getattr("__module__")?.eq(SUBSCRIPTS)?
        && class.getattr("__name__")?.eq("TransformGetItemToIndex")?)
}

impl Tx<'_> {
    /// `autocast.__enter__(context)`.
    ///
    /// # Errors
    /// A break where the context's settings are not known.
    pub fn enter_autocast(&mut self, context: &Var) -> R<Flow> {
        let py = self.py;
        let context = self.realize(context)?;
        let Var::Obj(id) = context else {
            return Err(Stop::unsupported("an autocast context that is no object"));
        };
        let mut setting = |name: &str| -> R<Obj> {
            let v = self.getattr_sync(&Var::Obj(id), &Arc::from(name))?;
            match self.as_const(&v)? {
                Some(o) => Ok(o),
                None => Err(Stop::unsupported(format!("autocast with {name} unknown"))),
            }
        };
        let device: String = setting("device")?.extract(py)?;
        let dtype = setting("fast_dtype")?;
        let enabled: bool = setting("_enabled")?.extract(py)?;
        let cache: bool = setting("_cache_enabled")?.extract(py)?;
        // What `__exit__` puts back, where plain Python runs it.
        let now = self.autocast_now(&device)?;
        let was_cached = self.autocast_cache()?;
        for (name, v) in [
            ("prev_cache_enabled", self.bool(was_cached)),
            ("prev", self.bool(now.0)),
            ("prev_fastdtype", Var::Const(now.1)),
        ] {
            self.st.effects.write_attr(id, &Arc::from(name), Some(v));
        }
        let (dtype_arg, _) = self.node_arg(&Var::Const(dtype.clone()))?;
        let node = self.autocast_node(
            "_enter_autocast",
            vec![
                Arg::Str(device.as_str().into()),
                dtype_arg,
                Arg::Bool(enabled),
                Arg::Bool(cache),
            ],
        )?;
        self.st.contexts.push_back(OpenContext {
            context: Var::Obj(id),
            effect: Effect::Cast(Rc::new(Cast {
                node,
                device,
                enabled,
                dtype,
                cache,
            })),
        });
        Ok(Flow::Value(Var::Obj(id)))
    }

    /// `record_function.__enter__(context)`: the operations of a graph have no label.
    ///
    /// # Errors
    /// A break where the context is no object.
    pub fn enter_label(&mut self, context: &Var) -> R<Flow> {
        let Var::Obj(id) = self.realize(context)? else {
            return Err(Stop::unsupported("a label that is no object"));
        };
        self.st.contexts.push_back(OpenContext {
            context: Var::Obj(id),
            effect: Effect::Label,
        });
        Ok(Flow::Value(Var::Obj(id)))
    }

    /// `__enter__` of a function mode; `None` for one that is no object.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub fn enter_function_mode(&mut self, mode: &Var) -> R<Option<Flow>> {
        let mode = self.realize(mode)?;
        let Var::Obj(id) = mode else {
            return Ok(None);
        };
        let class = self.obj(id).class.clone();
        let known = is_subscript_mode(class.bind(self.py).cast().map_err(PyErr::from)?)?;
        if !known {
            return self.enter_mode(&mode).map(Some);
        }
        self.not_seen("a mode that looks at subscripts")?;
        self.st.contexts.push_back(OpenContext {
            context: Var::Obj(id),
            effect: Effect::Subscripts,
        });
        Ok(Some(Flow::Value(mode)))
    }

    /// `__exit__` of a function mode; `None` for one that was not entered here.
    ///
    /// # Errors
    /// As [`Tx::leave_context`].
    pub fn leave_function_mode(&mut self, mode: &Var) -> R<Option<Flow>> {
        let mode = self.realize(mode)?;
        match &mode {
            Var::Obj(_) if self.st.contexts.iter().any(|o| o.is(&mode)) => {
                self.leave_context(&mode).map(Some)
            }
            _ => self.leave_outer_mode(&mode),
        }
    }

    /// `t[key]` where a mode that was entered here takes it for a look-up by tensors: all parts of the key
    /// are tensors or ints.
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub(crate) fn subscript_by_tensors(&mut self, t: &Var, key: &Var) -> R<Option<Flow>> {
        let modes = |o: &OpenContext| matches!(o.effect, Effect::Subscripts);
        let mut indices = Vec::new();
        if !self.st.contexts.iter().any(modes) || !self.index_parts(key, &mut indices)? {
            return Ok(None);
        }
        let device = self.getattr_sync(t, &Arc::from("device"))?;
        let make = Var::py(self.known.torch.getattr(self.py, "tensor")?);
        for index in &mut indices {
            if matches!(index, Var::Tensor(_)) {
                continue;
            }
            let kw = vec![
                (Arc::from("dtype"), self.dtype_var(DType::Int64)?),
                (Arc::from("device"), device.clone()),
            ];
            let pos = vec![index.clone()];
            *index = self.call_sync(&make, Args { pos, kw })?;
        }
        let f = self.py.import(SUBSCRIPTS)?.getattr("mod_index")?.unbind();
        let path = format!("{SUBSCRIPTS}.mod_index");
        let indices = self.new_list(indices);
        let args = Args::pos(vec![t.clone(), indices]);
        self.emit(&Callee::Function(&f, &path, None), &args)
            .map(|v| Some(Flow::Value(v)))
    }

    /// The parts of a key, if all of them are tensors or ints.
    fn index_parts(&mut self, key: &Var, out: &mut Vec<Var>) -> R<bool> {
        let key = self.realize(key)?;
        let items = match &key {
            Var::Tensor(_) => {
                out.push(key);
                return Ok(true);
            }
            Var::Tuple(t) if t.class.is_none() => t.items.clone(),
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) => items.iter().cloned().collect(),
                _ => return Ok(false),
            },
            _ => {
                let int = self
                    .as_const(&key)?
                    .is_some_and(|o| o.bind(self.py).is_instance_of::<PyInt>());
                out.push(key);
                return Ok(int);
            }
        };
        for item in &items {
            if !self.index_parts(item, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `inference_mode.__enter__(context)`.
    ///
    /// # Errors
    /// A break where it is not known whether the mode is switched on or off.
    pub fn enter_inference_mode(&mut self, context: &Var) -> R<Flow> {
        let Var::Obj(id) = self.realize(context)? else {
            return Err(Stop::unsupported("an inference mode that is no object"));
        };
        let mode = self.getattr_sync(&Var::Obj(id), &Arc::from("mode"))?;
        let enabled = self.truth(&mode)?;
        let f = self
            .py
            .import(GRAD_MODE)?
            .getattr("_enter_inference_mode")?;
        let node = self.state_node(&f, GRAD_MODE, vec![Arg::Bool(enabled)])?;
        self.met_inference |= enabled;
        self.st.contexts.push_back(OpenContext {
            context: Var::Obj(id),
            effect: Effect::Inference(Inference {
                node,
                enabled,
                grad_enabled: self.st.grad_enabled,
            }),
        });
        // The mode brings its own grad mode.
        self.st.grad_enabled = !enabled;
        Ok(Flow::Value(self.none()))
    }

    /// The grad mode that the program has set since it entered an inference mode that is open.
    pub fn grad_mode_within(&self) -> Option<bool> {
        let entered = self.st.contexts.iter().rev().find_map(|o| match &o.effect {
            Effect::Inference(mode) => Some(!mode.enabled),
            _ => None,
        });
        entered
            .filter(|e| *e != self.st.grad_enabled)
            .map(|_| self.st.grad_enabled)
    }

    /// Whether tensors that are made now are inference tensors.
    pub fn inference_now(&self) -> bool {
        let inner = self.st.contexts.iter().rev().find_map(|o| match &o.effect {
            Effect::Inference(mode) => Some(mode.enabled),
            _ => None,
        });
        inner.unwrap_or(self.ctx.inference_mode)
    }

    /// `__exit__(context, ...)` of either.
    ///
    /// # Errors
    /// A break where the compiled function did not enter the context last.
    pub fn leave_context(&mut self, context: &Var) -> R<Flow> {
        let context = self.realize(context)?;
        match self.st.contexts.last().cloned() {
            Some(open) if open.is(&context) => {
                self.st.contexts.pop_back();
                self.leave_in_graph(&open.effect)?;
                if matches!(open.effect, Effect::Functions | Effect::Device) {
                    self.st.modes.pop_back();
                }
                Ok(Flow::Value(match open.effect {
                    Effect::Cast(_) => self.bool(false),
                    Effect::Label | Effect::Subscripts | Effect::Device | Effect::Functions => {
                        self.none()
                    }
                    Effect::Inference(mode) => {
                        self.st.grad_enabled = mode.grad_enabled;
                        self.none()
                    }
                    Effect::Classes(before) => {
                        self.st.asks_no_class = before;
                        self.none()
                    }
                }))
            }
            _ => Err(Stop::brk(
                "Context left that was not entered here",
                "The context was entered by plain Python, which has to leave it as well.",
                "Enter and leave the context in the same compiled function.",
            )),
        }
    }

    /// Leaves what is still open, innermost first, for the end of the graph.
    ///
    /// # Errors
    /// [`Stop::Internal`] where torch lacks the function.
    pub fn close_contexts(&mut self) -> R<()> {
        for open in self.st.contexts.clone().iter().rev() {
            self.leave_in_graph(&open.effect)?;
            if let Effect::Inference(mode) = open.effect {
                self.st.grad_enabled = mode.grad_enabled;
            }
        }
        Ok(())
    }

    /// Makes the node that leaves a context.
    fn leave_in_graph(&mut self, effect: &Effect) -> R<()> {
        match effect {
            Effect::Label
            | Effect::Subscripts
            | Effect::Device
            | Effect::Functions
            | Effect::Classes(_) => {}
            Effect::Cast(cast) => {
                self.autocast_node("_exit_autocast", vec![Arg::Node(cast.node)])?;
            }
            Effect::Inference(mode) => {
                let f = self.py.import(GRAD_MODE)?.getattr("_exit_inference_mode")?;
                self.state_node(&f, GRAD_MODE, vec![Arg::Node(mode.node)])?;
            }
        }
        Ok(())
    }

    /// Open autocast contexts, innermost first.
    fn casts(&self) -> impl Iterator<Item = &Rc<Cast>> {
        self.st
            .contexts
            .iter()
            .rev()
            .filter_map(|o| match &o.effect {
                Effect::Cast(cast) => Some(cast),
                _ => None,
            })
    }

    /// Whether the program has entered autocast here.
    pub(crate) fn in_autocast(&self) -> bool {
        self.casts().next().is_some()
    }

    /// Whether autocast keeps its casts of parameters.
    ///
    /// # Errors
    /// Whatever torch raises.
    pub(crate) fn autocast_cache(&self) -> R<bool> {
        if let Some(cast) = self.casts().next() {
            return Ok(cast.cache);
        }
        let torch = self.known.torch.bind(self.py);
        Ok(torch.call_method0("is_autocast_cache_enabled")?.extract()?)
    }

    fn autocast_node(&mut self, name: &str, args: Vec<Arg>) -> R<NodeId> {
        let f = self.py.import(MODULE)?.getattr(name)?;
        self.state_node(&f, MODULE, args)
    }

    /// A node that changes torch's state.
    ///
    /// # Errors
    /// Whatever looking at the function raises.
    pub(super) fn state_node(
        &mut self,
        f: &Bound<'_, PyAny>,
        module: &str,
        args: Vec<Arg>,
    ) -> R<NodeId> {
        let name: String = f.getattr("__name__")?.extract()?;
        let target = self.target(&f.clone().unbind(), &format!("{module}.{name}"))?;
        let node = self.graph.call_function(target, args, Kwargs::new());
        self.graph.set_impure(node, true);
        Ok(node)
    }

    /// Whether autocast is on for a device type, and the dtype that it casts to.
    ///
    /// # Errors
    /// Whatever torch raises for an unknown device.
    pub(crate) fn autocast_now(&self, device: &str) -> R<(bool, Obj)> {
        let py = self.py;
        if let Some(open) = self.casts().find(|o| o.device == device) {
            return Ok((open.enabled, open.dtype.clone()));
        }
        let torch = self.known.torch.bind(py);
        Ok((
            torch
                .call_method1("is_autocast_enabled", (device,))?
                .extract()?,
            torch
                .call_method1("get_autocast_dtype", (device,))?
                .unbind(),
        ))
    }

    /// Where autocast is on.
    pub(crate) fn autocasts(&self) -> Autocast {
        // Where it is on already, unless a context here says otherwise of the device.
        let outside = match self.ctx.autocast {
            Autocast::Off => None,
            Autocast::Cpu(_) => Some("cpu"),
            Autocast::Cuda(_) => Some("cuda"),
            Autocast::Other => return Autocast::Other,
        };
        let mut said = Vec::new();
        let mut on = Vec::new();
        for cast in self.casts() {
            if said.contains(&&*cast.device) {
                continue;
            }
            said.push(&*cast.device);
            if cast.enabled {
                let name = cast.dtype.bind(self.py).str().map(|name| name.to_string());
                let dtype = name.ok().and_then(|name| DType::from_name(&name));
                on.push(Autocast::of(DeviceKind::from_name(&cast.device), dtype));
            }
        }
        if outside.is_some_and(|device| !said.contains(&device)) {
            on.push(self.ctx.autocast);
        }
        match on[..] {
            [] => Autocast::Off,
            [one] => one,
            _ => Autocast::Other,
        }
    }

    /// Real contexts like the open ones, outermost first, for what runs real torch code while
    /// translating.
    ///
    /// # Errors
    /// Whatever torch raises.
    pub(crate) fn real_autocasts(&self) -> PyResult<Vec<Bound<'_, PyAny>>> {
        let mut out = Vec::new();
        for c in self.casts() {
            let class = self.py.import(MODULE)?.getattr("autocast")?;
            out.push(class.call1((&c.device, &c.dtype, c.enabled, c.cache))?);
        }
        out.reverse();
        Ok(out)
    }
}
