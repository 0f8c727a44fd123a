//! Random numbers, as bytecode: drawn before the graph runs, in the program's order.

use bytecode::op::Op;
use pyo3::prelude::*;
use variables::Draw;

use super::emitter::Emitter;
use crate::stop::R;

impl Emitter<'_, '_> {
    /// Gives each number a local.
    pub(super) fn name_draws(&mut self) {
        for _ in 0..self.tx.st.effects.draws.len() {
            let local = self.asm.tmp("___drawn");
            self.draws.push(local);
        }
    }

    /// Draws the numbers. `undoable`: what the generators were before is kept.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(super) fn make_draws(&mut self, undoable: bool) -> R<()> {
        let draws = self.tx.st.effects.draws.clone();
        for (i, draw) in draws.iter().enumerate().filter(|_| undoable) {
            if draws.iter().take(i).any(|d| same_generator(d, draw)) {
                continue;
            }
            self.state_method("getstate")?;
            self.drawn_from(draw)?;
            self.asm.call(1);
            let local = self.asm.tmp("___random_state");
            self.asm.store_fast(local);
            self.generator_states.push((i, local));
        }
        for (draw, local) in draws.iter().zip(self.draws.clone()) {
            self.asm.callee(&draw.function);
            if let Some(generator) = draw.generator {
                self.load_source(generator)?;
            }
            for arg in &draw.args {
                self.asm.load_const(arg);
            }
            let count = draw.args.len() + usize::from(draw.generator.is_some());
            self.asm.call(count as u32);
            self.asm.store_fast(local);
        }
        Ok(())
    }

    /// Puts the generators back to where they were before the numbers were drawn.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(super) fn take_draws_back(&mut self) -> R<()> {
        for (i, local) in self.generator_states.clone().into_iter().rev() {
            let draw = self.tx.st.effects.draws[i].clone();
            self.state_method("setstate")?;
            self.drawn_from(&draw)?;
            self.asm.load_fast(local);
            self.asm.call(2);
            self.asm.op(Op::PopTop);
        }
        Ok(())
    }

    /// Pushes a method in C: those in Python keep the second number of `gauss` as well, which no draw touches.
    fn state_method(&mut self, name: &str) -> R<()> {
        let class = self.tx.py.import("_random")?.getattr("Random")?;
        self.asm.callee(&class.getattr(name)?.unbind());
        Ok(())
    }

    /// `-- generator`
    fn drawn_from(&mut self, draw: &Draw) -> R<()> {
        match draw.generator {
            Some(source) => self.load_source(source),
            None => {
                let owner = draw.function.bind(self.tx.py).getattr("__self__")?;
                self.asm.load_const(&owner.unbind());
                Ok(())
            }
        }
    }
}

/// Whether two draws are known to be from one generator: taking its state twice does no harm, as long as the first
/// is what it is put back to last.
fn same_generator(a: &Draw, b: &Draw) -> bool {
    match (a.generator, b.generator) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.function.is(&b.function),
        _ => false,
    }
}
