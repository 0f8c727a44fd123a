//! Reads a graph, removes what nobody uses, and prints it as Python code, as a table and as a drawing.
//!
//! `cargo run -p ferrodyn-fx-graph --example clean_up [FILE]`

use fx_graph::Graph;

const GRAPH: &str = r#"fx-graph ids=5
fn torch.relu#0 display="<built-in method relu of type object>" hint="relu" origin=torch
fn torch.exp#1 display="<built-in method exp of type object>" hint="exp" origin=torch
%0 x = placeholder "x" ()
%1 relu = call_function torch.relu#0 (%0)
%2 exp = call_function torch.exp#1 (%1)
%3 neg = call_method "neg" (%1)
%4 output = output "output" ((%3,))
"#;

fn cleaned(text: &str) -> Result<(Graph, usize), Box<dyn std::error::Error>> {
    let mut graph = Graph::parse(text)?;
    graph.verify()?;
    let removed = graph.eliminate_dead_code();
    graph.verify()?;
    Ok((graph, removed.len()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => GRAPH.to_owned(),
    };
    let (graph, removed) = cleaned(&text)?;
    println!("{removed} nodes that nobody uses\n");
    println!("{}", graph.python_code());
    println!("{}", graph.tabular());
    println!("{}", graph.dot());
    Ok(())
}

#[test]
fn what_nobody_uses_goes() -> Result<(), Box<dyn std::error::Error>> {
    let (graph, removed) = cleaned(GRAPH)?;
    assert_eq!((graph.op_count(), removed), (2, 1));
    assert_eq!(Graph::parse(&graph.to_text())?.to_text(), graph.to_text());
    Ok(())
}
