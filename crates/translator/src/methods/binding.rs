//! Arguments of C functions: how many, and by which names.

use variables::Var;

use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

impl Tx<'_> {
    /// Positional arguments only, between `min` and `max` of them.
    ///
    /// # Errors
    /// `TypeError` in CPython's words.
    pub fn positional(&mut self, name: &str, args: Args, min: usize, max: usize) -> R<Vec<Var>> {
        if !args.kw.is_empty() {
            return Err(self.raise("TypeError", &format!("{name}() takes no keyword arguments")));
        }
        let n = args.pos.len();
        if n >= min && n <= max {
            return Ok(args.pos);
        }
        let message = if min == max && max == 0 {
            format!("{name}() takes no arguments ({n} given)")
        } else if min == max && max == 1 {
            format!("{name}() takes exactly one argument ({n} given)")
        } else if min == max {
            format!("{name} expected {min} argument{}, got {n}", plural(min))
        } else if n < min {
            format!(
                "{name} expected at least {min} argument{}, got {n}",
                plural(min)
            )
        } else {
            format!(
                "{name} expected at most {max} argument{}, got {n}",
                plural(max)
            )
        };
        Err(self.raise("TypeError", &message))
    }

    /// Exactly one positional argument.
    ///
    /// # Errors
    /// `TypeError` in CPython's words.
    pub fn one(&mut self, name: &str, args: Args) -> R<Var> {
        let mut v = self.positional(name, args, 1, 1)?;
        Ok(v.remove(0))
    }

    /// A C function got a keyword that it does not have.
    pub fn unexpected_keyword(&mut self, func: &str, name: &str) -> Stop {
        let message = self.version().no_such_keyword(func, name);
        self.raise("TypeError", &message)
    }

    /// Arguments by position or name. The first `required` must be given; at most `positional` may
    /// come by position.
    ///
    /// # Errors
    /// `TypeError` in CPython's words.
    pub fn by_name(
        &mut self,
        func: &str,
        args: Args,
        names: &[&str],
        required: usize,
        positional: usize,
    ) -> R<Vec<Option<Var>>> {
        let n = args.pos.len();
        if n > positional {
            let most = if required == positional {
                "exactly"
            } else {
                "at most"
            };
            let message = format!(
                "{func}() takes {most} {positional} positional argument{} ({n} given)",
                plural(positional)
            );
            return Err(self.raise("TypeError", &message));
        }
        let mut out: Vec<Option<Var>> = args.pos.into_iter().map(Some).collect();
        out.resize(names.len(), None);
        for (k, v) in args.kw {
            let Some(i) = names.iter().position(|m| **m == *k) else {
                return Err(self.unexpected_keyword(func, &k));
            };
            if i < n {
                let message = format!(
                    "argument for {func}() given by name ('{k}') and position ({})",
                    i + 1
                );
                return Err(self.raise("TypeError", &message));
            }
            out[i] = Some(v);
        }
        if let Some(i) = (0..required).find(|i| out[*i].is_none()) {
            let message = format!(
                "{func}() missing required argument '{}' (pos {})",
                names[i],
                i + 1
            );
            return Err(self.raise("TypeError", &message));
        }
        Ok(out)
    }
}
