//! Instructions with the tables that they index into, and the code object made of both.
//!
//! Lives here: interning of constants and names, temporaries, renumbering of locals, and
//! `code.replace`. What is emitted is decided elsewhere.
//!
//! Invariant: a code object made here has the arguments and free variables of its template unless
//! [`Shape`] says otherwise.

use bytecode::op::{ConstIdx, FuncAttr, Label, LocalIdx, NameIdx, Op};
use bytecode::{AsmInfo, Body, BodyBuilder, Limits, Location, Version};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use rustc_hash::FxHashMap;
use translator::code::{CodeInfo, kinds};
use translator::stop::{R, Stop};
use variables::Obj;

/// Temporaries are numbered from here until the code object is made.
const TMP: u32 = 1 << 30;

/// A value that can be loaded again and again at no cost.
#[derive(Clone, Debug)]
pub enum Val {
    /// the `NULL` beside a callable
    Null,
    /// the exception that a handler is at work on, for the slot of the exception state before it
    Handled(Box<Val>),
    /// a constant of the code object
    Const(Obj),
    /// a local, original or temporary
    Fast(LocalIdx),
}

impl Val {
    /// The local that holds the value.
    pub fn local(&self) -> Option<LocalIdx> {
        match self {
            Val::Fast(local) => Some(*local),
            Val::Handled(exc) => exc.local(),
            Val::Null | Val::Const(_) => None,
        }
    }
}

/// Emits instructions for one code object.
pub struct Asm {
    /// the instructions
    pub body: BodyBuilder,
    consts: Vec<Obj>,
    const_index: FxHashMap<usize, u32>,
    names: Vec<String>,
    name_index: FxHashMap<String, u32>,
    tmps: Vec<String>,
    /// objects that the code makes for itself, where the first of its instructions have left them, and whether they are
    /// used
    made: Vec<(Obj, LocalIdx, bool)>,
}

impl Asm {
    /// An empty body, with tables that start with those of an existing code object or empty.
    pub fn new(version: Version, consts: &[Obj], names: &[String]) -> Asm {
        let mut asm = Asm {
            body: BodyBuilder::new(version),
            consts: consts.to_vec(),
            const_index: FxHashMap::default(),
            names: names.to_vec(),
            name_index: FxHashMap::default(),
            tmps: Vec::new(),
            made: Vec::new(),
        };
        for (i, c) in consts.iter().enumerate() {
            asm.const_index
                .entry(c.as_ptr() as usize)
                .or_insert(i as u32);
        }
        for (i, n) in names.iter().enumerate() {
            asm.name_index.entry(n.clone()).or_insert(i as u32);
        }
        asm
    }

    /// Index of a constant, by identity.
    pub fn const_idx(&mut self, obj: &Obj) -> ConstIdx {
        let consts = &mut self.consts;
        ConstIdx(
            *self
                .const_index
                .entry(obj.as_ptr() as usize)
                .or_insert_with(|| {
                    consts.push(obj.clone());
                    consts.len() as u32 - 1
                }),
        )
    }

    /// Index of a name.
    pub fn name_idx(&mut self, name: &str) -> NameIdx {
        if let Some(&i) = self.name_index.get(name) {
            return NameIdx(i);
        }
        let i = self.names.len() as u32;
        self.names.push(name.into());
        self.name_index.insert(name.into(), i);
        NameIdx(i)
    }

    /// A new local of the code object; a number is added to the stem.
    pub fn tmp(&mut self, stem: &str) -> LocalIdx {
        let i = self.tmps.len() as u32;
        self.tmps.push(format!("{stem}_{i}"));
        LocalIdx(TMP + i)
    }

    /// Whether a local was made by [`Asm::tmp`].
    pub fn is_tmp(&self, local: LocalIdx) -> bool {
        local.0 >= TMP
    }

    /// Adds an instruction.
    pub fn op(&mut self, op: Op) {
        self.body.emit(op);
    }

    /// The constants so far.
    pub fn constants(&self) -> &[Obj] {
        &self.consts
    }

    /// Has what the code makes for itself loaded in place of an object.
    pub fn make(&mut self, obj: &Obj) {
        let local = self.tmp("___made");
        self.made.push((obj.clone(), local, false));
    }

    /// The local that holds what the code makes in place of an object.
    pub fn made(&mut self, obj: &Obj) -> Option<LocalIdx> {
        let (_, local, is_used) = self.made.iter_mut().find(|made| made.0.is(obj))?;
        *is_used = true;
        Some(*local)
    }

    /// The objects in place of which the code has to make others.
    pub fn to_make(&self) -> Vec<(Obj, LocalIdx)> {
        let used = self.made.iter().filter(|made| made.2);
        used.map(|(obj, local, _)| (obj.clone(), *local)).collect()
    }

    /// `-- obj`
    pub fn load_const(&mut self, obj: &Obj) {
        let op = self.constant(obj);
        self.op(op);
    }

    fn constant(&mut self, obj: &Obj) -> Op {
        match self.made(obj) {
            Some(local) => Op::LoadFast {
                local,
                check: false,
            },
            None => Op::LoadConst(self.const_idx(obj)),
        }
    }

    /// `-- value`
    pub fn load_fast(&mut self, local: LocalIdx) {
        self.op(Op::LoadFast {
            local,
            check: false,
        });
    }

    /// `value --`
    pub fn store_fast(&mut self, local: LocalIdx) {
        self.op(Op::StoreFast(local));
    }

    /// `obj -- obj.name`
    pub fn load_attr(&mut self, name: &str) {
        let n = self.name_idx(name);
        self.op(Op::LoadAttr(n));
    }

    /// `-- value`
    pub fn load(&mut self, val: &Val) {
        match val {
            Val::Null => self.op(Op::PushNull),
            Val::Handled(exc) => self.load(exc),
            Val::Const(o) => self.load_const(o),
            Val::Fast(l) => self.load_fast(*l),
        }
    }

    /// Pushes a callable constant, ready for arguments and [`BodyBuilder::call`].
    pub fn callee(&mut self, f: &Obj) {
        let op = self.constant(f);
        self.body.emit_callable(op);
    }

    /// `x -- iterator`, alone on any version; `iter` is the builtin function.
    pub fn iterator(&mut self, iter: &Obj) {
        if self.body.version().iterator_slots() == 1 {
            return self.op(Op::GetIter);
        }
        // What `GET_ITER` leaves may be no iterator but `x` itself with an index.
        self.callee(iter);
        self.op(Op::Swap(2));
        self.op(Op::Swap(3));
        self.call(1);
    }

    /// `args*argc -- result` for the callable below.
    pub fn call(&mut self, argc: u32) {
        self.body.call(argc);
    }

    /// `[closure] code -- function` in the globals of the running frame.
    pub fn make_function(&mut self, parts: FuncAttr) {
        self.op(Op::MakeFunction(parts));
    }

    /// A label that is not bound.
    pub fn label(&mut self) -> Label {
        self.body.new_label()
    }
}

/// Names of a code object to be made from a template.
pub struct Shape {
    /// `co_varnames` without temporaries; arguments first
    pub varnames: Vec<String>,
    /// `co_cellvars`
    pub cellvars: Vec<String>,
    /// `co_freevars`
    pub freevars: Vec<String>,
    /// number of plain arguments, where the template's are replaced
    pub args: Option<u32>,
}

impl Shape {
    /// That of the template.
    pub fn of(code: &CodeInfo) -> Shape {
        let pick = |bit: u8| -> Vec<String> {
            let kinds = &code.fields.localspluskinds;
            (0..kinds.len())
                .filter(|&i| kinds[i] & bit != 0)
                .map(|i| code.fields.localsplusnames[i].clone())
                .collect()
        };
        Shape {
            varnames: pick(kinds::LOCAL),
            cellvars: pick(kinds::CELL),
            freevars: pick(kinds::FREE),
            args: None,
        }
    }
}

/// A finished code object.
pub struct Built {
    /// it
    pub code: Obj,
    /// its instructions
    pub body: Body,
    /// `co_consts`
    pub consts: Vec<Obj>,
    /// `co_names`
    pub names: Vec<String>,
    /// names of locals, cells and free variables
    pub locals: Vec<String>,
}

impl Asm {
    /// Makes the code object: `template` with this body, these tables and names. Locals beyond
    /// `shape.varnames` move up by the number of temporaries.
    ///
    /// # Errors
    /// [`Stop::Internal`] where the body is not well formed.
    pub fn build(mut self, py: Python<'_>, template: &CodeInfo, shape: &Shape) -> R<Built> {
        let builder = std::mem::replace(&mut self.body, BodyBuilder::new(template.fields.version));
        let body = builder.finish().map_err(|e| {
            Stop::Internal(format!("residual bytecode of {}: {e}", template.qualname))
        })?;
        self.build_body(py, body, template, shape)
    }

    /// As [`Asm::build`], of a body that was built with these tables.
    ///
    /// # Errors
    /// [`Stop::Internal`] where the body is not well formed.
    pub fn build_body(
        self,
        py: Python<'_>,
        mut body: Body,
        template: &CodeInfo,
        shape: &Shape,
    ) -> R<Built> {
        let internal = |e: &dyn std::fmt::Display| {
            Stop::Internal(format!("residual bytecode of {}: {e}", template.qualname))
        };
        let (vars, tmps) = (shape.varnames.len() as u32, self.tmps.len() as u32);
        for instr in &mut body.instrs {
            map_local(&mut instr.op, |l| match l {
                l if l >= TMP => vars + l - TMP,
                l if l >= vars => l + tmps,
                l => l,
            });
        }
        let mut varnames = shape.varnames.clone();
        varnames.extend(self.tmps);
        let only_cells = shape
            .cellvars
            .iter()
            .filter(|c| !shape.varnames.contains(c))
            .count();
        let limits = Limits {
            consts: self.consts.len() as u32,
            names: self.names.len() as u32,
            locals: (varnames.len() + only_cells + shape.freevars.len()) as u32,
        };
        let info = AsmInfo {
            firstlineno: template.fields.firstlineno,
            limits: Some(limits),
        };
        body.borrow_loads().map_err(|e| internal(&e))?;
        let out = bytecode::assemble(&body, &info).map_err(|e| internal(&e))?;
        let parts = CodeParts {
            code: &out.code,
            lines: &out.linetable,
            handlers: &out.exceptiontable,
            stack: out.stacksize,
            names: &self.names,
            locals: &varnames,
            cells: &shape.cellvars,
            free: &shape.freevars,
            args: shape.args,
        };
        let code = make_code(template.obj.bind(py), &parts, &self.consts)?.unbind();
        let cells = shape
            .cellvars
            .iter()
            .filter(|c| !shape.varnames.contains(c))
            .cloned();
        let mut locals = varnames;
        locals.extend(cells);
        locals.extend(shape.freevars.iter().cloned());
        Ok(Built {
            code,
            body,
            consts: self.consts,
            names: self.names,
            locals,
        })
    }
}

/// What of a code object is another than in the one that it is made like, but for constants.
pub struct CodeParts<'a> {
    /// `co_code`
    pub code: &'a [u8],
    /// `co_linetable`
    pub lines: &'a [u8],
    /// `co_exceptiontable`
    pub handlers: &'a [u8],
    /// `co_stacksize`
    pub stack: u32,
    /// `co_names`
    pub names: &'a [String],
    /// `co_varnames`
    pub locals: &'a [String],
    /// `co_cellvars`
    pub cells: &'a [String],
    /// `co_freevars`
    pub free: &'a [String],
    /// how many positional arguments it takes, and no others; `None`: those of the other one
    pub args: Option<u32>,
}

/// A code object like `template`, with parts and constants of its own.
///
/// # Errors
/// `MemoryError`.
pub fn make_code<'py>(
    template: &Bound<'py, PyAny>,
    parts: &CodeParts<'_>,
    constants: &[Obj],
) -> PyResult<Bound<'py, PyAny>> {
    let py = template.py();
    let items = cpython_abi::constants::constants(py, &PyTuple::new(py, constants)?)?;
    let changed = PyDict::new(py);
    changed.set_item("co_code", PyBytes::new(py, parts.code))?;
    changed.set_item("co_linetable", PyBytes::new(py, parts.lines))?;
    changed.set_item("co_exceptiontable", PyBytes::new(py, parts.handlers))?;
    changed.set_item("co_stacksize", parts.stack)?;
    changed.set_item("co_names", PyTuple::new(py, parts.names)?)?;
    changed.set_item("co_nlocals", parts.locals.len())?;
    changed.set_item("co_varnames", PyTuple::new(py, parts.locals)?)?;
    changed.set_item("co_cellvars", PyTuple::new(py, parts.cells)?)?;
    changed.set_item("co_freevars", PyTuple::new(py, parts.free)?)?;
    if let Some(args) = parts.args {
        let stars = translator::code::flags::VARARGS | translator::code::flags::VARKEYWORDS;
        let flags: u32 = template.getattr("co_flags")?.extract()?;
        changed.set_item("co_argcount", args)?;
        changed.set_item("co_posonlyargcount", 0)?;
        changed.set_item("co_kwonlyargcount", 0)?;
        changed.set_item("co_flags", flags & !stars)?;
    }
    changed.set_item("co_consts", items)?;
    let code = template.call_method("replace", (), Some(&changed))?;
    crate::natives::keep_texts(&code, constants)?;
    Ok(code)
}

/// Renumbers the local, cell or free variable of an instruction.
pub fn map_local(op: &mut Op, f: impl Fn(u32) -> u32) {
    match op {
        Op::LoadFast { local, .. }
        | Op::LoadFastAndClear(local)
        | Op::StoreFast(local)
        | Op::DeleteFast(local)
        | Op::MakeCell(local)
        | Op::LoadClosure(local)
        | Op::LoadDeref(local)
        | Op::StoreDeref(local)
        | Op::DeleteDeref(local)
        | Op::LoadClassDeref(local)
        | Op::LoadFromDictOrDeref(local) => local.0 = f(local.0),
        _ => {}
    }
}

/// Renumbers the constants and names of an instruction.
pub fn map_tables(
    op: &mut Op,
    consts: &mut impl FnMut(ConstIdx) -> ConstIdx,
    names: &mut impl FnMut(NameIdx) -> NameIdx,
) {
    match op {
        Op::LoadConst(c)
        | Op::ReturnConst(c)
        | Op::Call {
            kw_names: Some(c), ..
        } => *c = consts(*c),
        Op::LoadFromDictOrGlobals(n)
        | Op::LoadGlobal(n)
        | Op::StoreGlobal(n)
        | Op::DeleteGlobal(n)
        | Op::LoadName(n)
        | Op::StoreName(n)
        | Op::DeleteName(n)
        | Op::LoadAttr(n)
        | Op::LoadMethod { name: n, .. }
        | Op::LoadSuperAttr { name: n, .. }
        | Op::StoreAttr(n)
        | Op::DeleteAttr(n)
        | Op::ImportName { name: n, .. }
        | Op::ImportFrom(n) => *n = names(*n),
        _ => {}
    }
}

/// How many instructions come before the function's own: cells, free variables, `Resume`.
pub fn prologue_len(body: &Body) -> usize {
    let len = body.entry_len() as usize;
    match body.instrs[..len].last().map(|i| &i.op) {
        Some(Op::Resume(_)) => len,
        _ => 0,
    }
}

/// The location of an instruction, or of the function's first line.
pub fn loc_of(code: &CodeInfo, ip: usize) -> Location {
    match code.body.instrs.get(ip) {
        Some(i) if i.loc.line.is_some() => i.loc,
        _ => Location::line(code.fields.firstlineno),
    }
}
