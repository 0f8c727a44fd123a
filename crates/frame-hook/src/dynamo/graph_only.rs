//! Residual code that does nothing but call its graph: found by following it once.
//!
//! Not here: the call ([`eval_frame::graph_call`]).

use bytecode::op::{LocalIdx, Op};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCode;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use translator::code::CodeInfo;

use cpython_abi::code::RawCode;
use eval_frame::graph_call::{Few, Given, GraphCall};

/// Code units of the longest code that is looked at.
const LONGEST: isize = 96;

/// The call, where `code`, whose arguments are all positional, does nothing else.
pub fn graph_call(code: &Bound<'_, PyCode>) -> Option<GraphCall> {
    // SAFETY: a code object's size is its number of code units.
    if unsafe { ffi::Py_SIZE(code.as_ptr()) } > LONGEST {
        return None;
    }
    // SAFETY: a code object, whose head the self-check has found as declared.
    let arguments = unsafe { &*code.as_ptr().cast::<RawCode>() }.argcount as u32;
    let info = CodeInfo::new(code.as_any()).ok()?;
    if !info.body.handlers.is_empty() {
        return None;
    }
    let found = read(info.body.instrs.iter().map(|instr| &instr.op), arguments)?;
    let graph = info.consts.get(found.constant)?.bind(code.py()).as_ptr();
    Some(GraphCall::new(
        graph,
        found.picks,
        found.outputs,
        found.given,
    ))
}

/// A call and what is made of it.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// Which constant is called.
    constant: usize,
    /// Which local each argument is.
    picks: Few,
    outputs: u8,
    given: Given,
}

/// What the residual code has on its stack.
#[derive(Clone, Copy)]
enum Value {
    Null,
    Constant(usize),
    Local(u32),
    /// What the graph gave.
    Result,
    Output(usize),
    Tuple(Few),
}

/// Follows the code of a function with so many arguments.
fn read<'a>(ops: impl Iterator<Item = &'a Op>, arguments: u32) -> Option<Found> {
    let mut stack: SmallVec<[Value; 16]> = SmallVec::new();
    let mut written: FxHashMap<LocalIdx, Value> = FxHashMap::default();
    let mut called = None;
    let mut outputs = None;
    for op in ops {
        match op {
            Op::Nop | Op::Resume(_) | Op::CopyFreeVars(_) => {}
            Op::PushNull => stack.push(Value::Null),
            Op::LoadConst(at) => stack.push(Value::Constant(at.0 as usize)),
            Op::LoadFast { local, .. } => stack.push(match written.get(local) {
                Some(value) => *value,
                None => (local.0 < arguments).then_some(Value::Local(local.0))?,
            }),
            Op::StoreFast(local) => {
                written.insert(*local, stack.pop()?);
            }
            Op::Copy(n) => stack.push(*stack.get(stack.len().checked_sub(*n as usize)?)?),
            Op::Swap(n) => {
                let (top, other) = (
                    stack.len().checked_sub(1)?,
                    stack.len().checked_sub(*n as usize)?,
                );
                stack.swap(top, other);
            }
            Op::PopTop => drop(stack.pop()?),
            Op::Call {
                argc,
                kw_names: None,
            } if called.is_none() => {
                let locals = take(&mut stack, *argc, |value| match value {
                    Value::Local(local) => Some(*local as usize),
                    _ => None,
                })?;
                let callable = match (stack.pop()?, stack.pop()?) {
                    (Value::Constant(at), Value::Null) | (Value::Null, Value::Constant(at)) => at,
                    _ => return None,
                };
                called = Some((callable, locals));
                stack.push(Value::Result);
            }
            Op::UnpackSequence(n) if outputs.is_none() => {
                if !matches!(stack.pop()?, Value::Result) {
                    return None;
                }
                outputs = Some(u8::try_from(*n).ok()?);
                stack.extend((0..*n as usize).rev().map(Value::Output));
            }
            Op::BuildTuple(n) => {
                let items = take(&mut stack, *n, |value| match value {
                    Value::Output(i) => Some(*i),
                    _ => None,
                })?;
                stack.push(Value::Tuple(items));
            }
            Op::ReturnValue => {
                let (constant, picks) = called?;
                let given = match stack.pop()? {
                    Value::Output(i) => Given::Output(u8::try_from(i).ok()?),
                    Value::Tuple(few) => Given::Tuple(few),
                    _ => return None,
                };
                return Some(Found {
                    constant,
                    picks,
                    outputs: outputs?,
                    given,
                });
            }
            _ => return None,
        }
    }
    None
}

/// Takes the topmost `n` values off a stack, bottom first, as the numbers that they are; `None` where one is no such
/// value, or there are fewer.
fn take(
    stack: &mut SmallVec<[Value; 16]>,
    n: u32,
    number: impl Fn(&Value) -> Option<usize>,
) -> Option<Few> {
    let from = stack.len().checked_sub(n as usize)?;
    let numbers: Option<SmallVec<[usize; 16]>> = stack.drain(from..).map(|v| number(&v)).collect();
    Few::of(numbers?)
}

#[cfg(test)]
mod tests {
    use bytecode::op::ConstIdx;

    use super::*;

    fn load(local: u32) -> Op {
        Op::LoadFast {
            local: LocalIdx(local),
            check: false,
        }
    }

    fn call(argc: u32) -> Op {
        Op::Call {
            argc,
            kw_names: None,
        }
    }

    fn read_all(ops: &[Op], arguments: u32) -> Option<Found> {
        read(ops.iter(), arguments)
    }

    fn head(argc: u32) -> Vec<Op> {
        vec![Op::Resume(0), Op::PushNull, Op::LoadConst(ConstIdx(3))]
            .into_iter()
            .chain((0..argc).map(load))
            .chain([call(argc)])
            .collect()
    }

    #[test]
    fn one_output() {
        let mut ops = head(2);
        ops.extend([Op::UnpackSequence(1), Op::ReturnValue]);
        let found = read_all(&ops, 2);
        let expected = Found {
            constant: 3,
            picks: Few::of([0, 1]).unwrap(),
            outputs: 1,
            given: Given::Output(0),
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn arguments_in_another_order_and_a_tuple() {
        let ops = [
            Op::LoadConst(ConstIdx(1)),
            Op::PushNull,
            load(2),
            load(0),
            call(2),
            Op::UnpackSequence(3),
            Op::StoreFast(LocalIdx(0)),
            Op::Swap(2),
            load(0),
            Op::BuildTuple(3),
            Op::ReturnValue,
        ];
        let found = read_all(&ops, 3).unwrap();
        assert_eq!((found.constant, found.picks), (1, Few::of([2, 0]).unwrap()));
        assert_eq!(found.given, Given::Tuple(Few::of([1, 2, 0]).unwrap()));
    }

    #[test]
    fn whatever_else_the_code_does_is_left_to_it() {
        let mut two_calls = head(1);
        two_calls.extend([
            Op::PopTop,
            Op::PushNull,
            Op::LoadConst(ConstIdx(3)),
            call(0),
        ]);
        two_calls.extend([Op::UnpackSequence(1), Op::ReturnValue]);
        let mut an_argument = head(1);
        an_argument.extend([Op::UnpackSequence(1), Op::PopTop, load(0), Op::ReturnValue]);
        let mut unpacked_by_nobody = head(1);
        unpacked_by_nobody.push(Op::ReturnValue);
        let mut an_unbound_local = head(2);
        an_unbound_local.extend([Op::UnpackSequence(1), Op::ReturnValue]);
        let mut many = head(9);
        many.extend([Op::UnpackSequence(1), Op::ReturnValue]);
        for (ops, arguments) in [
            (two_calls, 1),
            (an_argument, 1),
            (unpacked_by_nobody, 1),
            (an_unbound_local, 1),
            (many, 9),
        ] {
            assert_eq!(read_all(&ops, arguments), None, "{ops:?}");
        }
    }
}
