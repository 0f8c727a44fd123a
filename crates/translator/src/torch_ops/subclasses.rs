//! Tensors of the program's classes that have a `__torch_function__`: torch hands it what is done with them.
//!
//! Lives here: whether torch would ask a class now. Does not live here: how it is asked, and which classes can be
//! followed (the crate `torch-rules`).
//!
//! Invariant: while torch asks classes, nothing is said of such a tensor, and no operation on it becomes a
//! node, that its class was not asked about, unless torch does not ask it either.

use fx_graph::Arg;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};
use tensor_meta::{Alias, Inferred};
use variables::{Body, TensorVar, Var};

use super::args::{MetaArg, NodeArgs};
use crate::library::is_library;
use crate::raw::type_lookup;
use crate::stop::{MAX_NESTING, R, Stop};
use crate::tx::Tx;

impl<'py> Tx<'py> {
    /// Whether torch asks the class of a value now.
    pub fn asks_class(&self, v: &Var) -> bool {
        !self.st.asks_no_class && self.holds_subclass(v, 0)
    }

    /// Whether torch asks the class of one of these values now, or of one in a list or tuple among them.
    pub(crate) fn asks_classes<'a>(&self, mut values: impl Iterator<Item = &'a Var>) -> bool {
        !self.st.asks_no_class && values.any(|v| self.holds_subclass(v, 0))
    }

    fn holds_subclass(&self, v: &Var, depth: usize) -> bool {
        let item = |v| self.holds_subclass(v, depth + 1);
        match v {
            // A list that is in itself, which torch takes for no argument.
            _ if depth >= MAX_NESTING => false,
            Var::Tensor(t) => self.is_subclass(t),
            Var::Lazy(lazy) => self.object_holds_subclass(lazy.obj.bind(self.py)),
            Var::Tuple(t) => t.items.iter().any(item),
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) => items.iter().any(item),
                _ => false,
            },
            _ => false,
        }
    }

    /// The same for what was not looked at yet.
    fn object_holds_subclass(&self, object: &Bound<'py, PyAny>) -> bool {
        if let Ok(items) = object.cast_exact::<PyTuple>() {
            return items.iter().any(|o| self.object_holds_subclass(&o));
        }
        if let Ok(items) = object.cast_exact::<PyList>() {
            return items.iter().any(|o| self.is_asked(&o.get_type()));
        }
        self.is_asked(&object.get_type())
    }

    /// Whether a tensor's class has a `__torch_function__` of Python.
    pub fn is_subclass(&self, t: &TensorVar) -> bool {
        let class = t.class.bind(self.py).cast::<PyType>();
        class.is_ok_and(|class| self.is_asked(class))
    }

    /// Whether torch asks a class of tensors.
    pub fn is_asked(&self, class: &Bound<'py, PyType>) -> bool {
        let known = (self.known.tensor_types).contains(&(class.as_ptr() as usize));
        let base = self.known.tensor_base.bind(self.py);
        if known || !class.is_subclass(base).unwrap_or(false) {
            return false;
        }
        let off = self.known.torch_c.bind(self.py);
        let off = off.getattr("_disabled_torch_function_impl");
        let own = type_lookup(class, "__torch_function__");
        own.is_some_and(|own| {
            let is_off = off.is_ok_and(|off| own.is(&off));
            // What a library's class of wrappers does for torch is torch's business, as for an operator.
            let function = own.bind(self.py).getattr("__func__");
            let is_librarys = function.is_ok_and(|function| is_library(&function));
            !(is_off || is_librarys && self.is_wrapper_class(class))
        })
    }

    /// A tensor and the one of another class that was made of it are one tensor of the graph.
    ///
    /// # Errors
    /// A break for an operation that changes the size or autograd's record of only one of the two.
    pub(super) fn parts_no_class(&self, args: &NodeArgs, inferred: &Inferred) -> R<()> {
        let (Inferred::Tensor(made), Some(Arg::Node(of))) = (inferred, args.pos.first()) else {
            return Ok(());
        };
        let graph = &self.log.graph;
        let has_other = || {
            let users = graph.users(*of);
            graph.given_class(*of).is_some()
                || users.iter().any(|u| graph.given_class(*u).is_some())
        };
        if made.alias != Alias::Identity || !has_other() {
            return Ok(());
        }
        match args.meta_pos.first() {
            Some(MetaArg::Tensor(old))
                if old.shape == made.shape
                    && old.strides == made.strides
                    && old.requires_grad <= made.requires_grad =>
            {
                Ok(())
            }
            _ => Err(Stop::brk(
                "Tensor of two classes changed in place",
                "A tensor was given another class in the compiled function, and the operation changes the size, strides or autograd record of one of the two objects only.",
                "Use the form that gives a new tensor (`unsqueeze` for `unsqueeze_`, `detach` for `detach_`).",
            )),
        }
    }

    /// Runs a rule as torch runs a function that it asks no class about.
    pub fn without_classes<T>(&mut self, rule: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let before = std::mem::replace(&mut self.st.asks_no_class, true);
        let result = rule(self);
        self.st.asks_no_class = before;
        result
    }
}
