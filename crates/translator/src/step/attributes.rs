//! Methods, attributes of `super()`.

use std::rc::Rc;

use bytecode::op::NameIdx;
use variables::Var;

use super::Next;
use crate::stop::R;
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// A method and its receiver, or an attribute and no receiver.
    pub(super) fn load_method(&mut self, name: NameIdx, null_first: bool) -> R<Next> {
        let obj = self.pop()?;
        let name = self.name(name);
        if let Var::Lazy(l) = &obj
            && &*name == "append"
            && self.is_unread_list(l)
        {
            let method = Var::BuiltinMethod(Rc::new((obj, name)));
            self.push_method(method, null_first);
            return Ok(Next::Fall);
        }
        // A pushed frame (a property, `__getattr__`) runs to its end here: its result
        // takes two stack slots, which `OnReturn::Push` does not know.
        let v = self.getattr_sync(&obj, &name)?;
        self.push_method(v, null_first);
        Ok(Next::Fall)
    }

    /// `super().name`
    pub(super) fn load_super_attr(
        &mut self,
        name: NameIdx,
        method: bool,
        two_arg: bool,
        null_first: bool,
    ) -> R<()> {
        let mut parts = self.popn(3)?;
        let (receiver, class) = (parts.remove(2), parts.remove(1));
        let callee = self.realize(&parts[0])?;
        let sup = match &callee {
            Var::Py(p) if p.obj.is(&self.known.super_) => self.super_of(&class, &receiver)?,
            _ => {
                // Something else of that name: it gets what the program wrote.
                let given = if two_arg {
                    vec![class, receiver]
                } else {
                    vec![]
                };
                self.call_sync(&callee, Args::pos(given))?
            }
        };
        let name = self.name(name);
        let v = self.getattr_sync(&sup, &name)?;
        if method {
            self.push_method(v, null_first);
        } else {
            self.push(v);
        }
        Ok(())
    }

    pub(crate) fn push_method(&mut self, v: Var, null_first: bool) {
        match v {
            Var::Method(m) => {
                self.push(m.func.clone());
                self.push(m.receiver.clone());
            }
            other if null_first => {
                self.push(Var::Null);
                self.push(other);
            }
            other => {
                self.push(other);
                self.push(Var::Null);
            }
        }
    }
}
