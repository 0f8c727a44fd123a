//! What is in force where an operation stands, because of contexts that the program has entered.

use std::rc::Rc;

use pyo3::prelude::*;
use tensor_meta::{Autocast, Ctx, DType, DeviceKind};
use variables::contexts::{Cast, Effect};

use crate::SoFar;

/// Where torch has its autocast.
pub const MODULE: &str = "torch.amp.autocast_mode";

impl<'py> SoFar<'_, 'py> {
    /// The state that results depend on.
    pub fn meta_ctx(&self) -> Ctx {
        Ctx {
            grad_enabled: self.state.grad_enabled,
            inference_mode: self.inference_now(),
            autocast: self.autocasts(),
            ..*self.ctx
        }
    }

    /// The grad mode that the program has set since it entered an inference mode that is open.
    pub fn grad_mode_within(&self) -> Option<bool> {
        let entered = self
            .state
            .contexts
            .iter()
            .rev()
            .find_map(|o| match &o.effect {
                Effect::Inference(mode) => Some(!mode.enabled),
                _ => None,
            });
        entered
            .filter(|e| *e != self.state.grad_enabled)
            .map(|_| self.state.grad_enabled)
    }

    /// Whether tensors that are made now are inference tensors.
    pub fn inference_now(&self) -> bool {
        let inner = self
            .state
            .contexts
            .iter()
            .rev()
            .find_map(|o| match &o.effect {
                Effect::Inference(mode) => Some(mode.enabled),
                _ => None,
            });
        inner.unwrap_or(self.ctx.inference_mode)
    }

    /// Open autocast contexts, innermost first.
    pub fn casts(&self) -> impl Iterator<Item = &Rc<Cast>> {
        self.state
            .contexts
            .iter()
            .rev()
            .filter_map(|o| match &o.effect {
                Effect::Cast(cast) => Some(cast),
                _ => None,
            })
    }

    /// Whether the program has entered autocast here.
    pub fn in_autocast(&self) -> bool {
        self.casts().next().is_some()
    }

    /// Where autocast is on.
    pub fn autocasts(&self) -> Autocast {
        // Where it is on already, unless a context here says otherwise of the device.
        let outside = match self.ctx.autocast {
            Autocast::Off => None,
            Autocast::Cpu(_) => Some("cpu"),
            Autocast::Cuda(_) => Some("cuda"),
            Autocast::Other => return Autocast::Other,
        };
        let mut said = Vec::new();
        let mut on = Vec::new();
        for cast in self.casts() {
            if said.contains(&&*cast.device) {
                continue;
            }
            said.push(&*cast.device);
            if cast.enabled {
                let name = cast.dtype.bind(self.py).str().map(|name| name.to_string());
                let dtype = name.ok().and_then(|name| DType::from_name(&name));
                on.push(Autocast::of(DeviceKind::from_name(&cast.device), dtype));
            }
        }
        if outside.is_some_and(|device| !said.contains(&device)) {
            on.push(self.ctx.autocast);
        }
        match on[..] {
            [] => Autocast::Off,
            [one] => one,
            _ => Autocast::Other,
        }
    }

    /// Real contexts like the open ones, outermost first, for what runs real torch code while
    /// translating.
    ///
    /// # Errors
    /// Whatever torch raises.
    pub fn real_autocasts(&self) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut out = Vec::new();
        for c in self.casts() {
            let class = self.py.import(MODULE)?.getattr("autocast")?;
            out.push(class.call1((&c.device, &c.dtype, c.enabled, c.cache))?);
        }
        out.reverse();
        Ok(out)
    }
}
