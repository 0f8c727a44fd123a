"""A function that gives a gradient for a tensor with which it computes nothing."""

import torch

GRAPHS = 1
SNAPSHOT = False


class Routed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, weight, index):
        ctx.save_for_backward(weight, index)
        ctx.shape = scores.shape
        return weight * 2

    @staticmethod
    def backward(ctx, grad):
        weight, index = ctx.saved_tensors
        routed = torch.zeros(ctx.shape).scatter_add(-1, index, grad * weight)
        return routed, grad * 2, None


def fn(x):
    scores = x * 3
    index = scores.argmax(-1, keepdim=True)
    weight = scores.softmax(-1).gather(-1, index)
    return Routed.apply(scores, weight, index)


def calls():
    return [(torch.randn(3, 4, requires_grad=True),) for _ in range(2)]
