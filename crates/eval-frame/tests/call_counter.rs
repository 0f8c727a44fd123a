//! The example counts what a program calls.

#[path = "../examples/call_counter.rs"]
mod call_counter;

use pyo3::prelude::*;

const PROGRAM: &std::ffi::CStr = c"
class Tree:
    def __init__(self, *children):
        self.children = children

    def size(self):
        return 1 + sum(child.size() for child in self.children)

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def main():
    assert fib(5) == 5
    assert sorted([3, 1, 2], key=lambda n: -n) == [3, 2, 1]
    try:
        fib('x')
    except TypeError:
        pass
    return Tree(Tree(), Tree(Tree())).size()
";

#[test]
fn every_call_of_a_function_is_counted() {
    let calls = Python::attach(|py| {
        call_counter::count(py, PROGRAM).unwrap_or_else(|error| panic!("{error}"))
    });
    let calls: Vec<_> = calls.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let expected = [
        ("Tree.__init__", 4),
        ("Tree.size", 4),
        ("fib", 16),
        ("main", 1),
        ("main.<locals>.<lambda>", 3),
    ];
    assert_eq!(calls, expected);
}
