//! Resume functions: the rest of a function as a function of its own.
//!
//! A resume function has the live locals and the operand stack for arguments, all cells for free
//! variables, and a full copy of the original body that is entered in the middle.
//!
//! Invariant: copies are made of the user's code, never of a resume function's: a loop that breaks
//! does not make resume functions of resume functions.

use std::ops::Range;
use std::rc::Rc;

use bytecode::LiveLocals;
use bytecode::op::{FuncAttr, Label, LocalIdx, Op};
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use translator::code::{CodeCache, CodeInfo, flags, kinds, stack_name};
use translator::stop::{R, Stop};
use variables::Obj;

use crate::asm::{Asm, Shape, Val, loc_of};
use crate::entered::{copied_body, free_names, is_cell};

/// Names that see all locals of the frame that calls them.
const INTROSPECTION: [&str; 7] = [
    "locals",
    "vars",
    "dir",
    "eval",
    "exec",
    "_getframe",
    "currentframe",
];

/// The first argument of a method, for `super()` without arguments, where it is a cell.
const FIRST: &str = "___first";

/// One resume function, for logs and for the cache of compiled code.
#[derive(Clone, Debug)]
pub struct ResumeInfo {
    /// `__resume_at_<offset>_<n>`
    pub name: String,
    /// its code object
    pub code: Obj,
    /// byte offset in the user's code at which it goes on
    pub offset: u32,
    /// runs the instruction that breaks itself, so it is never captured; what it calls is
    pub plain: bool,
    /// of a step: the code of the frame that it belongs to
    pub step_of: Option<Obj>,
}

/// Where a resume function comes from.
#[derive(Clone)]
pub(crate) struct Source {
    /// the user's code
    pub code: Rc<CodeInfo>,
    /// how many instructions come before the copy of the user's
    pub shift: usize,
}

/// How a resume function is made of the user's code. The same code and the same recipe give the same function, in
/// another process as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Recipe {
    /// index of the instruction in the user's code
    pub(crate) target: u32,
    pub(crate) plain: bool,
    /// what is on the stack
    pub(crate) slots: Vec<Slot>,
    /// locals to be passed, by index in the user's code
    pub(crate) locals: Vec<u32>,
    /// whether the first argument is passed as [`FIRST`]
    pub(crate) first: bool,
    /// of one that runs the rest of a comprehension: what goes on behind it
    pub(crate) behind: Option<Box<Recipe>>,
}

/// The user's code by its address, and what is made of it.
type Key = (usize, Recipe);

/// What the code of a resume function is a copy of.
struct Copied {
    /// the user's code, by its address
    user: usize,
    /// how many instructions come before the copy
    shift: usize,
    recipe: Recipe,
}

/// A resume function's code, and which values it takes.
pub struct Resume {
    /// its code, for the cache of compiled code
    pub info: ResumeInfo,
    /// names of free variables, in order
    pub free: Vec<String>,
    /// functions without free variables, by the address of their globals
    functions: FxHashMap<usize, (Obj, Obj)>,
}

/// All resume functions made so far: the same break point uses the same one again. The user's code
/// is held weakly, and what was made of it goes when it has gone.
#[derive(Default)]
pub struct ResumeCache {
    made: FxHashMap<Key, Resume>,
    /// by the address of a resume function's code
    sources: FxHashMap<usize, Copied>,
    /// by the address of the user's code
    users: FxHashMap<usize, User>,
}

/// A code object of the user's.
struct User {
    weak: Obj,
    live: Rc<LiveLocals>,
}

/// What a resume function finds in a slot of its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Slot {
    /// a value, an argument
    Value,
    /// the `NULL` beside a callable
    Null,
    /// the exception state of before a handler: the handled exception is an argument, and current
    /// from there on
    Handled,
}

impl Slot {
    /// The slot for a value.
    pub fn of(val: &Val) -> Slot {
        match val {
            Val::Null => Slot::Null,
            Val::Handled(_) => Slot::Handled,
            Val::Const(_) | Val::Fast(_) => Slot::Value,
        }
    }
}

/// What a variable of the frame is at a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Local {
    /// has no value
    Unbound,
    /// has a value
    Bound,
    /// has a value that is to live for as long as the frame, used or not
    Kept,
}

/// Which values a resume function takes: the plan from which it is found or made.
#[derive(Clone)]
pub(crate) struct Plan {
    pub source: Source,
    pub recipe: Recipe,
}

impl Plan {
    /// What goes on behind a comprehension.
    pub fn behind(&self) -> Option<Plan> {
        let recipe = self.recipe.behind.as_deref()?.clone();
        Some(Plan {
            source: self.source.clone(),
            recipe,
        })
    }
}

/// Whether a function may look at its variables by name.
fn introspects(code: &CodeInfo) -> bool {
    code.names.iter().any(|n| INTROSPECTION.contains(&&**n))
}

impl ResumeCache {
    /// Which of the user's code a code object runs, where it is a resume function, and how many
    /// instructions come before it.
    pub fn original(
        &self,
        py: Python<'_>,
        codes: &mut CodeCache,
        code: &Obj,
    ) -> Option<(Rc<CodeInfo>, usize)> {
        let (user, copied) = self.copied(py, code)?;
        Some((codes.get(user.bind(py)).ok()?, copied.shift))
    }

    /// The user's code that a resume function runs, and how it is made of that.
    pub fn recipe(&self, py: Python<'_>, code: &Obj) -> Option<(Obj, &Recipe)> {
        let (user, copied) = self.copied(py, code)?;
        Some((user, &copied.recipe))
    }

    fn copied(&self, py: Python<'_>, code: &Obj) -> Option<(Obj, &Copied)> {
        let copied = self.sources.get(&(code.as_ptr() as usize))?;
        let user = self.users.get(&copied.user)?.weak.call0(py).ok()?;
        (!user.is_none(py)).then_some((user, copied))
    }

    /// The resume function that a recipe makes of the user's code, and the one behind it; `number` gives what their
    /// names end with.
    ///
    /// # Errors
    /// [`Stop::Internal`] where the recipe is for other code.
    pub fn remake(
        &mut self,
        py: Python<'_>,
        codes: &mut CodeCache,
        (user, recipe): (&Obj, &Recipe),
        number: &mut dyn FnMut() -> u32,
    ) -> R<(Option<ResumeInfo>, &mut Resume)> {
        let code = codes.get(user.bind(py))?;
        self.live(py, &code)?;
        let source = Source { code, shift: 0 };
        let recipe = recipe.clone();
        let plan = Plan { source, recipe };
        let mut behind = None;
        if let Some(plan) = plan.behind() {
            if !self.has(&plan) {
                self.make(py, codes, &plan, number())?;
            }
            behind = Some(self.get(&plan)?.info.clone());
        }
        if !self.has(&plan) {
            self.make(py, codes, &plan, number())?;
        }
        Ok((behind, self.get(&plan)?))
    }

    pub(crate) fn source(
        &self,
        py: Python<'_>,
        codes: &mut CodeCache,
        code: &Rc<CodeInfo>,
    ) -> Source {
        let (code, shift) = self
            .original(py, codes, &code.obj)
            .unwrap_or_else(|| (code.clone(), 0));
        Source { code, shift }
    }

    /// Forgets what belongs to code that is gone.
    fn forget_gone(&mut self, py: Python<'_>) {
        let gone = |u: &User| u.weak.call0(py).is_ok_and(|o| o.is_none(py));
        let before = self.users.len();
        self.users.retain(|_, u| !gone(u));
        if self.users.len() == before {
            return;
        }
        self.made
            .retain(|(user, _), _| self.users.contains_key(user));
        self.sources
            .retain(|_, copied| self.users.contains_key(&copied.user));
    }

    fn live(&mut self, py: Python<'_>, code: &CodeInfo) -> R<Rc<LiveLocals>> {
        let addr = code.obj.as_ptr() as usize;
        if let Some(u) = self.users.get(&addr)
            && u.weak.call0(py).is_ok_and(|o| o.is(&code.obj))
        {
            return Ok(u.live.clone());
        }
        self.forget_gone(py);
        let live = bytecode::live_locals(&code.body)
            .map_err(|e| Stop::Internal(format!("live locals of {}: {e}", code.qualname)))?;
        let live = Rc::new(live);
        let weak = py.import("weakref")?.getattr("ref")?.call1((&code.obj,))?;
        let user = User {
            weak: weak.unbind(),
            live: live.clone(),
        };
        self.users.insert(addr, user);
        Ok(live)
    }

    /// What a resume function takes. `local` says what a local of the user's code is.
    pub(crate) fn plan(
        &mut self,
        py: Python<'_>,
        source: Source,
        target: usize,
        plain: bool,
        slots: Vec<Slot>,
        local: impl Fn(&str) -> Local,
    ) -> R<Plan> {
        let code = source.code.clone();
        if code.has(flags::GENERATOR)
            || code.has(flags::COROUTINE)
            || code.has(flags::ASYNC_GENERATOR)
        {
            return Err(Stop::unsupported(format!(
                "a graph break inside the generator {}",
                code.qualname
            )));
        }
        let live = self.live(py, &code)?;
        let all = introspects(&code);
        let kind = |i: usize| code.fields.localspluskinds[i];
        let has_super = code
            .local_names
            .iter()
            .enumerate()
            .any(|(i, n)| &**n == "__class__" && kind(i) & kinds::FREE != 0);
        let needs_first = has_super && code.fields.argcount > 0;
        let first_is_cell = needs_first && kind(0) & kinds::CELL != 0;
        let mut locals = Vec::new();
        for i in 0..code.local_names.len() {
            if kind(i) & (kinds::CELL | kinds::FREE) != 0 {
                continue;
            }
            let state = local(&code.local_names[i]);
            if state == Local::Unbound {
                continue;
            }
            if all
                || state == Local::Kept
                || live.contains(target as u32, LocalIdx(i as u32))
                || (i == 0 && needs_first)
            {
                locals.push(i as u32);
            }
        }
        let recipe = Recipe {
            target: target as u32,
            plain,
            slots,
            locals,
            first: first_is_cell,
            behind: None,
        };
        Ok(Plan { source, recipe })
    }

    /// Has a resume function that is entered in a comprehension run that to its end, as plain Python, and go on in
    /// another one behind it, where `depth` values are on the stack. `local` says what a local is at the break.
    /// Where it is not known which locals have a value behind the comprehension the plan stays as it is.
    pub(crate) fn leave_loop(
        &mut self,
        py: Python<'_>,
        plan: &mut Plan,
        comprehension: Range<u32>,
        depth: usize,
        local: impl Fn(&str) -> Local,
    ) -> R<()> {
        let code = plan.source.code.clone();
        let live = self.live(py, &code)?;
        let target = comprehension.end;
        let may_get_value = |op: &Op| match op {
            Op::StoreFast(l) => {
                local(&code.local_names[l.0 as usize]) == Local::Unbound
                    && live.contains(target, *l)
            }
            _ => false,
        };
        let (from, to) = (comprehension.start as usize, target as usize);
        let body = code.body.instrs.get(from..to).unwrap_or_default();
        let slots = &plan.recipe.slots;
        let slots = &slots[..depth.min(slots.len())];
        if slots.contains(&Slot::Handled) || body.iter().any(|i| may_get_value(&i.op)) {
            return Ok(());
        }
        let slots = slots.to_vec();
        let behind = self.plan(py, plan.source.clone(), to, false, slots, local)?;
        plan.recipe.plain = true;
        plan.recipe.behind = Some(Box::new(behind.recipe));
        Ok(())
    }

    fn key(plan: &Plan) -> Key {
        let user = plan.source.code.obj.as_ptr() as usize;
        (user, plan.recipe.clone())
    }

    /// Whether [`ResumeCache::get`] would find one.
    pub(crate) fn has(&self, plan: &Plan) -> bool {
        self.made.contains_key(&Self::key(plan))
    }

    /// The resume function of a plan, made before.
    pub(crate) fn get(&mut self, plan: &Plan) -> R<&mut Resume> {
        self.made
            .get_mut(&Self::key(plan))
            .ok_or_else(|| Stop::Internal("a resume function got lost".into()))
    }

    /// Makes the resume function of a plan.
    pub(crate) fn make(
        &mut self,
        py: Python<'_>,
        codes: &mut CodeCache,
        plan: &Plan,
        index: u32,
    ) -> R<()> {
        let resume = self.build(py, codes, plan, index)?;
        self.made.insert(Self::key(plan), resume);
        Ok(())
    }

    fn build(
        &mut self,
        py: Python<'_>,
        codes: &mut CodeCache,
        plan: &Plan,
        index: u32,
    ) -> R<Resume> {
        let (code, recipe) = (&plan.source.code, &plan.recipe);
        let fields = &code.fields;
        let n = fields.localsplusnames.len();
        let free = free_names(code);

        // Arguments, then the other locals. `super()` looks at the first local.
        let mut varnames: Vec<String> = Vec::new();
        let leading = recipe.locals.first() == Some(&0) && fields.argcount > 0;
        if recipe.first {
            varnames.push(FIRST.into());
        } else if leading {
            varnames.push(fields.localsplusnames[0].clone());
        }
        let first_of_stack = varnames.len();
        for (i, slot) in recipe.slots.iter().enumerate() {
            if *slot != Slot::Null {
                varnames.push(stack_name(i));
            }
        }
        let stack = first_of_stack..varnames.len();
        for &l in recipe.locals.iter().skip(usize::from(leading)) {
            varnames.push(fields.localsplusnames[l as usize].clone());
        }
        let args = varnames.len() as u32;
        for i in 0..n {
            if !is_cell(code, i) && !recipe.locals.contains(&(i as u32)) {
                varnames.push(fields.localsplusnames[i].clone());
            }
        }
        let body = copied_body(code, &varnames, &stack, &free, |op| {
            matches!(op, Op::MakeCell(_) | Op::CopyFreeVars(_))
        });
        let mut asm = Asm::new(fields.version, &code.consts, &fields.names);
        asm.body.set_loc(loc_of(code, recipe.target as usize));
        if !free.is_empty() {
            asm.op(Op::CopyFreeVars(free.len() as u32));
        }
        asm.op(Op::Resume(0));
        // What was on the stack goes where the program takes it from there: nothing else of this frame may keep it, and
        // an exception that is raised here must not find itself through an argument. Nor is an argument a variable of
        // the user's that `locals()` shows.
        let mut next_of_stack = stack.start as u32;
        for slot in &recipe.slots {
            if *slot == Slot::Null {
                asm.op(Op::PushNull);
                continue;
            }
            let at = LocalIdx(next_of_stack);
            next_of_stack += 1;
            asm.load_fast(at);
            asm.op(Op::DeleteFast(at));
            if *slot == Slot::Handled {
                asm.op(Op::PushExcInfo);
                asm.op(Op::PopTop);
            }
        }
        let import = asm.body.import(&body);
        asm.body.jump(import.label(Label(recipe.target)));
        let shift = asm.body.len() as usize;
        let len = body.instrs.len() as u32;
        match &plan.behind() {
            Some(behind) => {
                let target = behind.recipe.target;
                asm.body.copy(&import, &body, 0..target);
                self.go_on_behind(py, &mut asm, behind, (&varnames, &free))?;
                asm.body.copy(&import, &body, target..len);
            }
            None => asm.body.copy(&import, &body, 0..len),
        }

        let shape = Shape {
            varnames,
            cellvars: Vec::new(),
            freevars: free.clone(),
            args: Some(args),
        };
        let built = asm.build(py, code, &shape)?;
        let info = codes.get(built.code.bind(py))?;
        if info.body.instrs.len() != built.body.instrs.len() {
            return Err(Stop::Internal(format!(
                "a resume function of {} does not decode to what it was made of",
                code.qualname
            )));
        }
        self.sources.insert(
            built.code.as_ptr() as usize,
            Copied {
                user: code.obj.as_ptr() as usize,
                shift,
                recipe: recipe.clone(),
            },
        );
        let offset = code
            .body
            .instrs
            .get(recipe.target as usize)
            .map_or(0, |i| i.offset);
        let info = ResumeInfo {
            name: format!("__resume_at_{offset}_{index}"),
            code: built.code,
            offset,
            plain: recipe.plain,
            step_of: None,
        };
        Ok(Resume {
            info,
            free,
            functions: FxHashMap::default(),
        })
    }

    /// Returns the continuation that enters the resume function behind a comprehension; `names` are those of the
    /// locals and of the free variables of the one that runs its rest.
    fn go_on_behind(
        &mut self,
        py: Python<'_>,
        asm: &mut Asm,
        plan: &Plan,
        names: (&[String], &[String]),
    ) -> R<()> {
        let (varnames, free) = names;
        let code = self.get(plan)?.info.code.clone();
        let mut stack = Vec::with_capacity(plan.recipe.slots.len());
        for slot in plan.recipe.slots.iter().rev() {
            let tmp = asm.tmp("___tmp");
            asm.store_fast(tmp);
            stack.extend((*slot != Slot::Null).then_some(tmp));
        }
        let local = |name: &str| {
            let at = varnames.iter().position(|v| v == name);
            let missing = || Stop::Internal(format!("{name} got lost in a comprehension"));
            at.map(|at| LocalIdx(at as u32)).ok_or_else(missing)
        };
        let fields = &plan.source.code.fields;
        let mut locals = plan.recipe.locals.iter().peekable();
        let mut args = Vec::new();
        if plan.recipe.first {
            args.push(local(FIRST)?);
        } else if fields.argcount > 0 && locals.next_if(|l| **l == 0).is_some() {
            args.push(local(&fields.localsplusnames[0])?);
        }
        args.extend(stack.into_iter().rev());
        for l in locals {
            args.push(local(&fields.localsplusnames[*l as usize])?);
        }
        asm.load_const(&crate::continuation_mark(py));
        let mut parts = FuncAttr(0);
        if !free.is_empty() {
            for i in 0..free.len() {
                let cell = LocalIdx((varnames.len() + i) as u32);
                asm.op(Op::LoadClosure(cell));
            }
            asm.op(Op::BuildTuple(free.len() as u32));
            parts = FuncAttr(FuncAttr::CLOSURE);
        }
        asm.load_const(&code);
        asm.make_function(parts);
        for arg in &args {
            asm.load_fast(*arg);
        }
        asm.op(Op::BuildTuple(args.len() as u32 + 2));
        asm.op(Op::ReturnValue);
        Ok(())
    }
}

impl Resume {
    /// The function in these globals, for code without free variables.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn function(&mut self, py: Python<'_>, function_type: &Obj, globals: &Obj) -> R<Obj> {
        let addr = globals.as_ptr() as usize;
        if let Some((f, _)) = self.functions.get(&addr) {
            return Ok(f.clone());
        }
        let f = function_type.call1(py, (&self.info.code, globals))?;
        self.functions.insert(addr, (f.clone(), globals.clone()));
        Ok(f)
    }
}
