//! Captures that are kept from one process to the next: when one may be taken or kept, and what is done with it.
//!
//! What is kept so far is a whole graph of a frame without breaks. Does not live here: what is written of a capture and
//! how objects are found again (`captures`), how a capture goes on from there (`install`).
//!
//! Invariant: nothing of a capture is used before its guards have passed for the very call that it is taken for. What
//! goes wrong with one is a line in the log, and the frame is translated.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use artifact_store::{Key, Store, StoreError};
use backends::Capabilities;
use captures::{Call, Constant, Fill, GraphCall, Input, Kept, Keys, Loaded, Made, Why};
use fx_graph::ShapeGuard;
use guards::exec::{CheckProgram, Reader};
use guards::plan::Plan;
use guards::{ConstTypes, Extent, GuardKind, IntLeaf};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCode, PyDict, PyInt, PyTuple};
use residual::{GuardsSoFar, MadeConstants, OutputEnv, Residual, ResumeCache, continuation_mark};
use torch_abi::view::TensorView;
use torch_abi::{TensorClass, TorchAbi};
use translator::code::CodeInfo;
use translator::{DynamicInts, Tx};
use variables::Obj;

use super::compilation::{Compilation, Compiled};
use super::generation::Env;
use super::redone::{Before, Constants};
use super::slot::CodeSlot;
use super::translate::{Request, stop_text};
use super::{config, env, explain, log, reasons};

/// How many bytes all captures together may have.
const LIMIT: u64 = 1 << 28;

/// The folder of captures in that of all that is kept.
pub const FOLDER: &str = "captures";

/// Where a capture that is not there yet is to be kept.
pub type Free = (Arc<Store>, Key);

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

impl<'py> Compilation<'_, 'py> {
    fn tell(&self, text: impl FnOnce() -> String) {
        log::debug(self.py, "captures", &self.id.to_string(), text);
    }

    /// Takes a capture that another process has kept, where one fits this call.
    ///
    /// # Errors
    /// Interrupts.
    pub fn take_kept(&self, request: &Request<'_, 'py>) -> PyResult<Option<Compiled>> {
        let py = self.py;
        let found = self.find_kept(request);
        interrupts::check(py)?;
        match found {
            Ok(taken) => Ok(taken),
            Err(Why(why)) => {
                self.tell(|| format!("no capture is taken: {why}"));
                Ok(None)
            }
        }
    }

    fn find_kept(&self, request: &Request<'_, 'py>) -> Result<Option<Compiled>, Why> {
        let py = self.py;
        let folder = match self.config.cache_captures {
            true => config::cache_folder(),
            false => None,
        };
        let Some(folder) = folder else {
            return Ok(None);
        };
        let slot = self.frame.code_state().slot(CodeSlot::default);
        if slot.resumes.get() {
            return Err(Why("a resume function".into()));
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
        let keys = Keys::of(&request.code, &parts)?;
        let store = store(&folder).map_err(|error| Why(error.to_string()))?;
        for key in keys.all() {
            let entry = store.read(&key).map_err(|error| Why(error.to_string()))?;
            let Some(entry) = entry else {
                let _ = self.free.set((store, key));
                return Err(Why("none that is kept fits".into()));
            };
            match self.try_kept(&entry.manifest, request, abi, can) {
                Ok(taken) => {
                    self.tell(|| format!("a capture is taken: {key}"));
                    return Ok(Some(taken));
                }
                Err(Why(why)) => self.tell(|| format!("a capture does not fit: {why}")),
            }
        }
        Err(Why(
            "none that is kept fits, and there is no room for another".into(),
        ))
    }

    /// What a translation depends on beside the program, in words.
    fn configuration(&self, slot: &CodeSlot, can: Capabilities) -> Result<Vec<String>, Why> {
        static SURROUNDINGS: PyOnceLock<String> = PyOnceLock::new();
        let py = self.py;
        let texts = py.import(intern!(py, "ferrodyn._artifact_state"))?;
        let surroundings = SURROUNDINGS.get_or_try_init(py, || {
            texts.call_method0("surroundings")?.extract::<String>()
        })?;
        let state = texts.call_method0(intern!(py, "state"))?;
        let state: Option<String> = state.extract()?;
        let state = state.ok_or_else(|| Why("torch's compiler is watched".into()))?;
        Ok(vec![
            surroundings.clone(),
            state,
            format!("{can:?} {:?}", self.config),
            format!("{:?} {}", self.ctx.dynamic(), self.ctx.fullgraph()),
            history(&self.dynamic_ints(can)),
            format!(
                "{} {} {}",
                slot.fetch_tensors.get(),
                slot.constant_floats.get(),
                py.import("torch.cuda")?.call_method0("is_available")?
            ),
        ])
    }

    /// Binds a capture, checks its guards, and goes on with it as with one that was translated just now.
    fn try_kept(
        &self,
        bytes: &[u8],
        request: &Request<'_, 'py>,
        abi: &'static TorchAbi,
        can: Capabilities,
    ) -> Result<Compiled, Why> {
        let py = self.py;
        let started = Instant::now();
        let check = env::of_frame(py, self.frame);
        // SAFETY: the frame is alive and keeps what the environment names.
        let reader = unsafe { Reader::new(abi, check) };
        let loaded = Loaded::bind(py, bytes, &reader, &request.code, reasons::read_line)?;
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
        let mut resumes = ResumeCache::default();
        let mut output = Env {
            compilation: self,
            backend: &backend,
            can,
            resumes: &mut resumes,
            error: None,
            declined: None,
            before: None,
            result: None,
            is_opaque: false,
            was_told: false,
            wants_constants: false,
            unseen_by: None,
            seconds: 0.0,
            plan: None,
        };
        let mut names = Vec::new();
        let mut made = MadeConstants::default();
        let mut compiled = None;
        if let Some(call) = loaded.call {
            let dtype = |name: &str| tensor_meta::DType::from_name(name).map(|dtype| dtype.name());
            let examples = self.examples(&call, abi)?;
            let inputs = call.inputs.iter().zip(&examples);
            let inputs = inputs.map(|(input, example)| match input {
                Input::Tensor { is_bound: true, .. } => Some(example.clone()),
                _ => None,
            });
            let inputs: Vec<_> = inputs.collect();
            let graph = call.graph.graph(dtype);
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
                if call.is_dynamic && !(can.wants_context || output.was_told) {
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
        let code = self.kept_code(
            &loaded.code,
            &loaded.constants,
            request,
            &mut made,
            &mut names,
        )?;
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
        let residual = Residual::kept(code, compiled, names, made);
        Ok(self.install(program, &residual)?)
    }

    /// What the graph gets in this call.
    fn examples(&self, call: &Call, abi: &TorchAbi) -> Result<Vec<Obj>, Why> {
        let py = self.py;
        let number = |leaf: IntLeaf| -> Option<i64> {
            match leaf {
                IntLeaf::Value(source) => call.values.get(&source)?.extract(py).ok(),
                IntLeaf::Dim(source, extent, dim) => {
                    let tensor = call.values.get(&source)?.bind(py);
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
            Input::Tensor { source, .. } => call.values.get(source).cloned(),
            Input::Int(expr) => {
                let value = expr.eval(&number)?;
                Some(PyInt::new(py, value).into_any().unbind())
            }
        };
        let all: Option<Vec<_>> = call.inputs.iter().map(example).collect();
        all.ok_or_else(|| Why("an input can't be read".into()))
    }

    /// The residual code, for the graph of this process.
    fn kept_code(
        &self,
        code: &captures::Code,
        constants: &[Constant],
        request: &Request<'_, 'py>,
        made: &mut MadeConstants,
        names: &mut Vec<(Obj, String)>,
    ) -> Result<Obj, Why> {
        let py = self.py;
        let template = request.code.getattr("co_consts")?.cast_into::<PyTuple>();
        let template = template.map_err(PyErr::from)?;
        let asks_here = made.asks.take();
        let natives = residual::natives(py)?;
        let objects = constants.iter().map(|constant| -> Result<Obj, Why> {
            let (object, name) = match constant {
                Constant::OfTemplate(at) => return Ok(template.get_item(*at)?.unbind()),
                Constant::Object(object) => return Ok(object.clone()),
                Constant::Fill(class, attributes) => {
                    let fill = residual::make_fill(py, class, attributes)?;
                    return fill.ok_or_else(|| Why("a class has a descriptor now".into()));
                }
                Constant::Made(Made::Graph) => {
                    let callee = made.callee.clone();
                    return callee.ok_or_else(|| Why("there is no graph".into()));
                }
                Constant::Made(Made::Native(number)) => {
                    let native = natives.get(*number as usize).cloned();
                    return native.ok_or_else(|| Why("there is no such builtin".into()));
                }
                Constant::Made(Made::Continuation) => (continuation_mark(py), "__continue"),
                Constant::Made(Made::Plain) => {
                    let info = CodeInfo::new(request.code.as_any())
                        .map_err(|error| Why(stop_text(&error.into())))?;
                    let plain = residual::plain_code(py, &info);
                    let plain = plain.map_err(|stop| Why(stop_text(&stop)))?;
                    let state = eval_frame::code_state::of(
                        plain.bind(py).cast::<PyCode>().map_err(PyErr::from)?,
                    )?;
                    state.skip_always();
                    made.plain = Some(plain.clone());
                    (plain, "__plain")
                }
                Constant::Made(Made::LeftNoTrace) => {
                    let asks = asks_here.clone();
                    let asks = asks.ok_or_else(|| Why("the backend leaves traces".into()))?;
                    made.asks = Some(asks.clone());
                    (asks, "__left_no_trace")
                }
            };
            names.push((object.clone(), name.into()));
            Ok(object)
        });
        let objects: Vec<Obj> = objects.collect::<Result<_, Why>>()?;
        let changed = PyDict::new(py);
        changed.set_item("co_code", PyBytes::new(py, &code.code))?;
        changed.set_item("co_linetable", PyBytes::new(py, &code.lines))?;
        changed.set_item("co_exceptiontable", PyBytes::new(py, &code.handlers))?;
        changed.set_item("co_stacksize", code.stack)?;
        changed.set_item("co_names", PyTuple::new(py, &code.names)?)?;
        changed.set_item("co_nlocals", code.locals.len())?;
        changed.set_item("co_varnames", PyTuple::new(py, &code.locals)?)?;
        changed.set_item("co_cellvars", PyTuple::new(py, &code.cells)?)?;
        changed.set_item("co_freevars", PyTuple::new(py, &code.free)?)?;
        let code = residual::make_code(request.code.as_any(), &changed, &objects)?;
        Ok(code.unbind())
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
        request: &Request<'_, 'py>,
    ) -> PyResult<()> {
        let py = self.py;
        let Some((store, key)) = self.free.get() else {
            return Ok(());
        };
        let kept = self.bytes_of(tx, (before, relied_on), program, residual, request);
        interrupts::check(py)?;
        match kept {
            Err(Why(why)) => self.tell(|| format!("no capture is kept: {why}")),
            Ok(bytes) => match store.write(key, &bytes, &[]) {
                Ok(()) => self.tell(|| format!("a capture is kept: {key}")),
                Err(error) => self.tell(|| format!("no capture is kept: {error}")),
            },
        }
        Ok(())
    }

    fn bytes_of(
        &self,
        tx: &Tx<'py>,
        (before, relied_on): (&Before, &[ShapeGuard]),
        program: &CheckProgram,
        residual: &Residual,
        request: &Request<'_, 'py>,
    ) -> Result<Vec<u8>, Why> {
        let py = self.py;
        if let Some(why) = beyond(tx, before, residual) {
            return Err(Why(why.into()));
        }
        let mut inputs = Vec::new();
        for node in tx.log.graph.placeholders() {
            let tensor = tx.log.inputs.iter().find(|input| input.node == *node);
            let int = tx.log.int_inputs.iter().find(|input| input.node == *node);
            inputs.push(match (tensor, int) {
                (Some(input), _) => Input::Tensor {
                    source: input.source,
                    is_bound: input.bound,
                },
                (None, Some(input)) => Input::Int(input.int.expr.clone()),
                (None, None) => return Err(Why("an input that is no tensor".into())),
            });
        }
        let mut made = vec![(continuation_mark(py), Made::Continuation)];
        let own = &residual.made;
        let natives = residual::natives(self.py)?;
        made.extend(natives.into_iter().zip((0..).map(Made::Native)));
        for (object, which) in [
            (&own.callee, Made::Graph),
            (&own.asks, Made::LeftNoTrace),
            (&own.plain, Made::Plain),
            (&own.plain_before, Made::Plain),
        ] {
            made.extend(object.clone().map(|object| (object, which)));
        }
        let call = residual.compiled.as_ref().map(|_| GraphCall {
            graph: &tx.log.graph,
            objects: &tx.facts.objects,
            inputs,
            described: &own.described,
            relied_on,
            can_run_again: own.is_whole,
            is_dynamic: tx.is_dynamic(),
        });
        let code = residual.code.bind(py).cast::<PyCode>();
        let code = code.map_err(PyErr::from)?;
        let constants = code.getattr(intern!(py, "co_consts"))?;
        let mut fills = Vec::new();
        for constant in constants.try_iter()? {
            let constant = constant?;
            if let Some((class, attributes)) = residual::fill_parts(&constant) {
                fills.push(Fill {
                    object: constant.unbind(),
                    class,
                    attributes,
                });
            }
        }
        let kept = Kept {
            set: program.set(),
            pins: program.pins(),
            reached: &tx.facts.reached,
            call,
            changing: &tx.ints.names,
            code: code.clone(),
            template: request.code.clone(),
            made: &made,
            fills: &fills,
            owner: tx.facts.owner.as_ref(),
        };
        kept.to_bytes()
    }
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
        "{:?} {:?} {:?} {:?} {:?}",
        sorted(&mut ints.before.iter().map(|of| format!("{of:?}"))),
        sorted(&mut ints.floats.iter().map(|of| format!("{of:?}"))),
        sorted(&mut ints.shapes.iter().map(|of| format!("{of:?}"))),
        sorted(&mut { positions }),
        ints.names,
    )
}

/// What of a capture is not kept yet.
fn beyond(tx: &Tx<'_>, before: &Before, residual: &Residual) -> Option<&'static str> {
    let is_first =
        !before.is_redone && before.refusal.is_none() && before.constants == Constants::None;
    let is_marked = || {
        let tensors = tx.log.inputs.iter().map(|input| input.obj.bind(tx.py));
        let mut marks = tensors.map(|tensor| tensor.hasattr("_dynamo_dynamic_indices"));
        tx.is_dynamic() && marks.any(|is_marked| is_marked.unwrap_or(true))
    };
    let reasons = [
        (!is_first, "the backend had it compiled again"),
        (
            !residual.resumes.is_empty() || residual.calls_out,
            "the graph breaks",
        ),
        (!tx.log.float_inputs.is_empty(), "floats change"),
        (is_marked(), "sizes are marked"),
        (
            !tx.st.effects.early.is_empty(),
            "something is made before the graph runs",
        ),
        (tx.st.needs_as_is, "the graph has to run as it is"),
        (tx.st.met_subclass, "a subclass of torch.Tensor"),
        (
            tx.facts.is_of_process,
            "an address, a hash or the order of a set",
        ),
        (tx.resumed.is_some(), "a resume function"),
    ];
    reasons
        .into_iter()
        .find(|reason| reason.0)
        .map(|reason| reason.1)
}
