//! Containers and texts that an instruction makes or takes apart.

use std::rc::Rc;

use bytecode::op::Conversion;
use variables::Var;

use super::Next;
use crate::rules::TemplatePart;
use crate::stop::R;
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// A dict with keys from a tuple.
    pub(super) fn build_const_key_map(&mut self, n: u32) -> R<()> {
        let keys = self.pop()?;
        let keys = self.iterate(&keys)?;
        let values = self.popn(n)?;
        let items = keys
            .into_iter()
            .zip(values)
            .flat_map(|(k, v)| [k, v])
            .collect();
        let v = self.build_map(items)?;
        self.push(v);
        Ok(())
    }

    /// A slice of two or three parts.
    pub(super) fn build_slice(&mut self, n: u32) -> R<()> {
        let mut parts = self.popn(n)?;
        let step = if n == 3 { parts.pop() } else { None }.unwrap_or_else(|| self.none());
        let stop = parts.pop().unwrap_or(Var::Null);
        let start = parts.pop().unwrap_or(Var::Null);
        self.push(Var::Slice(Rc::new([start, stop, step])));
        Ok(())
    }

    /// An item of a dict comprehension.
    pub(super) fn map_add_top(&mut self, n: u32) -> R<()> {
        let v = self.pop()?;
        let k = self.pop()?;
        let map = self.peek(n)?;
        self.map_add(&map, k, v)?;
        Ok(())
    }

    /// `**x` of a call.
    pub(super) fn dict_merge_top(&mut self, n: u32) -> R<()> {
        let v = self.pop()?;
        let map = self.peek(n)?;
        let callee = self.peek(n + 2).unwrap_or(Var::Null);
        self.dict_merge(&map, &v, &callee)?;
        Ok(())
    }

    /// `a, b = x`
    pub(super) fn unpack_sequence(&mut self, n: u32) -> R<()> {
        let v = self.pop()?;
        let items = self.unpack(&v, n as usize)?;
        for i in items.into_iter().rev() {
            self.push(i);
        }
        Ok(())
    }

    /// `a, *b, c = x`
    pub(super) fn unpack_with_rest(&mut self, before: u32, after: u32) -> R<()> {
        let v = self.pop()?;
        let items = self.unpack_ex(&v, before as usize, after as usize)?;
        for i in items.into_iter().rev() {
            self.push(i);
        }
        Ok(())
    }

    /// A field of an f-string.
    pub(super) fn format_top(&mut self, conv: Option<Conversion>, spec: bool) -> R<()> {
        let spec = if spec { Some(self.pop()?) } else { None };
        let v = self.pop()?;
        let s = (self.rules.builtins.format_value)(self, &v, conv, spec.as_ref())?;
        self.push(s);
        Ok(())
    }

    /// A field of a template string.
    pub(super) fn build_interpolation(&mut self, conv: Option<Conversion>, spec: bool) -> R<Next> {
        let spec = if spec { self.pop()? } else { self.str("") };
        let mut parts = self.popn(2)?;
        let conv = conv.map_or_else(|| self.none(), |c| self.str(c.letter()));
        parts.extend([conv, spec]);
        self.template_part(TemplatePart::Interpolation, parts)
    }

    pub(super) fn template_part(&mut self, part: TemplatePart, parts: Vec<Var>) -> R<Next> {
        let flow = (self.rules.builtins.template)(self, part, Args::pos(parts))?;
        Ok(self.push_flow(flow))
    }
}
