//! From a frame (or a call about to make one) to a translation ready to run.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use guards::exec::Pins;
use guards::{ConstVal, GlobalState, GuardKind, Source, exec};
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict, PyTuple};
use tensor_meta::{Autocast, Ctx, DType, Device, DeviceKind};
use torch_abi::{TorchAbi, overlap};
use torch_rules::has_program_mode;
use translator::code::CodeCache;
use translator::known::Known;
use translator::rules::{Graphs, Rules};
use translator::state::State;
use translator::torch_ops::raising;
use translator::torch_ops::table::FnTable;
use translator::{R, Stop, Tx};
use variables::{Body, EarlyArg, Obj, ObjState, Origin, Var};

/// The state in which `__torch_function__` of modes is not asked either.
const ALL_ENABLED: u8 = 0;
const ALL_DISABLED: u8 = 2;

/// The rules that hang on the interpreter.
static RULES: Rules = Rules::new(
    &[builtins::LISTED, numpy_rules::LISTED, torch_rules::LISTED],
    &[builtins::FOUND, numpy_rules::FOUND],
    builtins::ASKED,
    numpy_rules::ASKED,
    torch_rules::ASKED,
    Graphs {
        part: backends::subgraph,
        put_back: backends::put_back,
    },
);

/// What is translated: a function's code with its arguments bound.
pub struct Request<'a, 'py> {
    /// the code
    pub code: Bound<'py, PyCode>,
    /// the globals that it runs in
    pub globals: Bound<'py, PyDict>,
    /// cells of its free variables
    pub closure: Option<Bound<'py, PyTuple>>,
    /// fast locals, borrowed; null where nothing is bound
    pub locals: &'a [*mut PyObject],
}

/// What translations of one thread share.
pub struct Tables {
    /// well-known objects
    pub known: Rc<Known>,
    /// graph functions
    pub functions: Rc<FnTable>,
    /// decoded code
    pub codes: Rc<RefCell<CodeCache>>,
    /// probed torch
    pub abi: &'static TorchAbi,
}

impl Tables {
    /// Looks everything up; torch is imported where it is not yet.
    ///
    /// # Errors
    /// What an unsupported torch raises.
    pub fn new(py: Python<'_>) -> PyResult<Tables> {
        let abi = TorchAbi::get(py).map_err(|e| {
            // An interrupt while torch is looked at is the user's.
            if let torch_abi::AbiError::Python(e) = e {
                return e;
            }
            let class = py
                .import("ferrodyn.exc")
                .and_then(|m| m.getattr("UnsupportedTorchError"));
            match class {
                Ok(c) => c
                    .call1((e.to_string(),))
                    .map_or_else(|e| e, PyErr::from_value),
                Err(e) => e,
            }
        })?;
        Ok(Tables {
            known: Rc::new(Known::new(py)?),
            functions: Rc::new(FnTable::new(py)?),
            codes: Rc::default(),
            abi,
        })
    }
}

/// Where the thread casts.
fn autocast(global: &GlobalState) -> Autocast {
    match global.autocast[..] {
        [] => Autocast::Off,
        [(device, _, dtype)] => Autocast::of(
            DeviceKind::from_device_type(device as u8),
            DType::from_scalar_type(u16::from(dtype)),
        ),
        _ => Autocast::Other,
    }
}

/// The function modes of this thread, outermost first, if one of them is the program's and sees what is called.
///
/// # Errors
/// Whatever torch raises.
pub fn program_modes<'py>(py: Python<'py>, abi: &TorchAbi) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let depth = abi.torch_function_stack_len();
    if depth == 0 || abi.torch_function_state() == ALL_DISABLED {
        return Ok(Vec::new());
    }
    let modes = (0..depth).map(|i| abi.torch_function_mode(py, i));
    let modes = modes.collect::<PyResult<Vec<_>>>()?;
    Ok(match has_program_mode(&modes)? {
        true => modes,
        false => Vec::new(),
    })
}

/// A translator at the first instruction of a frame.
///
/// # Errors
/// Where the code does not decode.
pub fn begin<'py>(
    py: Python<'py>,
    tables: &Tables,
    request: &Request<'_, 'py>,
    modes: &[Bound<'py, PyAny>],
) -> R<Tx<'py>> {
    let code = tables.codes.borrow_mut().get(request.code.as_any())?;
    let mut pins = Pins::new();
    let ambient = exec::read::ambient_guards(py, tables.abi, &mut pins)?;
    let global = GlobalState::read(py, tables.abi);
    let ctx = Ctx {
        grad_enabled: global.grad_mode,
        inference_mode: global.inference_mode,
        default_dtype: DType::from_scalar_type(u16::from(global.default_dtype))
            .unwrap_or(DType::Float32),
        default_device: match modes.is_empty() {
            true => default_device(py, tables.abi),
            false => Device::CPU,
        },
        autocast: autocast(&global),
    };
    let mut state = State::root(
        code,
        request.globals.clone().into_any().unbind(),
        global.grad_mode,
    );
    state.asks_no_class = global.torch_function != ALL_ENABLED;
    let mut tx = Tx::new(
        py,
        state,
        tables.codes.clone(),
        tables.known.clone(),
        tables.functions.clone(),
        &RULES,
        ctx,
    );
    tx.facts.pins = pins;
    for kind in ambient {
        tx.guard_ambient(kind);
    }
    bind_arguments(&mut tx, request);
    bind_closure(&mut tx, request);
    torch_rules::begin_in_modes(&mut tx, modes)?;
    Ok(tx)
}

/// Where factories make tensors: what the innermost `DeviceContext` says. The variable
/// `torch.utils._device.CURRENT_DEVICE` may name another device, and factories do not ask it.
fn default_device(py: Python<'_>, abi: &TorchAbi) -> Device {
    for i in (0..abi.torch_function_stack_len()).rev() {
        let device = abi.torch_function_mode(py, i).and_then(|mode| {
            let named = mode
                .get_type()
                .name()
                .is_ok_and(|name| name == "DeviceContext");
            if named {
                mode.getattr("device")?.str().map(Some)
            } else {
                Ok(None)
            }
        });
        if let Ok(Some(device)) = device
            && let Some(device) = Device::parse(&device.to_string_lossy())
        {
            return device;
        }
    }
    Device::CPU
}

fn bind_arguments(tx: &mut Tx<'_>, request: &Request<'_, '_>) {
    let names = tx.st.frame.code.local_names.clone();
    for (i, slot) in request.locals.iter().enumerate() {
        // SAFETY: a bound fast local of a frame (or an argument of a call) that is alive during
        // the translation.
        let Some(value) = (unsafe { Bound::from_borrowed_ptr_or_opt(tx.py, *slot) }) else {
            continue;
        };
        let source = tx.source(Source::Local {
            index: i as u32,
            name: names[i].clone(),
        });
        tx.st.frame.locals[i] = Some(tx.lazy(value.unbind(), source));
    }
}

fn bind_closure(tx: &mut Tx<'_>, request: &Request<'_, '_>) {
    let Some(closure) = &request.closure else {
        return;
    };
    let first = tx.st.frame.code.local_names.len() - closure.len();
    let mut cells = Vec::with_capacity(closure.len());
    for (i, cell) in closure.iter().enumerate() {
        let name: Arc<str> = tx.st.frame.code.local_names[first + i].clone();
        let addr = cell.as_ptr() as usize;
        if let Some(known) = tx.st.effects.known(addr).cloned() {
            cells.push(known);
            continue;
        }
        let contents = cell.getattr("cell_contents").ok().map(|c| {
            let source = tx.source(Source::Closure {
                index: i as u32,
                name,
            });
            tx.lazy(c.unbind(), source)
        });
        let class = tx.known.cell.clone();
        let mut state = ObjState::new(class, Body::Cell(contents));
        state.origin = Origin::RootCell((first + i) as u32);
        let var = Var::Obj(tx.st.effects.add(state));
        tx.st.effects.know(addr, var.clone());
        cells.push(var);
    }
    tx.st.frame.closure = Rc::new(cells);
}

/// Guards that depend on the whole translation: what is changed must not be reachable by another
/// name, and two tensors that were different objects stay so.
///
/// # Errors
/// Whatever torch raises.
pub fn closing_guards(tx: &mut Tx<'_>) -> PyResult<()> {
    tx.guard_touched();
    tx.guard_told_apart();
    tx.unbind_replaced();
    let free: Vec<_> = tx
        .log
        .inputs
        .iter()
        .filter(|i| !i.bound && !tx.is_early(i.source))
        .map(|i| i.source)
        .collect();
    if free.len() > 1 {
        tx.guard_ambient(GuardKind::NoTensorAliasing {
            sources: Arc::from(free),
        });
    }
    overlap_guard(tx)?;
    let existing: Vec<_> = (0..tx.st.effects.len())
        .map(|i| variables::ObjId(i as u32))
        .filter_map(|id| match &tx.obj(id).origin {
            Origin::Source { source, .. } => {
                Some((id, *source, tx.obj(id).class.as_ptr() as usize))
            }
            _ => None,
        })
        .collect();
    // Appended to, unread: apart from other lists, and from each other.
    let list = tx.known.list.as_ptr() as usize;
    let tails: Vec<_> = tx.st.effects.tails.iter().map(|t| t.list.source).collect();
    for (i, tail) in tails.iter().enumerate() {
        let lists = existing.iter().filter(|e| e.2 == list).map(|e| e.1);
        for other in lists.chain(tails[..i].iter().copied()) {
            tx.guard(*tail, GuardKind::NotAliasing { other });
        }
    }
    let dirty: Vec<_> = tx.st.effects.dirty.iter().copied().collect();
    for d in dirty {
        let Some((_, source, class)) = existing.iter().find(|e| e.0 == d).copied() else {
            continue;
        };
        for (other, other_source, other_class) in &existing {
            if *other != d && *other_class == class {
                tx.guard(
                    source,
                    GuardKind::NotAliasing {
                        other: *other_source,
                    },
                );
            }
        }
    }
    Ok(())
}

/// torch's own tracer of graphs builds hooks on saved tensors into what it makes, where they are graphs themselves.
///
/// # Errors
/// Whatever torch raises.
pub fn saved_tensors_hooks_guard(tx: &mut Tx<'_>) -> PyResult<()> {
    let (py, Some(abi)) = (tx.py, TorchAbi::loaded()) else {
        return Ok(());
    };
    let top = abi.saved_tensors_hooks(py)?;
    let hooks = top.call1((true,))?;
    let Ok(pair) = hooks.cast::<PyTuple>() else {
        return Ok(());
    };
    let graph_module = py.import("torch.fx")?.getattr("GraphModule")?;
    let mut ids = Vec::with_capacity(2);
    for hook in pair {
        if !hook.is_instance(&graph_module)? {
            return Ok(());
        }
        ids.push(ConstVal::Obj(tx.pin(&hook.unbind(), true)));
    }
    let func = tx.pin(&top.unbind(), false);
    tx.guard_ambient(GuardKind::CallMatch {
        func,
        args: Arc::from([ConstVal::Bool(true)]),
        value: ConstVal::Tuple(ids.into()),
    });
    Ok(())
}

/// Where the graph writes to a tensor, which inputs share memory decides what it means: a backend
/// may reorder reads and writes of inputs that were independent. Bound inputs are the same objects
/// at each call and are not looked at again: the cost is that of the inputs, not of the model.
///
/// # Errors
/// Whatever torch raises.
fn overlap_guard(tx: &mut Tx<'_>) -> PyResult<()> {
    let writes = raising::writes(&tx.log.graph) || tx.st.effects.array_writes > 0;
    let free = tx.log.inputs.iter().filter(|i| !i.bound);
    let inputs: Vec<_> = free.filter_map(|i| memory_of(tx, i)).collect();
    if !writes || inputs.len() < 2 {
        return Ok(());
    }
    let Some(abi) = TorchAbi::loaded() else {
        return Ok(());
    };
    let objects: Vec<_> = inputs.iter().map(|(obj, _)| obj.bind(tx.py)).collect();
    let Some(shares) = overlap::shared(abi, &objects) else {
        return Ok(());
    };
    let pick = |wanted: bool| -> Arc<[guards::SourceId]> {
        inputs
            .iter()
            .zip(&shares)
            .filter(|(_, s)| **s == wanted)
            .map(|((_, source), _)| *source)
            .collect()
    };
    let (overlapping, non_overlapping) = (pick(true), pick(false));
    tx.guard_ambient(GuardKind::StorageOverlap {
        overlapping,
        non_overlapping,
    });
    if tx.runs_as_is {
        return Ok(());
    }
    // AOTAutograd makes such inputs of one tensor again, each from where it begins now.
    let shares = overlap::or_shared_to_torch(tx.py, abi, &objects, shares)?;
    let shared: Vec<_> = inputs.into_iter().zip(shares).filter(|(_, s)| *s).collect();
    let mut shared = shared.into_iter().map(|(input, _)| input);
    shared.try_for_each(|(obj, source)| offset_guard(tx, &obj, source))
}

/// A tensor begins where it did in its memory.
fn offset_guard(tx: &mut Tx<'_>, obj: &Obj, source: guards::SourceId) -> PyResult<()> {
    let tensor = tx.known.tensor.bind(tx.py).clone();
    let obj = obj.bind(tx.py);
    if !obj.is_instance(&tensor)? {
        return Ok(());
    }
    let question = tensor.getattr("storage_offset")?;
    let offset = question.call1((obj,))?.extract()?;
    let func = tx.pin(&question.unbind(), false);
    tx.guard(
        source,
        GuardKind::CallMatch {
            func,
            args: Arc::from([]),
            value: ConstVal::Int(offset),
        },
    );
    Ok(())
}

/// What an input lies in the memory of, and how the frame reaches it: for a tensor on an array that is the array.
/// `None`: a copy, or what the compiled code itself makes.
fn memory_of(tx: &Tx<'_>, input: &translator::tx::GraphInput) -> Option<(Obj, guards::SourceId)> {
    let Source::Early { index } = tx.facts.sources.get(input.source) else {
        return Some((input.obj.clone(), input.source));
    };
    let call = tx.st.effects.early.get(*index as usize)?;
    match call.pos[..] {
        [EarlyArg::Source(array)] if !tx.is_early(array) => {
            Some((tx.facts.reached.get(&array)?.clone(), array))
        }
        _ => None,
    }
}

/// A [`Stop`] as text.
pub fn stop_text(stop: &Stop) -> String {
    match stop {
        Stop::Break(b) | Stop::Retreat(_, b) => format!("{}: {}", b.reason, b.context),
        Stop::Raise(_) => "an exception of the program".into(),
        Stop::Internal(m) => m.clone(),
    }
}
