//! Names of torch's modules and attributes that the boundary to backends needs. Only strings.

/// Public package of graphs.
pub const FX: &str = "torch.fx";
/// Module of `Graph`.
pub const FX_GRAPH: &str = "torch.fx.graph";
/// Module of `Node`.
pub const FX_NODE: &str = "torch.fx.node";
/// Module of the lazy graph module.
pub const FX_LAZY: &str = "torch.fx._lazy_graph_module";
/// Class whose code is generated at first use, in [`FX_LAZY`].
pub const LAZY_GRAPH_MODULE: &str = "_LazyGraphModule";
/// torch's C extension.
pub const TORCH_C: &str = "torch._C";
/// Base class of `Node`, in [`TORCH_C`].
pub const NODE_BASE: &str = "_NodeBase";
