//! Residual bytecode: a finished translation becomes a code object that calls the compiled graph,
//! rebuilds values, replays side effects, and returns or goes on in resume functions.
//!
//! It takes a [`Finished`] translation, which is all that it knows of the interpreter.
//!
//! Lives here: which values are live, how each is rebuilt, what a graph break runs, resume
//! functions, which iterators and effects come when. Does not live here: how the state came about and
//! where else the graph could break (`translator`), bytes of instructions (`bytecode`), what a
//! compiled graph and an entry are (the pipeline, by [`OutputEnv`]).
//!
//! Invariants: nothing is changed in the translation before every value was found to be rebuildable;
//! the residual code object has the arguments and free variables of the original; no name of the
//! user's globals is added or taken.

mod again;
mod asm;
mod breaks;
mod chosen;
mod classes;
mod computed;
mod containers;
mod deferred;
mod early;
mod effects;
mod emitter;
mod entered;
mod finished;
mod generators;
mod graph;
mod iterators;
mod itertools;
mod ladder;
mod natives;
mod rebuild;
mod resume;
mod shapes;
mod sources;
mod special;
mod steps;
mod template;
mod text;

#[cfg(test)]
#[path = "../../builtins/src/embedded.rs"]
mod embedded;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::rc::Rc;

use asm::{Built, Shape, loc_of, prologue_len};
use bytecode::op::{Label, LocalIdx, Op};
use bytecode::{Body, ExceptEntry, Instr};
use emitter::Emitter;
use fx_graph::{AotInput, ShapeGuard};
use graph::{CallInput, Compiled};
use guards::{Guard, SourceTable};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use translator::code::CodeInfo;
use translator::retreat::Retreat;
use translator::state::Frame;
use translator::stop::{BreakReason, R, Stop};
use translator::torch_ops::raising;
use variables::{Obj, Var};

pub use again::plain_code;
pub use asm::{CodeParts, make_code};
pub use finished::Finished;
pub use ladder::Ladder;
pub use natives::natives;
pub use resume::{Recipe, Resume, ResumeCache, ResumeInfo};
pub use template::{Attributes, fill_parts, make_fill};
pub use text::{listing, python};

/// How a translation ended.
#[derive(Debug)]
pub enum Finish {
    /// the root frame returns this value
    Return(Var),
    /// the graph breaks at the current instruction of the innermost frame
    Break(Box<BreakReason>),
}

/// The guards of a translation up to the call of the backend, behind which there may be more.
#[derive(Clone, Copy)]
pub struct GuardsSoFar<'a> {
    /// the guards
    pub guards: &'a [Guard],
    /// for each the code and the line that asked for it
    pub places: &'a [(Rc<CodeInfo>, u32)],
    /// what their sources are
    pub sources: &'a SourceTable,
}

/// What code generation needs from its caller.
pub trait OutputEnv {
    /// Has the backend compile a graph module. `inputs` says of each input which of its sizes may differ from call
    /// to call; it is empty where none may. Meanwhile something may be made of the guards.
    ///
    /// # Errors
    /// Whatever the backend raises.
    #[expect(clippy::too_many_arguments, reason = "all of them are one call")]
    fn compile_graph(
        &mut self,
        py: Python<'_>,
        graph: &fx_graph::Graph,
        objects: &[Obj],
        examples: Vec<Obj>,
        inputs: &[AotInput],
        name: &str,
        guards: GuardsSoFar<'_>,
    ) -> PyResult<CompiledGraph>;
    /// `__compiled_fn_N`
    fn next_compiled_name(&mut self) -> String;
    /// The number at the end of a resume function's name.
    fn next_resume_index(&mut self) -> u32;
    /// The builtin that is given a tuple of a function and arguments, makes that call, and then
    /// whatever call a continuation asks for, up to a result.
    ///
    /// # Errors
    /// Whatever making it raises.
    fn driver(&mut self, py: Python<'_>) -> PyResult<Obj>;
    /// Resume functions made so far, of all translations.
    fn resume_cache(&mut self) -> &mut ResumeCache;
    /// What the residual code calls for a resume function without free variables.
    ///
    /// # Errors
    /// Whatever making a wrapper raises.
    fn wrap_resume(&mut self, _py: Python<'_>, function: Obj, _info: &ResumeInfo) -> PyResult<Obj> {
        Ok(function)
    }
    /// What calls a graph with inputs that are the same at each call: one item for each argument of the
    /// graph, `None` where the call gives it. `None` where the residual code is to give them all.
    ///
    /// # Errors
    /// Whatever making it raises.
    fn bind_inputs(
        &mut self,
        _py: Python<'_>,
        _graph: &Obj,
        _inputs: Vec<Option<Obj>>,
    ) -> PyResult<Option<Obj>> {
        Ok(None)
    }
    /// The builtin that says of an exception out of a compiled graph whether nobody can tell that the
    /// graph ran; `None` where that is not known of the graph. `whole`: whether that is so wherever it raises.
    ///
    /// # Errors
    /// Whatever making it raises.
    fn left_no_trace(
        &mut self,
        _py: Python<'_>,
        _graph: &Obj,
        _whole: bool,
    ) -> PyResult<Option<Obj>> {
        Ok(None)
    }
    /// Makes sure that frames of a code object are never captured.
    ///
    /// # Errors
    /// Whatever marking it raises.
    fn leave_alone(&mut self, _py: Python<'_>, _code: &Obj) -> PyResult<()> {
        Ok(())
    }
}

/// What a backend made of a graph.
pub struct CompiledGraph {
    /// what takes the graph's inputs and gives its outputs
    pub callable: Obj,
    /// what must hold of the inputs' sizes and ints
    pub shape_guards: Vec<ShapeGuard>,
}

/// The compiled form of a frame.
pub struct Residual {
    /// replaces the frame's code object: same arguments, same free variables
    pub code: Obj,
    /// name and function of the compiled graph
    pub compiled: Option<(String, Obj)>,
    /// resume functions that the code calls, in order of their first use
    pub resumes: Vec<ResumeInfo>,
    /// whether the code runs Python code beyond the compiled graph, so that inner calls are to be
    /// compiled while it runs
    pub calls_out: bool,
    /// constants and their names in listings
    pub names: Vec<(Obj, String)>,
    /// constants that are made for this code alone
    pub made: MadeConstants,
    built: Option<Built>,
}

/// Constants of residual code that are made for it alone.
#[derive(Default)]
pub struct MadeConstants {
    /// what calls the graph
    pub callee: Option<Obj>,
    /// what a graph that raised is asked for, see [`OutputEnv::left_no_trace`]
    pub asks: Option<Obj>,
    /// whether that was asked for the whole graph
    pub is_whole: bool,
    /// the code that runs where it left none
    pub plain: Option<Obj>,
    /// the same, for who computes in front of the graph what may raise
    pub plain_before: Option<Obj>,
    /// what the backend was told of the graph's inputs
    pub described: Vec<AotInput>,
}

impl Residual {
    /// A code object that was made of another process's, for a graph of this one; where it breaks it calls `resumes`.
    pub fn kept(
        code: Obj,
        compiled: Option<(String, Obj)>,
        (resumes, calls_out): (Vec<ResumeInfo>, bool),
        names: Vec<(Obj, String)>,
        made: MadeConstants,
    ) -> Residual {
        Residual {
            code,
            compiled,
            resumes,
            calls_out,
            names,
            made,
            built: None,
        }
    }

    /// The listing of the code, where it was made of a translation.
    pub fn listing(&self, py: Python<'_>) -> String {
        let listing = |built| text::built_listing(py, built, &self.names);
        self.built.as_ref().map(listing).unwrap_or_default()
    }
}

/// First item of a continuation: `(mark, function, *args)`. Code that breaks the graph returns one in
/// place of calling its resume function.
pub fn continuation_mark(py: Python<'_>) -> Obj {
    static MARK: PyOnceLock<Obj> = PyOnceLock::new();
    let make = || -> PyResult<Obj> {
        let object = py.import("builtins")?.getattr("object")?;
        Ok(object.call0()?.unbind())
    };
    MARK.get_or_init(py, || make().unwrap_or_else(|_| py.Ellipsis()))
        .clone_ref(py)
}

fn in_handler() -> Stop {
    let stop = Stop::brk(
        "Graph break inside an exception handler",
        "The exception was raised while tracing, so it has no traceback yet.",
        "Move the code that breaks the graph out of the handler.",
    );
    stop.or_retreat(Retreat::Raise)
}

/// A break that is not supported where it is; in an inlined function the outermost call can break.
fn blocked(depth: u32, what: &str) -> Stop {
    match Stop::unsupported(what) {
        stop if depth > 0 => stop.or_retreat(Retreat::Outermost),
        stop => stop,
    }
}

fn open_dual_level() -> Stop {
    let stop = Stop::brk(
        "Level of forward-mode differentiation that the graph does not leave",
        "Tangents exist only while the level is entered, and a compiler's graph gives out none. So the level is entered in eager mode.",
        "Move what breaks the graph out of `with torch.autograd.forward_ad.dual_level()`.",
    );
    stop.or_retreat(Retreat::Private)
}

fn nested_call(f: &Frame) -> Stop {
    let stop = Stop::brk(
        "Graph break in a function that an operation calls",
        format!(
            "{} calls the function by an operator or a protocol, so it cannot go on behind the call.",
            f.code.qualname
        ),
        "Call the function by name, or move the code that breaks the graph out of it.",
    );
    stop.or_retreat(Retreat::Outermost)
}

/// Turns a finished translation into a code object for the root frame. On [`Finish::Break`] the
/// state is that of the checkpoint: the innermost frame stands at the breaking instruction with its
/// operands on the stack, callers stand at their call with callee and arguments popped.
///
/// # Errors
/// [`Stop::Break`] where a value cannot be rebuilt, [`Stop::Retreat`] where the graph can break at another
/// place instead: the translation is as it was. [`Stop::Internal`] with what the backend raised, and for
/// defects.
pub fn finish(tx: Finished<'_, '_>, finish: Finish, env: &mut dyn OutputEnv) -> R<Residual> {
    let py = tx.py;
    if tx.state().levels.dual.is_some() {
        return Err(open_dual_level());
    }
    let root = root_frame(&tx);
    let code = root.code.clone();
    let mut g = Emitter::new(tx, code.clone(), root.globals.dict.clone());
    let mut resumes = Vec::new();
    let loc = loc_of(&code, root.ip);
    g.asm.body.set_loc(loc);
    g.name_early_values();
    let mut calls_out = false;
    match finish {
        Finish::Return(value) => {
            g.analyse(&value);
            g.analyse_effects();
            g.check_abandoned()?;
            let st = g.tx.state();
            if st.effects.any() || !st.contexts.is_empty() || st.left_modes > 0 {
                let value = g.prepare_late(&value)?;
                let steps = g.effects()?;
                g.replay(steps)?;
                g.settle()?;
                g.asm.load(&value);
            } else {
                g.emit(&value)?;
            }
            g.asm.op(Op::ReturnValue);
        }
        Finish::Break(_) => calls_out = g.emit_break(env, &mut resumes)?,
    }
    let internal = |e: bytecode::BuildError| Stop::Internal(format!("residual bytecode: {e}"));
    let version = code.fields.version;
    let post = std::mem::replace(&mut g.asm.body, bytecode::BodyBuilder::new(version))
        .finish()
        .map_err(internal)?;

    g.tx.check_constants(g.asm.constants())?;
    g.check_chosen()?;
    for code in std::mem::take(&mut g.left_alone) {
        env.leave_alone(py, &code).map_err(Stop::from)?;
    }
    g.tx.close_contexts()?;
    let outputs = g.outputs.clone();
    let autocast = g.tx.ctx().autocast != tensor_meta::Autocast::Off;
    raising::keep_random_state(g.tx.graph_mut(), autocast);
    classes::leave_to_caller(&mut g.tx)?;
    let mut compiled = graph::compile(&mut g.tx, outputs, env)?;

    g.asm.body.set_loc(loc);
    for instr in &code.body.instrs[..prologue_len(&code.body)] {
        g.asm.body.emit_at(instr.op.clone(), instr.loc);
    }
    let may_raise = compiled.is_some() && raising::may_raise(g.tx.graph(), autocast);
    let draws_back = draws_back(&g);
    let can_run_again = may_raise && (draws_back || raising::can_all_run_again(g.tx.graph()));
    for input in compiled.iter().flat_map(|c| &c.inputs) {
        if let CallInput::Float(f) = input {
            g.register_float(&f.float.expr);
        }
    }
    g.make_classes()?;
    g.register_raising()?;
    let computing_may_raise = g.computing_may_raise();
    g.make_early_calls(may_raise || computing_may_raise)?;
    let inputs = compiled.iter().flat_map(|c| &c.inputs);
    g.read_dims(inputs.filter_map(CallInput::expr))?;
    let computing = g.make_computed()?;
    let mut names = std::mem::take(&mut g.names);
    let mut skip = 0;
    let mut called = 0..0;
    if let Some(c) = &compiled {
        if may_raise && draws_back {
            g.keep_torch_random_state()?;
        }
        names.push((c.callee().clone(), c.callee_name()));
        (called, skip) = call_graph(&mut g, c, &post)?;
        set_flags(&mut g)?;
    } else {
        set_grad_mode(&mut g)?;
    }
    g.give_classes()?;
    g.choose()?;
    let pre = std::mem::replace(&mut g.asm.body, bytecode::BodyBuilder::new(version))
        .finish()
        .map_err(internal)?;
    let mut made = MadeConstants {
        callee: compiled.as_ref().map(|c| c.callee().clone()),
        is_whole: can_run_again,
        described: compiled
            .as_mut()
            .map_or_else(Vec::new, |c| std::mem::take(&mut c.described)),
        ..MadeConstants::default()
    };
    let mut body = join(pre, post, skip);
    if let Some(c) = &compiled
        && may_raise
        && let Some(ask) = env.left_no_trace(py, &c.function, can_run_again)?
    {
        g.asm.body.set_loc(loc);
        let (handler, plain) = again::handler(&mut g, env, Some(&ask), &mut names)?;
        (made.asks, made.plain) = (Some(ask), Some(plain));
        body = with_handler(body, called, handler);
    }
    if computing_may_raise {
        g.asm.body.set_loc(loc);
        let (handler, plain) = again::handler(&mut g, env, None, &mut names)?;
        made.plain_before = Some(plain);
        body = with_handler(body, computing, handler);
    }
    let built = g.asm.build_body(py, body, &code, &Shape::of(&code))?;
    Ok(Residual {
        code: built.code.clone(),
        built: Some(built),
        made,
        compiled: compiled.map(|c| (c.name, c.function)),
        resumes,
        calls_out,
        names,
    })
}

/// Whether a compiler's graph draws random numbers, which are drawn once more where it leads to a handler of the program.
fn draws_back(g: &Emitter<'_, '_>) -> bool {
    let graph = g.tx.graph();
    !g.tx.runs_as_is()
        && g.tx.state().leads_to_handler
        && raising::draws(graph)
        && raising::can_all_run_again_with_draws(graph)
}

/// Sets the flags of torch and the grad mode that the program has set: the graph does, but what a compiler made of it
/// does not, or not with every torch.
fn set_flags(g: &mut Emitter<'_, '_>) -> R<()> {
    if !g.tx.suits_no_compiler() {
        set_grad_mode(g)?;
    }
    if g.tx.runs_as_is() {
        return Ok(());
    }
    let py = g.tx.py;
    let mut flags: Vec<_> = g.tx.state().flags.clone().into_iter().collect();
    flags.sort_by_key(|(getter, _)| *getter);
    for (getter, value) in flags {
        let value = g.tx.real_copy(&value)?;
        if let (Some(setter), Some(value)) = (torch_abi::contexts::flag_setter(getter), value) {
            let setter = g.tx.known().torch_c.bind(py).getattr(setter)?;
            g.asm.callee(&setter.unbind());
            g.asm.load_const(&value.unbind());
            g.asm.call(1);
            g.asm.op(Op::PopTop);
        }
    }
    Ok(())
}

/// Sets the grad mode that the program has set.
fn set_grad_mode(g: &mut Emitter<'_, '_>) -> R<()> {
    let enabled = g.tx.state().grad_enabled;
    if enabled == g.tx.ctx().grad_enabled {
        return Ok(());
    }
    let py = g.tx.py;
    let set = g.tx.known().torch_c.bind(py).getattr("_set_grad_enabled")?;
    let enabled = pyo3::types::PyBool::new(py, enabled);
    g.asm.callee(&set.unbind());
    g.asm.load_const(&enabled.to_owned().into_any().unbind());
    g.asm.call(1);
    g.asm.op(Op::PopTop);
    Ok(())
}

fn root_frame(tx: &Finished<'_, '_>) -> Frame {
    let mut frame = tx.state().frame.clone();
    while let Some(parent) = frame.parent.clone() {
        frame = (*parent).clone();
    }
    frame
}

/// Calls the compiled graph and stores its results; gives which instructions call it. The last result
/// stays on the stack where the code that follows begins with its only use: that instruction is then
/// to be skipped, and the second value is 1.
fn call_graph(g: &mut Emitter<'_, '_>, c: &Compiled, post: &Body) -> R<(Range<u32>, usize)> {
    // CPython 3.13 looks for the handler of a call by the instruction in front of it.
    let start = g.asm.body.len();
    g.asm.callee(c.callee());
    let mut given = 0;
    for input in &c.inputs {
        match (input.bound(), input) {
            (Some(_), _) if c.binding.is_some() => continue,
            (Some(obj), _) => g.asm.load_const(obj),
            (None, CallInput::Tensor(t)) => g.load_source(t.source)?,
            (None, CallInput::Int(i)) => g.int(&i.int.expr)?,
            (None, CallInput::Float(f)) if g.tx.runs_as_is() => g.float(&f.float.expr)?,
            (None, CallInput::Float(f)) => {
                let tensor = torch_abi::number_tensor(g.tx.py)?;
                g.asm.callee(tensor);
                g.float(&f.float.expr)?;
                g.asm.call(1);
            }
        }
        given += 1;
    }
    g.asm.call(given);
    let called = start..g.asm.body.len();
    let Some((last, others)) = c.outputs.split_last() else {
        g.asm.op(Op::PopTop);
        return Ok((called, 0));
    };
    g.asm.op(Op::UnpackSequence(c.outputs.len() as u32));
    for l in others {
        g.asm.store_fast(*l);
    }
    let loads = |l: LocalIdx| {
        post.instrs
            .iter()
            .filter(|i| i.op.local_use().is_some_and(|u| u.local == l && u.reads))
            .count()
    };
    let first = matches!(post.instrs.first(), Some(Instr { op: Op::LoadFast { local, .. }, .. }) if local == last);
    if first
        && loads(*last) == 1
        && g.classed.is_empty()
        && g.chosen.is_empty()
        && !post.targets()[0]
    {
        return Ok((called, 1));
    }
    g.asm.store_fast(*last);
    Ok((called, 0))
}

/// `pre`, then `post` without its first `skip` instructions.
fn join(mut pre: Body, post: Body, skip: usize) -> Body {
    let shift = pre.instrs.len();
    let moved = |l: Label| Label((l.0 as usize + shift).saturating_sub(skip) as u32);
    pre.handlers
        .extend(post.handlers.iter().map(|h| ExceptEntry {
            start: moved(h.start),
            end: moved(h.end),
            target: moved(h.target),
            ..*h
        }));
    for mut instr in post.instrs.into_iter().skip(skip) {
        if let Some(to) = instr.op.target_mut() {
            to.0 = (to.0 as usize + shift - skip) as u32;
        }
        pre.instrs.push(instr);
    }
    pre
}

/// `body`, then a handler for instructions of its that find an empty stack. No other handler comes
/// before them.
fn with_handler(mut body: Body, covered: Range<u32>, handler: Body) -> Body {
    let target = Label(body.instrs.len() as u32);
    let entry = ExceptEntry {
        start: Label(covered.start),
        end: Label(covered.end),
        target,
        depth: 0,
        lasti: false,
    };
    body.handlers.insert(0, entry);
    join(body, handler, 0)
}
