//! Code fields and assembled code as bytes on a pipe, for tools that work beside an interpreter.
//!
//! Numbers are little-endian `u32`; a byte string is its length and its bytes; a list of strings is
//! its length and the strings. One code object, in order: minor version, `argcount`,
//! `posonlyargcount`, `kwonlyargcount`, `stacksize`, `flags`, `firstlineno`, `n_consts`, `code`,
//! `linetable`, `exceptiontable`, `localspluskinds`, `names`, `localsplusnames`, and a label of the
//! sender's choice. An answer: 1, `stacksize`, `code`, `linetable`, `exceptiontable`; or 0 and a
//! message.

use std::io::{self, Read, Write};

use crate::assemble::Assembled;
use crate::code::{CodeFields, Version};

/// Longest byte string that is read, against a sender out of step.
const MAX_LEN: u32 = 1 << 28;

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn number(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn bytes(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let len = number(input)?;
    if len > MAX_LEN {
        return Err(invalid("byte string too long"));
    }
    let mut bytes = vec![0; len as usize];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn string(input: &mut impl Read) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(input)?).into_owned())
}

fn strings(input: &mut impl Read) -> io::Result<Vec<String>> {
    let len = number(input)?;
    (0..len).map(|_| string(input)).collect()
}

/// Reads a code object and its label; `None` at the end of the input.
pub fn read_code(input: &mut impl Read) -> io::Result<Option<(CodeFields, String)>> {
    let mut first = [0];
    if input.read(&mut first)? == 0 {
        return Ok(None);
    }
    let mut rest = [0; 3];
    input.read_exact(&mut rest)?;
    let version = Version::from_minor(first[0])
        .filter(|_| rest == [0; 3])
        .ok_or_else(|| invalid("unknown version"))?;
    let fields = CodeFields {
        version,
        argcount: number(input)?,
        posonlyargcount: number(input)?,
        kwonlyargcount: number(input)?,
        stacksize: number(input)?,
        flags: number(input)?,
        firstlineno: number(input)?,
        n_consts: number(input)?,
        code: bytes(input)?,
        linetable: bytes(input)?,
        exceptiontable: bytes(input)?,
        localspluskinds: bytes(input)?,
        names: strings(input)?,
        localsplusnames: strings(input)?,
    };
    Ok(Some((fields, string(input)?)))
}

fn put(output: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    output.write_all(&(bytes.len() as u32).to_le_bytes())?;
    output.write_all(bytes)
}

/// Writes the answer to a code object.
pub fn write_answer(output: &mut impl Write, answer: &Result<Assembled, String>) -> io::Result<()> {
    match answer {
        Ok(assembled) => {
            output.write_all(&1u32.to_le_bytes())?;
            output.write_all(&assembled.stacksize.to_le_bytes())?;
            put(output, &assembled.code)?;
            put(output, &assembled.linetable)?;
            put(output, &assembled.exceptiontable)
        }
        Err(message) => {
            output.write_all(&0u32.to_le_bytes())?;
            put(output, message.as_bytes())
        }
    }
}
