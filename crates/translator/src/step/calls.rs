//! The calling instructions, and what becomes of a returned value.

use super::Next;
use crate::state::{Frame, OnReturn};
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};
use crate::values::Special;
use bytecode::op::Label;
use variables::Var;
impl<'py> Tx<'py> {
    pub(crate) fn op_call(&mut self, argc: u32, kw_names: Option<Var>) -> R<Next> {
        let mut args = self.popn(argc)?;
        let second = self.pop()?;
        let first = self.pop()?;
        let mut kw = Vec::new();
        if let Some(names) = kw_names {
            let names = self.iterate(&names)?;
            let values = args.split_off(args.len() - names.len());
            for (n, v) in names.iter().zip(values) {
                kw.push((self.attr_name(n)?, v));
            }
        }
        let callable = match (first, second) {
            (Var::Null, f) | (f, Var::Null) => f,
            (f, receiver) => {
                args.insert(0, receiver);
                f
            }
        };
        let args = Args { pos: args, kw };
        if let Some(v) = (self.rules.torch.tell_backward_later)(self, &callable, &args)? {
            self.push(v);
            return Ok(Next::Fall);
        }
        let flow = self.call(&callable, args)?;
        Ok(self.push_flow(flow))
    }

    pub(crate) fn op_call_ex(&mut self, kwargs: bool) -> R<Next> {
        // Where there always is a place for keywords it may be empty.
        let map = if kwargs { self.pop()? } else { Var::Null };
        let kw = if !matches!(map, Var::Null) {
            let dict = self.new_dict(variables::OrderedMap::default());
            self.dict_update(&dict, &map)?;
            self.keyword_items(&dict)?
        } else {
            Vec::new()
        };
        let pos = self.pop()?;
        let pos = self.iterate(&pos)?;
        let second = self.pop()?;
        let first = self.pop()?;
        let callable = if matches!(first, Var::Null) {
            second
        } else {
            first
        };
        let flow = self.call(&callable, Args { pos, kw })?;
        Ok(self.push_flow(flow))
    }

    pub(crate) fn do_return(&mut self, v: Var) -> R<Next> {
        let f = &self.st.frame;
        match f.on_return.clone() {
            OnReturn::Root => Ok(Next::Done(v)),
            OnReturn::Nested => {
                let parent = f
                    .parent
                    .clone()
                    .ok_or_else(|| Stop::Internal("no caller".into()))?;
                self.st.frame = (*parent).clone();
                self.nested_result = Some(v);
                Ok(Next::Frame)
            }
            on_return => {
                let parent = f
                    .parent
                    .clone()
                    .ok_or_else(|| Stop::Internal("no caller".into()))?;
                let caller: Frame = (*parent).clone();
                self.st.frame = caller;
                self.st.frame.ip += 1;
                match on_return {
                    OnReturn::PushInstance(instance) => {
                        let r = self.realize(&v)?;
                        if !r.is_none(self.py) {
                            self.st.frame.ip -= 1;
                            return Err(self.raise("TypeError", "__init__() should return None"));
                        }
                        self.push(instance);
                    }
                    OnReturn::Discard => {}
                    _ => self.push(v),
                }
                Ok(Next::Frame)
            }
        }
    }

    pub(crate) fn send(&mut self, receiver: &Var, sent: Var, to: Label) -> R<Next> {
        let receiver = self.realize(receiver)?;
        if self.is_generator(&receiver) {
            match self.generator_resume(&receiver, Some(sent))? {
                crate::call::Yielded::Value(v) => {
                    self.push(v);
                    return Ok(Next::Fall);
                }
                crate::call::Yielded::Return(v) => return Ok(self.send_returned(v, to)),
            }
        }
        if !sent.is_none(self.py) {
            return Err(Stop::unsupported(
                "send() to an iterator that is no generator",
            ));
        }
        let mut result = self.none();
        let next = if self.special(&receiver, "__next__")? == Special::User {
            match self.special_sync(&receiver, "__next__", vec![]) {
                Ok(v) => Some(v),
                Err(stop) if self.is_raise_of(&stop, "StopIteration") => {
                    if let Stop::Raise(e) = &stop {
                        result = self.getattr_sync(e, &"value".into())?;
                    }
                    None
                }
                Err(stop) => return Err(stop),
            }
        } else {
            self.iter_next(&receiver)?
        };
        match next {
            Some(v) => {
                self.push(v);
                Ok(Next::Fall)
            }
            None => Ok(self.send_returned(result, to)),
        }
    }

    /// `SEND` may pop the receiver when it has returned, or leave it to `END_SEND`.
    pub(crate) fn send_returned(&mut self, v: Var, to: Label) -> Next {
        if !self.version().send_keeps_receiver() {
            self.st.frame.stack.pop_back();
        }
        self.push(v);
        Next::Jump(to)
    }
}
