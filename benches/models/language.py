"""Models of transformers, made from small configurations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .case import VOCABULARY, Inputs, add, case, length_of, tokens


@dataclasses.dataclass(frozen=True)
class _Ids:
    """Inputs: texts, usually of this length."""

    length: int = 16

    def __call__(self, batch: int) -> Inputs:
        return (), {"input_ids": tokens(batch, length_of(self.length))}


def _padded(length: int = 16, padding: int = 3) -> Callable[[int], Inputs]:
    """Inputs with a mask; the first row ends in padding."""

    def make(batch: int) -> Inputs:
        ids = tokens(batch, length)
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
    add(
        f"hf_{name}",
        "hf",
        lambda: _built(model, config, **options),
        inputs,
        hard=hard,
        takes_lengths=isinstance(inputs, _Ids),
    )


_SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
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
    "vocab_size": VOCABULARY,
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 128,
}
del _GPT2["pad_token_id"]
_EXPERTS = {"num_experts_per_tok": 2}

_hf("llama", "LlamaForCausalLM", "LlamaConfig", _Ids(), **_LLAMA)
_hf("llama_padmask", "LlamaForCausalLM", "LlamaConfig", _padded(), **_LLAMA)
_hf(
    "llama_eager_attn",
    "LlamaForCausalLM",
    "LlamaConfig",
    _Ids(),
    attn_implementation="eager",
    **_LLAMA,
)
_hf("qwen3", "Qwen3ForCausalLM", "Qwen3Config", _Ids(), head_dim=16, **_LLAMA)
_hf(
    "mixtral",
    "MixtralForCausalLM",
    "MixtralConfig",
    _Ids(),
    num_local_experts=4,
    **_EXPERTS,
    **_LLAMA,
)
_hf(
    "qwen3_moe",
    "Qwen3MoeForCausalLM",
    "Qwen3MoeConfig",
    _Ids(),
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
    _Ids(),
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
    _Ids(),
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
    _Ids(),
    head_dim=16,
    sliding_window=8,
    **_LLAMA,
)
_hf("phi3", "Phi3ForCausalLM", "Phi3Config", _Ids(), **_LLAMA)
_hf("gpt2", "GPT2LMHeadModel", "GPT2Config", _Ids(), **_GPT2)
_hf(
    "gpt_neox",
    "GPTNeoXForCausalLM",
    "GPTNeoXConfig",
    _Ids(),
    intermediate_size=128,
    max_position_embeddings=128,
    **_GPT,
)
_hf("falcon", "FalconForCausalLM", "FalconConfig", _Ids(), **_GPT)
_hf("bert", "BertForMaskedLM", "BertConfig", _padded(), **_BERT)
_hf("roberta", "RobertaForSequenceClassification", "RobertaConfig", _padded(), **_BERT)
_hf(
    "distilbert",
    "DistilBertForSequenceClassification",
    "DistilBertConfig",
    _padded(),
    vocab_size=VOCABULARY,
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
        {"input_ids": tokens(batch, 16), "decoder_input_ids": tokens(batch, 8)},
    ),
    vocab_size=VOCABULARY,
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
            "input_ids": tokens(batch, 16),
            "decoder_input_ids": tokens(batch, 8),
            "attention_mask": torch.ones(batch, 16, dtype=torch.long),
        },
    ),
    vocab_size=VOCABULARY,
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


@case(
    "hf_clip",
    "hf",
    lambda batch: (
        (),
        {
            "input_ids": tokens(batch, 12, VOCABULARY - 1),
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
    text = {**common, **_SPECIAL, "vocab_size": VOCABULARY, "max_position_embeddings": 32}
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
        model(input_ids=tokens(batch, 8), past_key_values=cache)
    return (tokens(batch, 1), torch.full((batch, 1), 8), cache), {}


@case("hf_llama_decode_static", "hf", _static_cache, mutates=True)
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


@case(
    "hf_llama_decode_dynamic",
    "hf",
    lambda batch: (
        (
            tokens(batch, 1),
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


@case("hf_gpt2_prefill_decode", "hf", lambda batch: ((tokens(batch, 8),), {}))
def _() -> nn.Module:
    return _Generate(_built("GPT2LMHeadModel", "GPT2Config", **_GPT2))


def _labelled(batch: int) -> Inputs:
    ids = tokens(batch, 16)
    return (), {"input_ids": ids, "labels": ids}


@case("hf_gpt2_train_loss", "hf", _labelled, grad=True)
def _() -> nn.Module:
    no_dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return _built("GPT2LMHeadModel", "GPT2Config", **no_dropout, **_GPT2).train()
