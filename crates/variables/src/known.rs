//! Python objects that rules compare with or build from, looked up once.

use crate::Obj;
use crate::raw::derives_from;
use pyo3::prelude::*;
use rustc_hash::FxHashSet;
use torch_abi::custom::Custom;
use torch_abi::names::TORCH_C;

macro_rules! known {
    ($($(#[$doc:meta])* $field:ident = $module:tt . $name:literal),* $(,)?) => {
        /// Well-known objects of Python and torch.
        #[allow(missing_docs)]
        pub struct Known {
            $($(#[$doc])* pub $field: Obj,)*
            const_types: FxHashSet<usize>,
            /// classes whose objects operators take as constants, which are among the constant ones too
            custom_constants: FxHashSet<usize>,
            /// classes whose objects operators take, with a state
            custom_objects: FxHashSet<usize>,
            /// scalar classes of NumPy, which are among the constant ones too
            numpy_scalars: FxHashSet<usize>,
            ndarray: Option<Obj>,
            frozendict: Option<Obj>,
            lazy_import: Option<Obj>,
            /// classes of tensors that are tracked
            pub tensor_types: FxHashSet<usize>,
        }

        impl Known {
            /// Looks everything up; torch has to be imported already or is imported now.
            ///
            /// # Errors
            /// Whatever a missing name raises: an unsupported torch or Python.
            pub fn new(py: Python<'_>) -> PyResult<Known> {
                $(let $field = dotted(&py.import($module)?.into_any(), $name)?.unbind();)*
                let mut known = Known { $($field,)* const_types: FxHashSet::default(), custom_constants: FxHashSet::default(), custom_objects: FxHashSet::default(), numpy_scalars: FxHashSet::default(), ndarray: None, frozendict: None, lazy_import: None, tensor_types: FxHashSet::default() };
                known.collect_types(py)?;
                Ok(known)
            }
        }
    };
}

known! {
    builtins = "builtins"."",
    object = "builtins"."object",
    type_ = "builtins"."type",
    list = "builtins"."list",
    tuple = "builtins"."tuple",
    dict = "builtins"."dict",
    set = "builtins"."set",
    frozenset = "builtins"."frozenset",
    slice = "builtins"."slice",
    int = "builtins"."int",
    float = "builtins"."float",
    bool_ = "builtins"."bool",
    str_ = "builtins"."str",
    range = "builtins"."range",
    super_ = "builtins"."super",
    property = "builtins"."property",
    classmethod = "builtins"."classmethod",
    staticmethod = "builtins"."staticmethod",
    zip = "builtins"."zip",
    enumerate = "builtins"."enumerate",
    map = "builtins"."map",
    filter = "builtins"."filter",
    iter = "builtins"."iter",
    base_exception = "builtins"."BaseException",
    stop_iteration = "builtins"."StopIteration",
    attribute_error = "builtins"."AttributeError",
    function = "types"."FunctionType",
    method = "types"."MethodType",
    builtin_function = "types"."BuiltinFunctionType",
    method_descriptor = "types"."MethodDescriptorType",
    wrapper_descriptor = "types"."WrapperDescriptorType",
    method_wrapper = "types"."MethodWrapperType",
    classmethod_descriptor = "types"."ClassMethodDescriptorType",
    getset_descriptor = "types"."GetSetDescriptorType",
    member_descriptor = "types"."MemberDescriptorType",
    generic_alias = "types"."GenericAlias",
    union_type = "types"."UnionType",
    module_type = "types"."ModuleType",
    cell = "types"."CellType",
    code = "types"."CodeType",
    generator = "types"."GeneratorType",
    traceback = "types"."TracebackType",
    namespace = "types"."SimpleNamespace",
    mappingproxy = "types"."MappingProxyType",
    ordered_dict = "collections"."OrderedDict",
    defaultdict = "collections"."defaultdict",
    deque = "collections"."deque",
    partial = "functools"."partial",
    cached_function = "functools"."_lru_cache_wrapper",
    weakref = "weakref"."ReferenceType",
    enum_ = "enum"."Enum",
    sys_modules = "sys"."modules",
    operator = "_operator"."",
    torch = "torch"."",
    torch_c = TORCH_C."",
    data_attr = TORCH_C."_autograd._get_data_attr",
    random_generator = "random"."Random",
    context_variable = "contextvars"."ContextVar",
    thread_local = "_thread"."_local",
    lock = "_thread"."LockType",
    rlock = "_thread"."RLock",
    script_function = TORCH_C."ScriptFunction",
    variable_functions = TORCH_C."_VariableFunctionsClass",
    tensor = "torch"."Tensor",
    tensor_base = TORCH_C."TensorBase",
    autograd_function = TORCH_C."_FunctionBase",
    asks_no_class = TORCH_C."DisableTorchFunctionSubclass",
    parameter = "torch.nn"."Parameter",
    buffer = "torch.nn"."Buffer",
    size = "torch"."Size",
    sym_int = "torch"."SymInt",
    dtype = "torch"."dtype",
    device = "torch"."device",
    layout = "torch"."layout",
    memory_format = "torch"."memory_format",
    module = "torch.nn"."Module",
    module_getattr = "torch.nn"."Module.__getattr__",
    module_setattr = "torch.nn"."Module.__setattr__",
    module_call = "torch.nn"."Module.__call__",
    recurrent = "torch.nn"."RNNBase",
    removable_handle = "torch.utils.hooks"."RemovableHandle",
}

/// Scalar classes of NumPy whose values are as good as Python's numbers. `bool_` has another name
/// in NumPy 2, which is an alias of it.
const NUMPY_SCALARS: [&str; 12] = [
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
];

impl Known {
    fn collect_types(&mut self, py: Python<'_>) -> PyResult<()> {
        let builtins = [
            "bool",
            "int",
            "float",
            "complex",
            "str",
            "bytes",
            "range",
            "frozenset",
        ];
        for (module, names) in [
            ("builtins", &builtins[..]),
            (
                "types",
                &["NoneType", "EllipsisType", "NotImplementedType"][..],
            ),
            // An enum of pybind11's, whose methods are no descriptors that Python knows.
            (TORCH_C, &["_SDPBackend"][..]),
        ] {
            for name in names {
                self.const_types
                    .insert(py.import(module)?.getattr(*name)?.as_ptr() as usize);
            }
        }
        for o in [&self.dtype, &self.device, &self.layout, &self.memory_format] {
            self.const_types.insert(o.as_ptr() as usize);
        }
        for o in [&self.tensor, &self.parameter, &self.buffer] {
            self.tensor_types.insert(o.as_ptr() as usize);
        }
        self.frozendict = self.builtins.getattr(py, "frozendict").ok();
        self.lazy_import = py
            .import("types")?
            .getattr("LazyImportType")
            .ok()
            .map(Bound::unbind);
        for (class, kind) in torch_abi::custom::custom_classes(py)? {
            let addr = class.as_ptr() as usize;
            match kind {
                Custom::Constant => {
                    self.const_types.insert(addr);
                    self.custom_constants.insert(addr);
                }
                Custom::Object => {
                    self.custom_objects.insert(addr);
                }
            }
        }
        self.collect_numpy(py)
    }

    /// NumPy's classes, where something has imported it (torch does where it is installed).
    fn collect_numpy(&mut self, py: Python<'_>) -> PyResult<()> {
        let Ok(numpy) = self.sys_modules.bind(py).get_item("numpy") else {
            return Ok(());
        };
        self.ndarray = Some(numpy.getattr("ndarray")?.unbind());
        for name in NUMPY_SCALARS {
            let addr = numpy.getattr(name)?.as_ptr() as usize;
            self.const_types.insert(addr);
            self.numpy_scalars.insert(addr);
            // Each dtype has a class of its own.
            let dtype = numpy.call_method1("dtype", (numpy.getattr(name)?,))?;
            self.const_types.insert(dtype.get_type().as_ptr() as usize);
        }
        Ok(())
    }

    /// Whether NumPy is there.
    pub fn has_numpy(&self) -> bool {
        self.ndarray.is_some()
    }

    /// Whether a class is one whose objects torch's operators take as constants.
    pub fn is_custom_constant(&self, class: &Bound<'_, PyAny>) -> bool {
        self.custom_constants.contains(&(class.as_ptr() as usize))
    }

    /// Whether a class is one whose objects torch's operators take as they are.
    pub fn is_custom_object(&self, class: &Obj) -> bool {
        self.custom_objects.contains(&(class.as_ptr() as usize))
    }

    /// Whether a class is one of NumPy's numbers or truth values: constants like Python's own.
    pub fn is_numpy_scalar(&self, class: &Bound<'_, PyAny>) -> bool {
        self.numpy_scalars.contains(&(class.as_ptr() as usize))
    }

    /// Whether a class is that of NumPy's arrays.
    pub fn is_exact_ndarray(&self, class: &Obj) -> bool {
        self.ndarray.as_ref().is_some_and(|c| c.is(class))
    }

    /// Whether a class is `frozendict` itself, which Python has from 3.15 on.
    pub fn is_frozendict(&self, class: &Obj) -> bool {
        self.frozendict.as_ref().is_some_and(|c| c.is(class))
    }

    /// Whether an object stands for what was imported lazily and not used yet (3.15 and later).
    pub fn is_lazy_import(&self, obj: &Bound<'_, PyAny>) -> bool {
        let class = self.lazy_import.as_ref();
        class.is_some_and(|c| obj.get_type().is(c.bind(obj.py())))
    }

    /// The class of dictionaries that never change, where Python has it.
    pub fn frozendict(&self) -> Option<&Obj> {
        self.frozendict.as_ref()
    }

    /// The class of NumPy's arrays.
    pub fn ndarray(&self) -> Option<&Obj> {
        self.ndarray.as_ref()
    }

    /// Whether an object is a NumPy array, of a subclass too.
    pub fn is_ndarray(&self, b: &Bound<'_, PyAny>) -> bool {
        let class = self.ndarray.as_ref();
        class.is_some_and(|c| derives_from(b, c.bind(b.py())))
    }

    /// Whether values of this exact class are [`variables::Var::Const`].
    pub fn is_const_type(&self, class: &Bound<'_, PyAny>) -> bool {
        self.const_types.contains(&(class.as_ptr() as usize))
    }
}

fn dotted<'py>(module: &Bound<'py, PyAny>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    path.split('.')
        .filter(|p| !p.is_empty())
        .try_fold(module.clone(), |o, p| o.getattr(p))
}
