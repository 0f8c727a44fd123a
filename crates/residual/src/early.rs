//! Early calls, as bytecode: made before the graph runs, in the program's order.

use bytecode::op::Op;
use pyo3::prelude::*;
use translator::stop::{R, Stop};
use variables::{EarlyArg, EarlyCall, EarlyKind};

use crate::emitter::Emitter;

/// The states of NumPy's generators: old ones keep a second normal number as well.
const STATES: &std::ffi::CStr = c"
def getstate(generator):
    if hasattr(generator, 'get_state'):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state

def setstate(generator, state):
    if hasattr(generator, 'set_state'):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state
";

variables::own_module! {
    static MODULE = (STATES, c"<ferrodyn generators>", c"ferrodyn_generators");
}

impl Emitter<'_, '_> {
    /// Gives the result of each call a local.
    pub(crate) fn name_early_values(&mut self) {
        for _ in 0..self.tx.state().effects.early.len() {
            let local = self.asm.tmp("___early");
            self.early_values.push(local);
        }
    }

    /// Makes the classes that the program's call would make, where the code needs them.
    ///
    /// # Errors
    /// None are expected.
    pub(crate) fn make_classes(&mut self) -> R<()> {
        for (class, local) in self.asm.to_make() {
            let found = self.tx.remade().iter().find(|made| made.class.is(&class));
            let Some(call) = found.cloned() else {
                return Err(Stop::Internal("a class that nothing makes".into()));
            };
            self.asm.callee(&call.function);
            self.call_passing(&call.pos, &call.kw, |g, arg| {
                g.asm.load_const(arg);
                Ok(())
            })?;
            self.asm.store_fast(local);
        }
        Ok(())
    }

    /// Makes the calls. `undoable`: what generators were before is kept.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(crate) fn make_early_calls(&mut self, undoable: bool) -> R<()> {
        let calls = self.tx.state().effects.early.clone();
        for (i, call) in calls.iter().enumerate().filter(|_| undoable) {
            if !is_draw(call) || calls.iter().take(i).any(|c| same_generator(c, call)) {
                continue;
            }
            self.state_method(call, "getstate")?;
            self.generator_of(call)?;
            self.asm.call(1);
            let local = self.asm.tmp("___random_state");
            self.asm.store_fast(local);
            self.generator_states.push((i, local));
        }
        for (call, local) in calls.iter().zip(self.early_values.clone()) {
            if matches!(call.kind, EarlyKind::Read(_)) {
                continue;
            }
            self.asm.callee(&call.function);
            self.call_passing(&call.pos, &call.kw, Self::early_arg)?;
            self.asm.store_fast(local);
        }
        Ok(())
    }

    /// Keeps the state of torch's random generator of the CPU, from which a compiler's graph draws.
    ///
    /// # Errors
    /// Where torch has no such function.
    pub(crate) fn keep_torch_random_state(&mut self) -> R<()> {
        self.torch_random("get_rng_state")?;
        self.asm.call(0);
        let local = self.asm.tmp("___torch_random_state");
        self.asm.store_fast(local);
        self.torch_random_state = Some(local);
        Ok(())
    }

    fn torch_random(&mut self, name: &str) -> R<()> {
        let random = self.tx.py.import("torch.random")?;
        self.asm.callee(&random.getattr(name)?.unbind());
        Ok(())
    }

    /// Puts generators back to where they were before the calls, and before the graph.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(crate) fn take_draws_back(&mut self) -> R<()> {
        if let Some(local) = self.torch_random_state {
            self.torch_random("set_rng_state")?;
            self.asm.load_fast(local);
            self.asm.call(1);
            self.asm.op(Op::PopTop);
        }
        // Two draws may be from one generator without that being known: the first state comes last.
        for (i, local) in self.generator_states.clone().into_iter().rev() {
            let call = self.tx.state().effects.early[i].clone();
            self.state_method(&call, "setstate")?;
            self.generator_of(&call)?;
            self.asm.load_fast(local);
            self.asm.call(2);
            self.asm.op(Op::PopTop);
        }
        Ok(())
    }

    /// Pushes a method in C: those in Python keep the second number of `gauss` as well, which no draw touches.
    fn state_method(&mut self, call: &EarlyCall, name: &str) -> R<()> {
        if call.kind == EarlyKind::DrawOfNumpy {
            let function = MODULE.get(self.tx.py)?.getattr(name)?;
            self.asm.callee(&function.unbind());
            return Ok(());
        }
        let class = self.tx.py.import("_random")?.getattr("Random")?;
        self.asm.callee(&class.getattr(name)?.unbind());
        Ok(())
    }

    /// `-- generator`: what the function is bound to, or its first argument.
    fn generator_of(&mut self, call: &EarlyCall) -> R<()> {
        if let Some(arg @ EarlyArg::Source(_)) = call.pos.first() {
            return self.early_arg(arg);
        }
        let owner = call.function.bind(self.tx.py).getattr("__self__")?;
        self.asm.load_const(&owner.unbind());
        Ok(())
    }

    /// `-- argument`
    fn early_arg(&mut self, arg: &EarlyArg) -> R<()> {
        match arg {
            EarlyArg::Const(o) => self.asm.load_const(o),
            EarlyArg::Source(source) => self.load_source(*source)?,
        }
        Ok(())
    }
}

fn is_draw(call: &EarlyCall) -> bool {
    matches!(call.kind, EarlyKind::Draw(_) | EarlyKind::DrawOfNumpy)
}

/// Whether two draws are known to be from one generator.
fn same_generator(a: &EarlyCall, b: &EarlyCall) -> bool {
    if !is_draw(a) || !is_draw(b) {
        return false;
    }
    match (a.pos.first(), b.pos.first()) {
        (Some(EarlyArg::Source(a)), Some(EarlyArg::Source(b))) => a == b,
        (Some(EarlyArg::Source(_)), _) | (_, Some(EarlyArg::Source(_))) => false,
        _ => a.function.is(&b.function),
    }
}
