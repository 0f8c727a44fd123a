//! Operations without a rule: torch is asked what they give, on fake tensors, or the graph breaks at them.

use crate::registry::{Entry, operation};
use crate::traits::Reads;
use crate::traits::facts::*;

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend(variants());
    out.extend(random());
    out.extend(outside_of_graphs());
    out.extend(queries());
}

/// What is like an operation that has a rule.
fn variants() -> [Entry; 21] {
    [
        operation("detach_", "*", "*").does(NEVER_RAISES | DETACHES),
        operation("requires_grad_", "", "*").does(NEVER_RAISES),
        operation("logical_not_", "", "*").does(NEVER_RAISES),
        operation("swapaxes_", "", "*").does(NEVER_RAISES),
        operation("old_div", "", "__div__ __idiv__").does(NEVER_RAISES),
        operation("old_long", "", "__long__").does(NEVER_RAISES),
        operation("gelu_", "N", "").does(NEVER_RAISES),
        operation("fill", "*", "").does(NEVER_RAISES | CONVERTS_NUMBERS),
        operation("tile_function", "torch.tile", "").does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES),
        operation("batch_norm_torch", "torch.batch_norm", "")
            .does(NEVER_RAISES)
            .writes_unless(5, "training"),
        operation("instance_norm_torch", "torch.instance_norm", "")
            .does(NEVER_RAISES)
            .writes_unless(5, "use_input_stats"),
        operation("group_norm_torch", "torch.group_norm", "").does(NEVER_RAISES),
        operation("max_pool1d_torch", "torch.max_pool1d", "").does(NEVER_RAISES),
        operation("max_pool2d_torch", "torch.max_pool2d", "").does(NEVER_RAISES),
        operation("max_pool3d_torch", "torch.max_pool3d", "").does(NEVER_RAISES),
        operation("data", "torch._C._autograd._get_data_attr", "").does(NEVER_RAISES | SHARES_DATA),
        operation("attribute_H", "getattr.H getattr.mH", "").does(VIEW),
        operation("as_subclass", "", "* __get__").does(VIEW),
        operation(
            "conj_view",
            "torch._conj torch._neg_view torch.slice_inverse",
            "_conj _neg_view slice_inverse",
        )
        .does(VIEW),
        operation(
            "set_",
            "torch.ops.aten.shallow_copy_data_",
            "* resize_ resize_as_",
        )
        .does(MOVES),
        operation(
            "quantize",
            "torch.quantize_per_channel torch.quantize_per_tensor_dynamic \
             torch._empty_affine_quantized torch._empty_per_channel_affine_quantized",
            "",
        )
        .does(QUANTIZES),
    ]
}

/// What draws random numbers.
fn random() -> [Entry; 10] {
    [
        operation("normal", "* torch.binomial torch._sample_dirichlet torch._standard_gamma", "").does(DRAWS),
        operation(
            "torch_dropout",
            "torch.alpha_dropout torch.alpha_dropout_ torch.feature_alpha_dropout torch.feature_alpha_dropout_ \
             torch.feature_dropout_ torch.native_dropout torch._fused_dropout",
            "",
        )
        .does(DRAWS),
        operation(
            "other_dropout",
            "torch.nn.functional.dropout1d torch.nn.functional.dropout3d torch.nn.functional.rrelu \
             torch.nn.functional.rrelu_ torch.rrelu torch.rrelu_",
            "",
        )
        .does(DRAWS),
        operation(
            "rrelu_with_noise",
            "N torch._C._nn.rrelu_with_noise_",
            "",
        )
        .does(DRAWS),
        operation(
            "fractional_max_pool2d",
            "F N torch.nn.functional.fractional_max_pool2d_with_indices",
            "",
        )
        .does(DRAWS),
        operation(
            "fractional_max_pool3d",
            "F N torch.nn.functional.fractional_max_pool3d_with_indices",
            "",
        )
        .does(DRAWS),
        operation(
            "low_rank",
            "torch.functional.pca_lowrank torch.functional.svd_lowrank torch.functional.lobpcg \
             torch._lowrank.pca_lowrank torch._lowrank.svd_lowrank torch._lobpcg.lobpcg",
            "",
        )
        .does(DRAWS),
        operation(
            "fused_attention",
            "torch._scaled_dot_product_attention_math torch._scaled_dot_product_attention_math_for_mps \
             torch._scaled_dot_product_cudnn_attention torch._scaled_dot_product_efficient_attention \
             torch._scaled_dot_product_flash_attention torch._scaled_dot_product_flash_attention_for_cpu \
             torch._triton_scaled_dot_attention torch._fill_mem_eff_dropout_mask_",
            "",
        )
        .does(DRAWS),
        operation(
            "fused_attention_in_place",
            "torch._flash_attention_forward_no_dropout_inplace torch._cudnn_attention_forward_no_dropout_inplace",
            "",
        )
        .does(DRAWS | WRITES),
        operation(
            "fused_recurrent",
            "torch._cudnn_rnn torch._cudnn_init_dropout_state torch._lstm_mps torch.miopen_rnn torch.mkldnn_rnn_layer",
            "",
        )
        .does(DRAWS),
    ]
}

/// What looks at data, or acts outside a graph.
fn outside_of_graphs() -> [Entry; 12] {
    [
        operation("item", "", "*").reads(Reads::Number),
        operation("tolist", "", "*").reads(Reads::List),
        operation("index", "", "__index__").reads(Reads::Int),
        operation("to_int", "", "__int__").reads(Reads::Int).does(NEVER_RAISES),
        operation("to_float", "", "__float__").reads(Reads::Float).does(NEVER_RAISES),
        operation("to_bool", "", "__bool__").does(BREAKS | NEVER_RAISES),
        operation("data_ptr", "", "*").reads(Reads::Address),
        operation("numpy", "", "*").reads(Reads::Array),
        operation(
            "looks_at_data",
            "",
            "__complex__ __array__ __repr__ __str__ __format__ apply_ map_ untyped_storage storage is_pinned",
        )
        .does(BREAKS),
        operation(
            "backward",
            "",
            "* register_hook retain_grad register_post_accumulate_grad_hook share_memory_",
        )
        .does(BREAKS),
        operation(
            "taken_apart",
            "torch.functional.unique torch.functional.unique_consecutive \
             torch.functional.broadcast_shapes torch.functional.boolean_dispatch \
             torch.nn.functional.boolean_dispatch torch.nn.functional.assert_int_or_pair \
             torch.nn.functional.triplet_margin_with_distance_loss \
             torch.nn.functional.handle_torch_function torch.nn.functional.has_torch_function \
             torch.nn.functional.has_torch_function_unary torch.nn.functional.has_torch_function_variadic \
             torch.functional.handle_torch_function torch.functional.has_torch_function \
             torch.functional.has_torch_function_unary torch.functional.has_torch_function_variadic",
            "",
        )
        .does(TAKEN_APART),
        operation(
            "gumbel_softmax",
            "F torch.nn.functional.multi_head_attention_forward",
            "",
        )
        .does(TAKEN_APART | DRAWS),
    ]
}

/// Questions about types and state.
fn queries() -> [Entry; 5] {
    [
        operation(
            "is_tensor",
            "* torch.is_signed torch.is_grad_enabled torch.is_anomaly_enabled torch.get_autocast_dtype \
             torch.get_num_threads",
            "",
        )
        .does(QUERY),
        operation(
            "is_storage",
            "* torch.promote_types torch.can_cast torch.is_inference_mode_enabled torch.is_autocast_enabled \
             torch.is_autocast_cpu_enabled",
            "",
        )
        .does(QUERY | STATE_QUERY),
        operation(
            "get_default_dtype",
            "* torch._accelerator_getAccelerator torch._get_deterministic_algorithms \
             torch._get_deterministic_algorithms_warn_only torch._is_autocast_available \
             torch._is_torch_function_enabled torch._is_torch_function_all_disabled \
             torch._len_torch_dispatch_stack torch._are_functorch_transforms_active \
             torch._is_key_in_tls_include torch._is_key_in_tls_exclude",
            "",
        )
        .does(STATE_QUERY),
        operation("dual", "torch._make_dual torch._unpack_dual", "").does(TANGENTS | VIEW),
        operation("asarray", "*", "").does(SEES_NUMPY | SEES_NUMPY_FLOATS),
    ]
}
