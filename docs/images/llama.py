"""Greedy generation with a small Llama and a cache that grows. See docs/reports.md."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
)  # fmt: skip
model = LlamaForCausalLM(config).eval()
END = 2


@torch.compile(backend="eager")
def step(tokens, cache, temperature):
    out = model(input_ids=tokens[:, -1:] if cache else tokens, past_key_values=cache)
    logits = out.logits[:, -1] / temperature
    token = logits.argmax(-1, keepdim=True)
    if token.item() == END:
        return None, out.past_key_values
    return torch.cat([tokens, token], 1), out.past_key_values


with torch.no_grad():
    tokens, cache = torch.randint(3, 128, (1, 5)), None
    for i in range(6):
        longer, cache = step(tokens, cache, 1.0 - 0.1 * (i % 2))
        if longer is None:
            break
        tokens = longer
print(tokens.tolist())
