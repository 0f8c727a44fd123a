//! Cells and free variables.

use crate::code::{CodeInfo, kinds};
use crate::state::Frame;
use crate::stop::{R, Stop};
use crate::tx::Tx;
use bytecode::op::LocalIdx;
use guards::GuardKind;
use variables::{Body, ObjState, OrderedMap, Origin, Var};
impl<'py> Tx<'py> {
    pub(crate) fn make_cell(&mut self, l: LocalIdx) {
        let initial = self.local(l);
        let class = self.known.cell.clone();
        let mut state = ObjState::new(class, Body::Cell(initial));
        if self.st.frame.depth == 0 {
            state.origin = Origin::RootCell(l.0);
        }
        let id = self.st.effects.add(state);
        self.set_local(l, Some(Var::Obj(id)));
    }

    pub(crate) fn copy_free_vars(&mut self, n: u32) -> R<()> {
        let closure = self.st.frame.closure.clone();
        let len = self.st.frame.locals.len();
        if closure.len() != n as usize {
            return Err(Stop::Internal("closure size".into()));
        }
        for (i, cell) in closure.iter().enumerate() {
            self.st.frame.locals[len - closure.len() + i] = Some(cell.clone());
        }
        Ok(())
    }

    pub(crate) fn load_deref(&mut self, l: LocalIdx) -> R<Var> {
        let Some(Var::Obj(id)) = self.local(l) else {
            return Err(Stop::Internal("no cell".into()));
        };
        match self.obj(id).body.clone() {
            Body::Cell(Some(v)) => {
                if let Var::Lazy(l) = &v {
                    self.touch(l.source);
                }
                Ok(v)
            }
            Body::Cell(None) => {
                if let Origin::Source { source, .. } = &self.obj(id).origin {
                    let source = *source;
                    self.guard(
                        source,
                        GuardKind::HasAttr {
                            name: "cell_contents".into(),
                            present: false,
                        },
                    );
                }
                let name = self.st.frame.code.local_names[l.0 as usize].clone();
                let own = self.is_own_cell(&self.st.frame, l);
                Err(if !own {
                    self.raise("NameError", &format!("cannot access free variable '{name}' where it is not associated with a value in enclosing scope"))
                } else {
                    self.unbound_local(l)
                })
            }
            _ => Err(Stop::Internal("not a cell".into())),
        }
    }

    /// Whether a cell is one of the function's own variables, as the user wrote it: a resume function
    /// has all cells for free variables.
    pub fn is_own_cell(&self, f: &Frame, l: LocalIdx) -> bool {
        let at = l.0 as usize;
        let kind = |code: &CodeInfo, at: usize| code.fields.localspluskinds[at] & kinds::FREE == 0;
        match (&self.resumed, f.depth) {
            (Some(original), 0) => original
                .local_names
                .iter()
                .position(|n| *n == f.code.local_names[at])
                .is_some_and(|i| kind(original, i)),
            _ => kind(&f.code, at),
        }
    }

    /// `locals()`: the variables of the running function that have a value.
    pub fn local_variables(&mut self) -> R<Var> {
        let frame = self.st.frame.clone();
        let names = match (&self.resumed, frame.depth) {
            (Some(original), 0) => original.local_names.clone(),
            _ => frame.code.local_names.clone(),
        };
        let dict = match frame.locals_dict {
            Some(id) => Var::Obj(id),
            None => self.new_dict(OrderedMap::default()),
        };
        let Var::Obj(id) = dict else {
            return Err(Stop::Internal("no dict".into()));
        };
        if self.version().keeps_locals_dict() {
            self.st.frame.locals_dict = Some(id);
        }
        for name in &names {
            let at = frame.code.local_names.iter().position(|n| n == name);
            let value = match at {
                Some(i)
                    if frame.code.fields.localspluskinds[i] & (kinds::CELL | kinds::FREE) != 0 =>
                {
                    match self.load_deref(LocalIdx(i as u32)) {
                        Ok(v) => Some(v),
                        Err(Stop::Raise(_)) => None,
                        Err(stop) => return Err(stop),
                    }
                }
                Some(i) => frame.locals[i].clone(),
                None => None,
            };
            let name = self.str(name);
            let key = self.key(&name)?;
            if let Body::Dict(map) = self.st.effects.body_mut(id) {
                match value {
                    Some(v) => map.insert(key, name, v),
                    None => {
                        map.remove(&key);
                    }
                }
            }
        }
        Ok(Var::Obj(id))
    }

    pub(crate) fn store_deref(&mut self, l: LocalIdx, v: Option<Var>) -> R<()> {
        let Some(Var::Obj(id)) = self.local(l) else {
            return Err(Stop::Internal("no cell".into()));
        };
        *self.st.effects.body_mut(id) = Body::Cell(v);
        Ok(())
    }
}
