"""A model of transformers compiles itself for generation; written for torch.compile."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.generation import CompileConfig

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
    max_position_embeddings=64,
)
model = LlamaForCausalLM(config).eval()
tokens = model.generate(
    torch.tensor([[1, 2, 3]]),
    attention_mask=torch.ones(1, 3, dtype=torch.long),
    max_new_tokens=8,
    do_sample=False,
    cache_implementation="static",
    pad_token_id=0,
    compile_config=CompileConfig(backend="aot_eager", fullgraph=False, mode=None),
    disable_compile=False,
)
print(tokens.tolist())
model.forward = torch.compile(model.forward, backend="aot_eager")
print(f"{model(tokens).logits.abs().sum().item():.3f}")
