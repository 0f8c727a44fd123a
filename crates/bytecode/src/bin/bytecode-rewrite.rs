//! Rewrites code objects that arrive on standard input; answers on standard output.
//!
//! Usage: `bytecode-rewrite MODE`, see [`bytecode::wire`] for what goes over the pipes. `exact`
//! assembles what was decoded; `plain` forgets how instructions were encoded, so that each is
//! written by its version's plain rule; `moved` builds a new body that sets up the frame, then
//! jumps over a dead copy of the code into the middle of a live one, as residual code does.

use std::io::{BufReader, BufWriter, Write};
use std::process::ExitCode;

use bytecode::{
    AsmInfo, Assembled, Body, BodyBuilder, CodeFields, Limits, assemble, decode, op, wire,
};

/// What is done to a decoded body.
#[derive(Clone, Copy)]
enum Mode {
    Exact,
    Plain,
    Moved,
}

fn moved(body: &Body) -> Result<Body, bytecode::BuildError> {
    let mut builder = BodyBuilder::new(body.version);
    let live = builder.import(body);
    let entered = builder.copy_entry(&live, body);
    builder.emit(op::Op::Nop);
    builder.jump(entered);
    builder.copy_all(body);
    builder.copy(&live, body, 0..body.instrs.len() as u32);
    builder.finish()
}

fn rewrite(fields: &CodeFields, mode: Mode) -> Result<Assembled, String> {
    let mut body = decode(fields).map_err(|e| e.to_string())?;
    match mode {
        Mode::Exact => {}
        Mode::Plain => body.forget_encoding(),
        Mode::Moved => body = moved(&body).map_err(|e| e.to_string())?,
    }
    let info = AsmInfo {
        firstlineno: fields.firstlineno,
        limits: Some(Limits::of(fields)),
    };
    assemble(&body, &info).map_err(|e| e.to_string())
}

fn run(mode: Mode) -> std::io::Result<()> {
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut output = BufWriter::new(std::io::stdout().lock());
    while let Some((fields, label)) = wire::read_code(&mut input)? {
        let answer = rewrite(&fields, mode).map_err(|message| format!("{label}: {message}"));
        wire::write_answer(&mut output, &answer)?;
        output.flush()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let mode = match std::env::args().nth(1).as_deref() {
        Some("exact") => Mode::Exact,
        Some("plain") => Mode::Plain,
        Some("moved") => Mode::Moved,
        _ => {
            eprintln!("usage: bytecode-rewrite exact|plain|moved");
            return ExitCode::from(2);
        }
    };
    match run(mode) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bytecode-rewrite: {error}");
            ExitCode::FAILURE
        }
    }
}
