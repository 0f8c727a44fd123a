//! What there is to read of a break, pinned: the symbolic state that residual code is made of, and the code.

use std::path::Path;

use super::breaking;

/// The Python whose texts have no Python in their names.
const USUAL: u32 = 12;

/// Pins a text. Where another Python's differs it is pinned a second time, under that Python's name; newer ones than
/// the usual one have it too, as far as they have none of their own.
fn pin(name: &str, text: &str) {
    let minor = cpython_abi::MINOR;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/snapshots");
    let oldest = minor.min(USUAL + 1);
    let mut own = (oldest..=minor)
        .rev()
        .map(|minor| format!("{name}_py3{minor}"));
    let name = own
        .find(|own| {
            folder
                .join(format!("residual__tests__pinned__{own}.snap"))
                .exists()
        })
        .unwrap_or_else(|| name.into());
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// The states at the breaks of a case.
fn states(name: &str, source: &str, args: &str) {
    let session = breaking(source, args);
    let mut text = String::new();
    for (reason, state) in session.breaks.iter().zip(&session.states) {
        // Lines of torch's own files are another torch's next.
        if !state.contains("frame __exit__") {
            text.push_str(&format!("== {reason}\n{state}"));
        }
    }
    pin(name, &text);
}

#[test]
fn state_in_straight_code() {
    states(
        "straight",
        "def f(x, l):\n    y = x + 1\n    l.append(y)\n    print('hi')\n    return y * 2, l",
        "torch.ones(2), []",
    );
}

#[test]
fn state_in_a_loop() {
    states(
        "in_a_loop",
        "def f(x):\n    for i in range(2):\n        x = x + i\n        print(i)\n    return x",
        "torch.ones(2)",
    );
}

#[test]
fn state_in_a_with_statement() {
    states(
        "in_with",
        "def f(x):\n    with torch.no_grad():\n        y = x * 2\n        print('hi')\n        y = y + 1\n    return y",
        "torch.ones(2)",
    );
}

#[test]
fn state_in_a_try_statement() {
    states(
        "in_try",
        "def f(x):\n    y = x + 1\n    try:\n        print('t')\n        int('q')\n    except ValueError as e:\n        y = y + 1\n    return y",
        "torch.ones(2)",
    );
}

#[test]
fn state_in_an_inlined_call() {
    states(
        "inlined",
        "def g(x, *, k):\n    y = x + k\n    print('in g')\n    return y * 2\ndef f(x):\n    a = [x]\n    return a, g(x * 3, k=4)",
        "torch.ones(2)",
    );
}

#[test]
fn state_in_a_generator() {
    states(
        "in_a_generator",
        "def g(x):\n    yield x + 1\n    yield x + 2\ndef f(x):\n    it = g(x)\n    y = next(it)\n    print('hi')\n    return y + next(it)",
        "torch.ones(2)",
    );
}

#[test]
fn state_under_a_mode() {
    states(
        "under_a_mode",
        "from torch.overrides import TorchFunctionMode\nclass M(TorchFunctionMode):\n    def __torch_function__(self, func, types, args=(), kwargs=None):\n        return func(*args, **(kwargs or {}))\ndef f(x):\n    with M():\n        y = x + 1\n        print('hi')\n    return y",
        "torch.ones(2)",
    );
}

#[test]
fn code_of_a_break() {
    let session = breaking(
        "def f(x, l):\n    y = x + 1\n    l.append(y)\n    print('hi')\n    return y * 2, l",
        "torch.ones(2), []",
    );
    pin("code", &session.listings.join("----\n"));
}
