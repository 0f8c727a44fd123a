//! A call of NumPy as a node of the graph.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple, PyType};
use tensor_meta::Inferred;
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::{Body, TupleVar, Var};

use crate::operation::{Maker, operation};
use crate::probe::{Call, Probed, Stand, class_of, shares};
use crate::values::{array_of, check_state, new_array};

/// What is called.
pub(crate) struct What<'a, 'py> {
    /// its name, in a reason and in the graph
    pub(crate) name: &'a str,
    /// NumPy's
    pub(crate) real: Bound<'py, PyAny>,
    /// torch's, where it has it
    pub(crate) torch: Option<Bound<'py, PyAny>>,
    /// whether it is computed item by item, so that operands become of one dtype first
    pub(crate) is_universal: bool,
}

/// Makes a call: an operation of the graph, or a constant where NumPy gives one for constants. `None`: an argument is
/// nothing that such an operation takes.
///
/// # Errors
/// A break where NumPy raises, or torch has nothing that gives the same.
pub(crate) fn call<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
    let py = tx.py;
    let mut stands = Vec::new();
    let mut pos = Vec::with_capacity(args.pos.len());
    for v in &args.pos {
        match real_arg(tx, v, &mut stands)? {
            Some(real) => pos.push(real),
            None => return Ok(None),
        }
    }
    let kw = PyDict::new(py);
    for (name, v) in &args.kw {
        match real_arg(tx, v, &mut stands)? {
            Some(real) => kw.set_item(&**name, real)?,
            None => return Ok(None),
        }
    }
    let pos = PyTuple::new(py, pos)?;
    let real = Call {
        function: &what.real,
        pos: &pos,
        kw: &kw,
        stands: &stands,
        is_known: stands.iter().all(|stand| stand.is_known),
    };
    let probed = real.probe(what.name)?;
    if probed.writes.is_empty() {
        let is_constant = !holds_array(tx, &probed.result);
        if real.is_known && is_constant || is_dtype(py, &probed.result)? {
            return value(tx.from_const(probed.result)?);
        }
        if let Some(stand) = stands.iter().find(|s| s.real.is(&probed.result)) {
            return value(Var::Obj(stand.array.id));
        }
    }
    check_state(tx)?;
    let Some(function) = &what.torch else {
        return Err(Stop::brk(
            format!("NumPy operation that torch does not have: {}", what.name),
            "NumPy is captured as the operations that torch has on tensors, and it has none for this one.",
            "Use another function of NumPy or torch's, or call it outside of the compiled function.",
        ));
    };
    let node = Node {
        what,
        real: &real,
        probed: &probed,
        on_tensors: on_tensors(what, function, &real)?,
    };
    node.emit(tx, function, args).map(|v| Some(Flow::Value(v)))
}

/// A call that becomes a node.
struct Node<'a, 'py> {
    what: &'a What<'a, 'py>,
    real: &'a Call<'a, 'py>,
    probed: &'a Probed<'py>,
    /// what torch gives for what NumPy was asked with
    on_tensors: Bound<'py, PyAny>,
}

impl<'py> Node<'_, 'py> {
    fn emit(&self, tx: &mut Tx<'py>, function: &Bound<'py, PyAny>, args: &Args) -> R<Var> {
        let target = operation(
            function,
            self.what.name.rsplit('.').next().unwrap_or("call"),
        )?;
        let mut args = graph_args(tx, args)?;
        let path = format!("numpy.{}", self.what.name);
        let callee = Callee::Function(&target, &path, None);
        let writes = !self.probed.writes.is_empty();
        let before = tx.snapshot();
        let mut node_args = tx.node_args(&args)?;
        let mut inferred = tx.infer_fake(&callee, &node_args, "")?;
        if !fits(&self.probed.result, &inferred)? {
            tx.restore(&before);
            if writes || !self.converts_operands(tx, &mut args)? {
                return Err(self.differs());
            }
            node_args = tx.node_args(&args)?;
            inferred = tx.infer_fake(&callee, &node_args, "")?;
            if !fits(&self.probed.result, &inferred)? {
                return Err(self.differs());
            }
        }
        for at in &self.probed.writes {
            self.check_write(tx, *at)?;
        }
        let effects = &tx.st.effects;
        let kept = (effects.known_values.clone(), effects.writes);
        let made = tx.emit_inferred_as(&callee, node_args, inferred, &args, !writes)?;
        if writes {
            tx.st.effects.array_writes += 1;
        } else {
            (tx.st.effects.known_values, tx.st.effects.writes) = kept;
        }
        self.result(tx, &self.probed.result, &self.on_tensors, &made)
    }

    /// Makes integer operands what a universal function of NumPy makes them before it computes: of the dtype of its
    /// floating-point result. Whether it does; torch may compute in another one.
    fn converts_operands(&self, tx: &mut Tx<'py>, args: &mut Args) -> R<bool> {
        let real = &self.probed.result;
        if !self.what.is_universal || !real.hasattr("dtype")? {
            return Ok(false);
        }
        let dtype = real.getattr("dtype")?;
        if dtype.getattr("kind")?.extract::<String>()? != "f" {
            return Ok(false);
        }
        let name: String = dtype.getattr("name")?.extract()?;
        let wanted = tx.known.torch.getattr(tx.py, &*name)?;
        let mut converts = false;
        for v in &mut args.pos {
            if let Var::Tensor(t) = v
                && tx.st.effects.meta(t).dtype.is_integral()
            {
                let wanted = tx.from_const(wanted.bind(tx.py).clone())?;
                *v = tx.emit(&Callee::Method("to"), &Args::pos(vec![v.clone(), wanted]))?;
                converts = true;
            }
        }
        Ok(converts)
    }

    fn differs(&self) -> Stop {
        Stop::brk(
            format!(
                "NumPy operation that torch does otherwise: {}",
                self.what.name
            ),
            "NumPy is captured as the operations that torch has on tensors; of this one torch's result has another class, dtype, size or memory than NumPy's.",
            "Name the dtype, use another function, or call it outside of the compiled function.",
        )
    }

    /// # Errors
    /// A break where an array may not be written to, or a compiler would not see who else has its memory.
    fn check_write(&self, tx: &Tx<'py>, at: usize) -> R<()> {
        let array = &self.real.stands[at].array;
        if !array.body.writeable {
            return Err(Stop::raises(
                format!("Write to a read-only NumPy array: {}", self.what.name),
                "NumPy refuses the write; the operation runs as plain Python so that it does.",
                "Write to a copy of the array.",
            ));
        }
        check_memory(tx)
    }

    /// The value that stands for a result.
    fn result(
        &self,
        tx: &mut Tx<'py>,
        real: &Bound<'py, PyAny>,
        torch: &Bound<'py, PyAny>,
        made: &Var,
    ) -> R<Var> {
        let stands = self.real.stands;
        if let Some(stand) = stands.iter().find(|s| s.real.is(real)) {
            return Ok(Var::Obj(stand.array.id));
        }
        if let Var::Tensor(_) = made {
            let array = torch.call_method0("numpy")?;
            let is_view = shares(real, stands)?;
            let becomes_view = shares(&array, stands)?;
            if is_view && !becomes_view {
                return Err(self.differs());
            }
            let made = match becomes_view && !is_view {
                true => tx.emit(&Callee::Method("clone"), &Args::pos(vec![made.clone()]))?,
                false => made.clone(),
            };
            let Var::Tensor(tensor) = made else {
                return Err(Stop::Internal("a clone that is no tensor".into()));
            };
            let is_known = self.real.is_known && self.probed.writes.is_empty();
            let known = is_known.then(|| real.clone().unbind());
            let maker = match tx.known.is_ndarray(real) {
                false => Maker::Number,
                true if (real.getattr("flags")?.getattr("writeable")?).is_truthy()? => Maker::Array,
                true => Maker::ReadOnlyArray,
            };
            return new_array(tx, tensor, class_of(real), maker, known);
        }
        let items: Vec<Var> = match made {
            Var::Tuple(t) => t.items.clone(),
            Var::Obj(id) => match &tx.obj(*id).body {
                Body::List(items) => items.iter().cloned().collect(),
                _ => return Ok(made.clone()),
            },
            _ => return Ok(made.clone()),
        };
        let mut all = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            all.push(self.result(tx, &real.get_item(i)?, &torch.get_item(i)?, item)?);
        }
        Ok(match real.is_exact_instance_of::<PyList>() {
            true => tx.new_list(all),
            false => Var::Tuple(std::rc::Rc::new(TupleVar {
                items: all,
                class: (!real.is_exact_instance_of::<PyTuple>()).then(|| class_of(real)),
                origin: None,
            })),
        })
    }
}

/// Whether memory of arrays may be written to.
///
/// # Errors
/// A break for a compiler that would not see that two inputs lie in the same memory: only tensors say so.
pub(crate) fn check_memory(tx: &Tx<'_>) -> R<()> {
    if tx.runs_as_is {
        return Ok(());
    }
    let early = |i: &&translator::tx::GraphInput| tx.is_early(i.source);
    if tx.log.inputs.iter().any(|i| early(&i)) && tx.log.inputs.len() > 1 {
        let numpy = tx.py.import("numpy")?;
        let arrays = tx.log.inputs.iter().map(|i| {
            let detached = i.obj.bind(tx.py).call_method0("detach")?;
            detached.call_method0("numpy")
        });
        let arrays = arrays.collect::<PyResult<Vec<_>>>()?;
        for (at, a) in arrays.iter().enumerate() {
            for b in &arrays[..at] {
                if numpy
                    .call_method1("may_share_memory", (a, b))?
                    .is_truthy()?
                {
                    return Err(Stop::brk(
                        "Write to a NumPy array that may lie in the memory of another argument",
                        "A compiler sees that two inputs share memory by their storages, and those of arrays are apart.",
                        "Pass copies, or write to the array outside of the compiled function.",
                    ));
                }
            }
        }
    }
    Ok(())
}

/// An argument as NumPy gets it; `None` for what is neither an array, nor a constant, nor made of these.
fn real_arg<'py>(
    tx: &mut Tx<'py>,
    v: &Var,
    stands: &mut Vec<Stand<'py>>,
) -> R<Option<Bound<'py, PyAny>>> {
    let py = tx.py;
    let v = tx.realize(v)?;
    if let Some(array) = array_of(tx, &v)? {
        if let Some(stand) = stands.iter().find(|s| s.array.id == array.id) {
            return Ok(Some(stand.real.clone()));
        }
        let stand = Stand::new(tx, array)?;
        let real = stand.real.clone();
        stands.push(stand);
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
    let mut all = Vec::with_capacity(items.len());
    for item in &items {
        match tx.inside(|tx| real_arg(tx, item, stands))? {
            Some(real) => all.push(real),
            None => return Ok(None),
        }
    }
    Ok(Some(match &v {
        Var::Tuple(_) => PyTuple::new(py, all)?.into_any(),
        Var::Slice(_) => py.get_type::<PySlice>().call1(PyTuple::new(py, all)?)?,
        _ => PyList::new(py, all)?.into_any(),
    }))
}

/// Whether NumPy meets no code of the user in a constant: numbers, text, classes of numbers, and sequences of these.
fn is_plain(tx: &Tx<'_>, o: &Bound<'_, PyAny>) -> bool {
    if let Ok(class) = o.cast::<PyType>() {
        return tx.known.is_const_type(class.as_any());
    }
    let class = o.get_type();
    tx.known.is_const_type(class.as_any()) || class.is(tx.known.size.bind(o.py()))
}

fn is_dtype(py: Python<'_>, o: &Bound<'_, PyAny>) -> PyResult<bool> {
    o.is_instance(&py.import("numpy")?.getattr("dtype")?)
}

fn holds_array(tx: &Tx<'_>, o: &Bound<'_, PyAny>) -> bool {
    if let Ok(items) = o.cast::<PyTuple>() {
        return items.iter().any(|i| holds_array(tx, &i));
    }
    if let Ok(items) = o.cast::<PyList>() {
        return items.iter().any(|i| holds_array(tx, &i));
    }
    tx.known.is_ndarray(o)
}

// ---- the arguments of a node --------------------------------------------------------------------

fn graph_args(tx: &mut Tx<'_>, args: &Args) -> R<Args> {
    let mut out = Args::default();
    for v in &args.pos {
        out.pos.push(graph_arg(tx, v)?);
    }
    for (name, v) in &args.kw {
        out.kw.push((name.clone(), graph_arg(tx, v)?));
    }
    Ok(out)
}

/// An argument as the node gets it: tensors for arrays and for NumPy's numbers, which have dtypes; names for dtypes.
fn graph_arg(tx: &mut Tx<'_>, v: &Var) -> R<Var> {
    let v = tx.realize(v)?;
    if let Some(array) = array_of(tx, &v)? {
        return Ok(Var::Tensor(array.body.tensor.clone()));
    }
    let all = |tx: &mut Tx<'_>, items: &[Var]| -> R<Vec<Var>> {
        items.iter().map(|item| graph_arg(tx, item)).collect()
    };
    match &v {
        Var::Tuple(t) if t.class.is_none() => Ok(Var::tuple(all(tx, &t.items)?)),
        Var::Slice(parts) => {
            let parts: [Var; 3] = all(tx, &parts[..])?
                .try_into()
                .map_err(|_| Stop::Internal("a slice of other than three parts".into()))?;
            Ok(Var::Slice(std::rc::Rc::new(parts)))
        }
        Var::Obj(id) => match tx.obj(*id).body.clone() {
            Body::List(items) => {
                let items: Vec<Var> = items.into_iter().collect();
                let items = all(tx, &items)?;
                Ok(tx.new_list(items))
            }
            _ => Ok(v.clone()),
        },
        Var::Const(o) => {
            let b = o.bind(tx.py).clone();
            if tx.known.is_numpy_scalar(b.get_type().as_any()) {
                return number_node(tx, &b);
            }
            match dtype_text(&b)? {
                Some(name) => Ok(tx.str(&name)),
                None => Ok(v.clone()),
            }
        }
        Var::Py(p) => match dtype_text(p.obj.bind(tx.py))? {
            Some(name) => Ok(tx.str(&name)),
            None => Ok(v.clone()),
        },
        _ => Ok(v.clone()),
    }
}

/// The name of a dtype, or of that which a class of numbers stands for.
fn dtype_text(o: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = o.py();
    let dtype = py.import("numpy")?.getattr("dtype")?;
    if !o.is_instance(&dtype)? && o.cast::<PyType>().is_err() {
        return Ok(None);
    }
    dtype.call1((o,))?.getattr("name")?.extract().map(Some)
}

/// A number of NumPy's, with its dtype, as a node.
fn number_node<'py>(tx: &mut Tx<'py>, number: &Bound<'py, PyAny>) -> R<Var> {
    let py = tx.py;
    let asarray = py.import("numpy")?.getattr("asarray")?;
    let table = torch_abi::arrays::TorchNumpy::get(py)?;
    let Some(function) = table.of(&asarray) else {
        return Err(Stop::unsupported("a number of NumPy's in an operation"));
    };
    let target = operation(&function, "asarray")?;
    let callee = Callee::Function(&target, "numpy.asarray", None);
    let plain = tx.from_const(number.call_method0("item")?)?;
    let name: String = number.getattr("dtype")?.getattr("name")?.extract()?;
    let args = Args {
        pos: vec![plain],
        kw: vec![("dtype".into(), tx.str(&name))],
    };
    let node_args = tx.node_args(&args)?;
    let inferred = tx.infer_fake(&callee, &node_args, "")?;
    tx.emit_inferred_as(&callee, node_args, inferred, &args, true)
}

// ---- what torch gives ---------------------------------------------------------------------------

/// What torch gives for the arguments that NumPy was asked with, on their memory.
fn on_tensors<'py>(
    what: &What<'_, 'py>,
    function: &Bound<'py, PyAny>,
    real: &Call<'_, 'py>,
) -> R<Bound<'py, PyAny>> {
    let py = function.py();
    let run = || -> PyResult<Bound<'py, PyAny>> {
        let target = operation(function, what.name)?;
        let pos = real.pos.iter().map(|o| tensors_in(&o));
        let pos = PyTuple::new(py, pos.collect::<PyResult<Vec<_>>>()?)?;
        let kw = PyDict::new(py);
        for (name, o) in real.kw.iter() {
            kw.set_item(name, tensors_in(&o)?)?;
        }
        target.bind(py).call(pos, Some(&kw))
    };
    run().map_err(|e| {
        Stop::brk(
            format!("NumPy operation that torch refuses: {}", what.name),
            format!("NumPy is captured as the operations that torch has on tensors, and this one raises there: {}", e.value(py)),
            "Use other arguments or another function, or call it outside of the compiled function.",
        )
    })
}

/// An argument with tensors in place of arrays and numbers, and names in place of dtypes.
fn tensors_in<'py>(o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = o.py();
    let numpy = py.import("numpy")?;
    let is_array = o.is_instance(&numpy.getattr("ndarray")?)?;
    if is_array || o.is_instance(&numpy.getattr("generic")?)? {
        let array = match is_array {
            true => o.clone(),
            false => numpy.call_method1("array", (o,))?,
        };
        (array.getattr("flags")?).setattr("writeable", true)?;
        return py.import("torch")?.call_method1("from_numpy", (array,));
    }
    let each = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| {
        items.map(|i| tensors_in(&i)).collect::<PyResult<Vec<_>>>()
    };
    if let Ok(items) = o.cast_exact::<PyTuple>() {
        return Ok(PyTuple::new(py, each(&mut items.iter())?)?.into_any());
    }
    if let Ok(items) = o.cast_exact::<PyList>() {
        return Ok(PyList::new(py, each(&mut items.iter())?)?.into_any());
    }
    if o.cast_exact::<PySlice>().is_ok() {
        let part = |name| tensors_in(&o.getattr(name)?);
        return o
            .get_type()
            .call1((part("start")?, part("stop")?, part("step")?));
    }
    match dtype_text(o)? {
        Some(name) => Ok(pyo3::types::PyString::new(py, &name).into_any()),
        None => Ok(o.clone()),
    }
}

/// Whether what torch gives looks like what NumPy gives.
fn fits(real: &Bound<'_, PyAny>, inferred: &Inferred) -> PyResult<bool> {
    let numpy = real.py().import("numpy")?;
    Ok(match inferred {
        Inferred::Tensor(meta) => {
            let is_array = real.is_instance(&numpy.getattr("ndarray")?)?;
            if !is_array && !real.is_instance(&numpy.getattr("generic")?)? {
                return Ok(false);
            }
            let name: String = real.getattr("dtype")?.getattr("name")?.extract()?;
            let shape: Vec<i64> = real.getattr("shape")?.extract()?;
            name == crate::values::dtype_name(meta) && meta.sizes().as_deref() == Some(&shape[..])
        }
        Inferred::None => real.is_none(),
        Inferred::Tuple(items) | Inferred::List(items) | Inferred::NamedTuple { items, .. } => {
            let is_sequence = real.cast::<PyTuple>().is_ok() || real.cast::<PyList>().is_ok();
            if !is_sequence || real.len()? != items.len() {
                return Ok(false);
            }
            for (i, item) in items.iter().enumerate() {
                if !fits(&real.get_item(i)?, item)? {
                    return Ok(false);
                }
            }
            true
        }
        // Fake tensors have no values that it could depend on.
        Inferred::Int(n) => real.extract::<i64>().ok() == n.as_const(),
        Inferred::Bool(b) => real.extract::<bool>().ok() == Some(*b),
        _ => false,
    })
}
