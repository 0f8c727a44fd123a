//! Captures that are kept from one process to the next: when one may be taken or kept, and what is done with it.
//!
//! Does not live here: what is written of a capture and how objects are found again (`captures`), its residual code
//! (`code`), how a capture goes on from there (`install`).
//!
//! Invariant: nothing of a capture is used before its guards have passed for the very call that it is taken for. What
//! goes wrong with one is a line in the log, and the frame is translated.

mod code;
mod part;
mod writer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use artifact_store::{Key, Store, StoreError};
use backends::Capabilities;
use captures::{
    Around, Break, Call, Early, EarlyArg, Float, GraphCall, Input, Kept, Keys, Loaded, Made,
    Operation, Why, Written,
};
use fx_graph::ShapeGuard;
use guards::exec::{CheckProgram, Reader};
use guards::plan::Plan;
use guards::{ConstTypes, Extent, GuardKind, IntLeaf, Source, SourceId, SourceTable};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCode, PyFloat, PyInt, PyTuple};
use residual::{GuardsSoFar, MadeConstants, OutputEnv, Residual, ResumeCache, continuation_mark};
use rustc_hash::FxHashMap;
use torch_abi::view::TensorView;
use torch_abi::{TensorClass, TorchAbi, tracer};
use translator::code::CodeCache;
use translator::{DynamicInts, Tx};
use variables::{EarlyKind, FloatBinary, FloatExpr, Obj};

pub use self::writer::finish;

use self::code::{Found, Own, Rebuilt};
use super::artifacts::belongs_to_who_runs;
use super::compilation::{Compilation, Compiled, tell_torch};
use super::generation::Env;
use super::redone::{Before, Constants};
use super::slot::{CodeSlot, OnDisk};
use super::translate::Request;
use super::{config, env, explain, log, reasons};

/// How many bytes all captures together may have.
const LIMIT: u64 = 1 << 28;

/// The folder of captures in that of all that is kept.
pub const FOLDER: &str = "captures";

/// Where a capture that is not there yet is to be kept.
#[derive(Clone)]
pub struct Free {
    store: Arc<Store>,
    key: Key,
    /// what it is found by, on any machine
    made_for: [u8; 32],
    /// those that did not fit
    unfit: Vec<Vec<u8>>,
}

impl Free {
    /// Keeps a capture there.
    fn write(&self, capture: Written) -> Result<(), Why> {
        let bytes = capture.into_bytes()?;
        // What tracing has done was not there before: the state of an optimizer, made in its first step.
        if self.unfit.contains(&bytes) {
            return Err(Why("the same lies there, and did not fit".into()));
        }
        let written = self.store.write(&self.key, &bytes, &[]);
        written.map_err(|error| Why(error.to_string()))
    }
}

/// The store of a folder, opened once.
fn store(folder: &Path) -> Result<Arc<Store>, StoreError> {
    static OPEN: Mutex<Option<(PathBuf, Arc<Store>)>> = Mutex::new(None);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, store)) = open.as_ref().filter(|open| open.0 == folder) {
        return Ok(store.clone());
    }
    let store = Arc::new(Store::open(&folder.join(FOLDER), LIMIT)?);
    *open = Some((folder.to_owned(), store.clone()));
    Ok(store)
}

/// The captures that this process has written or taken. A frame that is compiled once more is not looked for among
/// them: as entries they did not fit its call, or a reset has given them up.
static OF_THIS_PROCESS: Mutex<BTreeSet<Key>> = Mutex::new(BTreeSet::new());

fn is_of_this_process(key: &Key) -> bool {
    let keys = OF_THIS_PROCESS.lock();
    keys.unwrap_or_else(PoisonError::into_inner).contains(key)
}

/// Notes a capture that was written or taken, also with all code that runs.
fn remember(code: &Bound<'_, PyCode>, key: Key) -> PyResult<()> {
    let keys = OF_THIS_PROCESS.lock();
    keys.unwrap_or_else(PoisonError::into_inner).insert(key);
    belongs_to_who_runs(code, OnDisk::Capture(key))
}

/// What is told of each capture of a folder, with its bytes and the time of its last use, those used longest ago first.
///
/// # Errors
/// Where the folder can't be read.
pub fn listed(folder: &Path) -> Result<Vec<(String, u64, f64)>, StoreError> {
    let tell = |entry: artifact_store::Listed| {
        // Another process may be removing it.
        let text = ::captures::shown(&entry.manifest().ok()?)?;
        let since = entry.used.duration_since(SystemTime::UNIX_EPOCH);
        Some((
            text,
            entry.bytes,
            since.map_or(0.0, |since| since.as_secs_f64()),
        ))
    };
    let entries = Store::open(folder, LIMIT)?.list()?;
    Ok(entries.into_iter().filter_map(tell).collect())
}

/// What tells this machine and the files of torch and Ferrodyn from others, in words.
fn surroundings(py: Python<'_>) -> PyResult<&'static str> {
    static SURROUNDINGS: PyOnceLock<String> = PyOnceLock::new();
    let told = SURROUNDINGS.get_or_try_init(py, || {
        let texts = py.import(intern!(py, "ferrodyn._artifact_state"))?;
        texts.call_method0("surroundings")?.extract()
    })?;
    Ok(told)
}

/// The bytes of a capture, and the files whose contents it relies on.
pub type Carried = (Vec<u8>, Vec<String>);

/// A capture of a folder, where it is there as it was written.
///
/// # Errors
/// Where it can't be read.
pub fn read(folder: &Path, key: &Key) -> Result<Option<Carried>, Why> {
    let found = store(folder).and_then(|store| store.read(key));
    let found = found.map_err(|error| Why(error.to_string()))?;
    let with_files = |entry: artifact_store::Entry| {
        let files = ::captures::files(&entry.manifest)?;
        Ok((entry.manifest, files))
    };
    found.map(with_files).transpose()
}

/// Keeps a capture that another machine has made, where the files that it relies on have the same contents. Whether
/// it was: there may be no room, or one of the files is younger than this process.
///
/// # Errors
/// Where the bytes are no capture, or it can't be written.
pub fn add(py: Python<'_>, folder: &Path, bytes: &[u8]) -> Result<bool, Why> {
    let because = |error: StoreError| Why(error.to_string());
    let made_for = ::captures::made_for(bytes)?;
    let Some(bytes) = ::captures::carried(bytes)? else {
        return Ok(false);
    };
    let store = store(folder).map_err(because)?;
    for key in Keys::here(made_for, surroundings(py)?).all() {
        match store.read(&key).map_err(because)? {
            Some(entry) if entry.manifest != bytes => {}
            Some(_) => return Ok(true),
            None => {
                store.write(&key, &bytes, &[]).map_err(because)?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl<'py> Compilation<'_, 'py> {
    fn tell(&self, text: impl FnOnce() -> String) {
        log::debug(self.py, "captures", &self.id.to_string(), text);
    }

    /// Takes a capture that another process has kept, where one fits this call.
    ///
    /// # Errors
    /// Interrupts.
    pub fn take_kept(
        &self,
        request: &Request<'_, 'py>,
        resumes: &mut ResumeCache,
    ) -> PyResult<Option<Compiled>> {
        let py = self.py;
        let found = self.find_kept(request, resumes);
        interrupts::check(py)?;
        match found {
            Ok(taken) => Ok(taken),
            Err(Why(why)) => {
                self.tell(|| format!("no capture is taken: {why}"));
                Ok(None)
            }
        }
    }

    fn find_kept(
        &self,
        request: &Request<'_, 'py>,
        resumes: &mut ResumeCache,
    ) -> Result<Option<Compiled>, Why> {
        let py = self.py;
        let folder = match self.config.cache_captures {
            true => config::cache_folder(),
            false => None,
        };
        let Some(folder) = folder else {
            return Ok(None);
        };
        let slot = self.frame.code_state().slot(CodeSlot::default);
        let own = Own::of(py, request, resumes)?;
        if slot.resumes.get() && own.recipe.is_empty() {
            return Err(Why("a resume function of code that is gone".into()));
        }
        if self.ctx.options().bind(py).contains("guard_filter_fn")? {
            return Err(Why("the program chooses guards".into()));
        }
        if log::enabled(py, "trace_bytecode") {
            return Err(Why("each instruction is to be shown".into()));
        }
        let abi = TorchAbi::get(py).map_err(|error| Why(error.to_string()))?;
        if abi.torch_function_stack_len() > 0 {
            return Err(Why("a function mode is in force".into()));
        }
        let backend = self.backend()?;
        let can = backend.capabilities();
        let configuration = self.configuration(slot, can)?;
        let parts: Vec<&str> = configuration.iter().map(|part| &**part).collect();
        let keys = Keys::of(&own.code, &own.recipe, &parts, surroundings(py)?)?;
        let store = store(&folder).map_err(|error| Why(error.to_string()))?;
        let mut own_keys = 0;
        let mut unfit = Vec::new();
        for key in keys.all() {
            if is_of_this_process(&key) {
                own_keys += 1;
                continue;
            }
            let entry = store.read(&key).map_err(|error| Why(error.to_string()))?;
            let Some(entry) = entry else {
                // What was compiled here before, in another context or before a reset, is kept already.
                if own_keys <= self.entries.entries(py).len() {
                    let made_for = keys.made_for;
                    let _ = self.free.set(Free {
                        store,
                        key,
                        made_for,
                        unfit,
                    });
                }
                return Err(Why("none that is kept fits".into()));
            };
            match self.try_kept(&entry.manifest, (request, &own), resumes, abi, can) {
                Ok(taken) => {
                    self.tell(|| format!("a capture is taken: {key}"));
                    remember(&request.code, key)?;
                    return Ok(Some(taken));
                }
                Err(Why(why)) => {
                    self.tell(|| format!("a capture does not fit: {why}"));
                    unfit.push(entry.manifest);
                }
            }
        }
        Err(Why(
            "none that is kept fits, and there is no room for another".into(),
        ))
    }

    /// What a translation depends on beside the program, in words.
    fn configuration(&self, slot: &CodeSlot, can: Capabilities) -> Result<Vec<String>, Why> {
        let py = self.py;
        let texts = py.import(intern!(py, "ferrodyn._artifact_state"))?;
        let state = texts.call_method0(intern!(py, "state"))?;
        let state: Option<String> = state.extract()?;
        let state = state.ok_or_else(|| Why("torch's compiler is watched".into()))?;
        Ok(vec![
            state,
            format!("{can:?} {:?}", self.config),
            format!("{:?} {}", self.ctx.dynamic(), self.ctx.fullgraph()),
            history(&self.dynamic_ints(can)),
            format!(
                "{} {:?} {}",
                slot.fetch_tensors.get(),
                slot.constant_floats(self.ctx.id()),
                TorchAbi::get(py).is_ok_and(TorchAbi::has_cublas)
            ),
        ])
    }

    /// Binds a capture, checks its guards, and goes on with it as with one that was translated just now.
    fn try_kept(
        &self,
        bytes: &[u8],
        (request, own): (&Request<'_, 'py>, &Own<'py>),
        resumes: &mut ResumeCache,
        abi: &'static TorchAbi,
        can: Capabilities,
    ) -> Result<Compiled, Why> {
        let py = self.py;
        let started = Instant::now();
        let check = env::of_frame(py, self.frame);
        // SAFETY: the frame is alive and keeps what the environment names.
        let reader = unsafe { Reader::new(abi, check) };
        let around = Around {
            template: &request.code,
            own: &own.code,
            read_line: reasons::read_line,
            make_module: variables::own_module::make,
            make_part: part::make,
        };
        let loaded = Loaded::bind(py, bytes, &reader, &around)?;
        if loaded.broken.is_some() {
            self.may_break_unseen()?;
        }
        let bound = started.elapsed().as_secs_f64();
        let plan = Plan::in_pool(loaded.sources, loaded.guards, ConstTypes::of(abi));
        let program = CheckProgram::link(py, plan.set, plan.program, loaded.pins)
            .map_err(|error| Why(error.to_string()))?;
        let fails = |program: &CheckProgram| -> Result<(), Why> {
            match self
                .failure(program)
                .map_err(|_| Why("a guard can't be checked".into()))?
            {
                Some(why) => Err(Why(why)),
                None => Ok(()),
            }
        };
        fails(&program)?;
        let guarded = started.elapsed().as_secs_f64();
        let backend = self.backend()?;
        let mut output = Env::new(self, &backend, can, resumes);
        let mut names = Vec::new();
        let mut made = MadeConstants::default();
        let mut compiled = None;
        if let Some(call) = loaded.call {
            let examples = self.examples(&call, abi)?;
            let inputs = call.inputs.iter().zip(&examples);
            let inputs = inputs.map(|(input, example)| match input {
                Input::Tensor { is_bound: true, .. } => Some(example.clone()),
                _ => None,
            });
            let inputs: Vec<_> = inputs.collect();
            let graph = call.graph.graph(part::dtype);
            let graph = graph.ok_or_else(|| Why("the graph is none".into()))?;
            let name = output.next_compiled_name();
            let so_far = GuardsSoFar {
                guards: &[],
                places: &[],
                sources: program.set().sources(),
            };
            let (objects, described) = (&call.objects, &call.described);
            let result =
                output.compile_graph(py, &graph, objects, examples, described, &name, so_far)?;
            if output.is_opaque {
                backend.saw_it_compile();
                if call.needs_as_is {
                    return Err(Why("the graph has to run as it is".into()));
                }
                if call.is_dynamic && !output.was_told {
                    return Err(Why("the backend has to be told which sizes change".into()));
                }
            }
            if result.shape_guards != call.relied_on {
                return Err(Why("the backend relies on something else".into()));
            }
            let count = inputs.iter().flatten().count();
            let (callee, called) = match count {
                0 => (result.callable.clone(), name.clone()),
                _ => (
                    output
                        .bind_inputs(py, &result.callable, inputs)?
                        .ok_or_else(|| Why("inputs can't be bound".into()))?,
                    format!("{name} with {count} bound inputs"),
                ),
            };
            names.push((callee.clone(), called));
            made.callee = Some(callee);
            made.is_whole = call.can_run_again;
            made.asks = output.left_no_trace(py, &result.callable, call.can_run_again)?;
            compiled = Some((name, result.callable));
        }
        let mut rebuilt = Rebuilt {
            output: &mut output,
            request,
            codes: CodeCache::default(),
            natives: residual::natives(py)?,
            asks: made.asks.take(),
            made,
            names,
            resumes: Vec::new(),
        };
        let code = rebuilt.code(&loaded.code, &loaded.constants, request.code.as_any())?;
        let Rebuilt {
            made,
            names,
            resumes: behind,
            ..
        } = rebuilt;
        // The backend ran meanwhile.
        fails(&program)?;
        self.entries.set_changing(py, loaded.changing);
        if let Some(module) = &loaded.owner {
            self.entries.belongs_to(module.bind(py));
        }
        let total = started.elapsed().as_secs_f64();
        explain::record(|r| {
            r.took("guards", guarded - bound);
            r.took("backend", output.seconds);
            r.took("total", total);
        });
        self.tell(|| {
            let ms = [bound, guarded - bound, output.seconds, total].map(|s| s * 1e3);
            format!(
                "a capture fits: bound in {:.1} ms, guards in {:.1} ms, backend {:.1} ms, all {:.1} ms",
                ms[0], ms[1], ms[2], ms[3]
            )
        });
        let calls_out = loaded.broken.as_ref().is_some_and(|b| b.calls_out);
        for reason in loaded.broken.iter().flat_map(|broken| &broken.reasons) {
            tell_torch(tracer::count(py, "graph_break", reason, 1));
        }
        let behind = (behind, calls_out);
        let residual = Residual::kept(code.unbind(), compiled, behind, names, made);
        Ok(self.install(program, &residual)?)
    }

    /// What the graph gets in this call.
    fn examples(&self, call: &Call, abi: &TorchAbi) -> Result<Vec<Obj>, Why> {
        let py = self.py;
        let values = with_early(py, call)?;
        let number = |leaf: IntLeaf| -> Option<i64> {
            match leaf {
                IntLeaf::Value(source) => values.get(&source)?.extract(py).ok(),
                IntLeaf::Dim(source, extent, dim) => {
                    let tensor = values.get(&source)?.bind(py);
                    let class = abi.classify(tensor);
                    if !matches!(class, TensorClass::Tensor | TensorClass::Parameter) {
                        return None;
                    }
                    // SAFETY: a tensor, which is held.
                    let view = unsafe { TensorView::new(abi, tensor.as_ptr()) };
                    let (sizes, strides) = view.geometry();
                    match extent {
                        Extent::Size => sizes.get(usize::from(dim)).copied(),
                        Extent::Stride => strides.get(usize::from(dim)).copied(),
                        Extent::Offset => Some(view.storage_offset()),
                    }
                }
            }
        };
        let example = |input: &Input| match input {
            Input::Tensor { source, .. } => values.get(source).cloned(),
            Input::Int(expr) => {
                let value = expr.eval(&number)?;
                Some(PyInt::new(py, value).into_any().unbind())
            }
            Input::Float { expr, is_tensor } => {
                let value = match expr {
                    Float::Source(source) => values.get(source)?.clone(),
                    expr => {
                        let of = |source| values.get(&source)?.extract(py).ok();
                        PyFloat::new(py, expr.eval(&of)?).into_any().unbind()
                    }
                };
                match is_tensor {
                    true => torch_abi::number_tensor(py).ok()?.call1(py, (value,)).ok(),
                    false => Some(value),
                }
            }
        };
        let all: Option<Vec<_>> = call.inputs.iter().map(example).collect();
        all.ok_or_else(|| Why("an input can't be read".into()))
    }

    /// Whether a graph may break without a word: nobody is to be told why.
    fn may_break_unseen(&self) -> Result<(), Why> {
        let py = self.py;
        let is_told = explain::active()
            || ["graph_breaks", "state"]
                .iter()
                .any(|of| log::enabled(py, of));
        match is_told || tracer::errors_on_break(py)? {
            true => Err(Why("what breaks the graph is to be shown".into())),
            false => Ok(()),
        }
    }

    /// Keeps a capture that was just made, where another process could take it.
    ///
    /// # Errors
    /// Interrupts.
    pub fn keep(
        &self,
        tx: &Tx<'py>,
        (before, relied_on): (&Before, &[ShapeGuard]),
        program: &CheckProgram,
        residual: &Residual,
        (request, resumes): (&Request<'_, 'py>, &ResumeCache),
    ) -> PyResult<()> {
        let py = self.py;
        let Some(free) = self.free.get() else {
            return Ok(());
        };
        let around = (request, resumes);
        let found = (residual, free.made_for);
        let kept = self.written(tx, (before, relied_on), program, found, around);
        interrupts::check(py)?;
        // Who reads the log reads what became of it.
        let kept = kept.and_then(|capture| match log::enabled(py, "captures") {
            true => free.write(capture),
            false => {
                let free = free.clone();
                let write = move || drop(free.write(capture));
                Ok(writer::start(py, write)?)
            }
        });
        match kept {
            Err(Why(why)) => self.tell(|| format!("no capture is kept: {why}")),
            Ok(()) => {
                self.tell(|| format!("a capture is kept: {}", free.key));
                remember(&request.code, free.key)?;
            }
        }
        Ok(())
    }

    fn written(
        &self,
        tx: &Tx<'py>,
        (before, relied_on): (&Before, &[ShapeGuard]),
        program: &CheckProgram,
        (residual, made_for): (&Residual, [u8; 32]),
        (request, resumes): (&Request<'_, 'py>, &ResumeCache),
    ) -> Result<Written, Why> {
        let py = self.py;
        if let Some(why) = beyond(tx, before) {
            return Err(Why(why));
        }
        let mut inputs = Vec::new();
        for node in tx.log.graph.placeholders() {
            let tensor = tx.log.inputs.iter().find(|input| input.node == *node);
            let int = tx.log.int_inputs.iter().find(|input| input.node == *node);
            let float = tx.log.float_inputs.iter();
            let mut float = float.filter(|input| input.node == *node);
            inputs.push(match (tensor, int, float.next()) {
                (Some(input), ..) => Input::Tensor {
                    source: input.source,
                    is_bound: input.bound,
                },
                (None, Some(input), _) => Input::Int(input.int.expr.clone()),
                (None, None, Some(input)) => Input::Float {
                    expr: arithmetic(&input.float.expr).ok_or_else(|| {
                        Why("a float that changes, which a function has computed".into())
                    })?,
                    is_tensor: !tx.runs_as_is,
                },
                (None, None, None) => return Err(Why("an input that is no tensor".into())),
            });
        }
        let mut made = vec![(continuation_mark(py), Made::Continuation)];
        let own = &residual.made;
        let natives = residual::natives(py)?;
        made.extend(natives.into_iter().zip((0..).map(Made::Native)));
        made.push((eval_frame::continuation::driver(py)?, Made::Driver));
        made.push((torch_abi::number_tensor(py)?.clone(), Made::NumberTensor));
        for (object, which) in [
            (&own.callee, Made::Graph),
            (&own.asks, Made::LeftNoTrace),
            (&own.plain, Made::Plain),
            (&own.plain_before, Made::Plain),
        ] {
            made.extend(object.clone().map(|object| (object, which)));
        }
        let early = early(tx, program.set().sources())?;
        let call = residual.compiled.as_ref().map(|_| GraphCall {
            graph: &tx.log.graph,
            objects: &tx.facts.objects,
            inputs,
            early,
            described: &own.described,
            relied_on,
            can_run_again: own.is_whole,
            is_dynamic: tx.is_dynamic(),
            needs_as_is: tx.st.needs_as_is,
        });
        let code = residual.code.bind(py).cast::<PyCode>();
        let code = code.map_err(PyErr::from)?;
        let mut found = Found::default();
        found.look_at(code, residual, resumes)?;
        let own = Own::of(py, request, resumes)?;
        let is_broken = !residual.resumes.is_empty() || residual.calls_out;
        let kept = Kept {
            set: program.set(),
            pins: program.pins(),
            reached: &tx.facts.reached,
            call,
            changing: &tx.ints.names,
            code: code.clone(),
            template: request.code.clone(),
            own: own.code,
            globals: self.frame.globals(py).into_any(),
            broken: is_broken.then(|| Break {
                reasons: self.reported.borrow().clone(),
                calls_out: residual.calls_out,
            }),
            parts: &found.parts,
            made: &made,
            fills: &found.fills,
            owner: tx.facts.owner.as_ref(),
            take_apart: part::take_apart,
            made_for,
            registered: &tx.facts.registered,
        };
        kept.written()
    }
}

/// What the frame has for the sources of a call, and what is made of that before the graph runs.
fn with_early(py: Python<'_>, call: &Call) -> Result<FxHashMap<SourceId, Obj>, Why> {
    let mut values = call.values.clone();
    for early in &call.early {
        let args = early.args.iter().map(|arg| match arg {
            EarlyArg::Source(source) => values.get(source).cloned(),
            EarlyArg::Object(object) => Some(object.clone()),
        });
        let args: Option<Vec<_>> = args.collect();
        let args = args.ok_or_else(|| Why("an argument is not there".into()))?;
        let made = early.function.call1(py, PyTuple::new(py, args)?)?;
        values.insert(early.source, made);
    }
    Ok(values)
}

/// What a translation has made before the graph; why another process could not make it for its example.
fn early(tx: &Tx<'_>, sources: &SourceTable) -> Result<Vec<Early>, Why> {
    let mut made = Vec::new();
    for (index, call) in (0..).zip(tx.st.effects.early.iter()) {
        match call.kind {
            EarlyKind::Pure(_) => {}
            EarlyKind::Make if call.kw.is_empty() => {}
            EarlyKind::Make => {
                return Err(Why(
                    "something is made before the graph runs, by a call with names".into(),
                ));
            }
            EarlyKind::Draw(_) | EarlyKind::DrawOfNumpy => {
                return Err(Why("a random number is drawn before the graph runs".into()));
            }
            EarlyKind::Read(_) => continue,
        }
        let mut known = sources.iter();
        let Some((source, _)) = known.find(|(_, of)| **of == Source::Early { index }) else {
            continue;
        };
        let args = call.pos.iter().map(|arg| match arg {
            variables::EarlyArg::Const(object) => EarlyArg::Object(object.clone()),
            variables::EarlyArg::Source(source) => EarlyArg::Source(*source),
        });
        made.push(Early {
            source,
            function: call.function.clone(),
            args: args.collect(),
        });
    }
    Ok(made)
}

/// How a float is computed; `None` where that takes more than arithmetic.
fn arithmetic(expr: &FloatExpr) -> Option<Float> {
    Some(match expr {
        FloatExpr::Source(source) => Float::Source(*source),
        FloatExpr::Const(value) => Float::Const(*value),
        FloatExpr::Negative(x) => Float::Negative(Box::new(arithmetic(x)?)),
        FloatExpr::Binary(operation, ab) => {
            let operation = match operation {
                FloatBinary::Add => Operation::Add,
                FloatBinary::Subtract => Operation::Subtract,
                FloatBinary::Multiply => Operation::Multiply,
                FloatBinary::TrueDivide => Operation::Divide,
            };
            Float::Binary(
                operation,
                Box::new([arithmetic(&ab.0)?, arithmetic(&ab.1)?]),
            )
        }
        FloatExpr::Computed(_) => return None,
    })
}

/// What decides which ints and sizes are constants.
fn history(ints: &DynamicInts) -> String {
    let sorted = |names: &mut dyn Iterator<Item = String>| {
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    };
    let positions = ints.positions.iter().map(|(name, kinds)| {
        let kinds: Vec<_> = kinds.iter().map(GuardKind::name).collect();
        format!("{name} {kinds:?}")
    });
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        sorted(&mut ints.before.iter().map(|of| format!("{of:?}"))),
        sorted(&mut ints.floats.iter().map(|of| format!("{of:?}"))),
        sorted(&mut ints.layouts.sizes.iter().map(|of| format!("{of:?}"))),
        sorted(&mut ints.layouts.strides.iter().map(|of| format!("{of:?}"))),
        sorted(&mut { positions }),
        ints.names,
    )
}

/// What of a capture is not kept yet.
fn beyond(tx: &Tx<'_>, before: &Before) -> Option<String> {
    let is_first =
        !before.is_redone && before.refusal.is_none() && before.constants == Constants::None;
    let is_marked = || {
        let tensors = tx.log.inputs.iter().map(|input| input.obj.bind(tx.py));
        let mut marks = tensors.map(|tensor| tensor.hasattr("_dynamo_dynamic_indices"));
        tx.is_dynamic() && marks.any(|is_marked| is_marked.unwrap_or(true))
    };
    let reasons = [
        (!is_first, "the backend had it compiled again"),
        (is_marked(), "sizes are marked"),
        (tx.st.met_subclass, "a subclass of torch.Tensor"),
    ];
    let found = reasons.into_iter().find(|reason| reason.0);
    let of_process = || {
        let what = tx.facts.of_process?;
        Some(format!("it depends on {what}, another in each process"))
    };
    found.map(|reason| reason.1.to_owned()).or_else(of_process)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use variables::own_module;

    /// In this crate all those are linked that define modules of our own.
    #[test]
    fn modules_of_our_own_have_names_of_their_own() {
        let names: Vec<_> = own_module::names().collect();
        assert!(names.contains(&c"ferrodyn_hooks"), "{names:?}");
        assert!(names.contains(&c"ferrodyn_output"), "{names:?}");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
