"""Two processes train one model with DistributedDataParallel around torch.compile."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def worker(rank, folder):
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2
    )
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    model = DistributedDataParallel(torch.compile(net, backend="aot_eager"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    lines = [type(torch.compile).__name__]
    for step in range(3):
        x = torch.linspace(-1, 1, 16).reshape(4, 4) + rank + step
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lines.append(f"rank {rank} step {step}: {loss.item():.6f}")
    with open(os.path.join(folder, str(rank)), "w") as file:
        file.write("\n".join(lines) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    folder = sys.argv[1]
    mp.spawn(worker, (folder,), nprocs=2)
    for rank in range(2):
        with open(os.path.join(folder, str(rank))) as file:
            print(file.read(), end="")
