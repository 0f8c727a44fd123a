//! The data that rules read and write: dtypes, devices, sizes, tensor metadata,
//! argument values, results and errors.
//!
//! No rule lives here. Invariant: nothing in this module depends on the rules,
//! so callers can build and keep metadata without running any.

mod device;
mod dtype;
mod result;
mod tensor;
mod value;

pub use device::{Device, DeviceKind};
pub use dtype::DType;
pub use result::{Autocast, Ctx, Inferred, RuleError};
pub use tensor::{Alias, Ints, MemoryFormat, SymDims, SymInt, TensorMeta};
pub(crate) use tensor::{
    Dims, channels_last_strides, contiguous_strides, is_channels_last_contiguous, is_contiguous,
    suggest_memory_format,
};
pub use value::Value;
