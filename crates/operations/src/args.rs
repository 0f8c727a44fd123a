//! Arguments of an operation: as values, for a node of the graph, and for a metadata rule.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Arg, NodeId};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString};
use tensor_meta::{DType, Device, MemoryFormat, SymInt, TensorMeta, Value};
use variables::known::Known;
use variables::{Obj, Var};

/// Arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// positional
    pub pos: Vec<Var>,
    /// keywords, in order
    pub kw: Vec<(Arc<str>, Var)>,
}

impl Args {
    /// Positional arguments only.
    pub fn pos(pos: Vec<Var>) -> Args {
        Args {
            pos,
            kw: Vec::new(),
        }
    }

    /// All values: those by position, and those of keywords.
    pub fn values(&self) -> impl Iterator<Item = &Var> {
        self.pos.iter().chain(self.kw.iter().map(|(_, v)| v))
    }

    /// The same names and places with other values, in the order of [`Args::values`].
    pub fn with_values(&self, values: &[Var]) -> Args {
        let (pos, named) = values.split_at(self.pos.len());
        let names = self.kw.iter().map(|(name, _)| name.clone());
        Args {
            pos: pos.to_vec(),
            kw: names.zip(named.iter().cloned()).collect(),
        }
    }

    /// The value of a keyword.
    pub fn named(&self, name: &str) -> Option<&Var> {
        let found = self.kw.iter().find(|(n, _)| &**n == name);
        found.map(|(_, v)| v)
    }

    /// Removes a keyword.
    pub fn take_kw(&mut self, name: &str) -> Option<Var> {
        let i = self.kw.iter().position(|(n, _)| &**n == name)?;
        Some(self.kw.remove(i).1)
    }
}

/// An owned form of [`Value`], which borrows.
#[derive(Debug, Clone)]
pub enum MetaArg {
    /// tensor
    Tensor(Rc<TensorMeta>),
    /// int
    Int(i64),
    /// an int that is no constant
    SymInt(SymInt),
    /// the size of the rows of a tensor, which differ in length: its node, the dimension
    RaggedSize(NodeId, usize),
    /// float
    Float(f64),
    /// a float that is no constant
    SymFloat,
    /// bool
    Bool(bool),
    /// complex
    Complex(f64, f64),
    /// `None`
    None,
    /// str
    Str(String),
    /// dtype
    DType(DType),
    /// device
    Device(Device),
    /// memory format
    MemoryFormat(MemoryFormat),
    /// `torch.strided`
    Strided,
    /// list
    List(Vec<MetaArg>),
    /// tuple
    Tuple(Vec<MetaArg>),
    /// dict: keys and what they stand for, by turns
    Dict(Vec<MetaArg>),
    /// slice
    Slice(Box<[MetaArg; 3]>),
    /// `...`
    Ellipsis,
    /// anything else
    Unknown,
}

impl MetaArg {
    /// The borrowing form.
    pub fn value(&self) -> Value<'_> {
        match self {
            MetaArg::Tensor(t) => Value::Tensor(t),
            MetaArg::Int(i) => Value::Int(*i),
            MetaArg::SymInt(SymInt::Const(n)) => Value::Int(*n),
            MetaArg::SymInt(SymInt::Expr(expr)) => Value::SymInt(*expr),
            MetaArg::Float(f) => Value::Float(*f),
            MetaArg::SymFloat => Value::SymFloat,
            MetaArg::Bool(b) => Value::Bool(*b),
            MetaArg::Complex(a, b) => Value::Complex(*a, *b),
            MetaArg::None => Value::None,
            MetaArg::Str(s) => Value::Str(s),
            MetaArg::DType(d) => Value::DType(*d),
            MetaArg::Device(d) => Value::Device(*d),
            MetaArg::MemoryFormat(m) => Value::MemoryFormat(*m),
            MetaArg::Strided => Value::Strided,
            MetaArg::List(v) => Value::List(v.iter().map(MetaArg::value).collect()),
            MetaArg::Tuple(v) => Value::Tuple(v.iter().map(MetaArg::value).collect()),
            MetaArg::Slice(s) => Value::slice(s[0].value(), s[1].value(), s[2].value()),
            MetaArg::Ellipsis => Value::Ellipsis,
            MetaArg::RaggedSize(..) | MetaArg::Dict(_) | MetaArg::Unknown => Value::Unknown,
        }
    }
}

/// Keyword arguments for a metadata rule.
pub type MetaKwargs = Vec<(Arc<str>, MetaArg)>;

/// Arguments of a node in both forms.
#[derive(Clone, Debug, Default)]
pub struct NodeArgs {
    /// for the graph
    pub pos: Vec<Arg>,
    /// for the graph
    pub kw: fx_graph::Kwargs,
    /// for the metadata rule
    pub meta_pos: Vec<MetaArg>,
    /// for the metadata rule
    pub meta_kw: MetaKwargs,
}

/// Both forms of a constant; `handle` gives the number by which the graph names an object that is neither a number nor
/// a text.
pub fn constant(
    known: &Known,
    b: &Bound<'_, PyAny>,
    handle: &mut dyn FnMut(&Obj) -> u32,
) -> (Arg, MetaArg) {
    if b.is_none() {
        return (Arg::None, MetaArg::None);
    }
    if let Ok(v) = b.cast_exact::<PyBool>() {
        return (Arg::Bool(v.is_true()), MetaArg::Bool(v.is_true()));
    }
    if let Ok(v) = b.cast_exact::<PyInt>()
        && let Ok(i) = v.extract::<i64>()
    {
        return (Arg::Int(i), MetaArg::Int(i));
    }
    if let Ok(v) = b.cast_exact::<PyFloat>() {
        return (Arg::Float(v.value()), MetaArg::Float(v.value()));
    }
    if let Ok(v) = b.cast_exact::<PyString>()
        && let Ok(s) = v.to_str()
    {
        return (Arg::Str(s.into()), MetaArg::Str(s.into()));
    }
    if b.is(b.py().Ellipsis()) {
        return (Arg::Ellipsis, MetaArg::Ellipsis);
    }
    let meta = if let Ok(v) = b.cast_exact::<PyComplex>() {
        MetaArg::Complex(v.real(), v.imag())
    } else {
        let ty = b.get_type();
        let text = b.str().map_or_else(|_| String::new(), |s| s.to_string());
        if ty.is(known.dtype.bind(b.py())) {
            DType::from_name(&text).map_or(MetaArg::Unknown, MetaArg::DType)
        } else if ty.is(known.device.bind(b.py())) {
            Device::parse(&text).map_or(MetaArg::Unknown, MetaArg::Device)
        } else if ty.is(known.memory_format.bind(b.py())) {
            match text.as_str() {
                "torch.contiguous_format" => MetaArg::MemoryFormat(MemoryFormat::Contiguous),
                "torch.preserve_format" => MetaArg::MemoryFormat(MemoryFormat::Preserve),
                "torch.channels_last" => MetaArg::MemoryFormat(MemoryFormat::ChannelsLast),
                "torch.channels_last_3d" => MetaArg::MemoryFormat(MemoryFormat::ChannelsLast3d),
                _ => MetaArg::Unknown,
            }
        } else if ty.is(known.layout.bind(b.py())) && text == "torch.strided" {
            MetaArg::Strided
        } else {
            MetaArg::Unknown
        }
    };
    let handle = handle(&b.clone().unbind());
    let repr = b.repr().map_or_else(|_| "?".to_string(), |r| r.to_string());
    (
        Arg::Opaque {
            handle,
            repr: repr.into(),
        },
        meta,
    )
}

/// The Python number that a tensor operation makes of NumPy's; `None` for what it takes otherwise.
///
/// # Errors
/// What reading the number raises.
pub fn plain_number<'py>(b: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let number = b.call_method0("item")?;
    let fits = number.is_exact_instance_of::<PyFloat>()
        || number.is_exact_instance_of::<PyInt>() && number.extract::<i64>().is_ok();
    Ok(fits.then_some(number))
}

/// The number or text that an instance of a subclass is.
///
/// # Errors
/// What Python raises.
pub fn plain_value<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = obj.py();
    let (base, method) = if obj.is_instance_of::<PyInt>() {
        (py.get_type::<PyInt>(), "__pos__")
    } else if obj.is_instance_of::<PyFloat>() {
        (py.get_type::<PyFloat>(), "__pos__")
    } else if obj.is_instance_of::<PyString>() {
        (py.get_type::<PyString>(), "__str__")
    } else {
        return Ok(None);
    };
    base.call_method1(method, (obj,)).map(Some)
}
