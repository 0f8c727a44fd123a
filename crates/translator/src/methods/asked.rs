//! What rules of methods ask of a value: is it constant, what is its text, which range does it mean.

use variables::Var;

use crate::stop::R;
use crate::tx::Tx;

impl Tx<'_> {
    /// `start` and `stop` of `index(x, start, stop)`, clipped.
    ///
    /// # Errors
    /// `TypeError` where one is no index.
    pub fn search_range(&mut self, a: &[Var], len: usize) -> R<(usize, usize)> {
        let clip = |i: isize| if i < 0 { (i + len as isize).max(0) } else { i } as usize;
        let start = match a.get(1) {
            Some(v) => clip(self.index_of(v)?),
            None => 0,
        };
        let stop = match a.get(2) {
            Some(v) => clip(self.index_of(v)?),
            None => usize::MAX,
        };
        Ok((start, stop))
    }

    /// A value that consists of constants of builtin types alone, so that operations on it run no
    /// user code.
    ///
    /// # Errors
    /// Those of realizing lazy values.
    pub fn pure_const(&mut self, v: &Var) -> R<Option<variables::Obj>> {
        fn pure(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
            Ok(match tx.realize(v)? {
                Var::Const(_) => true,
                Var::Tuple(t) => {
                    for v in &t.items {
                        if !pure(tx, v)? {
                            return Ok(false);
                        }
                    }
                    true
                }
                Var::Slice(s) => {
                    for v in s.iter() {
                        if !pure(tx, v)? {
                            return Ok(false);
                        }
                    }
                    true
                }
                _ => false,
            })
        }
        if pure(self, v)? {
            self.as_const(v)
        } else {
            Ok(None)
        }
    }
}
