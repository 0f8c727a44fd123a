//! Values as arguments of graph nodes, and as arguments of metadata rules.

use fx_graph::Arg;
use guards::GuardKind;
pub use operations::args::{MetaArg, MetaKwargs, NodeArgs};
use operations::args::{constant, plain_number, plain_value};
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use tensor_meta::DType;
use variables::{Body, Origin, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl<'py> Tx<'py> {
    /// Both forms of a call's arguments.
    ///
    /// # Errors
    /// A break for values that a graph can't hold.
    pub fn node_args(&mut self, args: &Args) -> R<NodeArgs> {
        let mut out = NodeArgs::default();
        for v in &args.pos {
            let (a, m) = self.node_arg(v)?;
            out.pos.push(a);
            out.meta_pos.push(m);
        }
        for (n, v) in &args.kw {
            let (a, m) = self.node_arg(v)?;
            out.kw.push((n.clone(), a));
            out.meta_kw.push((n.clone(), m));
        }
        Ok(out)
    }

    /// Both forms of a call's arguments, where numbers that are no constants stay that.
    ///
    /// # Errors
    /// As [`Tx::node_args`].
    pub fn node_args_with_sizes(&mut self, args: &Args) -> R<NodeArgs> {
        self.keeps_ints = true;
        let out = self.node_args(args);
        self.keeps_ints = false;
        out
    }

    /// Both forms of one argument.
    ///
    /// # Errors
    /// A break for values that a graph can't hold.
    pub fn node_arg(&mut self, var: &Var) -> R<(Arg, MetaArg)> {
        if self.keeps_conditions
            && let Some(node) = (self.rules.torch.condition_node)(self, var)?
        {
            return Ok((Arg::Node(node), MetaArg::Bool(true)));
        }
        let var = match self.keeps_ints {
            true => self.look(var)?,
            false => self.realize(var)?,
        };
        Ok(match &var {
            Var::Int(i) => {
                let size = self.size_of_int(i);
                let node = self.int_node(i)?;
                if let Some(used) = &mut self.used {
                    used.insert(node, var.clone());
                }
                (Arg::Node(node), MetaArg::SymInt(size))
            }
            Var::Float(f)
                if !self.ints.floats_as_inputs || !self.runs_as_is && !f.value.is_finite() =>
            {
                let Var::Const(number) = self.specialize_float(f)? else {
                    return Err(self.no_graph_argument(&var));
                };
                self.constant_arg(number.bind(self.py))
            }
            Var::Float(f) if self.reads(&f.expr) => {
                (Arg::Node(self.read_float_node(&f.expr)?), MetaArg::SymFloat)
            }
            Var::Float(f) => (Arg::Node(self.float_input(f)), MetaArg::SymFloat),
            Var::Tensor(t) => {
                if self.log.graph.get(t.node).is_none() {
                    return Err(Stop::Internal("a tensor whose node was dropped".into()));
                }
                if let Some(used) = &mut self.used {
                    used.insert(t.node, var.clone());
                }
                let meta = self.st.effects.meta(t).clone();
                (Arg::Node(t.node), MetaArg::Tensor(meta))
            }
            Var::Const(o) => {
                let b = o.bind(self.py);
                if self.known.is_numpy_scalar(b.get_type().as_any()) {
                    let Some(number) = plain_number(b)? else {
                        return Err(self.no_graph_argument(&var));
                    };
                    return Ok(self.constant_arg(&number));
                }
                self.constant_arg(b)
            }
            // An enum member that is a number or text as well: torch reads that.
            Var::Py(p) if let Some(plain) = plain_value(p.obj.bind(self.py))? => {
                self.constant_arg(&plain)
            }
            Var::Tuple(t)
                if t.class.is_none()
                    || t.class.as_ref().is_some_and(|c| c.is(&self.known.size)) =>
            {
                let (a, m) = self.node_arg_list(&t.items)?;
                (Arg::Tuple(a), MetaArg::Tuple(m))
            }
            Var::Slice(s) => {
                let (a, m) = self.node_arg_list(&s[..])?;
                let [a0, a1, a2]: [Arg; 3] =
                    a.try_into().map_err(|_| Stop::Internal("slice".into()))?;
                let m: [MetaArg; 3] = m.try_into().map_err(|_| Stop::Internal("slice".into()))?;
                (Arg::slice(a0, a1, a2), MetaArg::Slice(Box::new(m)))
            }
            Var::Obj(_) if let Some((of, dim)) = self.ragged_size(&var) => {
                self.ragged_arg(&of, dim)?
            }
            Var::Obj(id) => match self.obj(*id).body.clone() {
                Body::List(items) if self.obj(*id).class.is(&self.known.list) => {
                    let items: Vec<Var> = items.into_iter().collect();
                    let (a, m) = self.node_arg_list(&items)?;
                    (Arg::List(a), MetaArg::List(m))
                }
                Body::Dict(map) if self.obj(*id).class.is(&self.known.dict) => {
                    let (mut items, mut metas) = (Vec::new(), Vec::new());
                    for (k, v) in map.iter() {
                        let ((k, key), (v, value)) = (self.node_arg(k)?, self.node_arg(v)?);
                        items.push((k, v));
                        metas.extend([key, value]);
                    }
                    (Arg::Dict(items), MetaArg::Dict(metas))
                }
                Body::Plain
                    if let Origin::Source { obj, source } = self.obj(*id).origin.clone()
                        && self.known.is_custom_object(&self.obj(*id).class) =>
                {
                    let pinned = self.pin(&obj, false);
                    self.guard(source, GuardKind::IdMatch { obj: pinned });
                    self.constant_arg(obj.bind(self.py))
                }
                Body::Value(plain) => return self.node_arg(&Var::Const(plain.clone())),
                _ => return Err(self.no_graph_argument(&var)),
            },
            Var::Py(p) if self.is_legacy_type(p.obj.bind(self.py))? => {
                // The code of a graph has no other text for it.
                let class = p.obj.bind(self.py);
                let (module, name) = (class.getattr("__module__")?, class.getattr("__name__")?);
                let text = format!("{module}.{name}");
                (Arg::Str(text.clone().into()), MetaArg::Str(text))
            }
            Var::Py(p) => {
                let b = p.obj.bind(self.py).clone();
                let meta = if b.is(self.known.float.bind(self.py)) {
                    MetaArg::DType(DType::Float64)
                } else if b.is(self.known.int.bind(self.py)) {
                    MetaArg::DType(DType::Int64)
                } else if b.is(self.known.bool_.bind(self.py)) {
                    MetaArg::DType(DType::Bool)
                } else if b.is_instance_of::<pyo3::types::PyType>()
                    || b.get_type().is(self.known.function.bind(self.py))
                {
                    MetaArg::Unknown
                } else {
                    return Err(self.no_graph_argument(&var));
                };
                let handle = self.handle(&p.obj);
                (
                    Arg::Opaque {
                        handle,
                        repr: b.repr()?.to_string().into(),
                    },
                    meta,
                )
            }
            _ => return Err(self.no_graph_argument(&var)),
        })
    }

    /// Whether an object is one of the types that tensors once had by dtype and device (`torch.IntTensor`), which
    /// torch takes by its name as well.
    fn is_legacy_type(&self, obj: &Bound<'py, PyAny>) -> R<bool> {
        let torch = self.known.torch.bind(self.py);
        Ok(obj.get_type().is(torch.getattr("FloatTensor")?.get_type()))
    }

    /// Whether a function is Python code of torch's, which looks at what it is given.
    pub(super) fn is_python_of_torch(path: &str) -> bool {
        path.starts_with("torch.nn.functional.") || path.starts_with("torch.functional.")
    }

    /// Whether a number of NumPy is in a value. Those that are Python floats as well do not count
    /// for an operation that looks at classes only.
    pub fn holds_numpy(&mut self, v: &Var, floats: bool) -> R<bool> {
        self.any_element(v, &|tx, v| {
            let Var::Const(o) = v else { return false };
            let b = o.bind(tx.py);
            tx.known.is_numpy_scalar(b.get_type().as_any())
                && (floats || !b.is_instance_of::<PyFloat>())
        })
    }

    /// Whether `found` says so of a value, or of an item of the tuples and lists that it is made of.
    pub(super) fn any_element(&mut self, v: &Var, found: &dyn Fn(&Self, &Var) -> bool) -> R<bool> {
        let v = self.look(v)?;
        if found(self, &v) {
            return Ok(true);
        }
        let items: Vec<Var> = match &v {
            Var::Tuple(t) => t.items.clone(),
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) => items.iter().cloned().collect(),
                _ => return Ok(false),
            },
            _ => return Ok(false),
        };
        for item in &items {
            if self.inside(|tx| tx.any_element(item, found))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn no_graph_argument(&self, var: &Var) -> Stop {
        Stop::brk(
            format!("Argument that a graph can't hold: {}", self.describe(var)),
            "A tensor operation was called with an object that is neither a tensor, a constant nor a container of these.",
            "Pass tensors and values of Python to tensor operations.",
        )
    }

    fn node_arg_list(&mut self, items: &[Var]) -> R<(Vec<Arg>, Vec<MetaArg>)> {
        let mut a = Vec::with_capacity(items.len());
        let mut m = Vec::with_capacity(items.len());
        for v in items {
            let (x, y) = self.node_arg(v)?;
            a.push(x);
            m.push(y);
        }
        Ok((a, m))
    }

    fn constant_arg(&mut self, b: &Bound<'py, PyAny>) -> (Arg, MetaArg) {
        let known = self.known.clone();
        constant(&known, b, &mut |object| self.handle(object))
    }
}
