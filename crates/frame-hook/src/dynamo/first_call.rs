//! What numbers a call is made with: sizes of tensors and ints, among the arguments and in builtin containers there.

use cache::FirstCall;
use guards::{Source, SourceId, SourceTable};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyTuple};
use torch_abi::view::TensorView;
use torch_abi::{TensorClass, TorchAbi};
use variables::constants::const_val;

use eval_frame::frame::FrameRef;

/// How many values are looked at, and how deep.
const MOST: usize = 1000;
const DEEPEST: usize = 4;

/// The sizes of tensors and the ints of a call.
pub(super) fn call_of(py: Python<'_>, frame: &FrameRef<'_>) -> FirstCall {
    let names = frame.code(py).getattr("co_varnames");
    let names = names.and_then(|names| names.extract::<Vec<String>>());
    let (Some(abi), Ok(names)) = (TorchAbi::loaded(), names) else {
        return FirstCall::default();
    };
    let mut seen = Seen {
        abi,
        sources: SourceTable::default(),
        call: FirstCall::default(),
        left: MOST,
    };
    for (i, name) in names.iter().enumerate().take(frame.arguments().len()) {
        if let Some(value) = frame.local(py, i) {
            let source = Source::Local {
                index: i as u32,
                name: name.as_str().into(),
            };
            seen.value(&value, source, 0);
        }
    }
    seen.call
}

struct Seen<'a> {
    abi: &'a TorchAbi,
    sources: SourceTable,
    call: FirstCall,
    left: usize,
}

impl Seen<'_> {
    fn value(&mut self, value: &Bound<'_, PyAny>, source: Source, depth: usize) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let source = self.sources.intern(source);
        if self.abi.classify(value) != TensorClass::No {
            // SAFETY: a tensor, which the frame keeps alive.
            let view = unsafe { TensorView::new(self.abi, value.as_ptr()) };
            let sizes = view.geometry().0.iter().map(|size| Some(*size)).collect();
            self.call.sizes.insert(self.sources.name(source), sizes);
        } else if let Ok(int) = value.cast_exact::<PyInt>() {
            if let Ok(int) = int.extract() {
                self.call.ints.insert(self.sources.name(source), int);
            }
        } else if depth < DEEPEST {
            self.items(value, source, depth + 1);
        }
    }

    fn items(&mut self, value: &Bound<'_, PyAny>, base: SourceId, depth: usize) {
        if let Ok(list) = value.cast_exact::<PyList>() {
            for (index, item) in (0..).zip(list.iter()) {
                self.value(&item, Source::ListItem { base, index }, depth);
            }
        } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            for (index, item) in (0..).zip(tuple.iter()) {
                self.value(&item, Source::TupleItem { base, index }, depth);
            }
        } else if let Ok(dict) = value.cast_exact::<PyDict>() {
            for (key, item) in dict.iter() {
                if let Some(key) = const_val(&key) {
                    self.value(&item, Source::DictItem { base, key }, depth);
                }
            }
        }
    }
}
