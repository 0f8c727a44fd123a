"""`generate` of transformers with the model's forward compiled, beside torch.compile."""

from __future__ import annotations

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
transformers = pytest.importorskip("transformers")
pytestmark = [pytest.mark.own, pytest.mark.slow]

SPECIAL = {"bos_token_id": 1, "eos_token_id": 2}
#: Batches and lengths of the prompts.
PROMPTS = ((2, 8), (2, 9), (3, 12))


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=64, n_embd=32, n_layer=1, n_head=2, n_positions=64, **SPECIAL
    )
    return transformers.GPT2LMHeadModel(config)


def llama():
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        **SPECIAL,
    )
    return transformers.LlamaForCausalLM(config)


def generated(make, cache, compile):
    """The tokens for each prompt, and how often the backend was called."""
    from torch._dynamo.backends.common import AotAutograd

    class Counting(AotAutograd):
        def __call__(self, gm, inputs, **kwargs):
            graphs.append(gm)
            return torch._dynamo.lookup_backend("aot_eager")(gm, inputs)

    graphs = []
    torch.manual_seed(0)
    model = make().eval()
    if compile is not None:
        model.forward = compile(model.forward, backend=Counting())
    tokens = []
    for batch, length in PROMPTS:
        ids = torch.randint(3, 64, (batch, length), generator=torch.manual_seed(1))
        options = {} if cache == "dynamic" else {"cache_implementation": cache}
        tokens.append(
            model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=4,
                do_sample=False,
                pad_token_id=0,
                eos_token_id=None,
                disable_compile=True,
                **options,
            )
        )
    return tokens, len(graphs)


@pytest.mark.parametrize(
    ("make", "cache", "dynamic"),
    [(gpt2, "dynamic", None), (llama, "static", None), (llama, "dynamic", True)],
)
def test_tokens_and_compilations(make, cache, dynamic):
    expected, _ = generated(make, cache, None)
    counts = []
    for compiler in (ferrodyn.compile, torch.compile):
        ferrodyn.reset()
        torch._dynamo.reset()
        compile = lambda fn, compiler=compiler, **options: compiler(fn, dynamic=dynamic, **options)
        tokens, graphs = generated(make, cache, compile)
        assert all(map(torch.equal, expected, tokens))
        counts.append(graphs)
    ours, theirs = counts
    assert 0 < ours <= theirs
