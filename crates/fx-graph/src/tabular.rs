//! `print_tabular`: the table that `torch.fx.Graph.print_tabular` prints through `tabulate`.

use crate::arg::Arg;
use crate::graph::Graph;
use crate::node::Target;
use crate::pyrepr::{str_repr, write_arg};

const HEADERS: [&str; 5] = ["opcode", "name", "target", "args", "kwargs"];

impl Graph {
    /// The table of the nodes, without a newline at the end. Functions show their
    /// [`crate::FnTarget::display`].
    pub fn tabular(&self) -> String {
        let rows: Vec<[String; 5]> = self
            .iter()
            .map(|(_, node)| {
                let target = match &node.target {
                    Target::Name(name) => name.to_string(),
                    Target::Function(function) => function.display.to_string(),
                };
                [
                    node.op.as_str().to_owned(),
                    node.name.to_string(),
                    target,
                    self.args_repr(&node.args),
                    self.kwargs_repr(&node.kwargs),
                ]
                .map(|cell| cell.trim().to_owned())
            })
            .collect();
        layout(&rows)
    }

    fn args_repr(&self, args: &[Arg]) -> String {
        let mut out = String::from("(");
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            write_arg(&mut out, arg, &mut |out, id| out.push_str(self.name(id)));
        }
        out.push_str(if args.len() == 1 { ",)" } else { ")" });
        out
    }

    fn kwargs_repr(&self, kwargs: &[(std::sync::Arc<str>, Arg)]) -> String {
        let mut out = String::from("{");
        for (i, (key, arg)) in kwargs.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            out.push_str(&str_repr(key));
            out.push_str(": ");
            write_arg(&mut out, arg, &mut |out, id| out.push_str(self.name(id)));
        }
        out.push('}');
        out
    }
}

/// `tabulate`'s "simple" format: columns two spaces apart and at least two wider than their
/// header, no blanks at the end of a line, a cell of several lines at the top of its row.
fn layout(rows: &[[String; 5]]) -> String {
    let mut widths = HEADERS.map(|header| header.len() + 2);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            for line in cell.lines() {
                *width = (*width).max(line.chars().count());
            }
        }
    }
    let mut out = String::new();
    push_line(&mut out, &HEADERS, &widths);
    let dashes = widths.map(|width| "-".repeat(width));
    push_line(&mut out, &dashes.each_ref().map(String::as_str), &widths);
    for row in rows {
        let cells = row.each_ref().map(|cell| cell.lines().collect::<Vec<_>>());
        let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for at in 0..height {
            let line = cells
                .each_ref()
                .map(|cell| cell.get(at).copied().unwrap_or(""));
            push_line(&mut out, &line, &widths);
        }
    }
    out.pop();
    out
}

fn push_line(out: &mut String, cells: &[&str; 5], widths: &[usize; 5]) {
    let start = out.len();
    for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if i > 0 {
            out.push_str("  ");
        }
        out.push_str(cell);
        out.extend(std::iter::repeat_n(' ', width - cell.chars().count()));
    }
    let end = out[start..].trim_end().len();
    out.truncate(start + end);
    out.push('\n');
}
