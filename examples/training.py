"""A training loop with a compiled model, which is saved and loaded."""

import io

import ferrodyn
import torch
from torch import nn


def main(backend: str = "aot_eager") -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1))
    compiled = ferrodyn.compile(model, backend=backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randn(64, 8)
    y = x.square().sum(1, keepdim=True)

    losses = []
    for step in range(20):
        batch = slice(0, 64 if step % 2 else 48)  # two batch sizes, one graph for both
        loss = nn.functional.mse_loss(compiled(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")

    # The weights are those of the model itself: save that, and keys have no prefix.
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    fresh = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1))
    fresh.load_state_dict(torch.load(file))
    assert torch.equal(fresh(x), model(x))
    return losses


if __name__ == "__main__":
    main()
