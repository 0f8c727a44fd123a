//! What ARCHITECTURE.md says of the crates, checked: which may name which, how large they are, and where private names
//! of torch and versions of Python are known. Which need no interpreter is checked in `workspace.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// The crates, without their prefix: each may name those that come later, and nothing before it.
const ORDER: [&str; 20] = [
    "frame-hook",
    "eval-frame",
    "cache",
    "captures",
    "backends",
    "residual",
    "torch-rules",
    "numpy-rules",
    "builtins",
    "translator",
    "operations",
    "variables",
    "guards",
    "fx-graph",
    "torch-abi",
    "tensor-meta",
    "interrupts",
    "cpython-abi",
    "artifact-store",
    "bytecode",
];

/// Crates that are useful alone: what of the workspace they may name.
const ALONE: [(&str, &[&str]); 7] = [
    ("artifact-store", &[]),
    ("eval-frame", &["cpython-abi"]),
    ("cpython-abi", &[]),
    ("fx-graph", &[]),
    ("tensor-meta", &[]),
    ("bytecode", &[]),
    ("interrupts", &["bytecode"]),
];

/// Lines of a crate, and of a file.
const LINES_OF_A_CRATE: usize = 25_000;
const LINES_OF_A_FILE: usize = 800;

/// Lines of a function, and those that are longer: each is one `match` over an enum, which the compiler keeps complete,
/// with a few lines for each of its variants.
const LINES_OF_A_FUNCTION: usize = 150;
const LONGER: [(&str, &str); 5] = [
    // One arm an instruction: what it does, how it is read, how it is written.
    ("step/mod.rs", "exec"),
    ("decode.rs", "unit"),
    ("lower.rs", "one"),
    // One arm a check: how it is made of a guard, how it is done.
    ("exec/link.rs", "check"),
    ("exec/step.rs", "long_step"),
];

/// The interpreter, and what hangs on it.
const INTERPRETER: [&str; 6] = [
    "residual",
    "torch-rules",
    "numpy-rules",
    "builtins",
    "translator",
    "operations",
];

/// Names of operations by which something is decided outside of their table: ten tell functions that are more than an
/// operation (hooks, classes, where a view starts), six are words for something else (`"cpu"`, `"floor"`).
const OPERATION_NAMES: usize = 16;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

fn metadata() -> Metadata {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml"));
    command.no_deps().exec().expect("cargo metadata")
}

/// The crates that each crate names outside of its tests.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let short = |name: &str| name.strip_prefix("ferrodyn-").map(str::to_owned);
    let mut arrows = BTreeMap::new();
    for package in metadata().workspace_packages() {
        let Some(name) = short(package.name.as_str()) else {
            continue;
        };
        let named = package.dependencies.iter();
        let named = named.filter(|d| d.kind == DependencyKind::Normal);
        let named = named.map(|d| short(&d.name).unwrap_or_else(|| d.name.clone()));
        arrows.insert(name, named.collect());
    }
    arrows
}

#[test]
fn crates_name_those_below_them() {
    let rank = |name: &str| ORDER.iter().position(|known| *known == name);
    let mut against = Vec::new();
    for (from, named) in arrows() {
        let above = rank(&from).unwrap_or_else(|| panic!("{from} is not in the order"));
        for to in named {
            if rank(&to).is_some_and(|below| below <= above) {
                against.push((from.clone(), to));
            }
        }
    }
    assert!(against.is_empty(), "against the order: {against:?}");
}

#[test]
fn crates_that_are_useful_alone_name_no_others() {
    let arrows = arrows();
    for (name, allowed) in ALONE {
        let ours = |to: &&String| ORDER.contains(&to.as_str());
        let named: Vec<_> = arrows[name].iter().filter(ours).collect();
        assert_eq!(named, allowed, "{name}");
    }
}

/// The sources of a crate, with their text.
fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("crates").join(name).join("src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("a text");
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn crates_and_files_are_small() {
    for name in ORDER {
        let sources = sources(name);
        let lines: usize = sources.iter().map(|(_, text)| text.lines().count()).sum();
        assert!(lines <= LINES_OF_A_CRATE, "{name} has {lines} lines");
        for (path, text) in sources {
            let lines = text.lines().count();
            assert!(
                lines <= LINES_OF_A_FILE,
                "{} has {lines} lines",
                path.display()
            );
        }
    }
}

/// The functions of a text, as rustfmt leaves it: their names, and how many lines they have.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let Some((before, after)) = code.split_once("fn ") else {
            continue;
        };
        let is_head = before.split_whitespace().all(|word| {
            let word = word.split('(').next().unwrap_or(word);
            ["pub", "const", "unsafe", "extern", "\"C\"", "async"].contains(&word)
        });
        // A declaration, or all of it in a line.
        if !is_head || line.ends_with([';', '}']) {
            continue;
        }
        let name = after
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .next();
        let is_end = |line: &&str| line.strip_prefix(indent) == Some("}");
        let end = lines[at..].iter().position(is_end);
        if let (Some(name), Some(end)) = (name, end) {
            found.push((name, end + 1));
        }
    }
    found
}

#[test]
fn functions_are_short() {
    let mut longer = BTreeSet::new();
    for name in ORDER {
        for (path, text) in sources(name) {
            for (function, lines) in functions(&text) {
                if lines <= LINES_OF_A_FUNCTION {
                    continue;
                }
                let known =
                    |(file, known): &&(&str, &str)| path.ends_with(file) && *known == function;
                let known = LONGER.iter().find(known);
                let known = known.unwrap_or_else(|| {
                    panic!("{function} of {} has {lines} lines", path.display())
                });
                longer.insert(known);
            }
        }
    }
    assert_eq!(longer.len(), LONGER.len(), "no longer so long: {longer:?}");
    let text = "impl A {\n    pub(crate) fn f() {\n    }\n}\nfn g() -> B {\n    c\n}\n";
    assert_eq!(functions(text), [("f", 2), ("g", 3)]);
}

#[test]
fn residual_code_reaches_the_interpreter_in_one_module() {
    for (path, text) in sources("residual") {
        let name = path.file_name().and_then(|name| name.to_str());
        let names_it = text.contains("tx::Tx;") || text.contains(" Tx};") || text.contains("Tx<");
        let may = matches!(name, Some("finished.rs" | "tests.rs"));
        assert!(!names_it || may, "{}", path.display());
    }
}

/// How many lines of a crate's code have a text in them. Comments do not count.
fn lines_with(name: &str, texts: &[&str]) -> usize {
    let sources = sources(name);
    let lines = sources.iter().flat_map(|(_, text)| text.lines());
    lines
        .filter(|line| !line.trim_start().starts_with("//"))
        .filter(|line| texts.iter().any(|text| line.contains(text)))
        .count()
}

#[test]
fn private_names_of_torch_and_versions_of_python_are_known_where_they_belong() {
    // Torch's private names belong to torch-abi and to `backends::names`, versions to bytecode and cpython-abi.
    let lines = |text: &str| -> usize {
        let crates = INTERPRETER.iter();
        crates.map(|name| lines_with(name, &[text])).sum()
    };
    assert_eq!(lines("\"torch._"), 0);
    assert_eq!(lines("Version::V3"), 0);
    // A capability of `bytecode::Version` is asked.
    assert_eq!(lines("version_info()"), 0);
    for name in [
        "variables",
        "cache",
        "backends",
        "fx-graph",
        "tensor-meta",
        "guards",
        "eval-frame",
    ] {
        assert_eq!(lines_with(name, &["Version::V3"]), 0, "{name}");
    }
    // Which version a build is for is known where frames are evaluated and layouts are, and where exceptions are taken,
    // for which frame-hook has two functions.
    for name in ORDER {
        let most = match name {
            "cpython-abi" | "eval-frame" => continue,
            "frame-hook" => 2,
            _ => 0,
        };
        assert_eq!(lines_with(name, &["Py_3_1"]), most, "{name}");
    }
    // The hook is one for any compiler.
    assert_eq!(lines_with("eval-frame", &["torch", "guard"]), 0);
}

/// The texts of Rust code by which something is told: those that stand in a pattern, a comparison or a list. What is
/// handed to a function is not among them: that names what is to be called. Nor are rows of a table of rules.
fn texts_that_decide(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // What each open bracket belongs to: whether it encloses the arguments of a call.
    let mut open: Vec<(u8, bool)> = Vec::new();
    let bytes = code.as_bytes();
    let mut rows_at = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += code[at..].find('\n').unwrap_or(code.len() - at);
                continue;
            }
            // A character.
            b'\'' if bytes.get(at + 2) == Some(&b'\'') => at += 2,
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
                let is_argument = match open[..] {
                    [.., (b'(', is_call)] if is_call => true,
                    // A tuple that is handed on.
                    [.., (b'(', true), (b'(', false)] => true,
                    _ => false,
                };
                if !is_argument && rows_at.is_none() {
                    found.push(&code[start..at]);
                }
            }
            bracket @ (b'(' | b'[' | b'{') => {
                let before = &code[..at];
                let name = before
                    .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .next();
                let is_call = name.is_some_and(|name| !["", "Some", "in", "if"].contains(&name));
                if before.ends_with("RuleList = &") {
                    rows_at = Some(open.len());
                }
                open.push((bracket, is_call));
            }
            b')' | b']' | b'}' => {
                open.pop();
                rows_at = rows_at.filter(|rows| *rows < open.len());
            }
            _ => {}
        }
        at += 1;
    }
    found
}

#[test]
fn texts_that_decide_are_found() {
    let code = "match name { \"a\" | \"b\" => f(\"c\"), (\"d\", _) => g((\"e\",)), _ => x.h(y, \"f\") }\n\
                const R: RuleList = &[(\"m\", &[(\"g\", f)])];\n// \"h\"\n\
                if n == \"i\" || matches!(n, \"j\") || [\"k\"].contains(n) || n == Some(\"l\") {}";
    let found = texts_that_decide(code);
    assert_eq!(found, ["a", "b", "d", "i", "j", "k", "l"]);
}

/// What is known of an operation stands in its row of `tensor-meta`, so that nobody else has to name it. What is left
/// are functions that are more than an operation, and words that are the name of one, too.
#[test]
fn names_of_operations_outside_of_their_table_get_fewer() {
    let rows = tensor_meta::rules().iter();
    let names = rows.flat_map(|row| row.functions.iter().chain(&row.methods));
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for name in names.filter(|name| !name.ends_with("__")) {
        known.insert(name);
        known.extend(name.rsplit('.').next());
    }
    let mut found: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for name in ["translator", "torch-rules", "operations"] {
        for (path, text) in sources(name) {
            // The interpreter names methods of lists and dicts, which tensors have as well.
            let is_of_torch = path
                .components()
                .any(|part| part.as_os_str() == "torch_ops");
            if name == "translator" && !is_of_torch {
                continue;
            }
            let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or(&text);
            let named = texts_that_decide(text).into_iter();
            let named: Vec<_> = named.filter(|text| known.contains(text)).collect();
            if !named.is_empty() {
                found.insert(path, named.into_iter().map(str::to_owned).collect());
            }
        }
    }
    let count: usize = found.values().map(Vec::len).sum();
    assert_eq!(count, OPERATION_NAMES, "{found:#?}");
}

/// One word for one thing: what is not captured runs in eager mode, as PyTorch's users call it.
#[test]
fn texts_for_users_say_eager() {
    for name in ORDER {
        for (path, text) in sources(name) {
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let mut texts = code.flat_map(|line| line.split('"').skip(1).step_by(2));
            let other = texts.find(|text| text.contains("plain Python"));
            assert_eq!(other, None, "{}", path.display());
        }
    }
}

/// The functions of a text that C can call: their names, and whether a panic ends in their body.
fn called_by_c(text: &str) -> Vec<(&str, bool)> {
    const START: &str = "extern \"C\" fn ";
    let mut found = Vec::new();
    for (at, _) in text.match_indices(START) {
        let rest = &text[at + START.len()..];
        // A type has no name there, and a declaration no body.
        let Some(open) = rest.find('(').filter(|open| *open > 0) else {
            continue;
        };
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '(' || c == '{') - i32::from(c == ')' || c == '}');
            depth == 0 && matches!(c, '}' | ';')
        });
        let body = &rest[..end.unwrap_or(rest.len())];
        if body.contains('{') {
            let contained = ["contained(", "contained_or_raise("];
            let contained = contained.iter().any(|c| body.contains(c));
            // What does nothing but call CPython does not panic.
            let lines = body
                .split_once('{')
                .into_iter()
                .flat_map(|(_, code)| code.lines());
            let mut code = lines.map(str::trim_start);
            let first = code.find(|line| !line.is_empty() && !line.starts_with("//"));
            let calls = first.is_some_and(|line| line.starts_with("waits("));
            found.push((&rest[..open], contained || calls));
        }
    }
    found
}

#[test]
fn panics_end_in_every_function_that_c_calls() {
    let mut seen = 0;
    for name in ORDER {
        for (path, text) in sources(name) {
            for (function, contained) in called_by_c(&text) {
                assert!(
                    contained,
                    "a panic in {function} of {} would end the process: see cpython_abi::panics",
                    path.display()
                );
                seen += 1;
            }
        }
    }
    // There are some thirty: none of them is overlooked by the way in which they are found.
    assert!(seen >= 30, "{seen}");
    let text = "extern \"C\" fn f(a: A) -> B { g() }\nunsafe extern \"C\" fn h() { contained(1) }\n\
                type T = unsafe extern \"C\" fn(A) -> B;";
    assert_eq!(called_by_c(text), [("f", false), ("h", true)]);
}

/// Functions of CPython that PyO3 does not declare are declared once.
#[test]
fn only_one_crate_declares_functions_of_cpython() {
    for name in ORDER.iter().filter(|name| **name != "cpython-abi") {
        assert_eq!(lines_with(name, &["extern \"C\" {"]), 0, "{name}");
    }
}

/// Crates that others may want: each with a program that shows how, which `cargo test` builds.
#[test]
fn crates_for_others_have_an_example() {
    for name in [
        "bytecode",
        "eval-frame",
        "fx-graph",
        "guards",
        "tensor-meta",
    ] {
        let folder = root().join("crates").join(name).join("examples");
        let mut files = folder.read_dir().into_iter().flatten().flatten();
        assert!(
            files.any(|file| file.path().extension().is_some_and(|e| e == "rs")),
            "{name} has none"
        );
    }
}
