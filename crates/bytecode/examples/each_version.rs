//! One function, `lambda a, b: a * b if a else b`, as bytecode of each version of Python: what `dis` would show there,
//! the stack that it needs, and its bytes.
//!
//! `cargo run -p ferrodyn-bytecode --example each_version`

use bytecode::op::{BinaryOp, JumpCond, LocalIdx, Op};
use bytecode::{AsmInfo, BodyBuilder, Names, Version, assemble, disassemble, verify};

fn listing(version: Version) -> Result<String, Box<dyn std::error::Error>> {
    let load = |local: u32| Op::LoadFast {
        local: LocalIdx(local),
        check: false,
    };
    let mut builder = BodyBuilder::new(version);
    let otherwise = builder.new_label();
    builder.emit(Op::Resume(0));
    builder.emit(load(0));
    builder.pop_jump(JumpCond::False, otherwise);
    builder.emit_all([
        load(0),
        load(1),
        Op::Binary {
            op: BinaryOp::Multiply,
            inplace: false,
        },
        Op::ReturnValue,
    ]);
    builder.bind(otherwise);
    builder.emit_all([load(1), Op::ReturnValue]);
    let body = builder.finish()?;
    verify(&body, None)?;
    let locals = ["a".to_owned(), "b".to_owned()];
    let names = Names {
        locals: &locals,
        ..Names::default()
    };
    let assembled = assemble(&body, &AsmInfo::default())?;
    Ok(format!(
        "Python {version}, {} bytes, stack of {}\n{}",
        assembled.code.len(),
        assembled.stacksize,
        disassemble(&body, &names),
    ))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for version in Version::ALL {
        println!("{}", listing(version)?);
    }
    Ok(())
}

#[test]
fn each_version_has_its_bytes() -> Result<(), Box<dyn std::error::Error>> {
    for version in Version::ALL {
        let listing = listing(version)?;
        assert!(listing.contains("stack of 2"), "{listing}");
    }
    Ok(())
}
