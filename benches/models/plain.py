"""Programs of plain `torch.nn`, with their losses and optimizers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .case import VOCABULARY, Inputs, add, case, randn, tokens


@case(
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


@case(
    "nn_transformer_encoder_padmask",
    "torch",
    lambda batch: (
        (torch.randn(batch, 10, 64),),
        {"src_key_padding_mask": torch.arange(10).expand(batch, 10) >= 8},
    ),
)
def _() -> nn.Module:
    return _encoder().eval()


@case("nn_transformer_encoder_train", "torch", randn(10, 64), grad=True)
def _() -> nn.Module:
    return _encoder().train()


@case(
    "nn_mha",
    "torch",
    lambda batch: ((torch.randn(batch, 10, 64),) * 3, {"need_weights": True}),
)
def _() -> nn.Module:
    return nn.MultiheadAttention(64, 4, batch_first=True).eval()


class _LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.rnn = nn.LSTM(32, 64, 2, batch_first=True)
        self.out = nn.Linear(64, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden, (last, cell) = self.rnn(self.embedding(ids))
        return self.out(hidden), last, cell


@case("nn_lstm", "torch", lambda batch: ((torch.randint(0, VOCABULARY, (batch, 12)),), {}))
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


@case("nn_gru_cell_loop", "torch", randn(6, 32))
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
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Parameter(torch.zeros(1, 64, width))
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.positions[:, : ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@case("nn_decoder_24", "torch", lambda batch: ((tokens(batch, 16),), {}))
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


@case("nn_mlp", "torch", randn(32))
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


@case("nn_cnn", "torch", randn(3, 32, 32))
def _() -> nn.Module:
    return _Convolutions().eval()


@case("nn_cnn_train", "torch", randn(3, 32, 32), grad=True, mutates=True)
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


@case(
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
    add(
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


add("nn_train_step", "torch", _TrainStep, _classified, grad=True, mutates=True, hard=True)


class _AutocastLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = _mlp()

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(self.body(x), target)


@case("nn_autocast_loss", "torch", _classified, grad=True)
def _() -> nn.Module:
    return _AutocastLoss().train()
