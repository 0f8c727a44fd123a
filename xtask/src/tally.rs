//! Counts of tests, read from what the test runners print, and the table at the end.

use comfy_table::{Cell, CellAlignment, Table, presets};
use std::time::Duration;

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tests that passed, expected failures included.
    pub passed: u64,
    /// Tests that failed or could not start.
    pub failed: u64,
    /// Tests that were left out.
    pub skipped: u64,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Sums the `test result:` lines of `cargo test`.
pub fn cargo_counts(output: &str) -> Counts {
    let mut counts = Counts::default();
    for line in output.lines() {
        let Some(rest) = line.trim_start().strip_prefix("test result:") else {
            continue;
        };
        let rest = rest.split_once('.').map_or(rest, |(_, rest)| rest);
        for part in rest.split(';') {
            let mut words = part.split_whitespace();
            if let (Some(Ok(number)), Some(word)) =
                (words.next().map(str::parse::<u64>), words.next())
            {
                match word {
                    "passed" => counts.passed += number,
                    "failed" => counts.failed += number,
                    "ignored" => counts.skipped += number,
                    _ => {}
                }
            }
        }
    }
    counts
}

/// Reads the last summary line of pytest: `1 failed, 20 passed, 3 skipped in 4.56s`.
pub fn pytest_counts(output: &str) -> Counts {
    let mut counts = Counts::default();
    let summary = output.lines().rev().find_map(|line| {
        let line = line.trim_matches(|c: char| c == '=' || c.is_whitespace());
        let (counted, time) = line.rsplit_once(" in ")?;
        let timed = time.starts_with(|c: char| c.is_ascii_digit());
        (timed && counted.starts_with(|c: char| c.is_ascii_digit())).then_some(counted)
    });
    for part in summary.unwrap_or_default().split(", ") {
        let Some((number, word)) = part.split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match word {
            "passed" | "xfailed" => counts.passed += number,
            "failed" | "error" | "errors" | "xpassed" => counts.failed += number,
            "skipped" => counts.skipped += number,
            _ => {}
        }
    }
    counts
}

/// A row of the table.
pub struct Row {
    /// What ran.
    pub name: String,
    /// Which Python it ran on, if one.
    pub python: String,
    /// What it counted; nothing for checks that are not tests.
    pub counts: Option<Counts>,
    /// `ok`, `FAILED`, or why it did not run.
    pub result: String,
    /// Whether it counts as a failure.
    pub failed: bool,
    /// How long it took.
    pub time: Duration,
}

/// All that a run did.
#[derive(Default)]
pub struct Tally {
    rows: Vec<Row>,
}

impl Tally {
    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Adds the rows of a run beside this one; a Python's rows stay together.
    pub fn append(&mut self, other: Tally) {
        self.rows.extend(other.rows);
        self.rows
            .sort_by(|one, other| one.python.cmp(&other.python));
    }

    /// The sums. A step that failed without a failed test counts as one failure.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for row in &self.rows {
            let counts = row.counts.unwrap_or_default();
            total.add(counts);
            total.failed += u64::from(row.failed && counts.failed == 0);
        }
        total
    }

    /// The table as text.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "what", "python", "passed", "failed", "skipped", "time", "result",
        ]);
        for row in &self.rows {
            let number = |pick: fn(Counts) -> u64| {
                let text = row
                    .counts
                    .map_or("-".into(), |counts| pick(counts).to_string());
                Cell::new(text).set_alignment(CellAlignment::Right)
            };
            table.add_row([
                Cell::new(&row.name),
                Cell::new(&row.python),
                number(|counts| counts.passed),
                number(|counts| counts.failed),
                number(|counts| counts.skipped),
                Cell::new(format!("{:.1} s", row.time.as_secs_f64()))
                    .set_alignment(CellAlignment::Right),
                Cell::new(&row.result),
            ]);
        }
        table.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(failed: bool, counts: Option<Counts>) -> Row {
        let result = if failed { "FAILED" } else { "ok" };
        Row {
            name: "step".into(),
            python: "3.12".into(),
            counts,
            result: result.into(),
            failed,
            time: Duration::from_millis(1500),
        }
    }

    #[test]
    fn cargo_results_are_summed_over_binaries() {
        let output = "running 2 tests\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            test result: FAILED. 3 passed; 4 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.01s\n";
        assert_eq!(
            cargo_counts(output),
            Counts {
                passed: 5,
                failed: 4,
                skipped: 1
            }
        );
        assert_eq!(cargo_counts("error: could not compile"), Counts::default());
    }

    #[test]
    fn pytest_summaries_in_both_styles() {
        let loud =
            "==== 2 failed, 10 passed, 1 skipped, 3 warnings, 2 errors in 61.20s (0:01:01) ====";
        assert_eq!(
            pytest_counts(loud),
            Counts {
                passed: 10,
                failed: 4,
                skipped: 1
            }
        );
        let quiet = "....\n4 passed, 1 xfailed in 0.12s\n";
        assert_eq!(
            pytest_counts(quiet),
            Counts {
                passed: 5,
                failed: 0,
                skipped: 0
            }
        );
        assert_eq!(
            pytest_counts("Fatal Python error: Segmentation fault"),
            Counts::default()
        );
    }

    #[test]
    fn a_step_that_fails_without_a_failed_test_is_one_failure() {
        let mut tally = Tally::default();
        tally.push(row(true, None));
        tally.push(row(
            true,
            Some(Counts {
                passed: 1,
                failed: 2,
                skipped: 0,
            }),
        ));
        tally.push(row(
            true,
            Some(Counts {
                passed: 7,
                failed: 0,
                skipped: 0,
            }),
        ));
        tally.push(row(
            false,
            Some(Counts {
                passed: 4,
                failed: 0,
                skipped: 5,
            }),
        ));
        assert_eq!(
            tally.total(),
            Counts {
                passed: 12,
                failed: 4,
                skipped: 5
            }
        );
        let table = tally.table();
        assert!(
            table.contains("FAILED") && table.contains("1.5 s"),
            "{table}"
        );
    }
}
