//! A code object, decoded once.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::Op;
use bytecode::{Body, CodeFields, ExceptEntry, Version};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use rustc_hash::FxHashMap;

use crate::{Obj, Var};

/// `co_flags` bits (CPython `Include/cpython/code.h`).
pub mod flags {
    /// `*args`
    pub const VARARGS: u32 = 0x04;
    /// `**kwargs`
    pub const VARKEYWORDS: u32 = 0x08;
    /// made by another function, anew in each of its calls
    pub const NESTED: u32 = 0x10;
    /// generator function
    pub const GENERATOR: u32 = 0x20;
    /// coroutine function
    pub const COROUTINE: u32 = 0x80;
    /// async generator function
    pub const ASYNC_GENERATOR: u32 = 0x200;
}

/// `co_localspluskinds` bits.
pub mod kinds {
    /// a local variable
    pub const LOCAL: u8 = 0x20;
    /// a cell variable
    pub const CELL: u8 = 0x40;
    /// a free variable
    pub const FREE: u8 = 0x80;
}

/// Prefix of the argument that holds the operand stack's `n`th value.
const STACK: &str = "___stack";

/// The argument of a resume function that holds the operand stack's `n`th value.
pub fn stack_name(n: usize) -> String {
    format!("{STACK}{n}")
}

/// Whether a variable is such an argument.
pub fn is_stack_name(name: &str) -> bool {
    name.starts_with(STACK)
}

/// Why a code object is not read.
#[derive(Debug)]
pub enum CodeError {
    /// what Python raises
    Python(PyErr),
    /// what is wrong with it
    Invalid(String),
}

impl From<PyErr> for CodeError {
    fn from(e: PyErr) -> CodeError {
        CodeError::Python(e)
    }
}

/// What the translator reads of a code object.
pub struct CodeInfo {
    /// the code object
    pub obj: Obj,
    /// the plain mirror of it
    pub fields: CodeFields,
    /// decoded instructions and exception table
    pub body: Body,
    /// `co_consts`
    pub consts: Vec<Obj>,
    /// the same as values
    pub const_vars: Vec<Var>,
    /// `co_names`
    pub names: Vec<Arc<str>>,
    /// names of locals, cells and free variables
    pub local_names: Vec<Arc<str>>,
    /// `co_name`
    pub name: Arc<str>,
    /// `co_qualname`
    pub qualname: Arc<str>,
    /// `co_filename`
    pub filename: Arc<str>,
}

impl CodeInfo {
    /// Reads and decodes a code object.
    ///
    /// # Errors
    /// [`CodeError`] where the bytecode is not valid, or of a Python that is not known.
    pub fn new(code: &Bound<'_, PyAny>) -> Result<CodeInfo, CodeError> {
        let py = code.py();
        let get = |n: &str| code.getattr(n);
        let bytes = |n: &str| -> PyResult<Vec<u8>> {
            Ok(get(n)?.cast_into::<PyBytes>()?.as_bytes().to_vec())
        };
        let strs = |n: &str| -> PyResult<Vec<String>> { get(n)?.extract() };
        let (names, local_names, kinds) =
            (strs("co_names")?, local_names(code)?, local_kinds(code)?);
        let consts: Vec<Obj> = get("co_consts")?
            .cast::<PyTuple>()
            .map_err(PyErr::from)?
            .iter()
            .map(Bound::unbind)
            .collect();
        let fields = CodeFields {
            version: version(py)?,
            argcount: get("co_argcount")?.extract()?,
            posonlyargcount: get("co_posonlyargcount")?.extract()?,
            kwonlyargcount: get("co_kwonlyargcount")?.extract()?,
            stacksize: get("co_stacksize")?.extract()?,
            flags: get("co_flags")?.extract()?,
            firstlineno: get("co_firstlineno")?.extract()?,
            code: bytes("co_code")?,
            linetable: bytes("co_linetable")?,
            exceptiontable: bytes("co_exceptiontable")?,
            names: names.clone(),
            localsplusnames: local_names.clone(),
            localspluskinds: kinds,
            n_consts: consts.len() as u32,
        };
        let body =
            bytecode::decode(&fields).map_err(|e| CodeError::Invalid(format!("decode: {e}")))?;
        Ok(CodeInfo {
            obj: code.clone().unbind(),
            body,
            const_vars: consts.iter().map(|c| const_var(py, c)).collect(),
            consts,
            names: names.iter().map(|s| Arc::from(s.as_str())).collect(),
            local_names: local_names.iter().map(|s| Arc::from(s.as_str())).collect(),
            name: Arc::from(get("co_name")?.extract::<String>()?),
            qualname: Arc::from(get("co_qualname")?.extract::<String>()?),
            filename: Arc::from(get("co_filename")?.extract::<String>()?),
            fields,
        })
    }

    /// Whether a flag of [`flags`] is set.
    pub fn has(&self, flag: u32) -> bool {
        self.fields.flags & flag != 0
    }

    /// Whether it goes back to an instruction that it has passed.
    pub fn has_loop(&self) -> bool {
        bytecode::has_loop(&self.body)
    }

    /// Number of free variables.
    pub fn n_free(&self) -> usize {
        self.fields
            .localspluskinds
            .iter()
            .filter(|k| **k & kinds::FREE != 0)
            .count()
    }

    /// The line of an instruction, or that of the function.
    pub fn line(&self, ip: usize) -> u32 {
        self.body
            .instrs
            .get(ip)
            .and_then(|i| i.loc.line)
            .unwrap_or(self.fields.firstlineno)
    }
}

/// A constant of a code object as a value: tuples become tracked tuples.
fn const_var(py: Python<'_>, c: &Obj) -> Var {
    match c.bind(py).cast_exact::<PyTuple>() {
        Ok(t) => Var::tuple(t.iter().map(|i| const_var(py, &i.unbind())).collect()),
        Err(_) => match c.bind(py).get_type().name() {
            Ok(n) if n == "code" => Var::py(c.clone()),
            Ok(n) if n == "slice" => slice_var(py, c).unwrap_or_else(|_| Var::Const(c.clone())),
            _ => Var::Const(c.clone()),
        },
    }
}

/// A slice of constants (3.14 and later have them in code objects).
fn slice_var(py: Python<'_>, slice: &Obj) -> PyResult<Var> {
    let part = |name: &str| -> PyResult<Var> {
        Ok(const_var(py, &slice.bind(py).getattr(name)?.unbind()))
    };
    Ok(Var::Slice(Rc::new([
        part("start")?,
        part("stop")?,
        part("step")?,
    ])))
}

/// Names in the order of `co_localsplusnames`: locals, then cells that are no arguments or locals,
/// then free variables.
fn local_names(code: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let mut names: Vec<String> = code.getattr("co_varnames")?.extract()?;
    let cells: Vec<String> = code.getattr("co_cellvars")?.extract()?;
    let free: Vec<String> = code.getattr("co_freevars")?.extract()?;
    let fresh: Vec<String> = cells.into_iter().filter(|c| !names.contains(c)).collect();
    names.extend(fresh);
    names.extend(free);
    Ok(names)
}

fn local_kinds(code: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let vars: Vec<String> = code.getattr("co_varnames")?.extract()?;
    let cells: Vec<String> = code.getattr("co_cellvars")?.extract()?;
    let free: Vec<String> = code.getattr("co_freevars")?.extract()?;
    let mut out: Vec<u8> = vars
        .iter()
        .map(|v| {
            if cells.contains(v) {
                kinds::LOCAL | kinds::CELL
            } else {
                kinds::LOCAL
            }
        })
        .collect();
    out.extend(
        cells
            .iter()
            .filter(|c| !vars.contains(c))
            .map(|_| kinds::CELL),
    );
    out.extend(free.iter().map(|_| kinds::FREE));
    Ok(out)
}

/// The running interpreter's version.
///
/// # Errors
/// [`CodeError::Invalid`] for one that is not supported.
pub fn version(py: Python<'_>) -> Result<Version, CodeError> {
    let v = py.version_info();
    let known = Version::from_minor(v.minor).filter(|_| v.major == 3);
    known.ok_or_else(|| {
        CodeError::Invalid(format!("CPython {}.{} is not supported", v.major, v.minor))
    })
}

/// The handler that an exception at an instruction is given to, where that handler or one that it
/// raises to does something. One that only moves values, puts locals and the exception state back,
/// does what `passes` lets through, and re-raises does nothing.
pub fn handler_of(body: &Body, ip: usize, passes: impl Fn(&Op) -> bool) -> Option<ExceptEntry> {
    let entry_at = |at: usize| {
        let at = at as u32;
        let covers = |h: &&ExceptEntry| h.start.0 <= at && at < h.end.0;
        body.handlers.iter().find(covers).copied()
    };
    let first = entry_at(ip)?;
    let mut entry = first;
    for _ in 0..=body.handlers.len() {
        let mut next = entry.target.0 as usize;
        loop {
            match body.instrs.get(next).map(|i| &i.op) {
                Some(
                    Op::Swap(_)
                    | Op::PopTop
                    | Op::LoadConst(_)
                    | Op::LoadCommon(_)
                    | Op::PopIter
                    | Op::StoreFast(_)
                    | Op::DeleteFast(_)
                    | Op::Copy(_)
                    | Op::PopExcept
                    | Op::Nop,
                ) => next += 1,
                Some(Op::Reraise(_)) => break,
                Some(op) if passes(op) => next += 1,
                _ => return Some(first),
            }
        }
        entry = entry_at(next)?;
    }
    Some(first)
}

/// Decoded code objects by address. Each holds its code object, so an address stays taken.
#[derive(Default)]
pub struct CodeCache {
    map: FxHashMap<usize, Rc<CodeInfo>>,
}

impl CodeCache {
    /// Decodes once.
    ///
    /// # Errors
    /// As [`CodeInfo::new`].
    pub fn get(&mut self, code: &Bound<'_, PyAny>) -> Result<Rc<CodeInfo>, CodeError> {
        let addr = code.as_ptr() as usize;
        if let Some(c) = self.map.get(&addr) {
            return Ok(c.clone());
        }
        let c = Rc::new(CodeInfo::new(code)?);
        self.map.insert(addr, c.clone());
        Ok(c)
    }

    /// Lets go of code that may be made and dropped at run time: all but that of files which `stay`.
    pub fn forget(&mut self, stay: impl Fn(&str) -> bool) {
        self.map.retain(|_, code| stay(&code.filename));
    }
}
