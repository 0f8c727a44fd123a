"""Models as users run them: torchvision, timm, transformers and plain `torch.nn`.

Nothing is downloaded: weights are random, transformers models are made from small
configurations. Libraries are imported when a model is built, so to import this costs nothing.

`CASES` maps a name to a :class:`Case`; building one twice gives equal models, and equal
inputs for equal batch sizes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

#: Positional and keyword arguments of a call.
Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Case:
    """One model, or a function that holds one, and how to call it."""

    #: What `CASES` calls it.
    name: str
    #: The library that it comes from: torchvision, timm, hf or torch.
    suite: str
    make: Callable[[], Any]
    make_inputs: Callable[[int], Inputs]
    #: Whether it runs with gradients enabled.
    grad: bool = False
    #: Whether a call changes the model or its inputs.
    mutates: bool = False
    #: Whether the program depends on data, so that more than one graph is no surprise.
    hard: bool = False
    #: Whether another batch size makes sense.
    batched: bool = True

    def build(self) -> Any:
        """Return the callable; the same weights each time."""
        torch.manual_seed(0)
        return self.make()

    def inputs(self, batch: int = 2) -> Inputs:
        """Return arguments; the same ones each time for one batch size."""
        torch.manual_seed(1)
        return self.make_inputs(batch)


CASES: dict[str, Case] = {}


def _add(name: str, suite: str, make: Callable[[], Any], inputs: Any, **flags: bool) -> None:
    CASES[name] = Case(name, suite, make, inputs, **flags)


def _case(name: str, suite: str, inputs: Callable[[int], Inputs], **flags: bool) -> Any:
    def decorate(make: Callable[[], Any]) -> Callable[[], Any]:
        _add(name, suite, make, inputs, **flags)
        return make

    return decorate


def _randn(*shape: int) -> Callable[[int], Inputs]:
    """Inputs: one tensor of random numbers, `shape` for each item of the batch."""
    return lambda batch: ((torch.randn(batch, *shape),), {})


# torchvision


def _vision(
    name: str,
    path: str | None = None,
    inputs: Callable[[int], Inputs] | None = None,
    hard: bool = False,
    **options: Any,
) -> None:
    def make() -> nn.Module:
        import operator

        import torchvision.models

        build = operator.attrgetter(path or name)(torchvision.models)
        return build(weights=None, **options).eval()

    _add(f"tv_{name}", "torchvision", make, inputs or _randn(3, 64, 64), hard=hard)


_vision("resnet18")
_vision("mobilenet_v3_small")
_vision("convnext_tiny")
_vision("swin_t")
_vision("swin_v2_t")
_vision("regnet_y_400mf")
_vision("shufflenet_v2_x0_5")
_vision("googlenet", init_weights=False)
_vision("deeplabv3_mobilenet", "segmentation.deeplabv3_mobilenet_v3_large", weights_backbone=None)
_vision("lraspp_mobilenet", "segmentation.lraspp_mobilenet_v3_large", weights_backbone=None)
_vision(
    "ssdlite320_mobilenet",
    "detection.ssdlite320_mobilenet_v3_large",
    inputs=lambda batch: (([torch.rand(3, 96, 96) for _ in range(batch)],), {}),
    hard=True,
    weights_backbone=None,
)
_vision("vit_b_16", image_size=64, inputs=_randn(3, 64, 64))
_vision("densenet121")
_vision("efficientnet_b0")
_vision("mnasnet0_5")
_vision("squeezenet1_1")
_vision("vgg11")


@_case("tv_maxvit", "torchvision", _randn(3, 64, 64))
def _() -> nn.Module:
    from torchvision.models.maxvit import MaxVit

    return MaxVit(
        input_size=(64, 64),
        stem_channels=32,
        partition_size=2,
        block_channels=[32, 64, 64, 128],
        block_layers=[1, 1, 2, 1],
        head_dim=16,
        stochastic_depth_prob=0.2,
    ).eval()


@_case("tv_mvit_v2_small", "torchvision", _randn(3, 4, 64, 64))
def _() -> nn.Module:
    from torchvision.models.video.mvit import MSBlockConfig, MViT

    blocks = [
        MSBlockConfig(
            num_heads=heads,
            input_channels=channels[0],
            output_channels=channels[1],
            kernel_q=[3, 3, 3],
            kernel_kv=[3, 3, 3],
            stride_q=stride_q,
            stride_kv=stride_kv,
        )
        for heads, channels, stride_q, stride_kv in [
            (1, (32, 32), [1, 1, 1], [1, 4, 4]),
            (2, (32, 64), [1, 2, 2], [1, 2, 2]),
            (2, (64, 64), [1, 1, 1], [1, 2, 2]),
            (4, (64, 128), [1, 2, 2], [1, 1, 1]),
        ]
    ]
    return MViT(
        spatial_size=(64, 64),
        temporal_size=4,
        block_setting=blocks,
        residual_pool=True,
        residual_with_cls_embed=False,
        rel_pos_embed=True,
        proj_after_attn=True,
        stochastic_depth_prob=0.2,
    ).eval()


# timm


def _timm(name: str, size: int = 64, **options: Any) -> None:
    def make() -> nn.Module:
        import timm

        return timm.create_model(name, pretrained=False, **options).eval()

    _add(f"timm_{name}", "timm", make, _randn(3, size, size))


_timm("mobilenetv4_conv_small")
_timm("convnextv2_atto")
_timm("vit_tiny_patch16_224", img_size=64)
_timm("deit_tiny_distilled_patch16_224", img_size=64)
_timm("swinv2_cr_tiny_ns_224", 224)
_timm("mixer_s32_224", 224)
_timm("gmlp_s16_224", 224)
_timm("convmixer_768_32")
_timm("caformer_s18")
_timm("efficientformer_l1", 224)
_timm("ghostnetv2_100")
_timm("nf_regnet_b0")
_timm("crossvit_tiny_240", 240)
_timm("xcit_nano_12_p16_224")
_timm("pvt_v2_b0")
_timm("cait_xxs24_224", img_size=64)
_timm("hiera_tiny_224", 224)
_timm("gcvit_xxtiny", 224)

# transformers

_VOCABULARY = 256


def _tokens(batch: int, length: int, high: int = _VOCABULARY) -> torch.Tensor:
    return torch.randint(3, high, (batch, length))


def _ids(length: int = 16) -> Callable[[int], Inputs]:
    return lambda batch: ((), {"input_ids": _tokens(batch, length)})


def _padded(length: int = 16, padding: int = 3) -> Callable[[int], Inputs]:
    """Inputs with a mask; the first row ends in padding."""

    def make(batch: int) -> Inputs:
        ids = _tokens(batch, length)
        mask = torch.ones(batch, length, dtype=torch.long)
        mask[0, length - padding :] = 0
        return (), {"input_ids": ids, "attention_mask": mask}

    return make


def _pixels(size: int) -> Callable[[int], Inputs]:
    return lambda batch: ((), {"pixel_values": torch.randn(batch, 3, size, size)})


def _built(model: str, config: str, **options: Any) -> nn.Module:
    import transformers

    configuration = getattr(transformers, config)(**options)
    torch.manual_seed(0)
    return getattr(transformers, model)(configuration).eval()


def _hf(
    name: str,
    model: str,
    config: str,
    inputs: Callable[[int], Inputs],
    hard: bool = False,
    **options: Any,
) -> None:
    _add(f"hf_{name}", "hf", lambda: _built(model, config, **options), inputs, hard=hard)


_SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_SMALL: dict[str, Any] = {
    "vocab_size": _VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
_LLAMA = {
    **_SMALL,
    **_SPECIAL,
    "intermediate_size": 128,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
_GPT = {**_SMALL, **_SPECIAL}
_BERT = {**_SMALL, "intermediate_size": 128, "max_position_embeddings": 128}
_GPT2 = {
    **_SPECIAL,
    "vocab_size": _VOCABULARY,
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 128,
}
del _GPT2["pad_token_id"]
_EXPERTS = {"num_experts_per_tok": 2}

_hf("llama", "LlamaForCausalLM", "LlamaConfig", _ids(), **_LLAMA)
_hf("llama_padmask", "LlamaForCausalLM", "LlamaConfig", _padded(), **_LLAMA)
_hf(
    "llama_eager_attn",
    "LlamaForCausalLM",
    "LlamaConfig",
    _ids(),
    attn_implementation="eager",
    **_LLAMA,
)
_hf("qwen3", "Qwen3ForCausalLM", "Qwen3Config", _ids(), head_dim=16, **_LLAMA)
_hf(
    "mixtral",
    "MixtralForCausalLM",
    "MixtralConfig",
    _ids(),
    num_local_experts=4,
    **_EXPERTS,
    **_LLAMA,
)
_hf(
    "qwen3_moe",
    "Qwen3MoeForCausalLM",
    "Qwen3MoeConfig",
    _ids(),
    head_dim=16,
    num_experts=4,
    moe_intermediate_size=32,
    decoder_sparse_step=1,
    **_EXPERTS,
    **_LLAMA,
)
_hf(
    "gpt_oss",
    "GptOssForCausalLM",
    "GptOssConfig",
    _ids(),
    head_dim=16,
    num_local_experts=4,
    sliding_window=8,
    **_EXPERTS,
    **_LLAMA,
)
_hf(
    "deepseek_v3",
    "DeepseekV3ForCausalLM",
    "DeepseekV3Config",
    _ids(),
    moe_intermediate_size=32,
    n_routed_experts=8,
    n_group=2,
    topk_group=1,
    kv_lora_rank=16,
    q_lora_rank=16,
    qk_rope_head_dim=8,
    v_head_dim=16,
    qk_nope_head_dim=16,
    first_k_dense_replace=1,
    **_EXPERTS,
    **{**_LLAMA, "num_key_value_heads": 4},
)
_hf(
    "gemma2",
    "Gemma2ForCausalLM",
    "Gemma2Config",
    _ids(),
    head_dim=16,
    sliding_window=8,
    **_LLAMA,
)
_hf("phi3", "Phi3ForCausalLM", "Phi3Config", _ids(), **_LLAMA)
_hf("gpt2", "GPT2LMHeadModel", "GPT2Config", _ids(), **_GPT2)
_hf(
    "gpt_neox",
    "GPTNeoXForCausalLM",
    "GPTNeoXConfig",
    _ids(),
    intermediate_size=128,
    max_position_embeddings=128,
    **_GPT,
)
_hf("falcon", "FalconForCausalLM", "FalconConfig", _ids(), **_GPT)
_hf("bert", "BertForMaskedLM", "BertConfig", _padded(), **_BERT)
_hf("roberta", "RobertaForSequenceClassification", "RobertaConfig", _padded(), **_BERT)
_hf(
    "distilbert",
    "DistilBertForSequenceClassification",
    "DistilBertConfig",
    _padded(),
    vocab_size=_VOCABULARY,
    dim=64,
    n_layers=2,
    n_heads=4,
    hidden_dim=128,
)
_hf(
    "t5",
    "T5ForConditionalGeneration",
    "T5Config",
    lambda batch: (
        (),
        {"input_ids": _tokens(batch, 16), "decoder_input_ids": _tokens(batch, 8)},
    ),
    vocab_size=_VOCABULARY,
    d_model=64,
    d_kv=16,
    d_ff=128,
    num_layers=2,
    num_heads=4,
)
_hf(
    "modernbert",
    "ModernBertForMaskedLM",
    "ModernBertConfig",
    _padded(),
    local_attention=8,
    cls_token_id=1,
    sep_token_id=2,
    **_SPECIAL,
    **_BERT,
)
_hf(
    "big_bird",
    "BigBirdForMaskedLM",
    "BigBirdConfig",
    _padded(96, 8),
    hard=True,
    attention_type="block_sparse",
    block_size=8,
    num_random_blocks=2,
    **_BERT,
)
_hf(
    "bart",
    "BartForConditionalGeneration",
    "BartConfig",
    lambda batch: (
        (),
        {
            "input_ids": _tokens(batch, 16),
            "decoder_input_ids": _tokens(batch, 8),
            "attention_mask": torch.ones(batch, 16, dtype=torch.long),
        },
    ),
    vocab_size=_VOCABULARY,
    d_model=64,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=128,
    decoder_ffn_dim=128,
    max_position_embeddings=128,
)
_hf(
    "vit",
    "ViTForImageClassification",
    "ViTConfig",
    _pixels(32),
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=128,
    image_size=32,
    patch_size=8,
)
_hf(
    "dinov2",
    "Dinov2ForImageClassification",
    "Dinov2Config",
    _pixels(42),
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    image_size=70,
    patch_size=14,
)


@_case(
    "hf_clip",
    "hf",
    lambda batch: (
        (),
        {
            "input_ids": _tokens(batch, 12, _VOCABULARY - 1),
            "pixel_values": torch.randn(batch, 3, 32, 32),
        },
    ),
)
def _() -> nn.Module:
    from transformers import CLIPConfig, CLIPModel

    common = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
    }
    text = {**common, **_SPECIAL, "vocab_size": _VOCABULARY, "max_position_embeddings": 32}
    vision = {**common, "image_size": 32, "patch_size": 8}
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=32)
    torch.manual_seed(0)
    return CLIPModel(config).eval()


def _llama() -> Any:
    return _built("LlamaForCausalLM", "LlamaConfig", **_LLAMA)


class _StaticDecode(nn.Module):
    """One decode step against a cache of fixed size, which is wound back first.

    So that each call writes the same slot, and any number of calls does the same.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        for layer in cache.layers:
            layer.cumulative_length.fill_(8)
        out = self.model(input_ids=ids, position_ids=positions, past_key_values=cache)
        return out.logits


def _static_cache(batch: int) -> Inputs:
    from transformers import StaticCache

    model = _llama()
    cache = StaticCache(config=model.config, max_cache_len=32)
    torch.manual_seed(1)
    with torch.no_grad():
        model(input_ids=_tokens(batch, 8), past_key_values=cache)
    return (_tokens(batch, 1), torch.full((batch, 1), 8), cache), {}


@_case("hf_llama_decode_static", "hf", _static_cache, mutates=True)
def _() -> nn.Module:
    return _StaticDecode(_llama())


class _DynamicDecode(nn.Module):
    """One decode step; the cache is made in the compiled function, from past keys and values."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, past: list[tuple[torch.Tensor, torch.Tensor]]) -> Any:
        from transformers import DynamicCache

        cache = DynamicCache(config=self.model.config)
        for index, (keys, values) in enumerate(past):
            cache.update(keys, values, index)
        out = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
        return out.logits, [(layer.keys, layer.values) for layer in out.past_key_values.layers]


@_case(
    "hf_llama_decode_dynamic",
    "hf",
    lambda batch: (
        (
            _tokens(batch, 1),
            [(torch.randn(batch, 2, 8, 16), torch.randn(batch, 2, 8, 16)) for _ in range(2)],
        ),
        {},
    ),
)
def _() -> nn.Module:
    return _DynamicDecode(_llama())


class _Generate(nn.Module):
    """The prompt, then three greedy steps, all in one call."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = self.model(input_ids=ids, use_cache=True)
        picked = []
        for _ in range(3):
            token = out.logits[:, -1:].argmax(-1)
            picked.append(token)
            past = out.past_key_values
            out = self.model(input_ids=token, past_key_values=past, use_cache=True)
        return torch.cat(picked, 1), out.logits


@_case("hf_gpt2_prefill_decode", "hf", lambda batch: ((_tokens(batch, 8),), {}))
def _() -> nn.Module:
    return _Generate(_built("GPT2LMHeadModel", "GPT2Config", **_GPT2))


def _labelled(batch: int) -> Inputs:
    ids = _tokens(batch, 16)
    return (), {"input_ids": ids, "labels": ids}


@_case("hf_gpt2_train_loss", "hf", _labelled, grad=True)
def _() -> nn.Module:
    no_dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return _built("GPT2LMHeadModel", "GPT2Config", **no_dropout, **_GPT2).train()


# torch


@_case(
    "nn_transformer",
    "torch",
    lambda batch: (
        (torch.randn(batch, 10, 64), torch.randn(batch, 7, 64)),
        {"tgt_mask": nn.Transformer.generate_square_subsequent_mask(7)},
    ),
)
def _() -> nn.Module:
    return nn.Transformer(64, 4, 2, 2, 128, batch_first=True).eval()


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.TransformerEncoder(layer, 2)


@_case(
    "nn_transformer_encoder_padmask",
    "torch",
    lambda batch: (
        (torch.randn(batch, 10, 64),),
        {"src_key_padding_mask": torch.arange(10).expand(batch, 10) >= 8},
    ),
)
def _() -> nn.Module:
    return _encoder().eval()


@_case("nn_transformer_encoder_train", "torch", _randn(10, 64), grad=True)
def _() -> nn.Module:
    return _encoder().train()


@_case(
    "nn_mha",
    "torch",
    lambda batch: ((torch.randn(batch, 10, 64),) * 3, {"need_weights": True}),
)
def _() -> nn.Module:
    return nn.MultiheadAttention(64, 4, batch_first=True).eval()


class _LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_VOCABULARY, 32)
        self.rnn = nn.LSTM(32, 64, 2, batch_first=True)
        self.out = nn.Linear(64, _VOCABULARY)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden, (last, cell) = self.rnn(self.embedding(ids))
        return self.out(hidden), last, cell


@_case("nn_lstm", "torch", lambda batch: ((torch.randint(0, _VOCABULARY, (batch, 12)),), {}))
def _() -> nn.Module:
    return _LanguageModel().eval()


class _CellLoop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(32, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = x.new_zeros(x.size(0), 64)
        steps = []
        for step in range(x.size(1)):
            hidden = self.cell(x[:, step], hidden)
            steps.append(hidden)
        return torch.stack(steps, 1)


@_case("nn_gru_cell_loop", "torch", _randn(6, 32))
def _() -> nn.Module:
    return _CellLoop().eval()


class Block(nn.Module):
    """A pre-norm transformer block, as programs write it by hand."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        split = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class _Decoder(nn.Module):
    def __init__(self, depth: int = 24, width: int = 64) -> None:
        super().__init__()
        self.tokens = nn.Embedding(_VOCABULARY, width)
        self.positions = nn.Parameter(torch.zeros(1, 64, width))
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, _VOCABULARY, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.positions[:, : ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@_case("nn_decoder_24", "torch", lambda batch: ((_tokens(batch, 16),), {}))
def _() -> nn.Module:
    return _Decoder().eval()


def _mlp() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(32, 64),
        nn.LayerNorm(64),
        nn.GELU(),
        nn.Dropout(0.1),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


@_case("nn_mlp", "torch", _randn(32))
def _() -> nn.Module:
    return _mlp().eval()


class _Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
        )
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.features(x)
        return F.log_softmax(self.head(self.dropout(torch.flatten(x, 1))), dim=-1)


@_case("nn_cnn", "torch", _randn(3, 32, 32))
def _() -> nn.Module:
    return _Convolutions().eval()


@_case("nn_cnn_train", "torch", _randn(3, 32, 32), grad=True, mutates=True)
def _() -> nn.Module:
    return _Convolutions().train()


class _Adversarial(nn.Module):
    """Both losses of a DCGAN. One label tensor is reused, so backward is not possible."""

    def __init__(self, noise: int = 16, width: int = 8) -> None:
        super().__init__()
        self.generator = nn.Sequential(
            nn.ConvTranspose2d(noise, width * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(width * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(width * 4, width * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(width * 2, 3, 4, 2, 1, bias=False),
            nn.Tanh(),
        )
        self.critic = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width, width * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )
        self.loss = nn.BCELoss()

    def forward(self, real: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, ...]:
        label = torch.full((real.size(0),), 1.0, dtype=torch.float, device=real.device)
        on_real = self.loss(self.critic(real).view(-1), label)
        fake = self.generator(noise)
        label.fill_(0.0)
        on_fake = self.loss(self.critic(fake.detach()).view(-1), label)
        label.fill_(1.0)
        return on_real + on_fake, self.loss(self.critic(fake).view(-1), label)


@_case(
    "nn_dcgan_losses",
    "torch",
    lambda batch: ((torch.randn(batch, 3, 16, 16), torch.randn(batch, 16, 1, 1)), {}),
    mutates=True,
)
def _() -> nn.Module:
    return _Adversarial().train()


def _no_inputs(batch: int) -> Inputs:
    return (), {}


class _OptimizerStep:
    """`step` alone, with fixed gradients."""

    def __init__(self, optimizer: Any, **options: Any) -> None:
        self.module = _mlp()
        for parameter in self.module.parameters():
            parameter.grad = torch.randn_like(parameter)
        self.optimizer = optimizer(self.module.parameters(), **options)

    def __call__(self) -> list[torch.Tensor]:
        self.optimizer.step()
        return [parameter.detach().clone() for parameter in self.module.parameters()]


for _name, _optimizer, _options in (
    ("sgd", torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    ("adam", torch.optim.Adam, {"lr": 1e-2}),
    ("adamw", torch.optim.AdamW, {"lr": 1e-2}),
):
    _add(
        f"nn_{_name}_step",
        "torch",
        lambda optimizer=_optimizer, options=_options: _OptimizerStep(optimizer, **options),
        _no_inputs,
        grad=True,
        mutates=True,
        batched=False,
        hard=True,
    )


class _TrainStep:
    """A whole training step: gradients to None, forward, loss, backward, step."""

    def __init__(self) -> None:
        self.module = _mlp().train()
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.1)

    def __call__(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.module(x), target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def _classified(batch: int) -> Inputs:
    return (torch.randn(batch, 32), torch.randint(0, 10, (batch,))), {}


_add("nn_train_step", "torch", _TrainStep, _classified, grad=True, mutates=True, hard=True)


class _AutocastLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = _mlp()

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(self.body(x), target)


@_case("nn_autocast_loss", "torch", _classified, grad=True)
def _() -> nn.Module:
    return _AutocastLoss().train()
