//! Methods of iterators and generators.

use variables::{Body, IterBody, ObjId, Var};

use crate::call::Yielded;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use crate::values::body_len;

impl Tx<'_> {
    /// `StopIteration(value)`.
    pub fn stop_iteration(&mut self, value: Option<Var>) -> Stop {
        let class = self.known.stop_iteration.clone();
        let args = match value {
            Some(v) if !v.is_none(self.py) => vec![v],
            _ => vec![],
        };
        self.raise_class(class, args)
    }

    /// An iterator's method. `None`: there is none of this name here.
    pub(super) fn iterator_method(&mut self, id: ObjId, name: &str, args: Args) -> R<Option<Flow>> {
        let recv = Var::Obj(id);
        let value = match name {
            "__iter__" => recv,
            "__next__" => {
                self.positional(name, args, 0, 0)?;
                match self.iter_next(&recv)? {
                    Some(v) => v,
                    None => return Err(self.stop_iteration(None)),
                }
            }
            "__length_hint__" => {
                let n = match self.obj(id).body.clone() {
                    Body::Iter(IterBody::Items(v, i)) => v.len() - i,
                    Body::Iter(IterBody::Deque(walk)) => walk.size - walk.taken,
                    Body::Iter(IterBody::Set(set, v, i, _)) => {
                        match body_len(&self.obj(set).body) {
                            Some(n) if n == v.len() => n - i,
                            _ => 0,
                        }
                    }
                    Body::Iter(IterBody::List(l, Some(i))) => match &self.obj(l).body {
                        Body::List(v) => v.len().saturating_sub(i),
                        _ => 0,
                    },
                    Body::Iter(IterBody::List(_, None)) => 0,
                    Body::Iter(IterBody::ListReverse(_, i)) => i.map_or(0, |i| i + 1),
                    Body::Iter(IterBody::Dict(walk)) => match &self.obj(walk.dict).body {
                        Body::Dict(map) if map.len() == walk.size => {
                            walk.size - map.rank(walk.slot as u64)
                        }
                        _ => 0,
                    },
                    _ => return Err(Stop::unsupported("the length hint of an iterator")),
                };
                self.int(n as i64)
            }
            "__copy__" => match self.obj(id).body.clone() {
                Body::Iter(IterBody::Tee(source, buffer, i)) => {
                    let class = self.obj(id).class.clone();
                    self.new_iter(class, IterBody::Tee(source, buffer, i))
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Flow::Value(value)))
    }

    /// A generator's method.
    pub(super) fn generator_method(
        &mut self,
        id: ObjId,
        name: &str,
        args: Args,
    ) -> R<Option<Flow>> {
        let recv = Var::Obj(id);
        match name {
            "__iter__" => Ok(Some(Flow::Value(recv))),
            "__next__" | "send" => {
                let sent = if name == "send" {
                    Some(self.one("generator.send", args)?)
                } else {
                    None
                };
                if let Some(v) = &sent
                    && !v.is_none(self.py)
                    && !self.generator_started(id)
                {
                    return Err(self.raise(
                        "TypeError",
                        "can't send non-None value to a just-started generator",
                    ));
                }
                match self.generator_resume(&recv, sent)? {
                    Yielded::Value(v) => Ok(Some(Flow::Value(v))),
                    Yielded::Return(v) => Err(self.stop_iteration(Some(v))),
                }
            }
            "close" => {
                self.positional("generator.close", args, 0, 0)?;
                let returned = self.generator_close(&recv)?;
                Ok(Some(Flow::Value(returned)))
            }
            "throw" => {
                let a = self.positional("throw", args, 1, 3)?;
                let exception = match &a[..] {
                    [one] => self.exception_instance(one)?,
                    // `contextlib` hands on what a `with` statement gave it.
                    [class, exception @ Var::Obj(id), traceback]
                        if self.version().throws_in_parts()
                            && self.real(class).is_some_and(|c| c.is(&self.obj(*id).class))
                            && self.takes_traceback(*id, Some(traceback)) =>
                    {
                        exception.clone()
                    }
                    _ => {
                        return Err(Stop::unsupported("generator.throw() of three arguments"));
                    }
                };
                match self.generator_throw(&recv, exception)? {
                    Yielded::Value(v) => Ok(Some(Flow::Value(v))),
                    Yielded::Return(v) => Err(self.stop_iteration(Some(v))),
                }
            }
            _ => Ok(None),
        }
    }

    fn generator_started(&self, id: ObjId) -> bool {
        match &self.obj(id).body {
            Body::Generator(s) => s.started,
            _ => true,
        }
    }
}
