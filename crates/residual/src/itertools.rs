//! Iterators of `itertools`, and `zip`, as bytecode: rebuilt at their position.

use bytecode::op::Op;
use pyo3::prelude::*;
use translator::stop::R;
use variables::object::Arrangements;
use variables::{Obj, Var};

use crate::emitter::Emitter;

impl Emitter<'_, '_> {
    /// `zip` or `map`, which stops with an error where one iterator ends before the others, if it is `strict`.
    pub(super) fn call_strictly(&mut self, f: &Obj, args: &[&Var], strict: bool) -> R<()> {
        if !strict {
            return self.call_with(f, args);
        }
        self.asm.callee(f);
        for arg in args {
            self.value(arg)?;
        }
        let yes = self.tx.bool(true);
        self.value(&yes)?;
        self.call_kw(args.len() as u32 + 1, "strict")
    }

    /// `chain`
    pub(super) fn chain(&mut self, outer: &Var, current: &Option<Var>) -> R<()> {
        let chain = self.itertools("chain")?;
        let many = chain.bind(self.tx.py).getattr("from_iterable")?.unbind();
        match current {
            None => self.call_with(&many, &[outer])?,
            Some(c) => {
                self.asm.callee(&chain);
                self.value(c)?;
                self.call_with(&many, &[outer])?;
                self.asm.call(2);
            }
        }
        Ok(())
    }

    /// `repeat`
    pub(super) fn repeat(&mut self, v: &Var, left: Option<usize>) -> R<()> {
        let repeat = self.itertools("repeat")?;
        self.asm.callee(&repeat);
        self.value(v)?;
        if let Some(n) = left {
            self.load_int(n as i64)?;
        }
        self.asm.call(1 + u32::from(left.is_some()));
        Ok(())
    }

    /// `product`, `permutations` and the like.
    pub(super) fn arrangements(&mut self, class: &Obj, all: &Arrangements, at: usize) -> R<()> {
        self.asm.callee(class);
        for pool in &all.pools {
            for v in pool {
                self.value(v)?;
            }
            self.asm.op(Op::BuildTuple(pool.len() as u32));
        }
        if let Some(n) = all.length {
            self.load_int(n)?;
        }
        let args = all.pools.len() + usize::from(all.length.is_some());
        self.asm.call(args as u32);
        self.consume((at).min(all.items.len()))?;
        Ok(())
    }

    /// `islice`
    pub(super) fn islice(
        &mut self,
        it: &Var,
        taken: usize,
        next: usize,
        stop: Option<usize>,
        step: usize,
    ) -> R<()> {
        let islice = self.itertools("islice")?;
        self.asm.callee(&islice);
        self.value(it)?;
        let none = self.tx.py.None();
        self.load_int(next.saturating_sub(taken) as i64)?;
        match stop {
            Some(s) => self.load_int(s.saturating_sub(taken) as i64)?,
            None => self.asm.load_const(&none),
        }
        self.load_int(step as i64)?;
        self.asm.call(4);
        Ok(())
    }

    /// `accumulate`
    pub(super) fn accumulate(
        &mut self,
        it: &Var,
        f: &Var,
        total: &Option<Var>,
        initial: &Option<Var>,
    ) -> R<()> {
        let tool = self.itertools("accumulate")?;
        self.asm.callee(&tool);
        match total.as_ref().or(initial.as_ref()) {
            // `initial=None` is none at all.
            Some(v) if v.is_none(self.tx.py) => {
                self.call_chain(std::slice::from_ref(v), it)?;
                self.value(f)?;
                self.asm.call(2);
            }
            Some(v) => {
                self.value(it)?;
                self.value(f)?;
                self.value(v)?;
                self.call_kw(3, "initial")?;
            }
            None => {
                self.value(it)?;
                self.value(f)?;
                self.asm.call(2);
            }
        }
        self.consume(usize::from(total.is_some()))?;
        Ok(())
    }

    /// `cycle`
    pub(super) fn cycle(&mut self, it: &Option<Var>, items: &[Var], at: usize) -> R<()> {
        let cycle = self.itertools("cycle")?;
        self.asm.callee(&cycle);
        match it {
            Some(it) => self.call_chain(items, it)?,
            None => self.list_of(items)?,
        }
        self.asm.call(1);
        let done = if it.is_some() { items.len() } else { at };
        self.consume(done)?;
        Ok(())
    }

    /// `batched`
    pub(super) fn batched(&mut self, it: &Var, n: usize, strict: bool) -> R<()> {
        let tool = self.itertools("batched")?;
        self.asm.callee(&tool);
        self.value(it)?;
        self.load_int(n as i64)?;
        if strict {
            let yes = self.tx.bool(true);
            self.value(&yes)?;
            self.call_kw(3, "strict")?;
        } else {
            self.asm.call(2);
        }
        Ok(())
    }

    /// `zip_longest`
    pub(super) fn zip_longest(&mut self, its: &[Option<Var>], fill: &Var) -> R<()> {
        let tool = self.itertools("zip_longest")?;
        self.asm.callee(&tool);
        for it in its {
            match it {
                Some(it) => self.value(it)?,
                None => {
                    self.asm.op(Op::BuildTuple(0));
                    self.get_iter();
                }
            }
        }
        self.value(fill)?;
        self.call_kw(its.len() as u32 + 1, "fillvalue")?;
        Ok(())
    }

    /// `pairwise`, behind its first item.
    pub(super) fn pairwise(&mut self, it: &Var, previous: &Var) -> R<()> {
        let (pairwise, chain) = (self.itertools("pairwise")?, self.itertools("chain")?);
        self.asm.callee(&pairwise);
        self.asm.callee(&chain);
        self.value(previous)?;
        self.asm.op(Op::BuildTuple(1));
        self.value(it)?;
        self.asm.call(2);
        self.asm.call(1);
        Ok(())
    }

    pub(super) fn itertools(&self, name: &str) -> R<Obj> {
        Ok(self.tx.py.import("itertools")?.getattr(name)?.unbind())
    }

    /// `-- chain([items...], rest)`
    pub(super) fn call_chain(&mut self, items: &[Var], rest: &Var) -> R<()> {
        let chain = self.itertools("chain")?;
        self.asm.callee(&chain);
        self.list_of(items)?;
        self.value(rest)?;
        self.asm.call(2);
        Ok(())
    }

    pub(super) fn call_tool(&mut self, name: &str, args: &[&Var]) -> R<()> {
        let f = self.itertools(name)?;
        self.call_with(&f, args)
    }
}
