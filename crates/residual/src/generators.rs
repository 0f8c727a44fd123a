//! Generators as bytecode: one that has not begun is made by a call of its function, one that is
//! suspended by a generator function of its own.
//!
//! That function has the suspended frame's variables and stack for arguments, and a copy of the
//! user's code. It yields once, under the handlers that cover the `yield` at which the user's
//! generator stands, and then goes on behind that. The residual code takes the first value, so what
//! it has then is suspended as the user's generator is.

use bytecode::op::{FuncAttr, Label, LocalIdx, Op};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rustc_hash::FxHashSet;
use translator::code::{CodeInfo, flags, kinds, stack_name};
use translator::state::{Frame, GeneratorState};
use translator::stop::{R, Stop};
use variables::{Body, Obj, ObjId, Var};

use crate::asm::{Asm, Shape, loc_of};
use crate::emitter::{Emitter, Ident};
use crate::entered::{copied_body, free_names, is_cell};

/// The values that a generator's frame holds.
pub fn values(state: &GeneratorState) -> Vec<Var> {
    state.frame.as_ref().map_or_else(Vec::new, |f| {
        let bound = f.locals.iter().flatten();
        let all = f.stack.iter().chain(bound).chain(f.closure.iter());
        all.cloned().collect()
    })
}

impl Emitter<'_, '_> {
    /// A generator that is dropped here must have nothing left to do.
    pub(crate) fn check_abandoned(&mut self) -> R<()> {
        let uses = &self.uses;
        match self
            .tx
            .leaves_generator_in_try(|id| uses.contains_key(&Ident::Obj(id)))
        {
            false => Ok(()),
            true => Err(Stop::unsupported(
                "a generator that is left suspended inside `try` or `with`: what it still has to do happens when Python drops it",
            )),
        }
    }

    /// Whether a generator that was made while translating can do nothing any more.
    pub(crate) fn has_ended(&self, v: &Var) -> bool {
        let Var::Obj(id) = v else { return false };
        let Body::Generator(state) = &self.tx.obj(*id).body else {
            return false;
        };
        state.frame.is_none()
    }

    /// Whether a value leads to a generator that was made while translating and may go on.
    pub(crate) fn holds_generator(&self, v: &Var) -> bool {
        let mut seen = FxHashSet::default();
        let mut todo = vec![v.clone()];
        while let Some(v) = todo.pop() {
            if self.tx.is_generator(&v) && !self.has_ended(&v) {
                return true;
            }
            if self.ident(&v).is_none_or(|i| seen.insert(i)) {
                todo.extend(self.children(&v));
            }
        }
        false
    }

    /// `-- generator`
    pub(crate) fn generator(&mut self, id: ObjId) -> R<()> {
        let Body::Generator(state) = self.tx.obj(id).body.clone() else {
            return Err(Stop::Internal("not a generator".into()));
        };
        match &state.frame {
            None if self.is_running(id) => return Err(self.cannot("a generator that is running")),
            None => self.ended(&state.code)?,
            Some(f) if state.started => self.suspended(f)?,
            Some(f) => self.unstarted(f)?,
        }
        match &state.names {
            Some(names) => self.rename(&state.code, names),
            None => Ok(()),
        }
    }

    fn is_running(&self, id: ObjId) -> bool {
        let mut frame = Some(&self.tx.state().frame);
        while let Some(f) = frame {
            if f.generator == Some(id) {
                return true;
            }
            frame = f.parent.as_deref();
        }
        false
    }

    /// `-- generator` that has ended: one of the same code that is closed before it has begun.
    fn ended(&mut self, code: &CodeInfo) -> R<()> {
        let py = self.tx.py;
        let known = self.tx.known().clone();
        let (bare, args) = all_positional(code, py)?;
        let free = bare.getattr("co_freevars")?.len()?;
        let cells = (0..free).map(|_| known.cell.bind(py).call0());
        let cells = PyTuple::new(py, cells.collect::<PyResult<Vec<_>>>()?)?;
        let (none, globals) = (py.None(), PyDict::new(py));
        let function = known.function.bind(py);
        let function = function.call1((bare, globals, &none, &none, cells))?;
        self.asm.callee(&function.unbind());
        // Nothing is read of them, but what a generator expression goes over may have to be iterable.
        let nothing = PyTuple::empty(py).into_any().unbind();
        for _ in 0..args {
            self.asm.load_const(&nothing);
        }
        self.asm.call(args);
        let made = self.asm.tmp("___generator");
        self.asm.store_fast(made);
        let close = known.generator.getattr(py, "close")?;
        self.asm.callee(&close);
        self.asm.load_fast(made);
        self.asm.call(1);
        self.asm.op(Op::PopTop);
        self.asm.load_fast(made);
        Ok(())
    }

    /// `generator -- generator` with its `__name__` and `__qualname__`.
    fn rename(&mut self, code: &CodeInfo, names: &[Var; 2]) -> R<()> {
        let attributes = [("__name__", &code.name), ("__qualname__", &code.qualname)];
        for ((attribute, given), name) in attributes.into_iter().zip(names) {
            let name = self.tx.realize(name)?;
            let text = name.as_obj().map(|o| o.bind(self.tx.py).to_string());
            if text.as_deref() == Some(&**given) {
                continue;
            }
            let made = self.asm.tmp("___generator");
            self.asm.store_fast(made);
            self.value(&name)?;
            self.asm.load_fast(made);
            let n = self.asm.name_idx(attribute);
            self.asm.op(Op::StoreAttr(n));
            self.asm.load_fast(made);
        }
        Ok(())
    }

    /// `-- generator`: the arguments are in their places already, so all are positional.
    fn unstarted(&mut self, f: &Frame) -> R<()> {
        let py = self.tx.py;
        let (code, args) = all_positional(&f.code, py)?;
        self.generator_function(f, &code.unbind(), &f.closure.to_vec())?;
        for local in f.locals.iter().take(args as usize) {
            match local {
                Some(v) => self.value(v)?,
                None => return Err(Stop::Internal("an argument without a value".into())),
            }
        }
        self.asm.call(args);
        Ok(())
    }

    /// `-- generator`, suspended.
    fn suspended(&mut self, f: &Frame) -> R<()> {
        let fields = &f.code.fields;
        let mut cells = Vec::new();
        for bit in [kinds::CELL, kinds::FREE] {
            for (i, kind) in fields.localspluskinds.iter().enumerate() {
                if kind & bit != 0 {
                    let cell = f.locals.get(i).cloned().flatten();
                    cells.push(cell.ok_or_else(|| Stop::Internal("no cell".into()))?);
                }
            }
        }
        if f.stack.iter().any(|v| matches!(v, Var::Handled(_))) {
            return Err(self.cannot("a generator that is suspended inside an exception handler"));
        }
        let code = self.suspended_code(f)?;
        self.generator_function(f, &code, &cells)?;
        let mut args = 0;
        for v in f.stack.iter().filter(|v| !matches!(v, Var::Null)) {
            self.value(v)?;
            args += 1;
        }
        for (_, v) in plain_locals(f) {
            self.value(v)?;
            args += 1;
        }
        self.asm.call(args);
        let py = self.tx.py;
        let next = py.import("builtins")?.getattr("next")?.unbind();
        let made = self.asm.tmp("___generator");
        self.asm.store_fast(made);
        self.asm.callee(&next);
        self.asm.load_fast(made);
        self.asm.call(1);
        self.asm.op(Op::PopTop);
        self.asm.load_fast(made);
        Ok(())
    }

    /// `-- callable NULL`: a function of the generator's, in its globals.
    fn generator_function(&mut self, f: &Frame, code: &Obj, cells: &[Var]) -> R<()> {
        let py = self.tx.py;
        let class = self.tx.known().function.clone();
        if cells.is_empty() {
            let function = class.call1(py, (code, &f.globals.dict))?;
            self.asm.callee(&function);
            return Ok(());
        }
        if f.globals.dict.is(&self.globals) {
            self.closure(cells)?;
            self.asm.load_const(code);
            self.asm.make_function(FuncAttr(FuncAttr::CLOSURE));
        } else {
            self.asm.callee(&class);
            self.asm.load_const(code);
            match f.globals.source {
                Some(source) => self.load_source(source)?,
                None => self.asm.load_const(&f.globals.dict),
            }
            let none = py.None();
            self.asm.load_const(&none);
            self.asm.load_const(&none);
            self.closure(cells)?;
            self.asm.call(5);
        }
        self.asm.body.make_callable();
        Ok(())
    }

    /// The code of a generator function that goes on where a frame is suspended.
    fn suspended_code(&self, f: &Frame) -> R<Obj> {
        let (code, fields) = (&*f.code, &f.code.fields);
        let n = fields.localsplusnames.len();
        let free = free_names(code);
        let mut varnames: Vec<String> = Vec::new();
        for (i, v) in f.stack.iter().enumerate() {
            if !matches!(v, Var::Null) {
                varnames.push(stack_name(i));
            }
        }
        let stack = 0..varnames.len();
        varnames.extend(plain_locals(f).map(|(i, _)| fields.localsplusnames[i].clone()));
        let args = varnames.len() as u32;
        let unbound = (0..n).filter(|&i| !is_cell(code, i) && f.locals[i].is_none());
        varnames.extend(unbound.map(|i| fields.localsplusnames[i].clone()));
        let body = copied_body(code, &varnames, &stack, &free, |op| {
            matches!(
                op,
                Op::MakeCell(_) | Op::CopyFreeVars(_) | Op::ReturnGenerator | Op::PopTop
            )
        });
        let mut asm = Asm::new(fields.version, &code.consts, &fields.names);
        asm.body.set_loc(loc_of(code, f.ip));
        if !free.is_empty() {
            asm.op(Op::CopyFreeVars(free.len() as u32));
        }
        asm.op(Op::ReturnGenerator);
        asm.op(Op::PopTop);
        asm.op(Op::Resume(0));
        let mut arg = 0;
        for v in &f.stack {
            if let Var::Null = v {
                asm.op(Op::PushNull);
            } else {
                asm.load_fast(LocalIdx(arg));
                arg += 1;
            }
        }
        let import = asm.body.import(&body);
        let none = self.tx.py.None();
        asm.load_const(&none);
        // The depth of a handler may count the value that is yielded.
        let start = asm.body.here();
        // The `yield` and the `RESUME` behind it, which says what kind of `yield` it is.
        let mut next = f.ip;
        asm.op(code.body.instrs[next].op.clone());
        next += 1;
        while let Some(op @ Op::Resume(_)) = code.body.instrs.get(next).map(|i| &i.op) {
            asm.op(op.clone());
            next += 1;
        }
        asm.body.jump(import.label(Label(next as u32)));
        let end = asm.body.here();
        let at = f.ip as u32;
        if let Some(h) = code
            .body
            .handlers
            .iter()
            .find(|h| h.start.0 <= at && at < h.end.0)
        {
            let target = import.label(h.target);
            asm.body.handler(start, end, target, h.depth, h.lasti);
        }
        asm.body.copy(&import, &body, 0..body.instrs.len() as u32);
        let shape = Shape {
            varnames,
            cellvars: Vec::new(),
            freevars: free.clone(),
            args: Some(args),
        };
        Ok(asm.build(self.tx.py, code, &shape)?.code)
    }
}

/// The code of a function that takes all of its arguments by position, and how many these are.
fn all_positional<'py>(code: &CodeInfo, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, u32)> {
    let fields = &code.fields;
    let stars = [flags::VARARGS, flags::VARKEYWORDS];
    let extra = stars.iter().filter(|s| code.has(**s)).count() as u32;
    let args = fields.argcount + fields.kwonlyargcount + extra;
    let kw = PyDict::new(py);
    kw.set_item("co_argcount", args)?;
    kw.set_item("co_posonlyargcount", 0)?;
    kw.set_item("co_kwonlyargcount", 0)?;
    kw.set_item("co_flags", fields.flags & !(stars[0] | stars[1]))?;
    let code = code.obj.bind(py).call_method("replace", (), Some(&kw))?;
    Ok((code, args))
}

/// The variables of a frame that have a value and are no cells, by their slot.
fn plain_locals(f: &Frame) -> impl Iterator<Item = (usize, &Var)> {
    let bound = f.locals.iter().enumerate();
    bound.filter_map(|(i, v)| Some((i, v.as_ref()?)).filter(|_| !is_cell(&f.code, i)))
}
