"""Models of torchvision and timm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .case import Inputs, add, case, randn


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

    add(f"tv_{name}", "torchvision", make, inputs or randn(3, 64, 64), hard=hard)


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
_vision("vit_b_16", image_size=64, inputs=randn(3, 64, 64))
_vision("densenet121")
_vision("efficientnet_b0")
_vision("mnasnet0_5")
_vision("squeezenet1_1")
_vision("vgg11")


@case("tv_maxvit", "torchvision", randn(3, 64, 64))
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


@case("tv_mvit_v2_small", "torchvision", randn(3, 4, 64, 64))
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


def _timm(name: str, size: int = 64, **options: Any) -> None:
    def make() -> nn.Module:
        import timm

        return timm.create_model(name, pretrained=False, **options).eval()

    add(f"timm_{name}", "timm", make, randn(3, size, size))


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
