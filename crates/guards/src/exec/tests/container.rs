//! Lengths, keys and members.

use pyo3::prelude::*;

use super::{World, case, local};
use crate::exec::{CheckEnv, Pins};
use crate::guard::{Guard, GuardKind};
use crate::source::SourceTable;
use crate::value::Key;

#[test]
fn lengths() {
    case(
        "class L(list):\n  def __len__(self): return 7",
        |_, _| GuardKind::SequenceLength { len: 2 },
        &[
            "[1, 2]",
            "(1, 2)",
            "'ab'",
            "b'ab'",
            "{1, 2}",
            "frozenset((1, 2))",
            "range(2)",
            "collections.deque((1, 2))",
            "{1: 2, 3: 4}",
        ],
        &[
            ("[1]", "len(x) == 2. expected 2, actual 1"),
            ("1", "without a length"),
            ("()", "actual 0"),
        ],
    );
    case(
        "",
        |_, _| GuardKind::DictLength { len: 1 },
        &["{1: 2}", "collections.OrderedDict(a=1)"],
        &[("{}", "actual 0")],
    );
    case(
        "",
        |_, _| GuardKind::TupleIteratorLen { len: 2 },
        &["iter((1, 2))"],
        &[
            ("iter((1,))", "expected 2, actual 1"),
            ("iter([1, 2])", "list_iterator"),
        ],
    );
    case(
        "def advanced(l):\n  i = iter(l)\n  next(i)\n  return i",
        |_, _| GuardKind::ListIteratorLen { len: 2 },
        &["iter([1, 2])", "advanced([1, 2, 3])"],
        &[
            ("iter([1])", "expected 2, actual 1"),
            ("iter((1, 2))", "tuple_iterator"),
            ("reversed([1, 2])", "list_reverseiterator"),
        ],
    );
    case(
        "def advanced(l):\n  i = reversed(l)\n  next(i)\n  return i\ndef shortened():\n  l = [1, 2]\n  i = reversed(l)\n  l.pop()\n  return i",
        |_, _| GuardKind::ListReverseIteratorLen { len: 2 },
        &["reversed([1, 2])", "advanced([1, 2, 3])"],
        &[
            (
                "reversed([1])",
                "___list_reverseiterator_len(x) == 2. expected 2, actual 1",
            ),
            ("advanced([1])", "actual 0"),
            ("shortened()", "actual 0"),
            ("iter([1, 2])", "list_iterator"),
        ],
    );
    case(
        "import itertools\ndef advanced(i, n):\n  for _ in range(n): next(i)\n  return i",
        |_, _| GuardKind::CountIteratorMatch { start: 4, step: 3 },
        &[
            "itertools.count(4, 3)",
            "advanced(itertools.count(1, 3), 1)",
        ],
        &[
            (
                "itertools.count(4)",
                "___normalize_count_iter(x) == (4, 3). expected (4, 3), actual (4, 1)",
            ),
            ("advanced(itertools.count(4, 3), 2)", "actual (10, 3)"),
            ("itertools.count(4.0, 3)", "itertools.count"),
            ("itertools.count(2 ** 80, 3)", "itertools.count"),
            ("iter(range(4, 10, 3))", "range_iterator"),
        ],
    );
    case(
        "import itertools\ndef advanced(i, n):\n  for _ in range(n): next(i)\n  return i",
        |_, _| GuardKind::CountIteratorMatch { start: 4, step: 1 },
        &["itertools.count(4)", "advanced(itertools.count(2), 2)"],
        &[("itertools.count(2 ** 63 - 1)", "(9223372036854775807, 1)")],
    );
    case(
        "def advanced(r):\n  i = iter(r)\n  next(i)\n  return i",
        |_, _| GuardKind::RangeIteratorMatch {
            start: 4,
            stop: 10,
            step: 3,
        },
        &[
            "iter(range(4, 10, 3))",
            "iter(range(4, 8, 3))",
            "advanced(range(1, 10, 3))",
        ],
        &[
            ("iter(range(1, 10, 3))", "actual (1, 10, 3)"),
            ("range(4, 10, 3)", "<class 'range'>"),
            ("advanced(range(4, 10, 3))", "(7, 10, 3)"),
        ],
    );
}

#[test]
fn keys_and_members() {
    case(
        "od = collections.OrderedDict(a=1, b=2)\nmoved = collections.OrderedDict(b=1, a=2)\nmoved.move_to_end('b')\nback = collections.OrderedDict(a=1, b=2)\nback.move_to_end('a')",
        |_, _| GuardKind::DictKeys {
            keys: [Key::str("a"), Key::str("b")].into(),
        },
        &[
            "{'a': 1, 'b': 2}",
            "od",
            "moved",
            "collections.defaultdict(int, a=1, b=2)",
        ],
        &[
            ("{'b': 1, 'a': 2}", "expected ['a', 'b'], actual ['b', 'a']"),
            ("{'a': 1}", "['a']"),
            ("back", "['b', 'a']"),
            ("[]", ""),
        ],
    );
    case(
        "k = object()",
        |w, pins| GuardKind::DictKeys {
            keys: [
                Key::Int(1),
                Key::Obj(pins.pin(&w.eval("k"))),
                Key::Tuple([Key::float(0.5)].into()),
            ]
            .into(),
        },
        &[
            "{1: 0, k: 0, (0.5,): 0}",
            "collections.OrderedDict({1: 0, k: 0, (0.5,): 0})",
        ],
        &[
            ("{True: 0, k: 0, (0.5,): 0}", "[True, "),
            ("{1: 0, object(): 0, (0.5,): 0}", ""),
        ],
    );
    for (key, yes, no) in [
        (
            Key::str("a"),
            vec!["{'a': 1}", "{1: 2, 'a': 1}", "collections.OrderedDict(a=1)"],
            vec!["{}", "{'b': 1}", "{1: 'a'}"],
        ),
        (
            Key::Int(1),
            vec!["{1: 2}", "{'x': 1, 1: 3}", "{True: 0}"],
            vec!["{'1': 1}", "{2: 1}"],
        ),
        (
            Key::Tuple([Key::Int(1), Key::str("b")].into()),
            vec!["{(1, 'b'): 0}"],
            vec!["{(1, 'c'): 0}", "{}"],
        ),
        (Key::None, vec!["{None: 0}"], vec!["{0: None}"]),
    ] {
        let with = |present| {
            let key = key.clone();
            move |_: &World<'_>, _: &mut Pins| GuardKind::DictContains {
                key: key.clone(),
                present,
            }
        };
        let because =
            |list: &[&'static str], why| list.iter().map(|e| (*e, why)).collect::<Vec<_>>();
        case("", with(true), &yes, &because(&no, "absent"));
        case("", with(false), &no, &because(&yes, "present"));
    }
    for present in [true, false] {
        let make = move |_: &World<'_>, _: &mut Pins| GuardKind::SetContains {
            key: Key::str("a"),
            present,
        };
        let (yes, no) = (["{'a', 1}", "{'a'}"], ["set()", "{'b', None}"]);
        let (pass, fail) = if present { (yes, no) } else { (no, yes) };
        case("", make, &pass, &[(fail[0], "expected 'a'"), (fail[1], "")]);
    }
    // 8 and 0 have the same place in a small table: the one that came first is first.
    let make = |_: &World<'_>, _: &mut Pins| GuardKind::SetItems {
        items: [Key::Int(8), Key::Int(0)].into(),
    };
    case(
        "first = set()\nfirst.add(8)\nfirst.add(0)",
        make,
        &["first", "frozenset(first)"],
        &[
            ("{0, 8}", "expected [8, 0], actual [0, 8]"),
            ("{8}", "actual [8]"),
            ("{8, False}", "actual"),
            ("[8, 0]", "actual"),
        ],
    );
}

#[test]
fn a_hostile_key_is_not_compared() {
    World::with(|w| {
        w.run("class K:\n  calls = 0\n  def __hash__(self): return hash('a')\n  def __eq__(self, other):\n    K.calls += 1\n    return True\nd = {K(): 1}\ns = {K()}\nK.calls = 0");
        for kind in [
            GuardKind::DictContains {
                key: Key::str("a"),
                present: true,
            },
            GuardKind::SetContains {
                key: Key::str("a"),
                present: true,
            },
            GuardKind::DictKeys {
                keys: [Key::str("a")].into(),
            },
        ] {
            let mut sources = SourceTable::new();
            let x = local(&mut sources, 0, "x");
            let name = if matches!(kind, GuardKind::SetContains { .. }) {
                "s"
            } else {
                "d"
            };
            let program = w.link(sources, vec![Guard::new(x, kind)], Pins::new());
            let value = w.eval(name);
            let locals = [value.as_ptr()];
            let null = std::ptr::null_mut();
            let env = CheckEnv {
                locals: &locals,
                closure: null,
                globals: null,
                builtins: null,
            };
            // SAFETY: everything in `env` is alive or null.
            assert!(!unsafe { program.check(&env) });
        }
        assert_eq!(w.eval("K.calls").extract::<i32>().unwrap(), 0);
    });
}
