//! Constants, and what C functions give.

use super::{World, case, local};
use crate::exec::Pins;
use crate::guard::{Guard, GuardKind};
use crate::source::SourceTable;
use crate::value::ConstVal;

#[test]
fn constants() {
    let values = [
        "True",
        "1",
        "1.0",
        "(1+0j)",
        "'1'",
        "b'1'",
        "0",
        "0.0",
        "-0.0",
        "-0j",
        "float('nan')",
        "float('inf')",
        "1 << 70",
        "-(1 << 70)",
        "1 << 63",
        "-(1 << 63)",
        "'it\\'s \\n \\u20ac'",
        "b'\\x00\\xff'",
        "()",
        "(1,)",
        "(True,)",
        "(1, 2)",
        "(1.0, ('a', None))",
        "(0.0,)",
        "(-0.0,)",
        "None",
        "...",
        "NotImplemented",
        "torch.Size([1, 2])",
        "torch.Size([1])",
        "torch.device('cpu')",
        "torch.device('cuda:1')",
        "torch.device('meta')",
        "[1]",
        "torch.ones(1)",
        "type('I', (int,), {})(1)",
        "type('S', (str,), {})('1')",
        "type('T', (tuple,), {})((1,))",
    ];
    World::with(|w| {
        for (i, text) in values.iter().enumerate() {
            let Some(constant) = crate::exec::read::constant(&w.eval(text)) else {
                continue;
            };
            for kind in [
                GuardKind::EqualsMatch {
                    value: constant.clone(),
                },
                GuardKind::ConstantMatch {
                    value: constant.clone(),
                },
            ] {
                let mut sources = SourceTable::new();
                let x = local(&mut sources, 0, "x");
                let program = w.link(sources, vec![Guard::new(x, kind)], Pins::new());
                for (j, other) in values.iter().enumerate() {
                    let value = w.eval(other);
                    assert_eq!(
                        w.verdict(&program, std::slice::from_ref(&value)),
                        i == j,
                        "{text} against {other}"
                    );
                }
                assert!(!w.reason(&program, &[w.eval("object()")]).is_empty());
            }
        }
    });
    case(
        "",
        |_, _| GuardKind::EqualsMatch {
            value: ConstVal::str("hi"),
        },
        &["'hi'", "'h' + 'i'"],
        &[
            ("'ho'", "x == 'hi'. expected 'hi', actual 'ho'"),
            ("object()", "actual <object object at"),
        ],
    );
}

#[test]
fn calls() {
    let make = |w: &World<'_>, pins: &mut Pins| GuardKind::CallMatch {
        func: pins.pin(&w.eval("torch.Tensor.storage_offset")),
        args: [].into(),
        value: ConstVal::Int(2),
    };
    case(
        "",
        make,
        &["torch.ones(4)[2:]"],
        &[
            ("torch.ones(4)", "expected 2, actual 0"),
            ("3", "actual an exception"),
        ],
    );
}
