"""Forward hooks and pre-hooks of a module and of a submodule."""

import torch

GRAPHS = 1

# torch numbers hooks for the whole process, so that the guards differ from run to run.
SNAPSHOT = False

log = []


def make():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())

    def pre(module, args):
        return (args[0] + 1,)

    def post(module, args, result):
        return result * 2

    net.register_forward_pre_hook(pre)
    net[0].register_forward_hook(post)
    return net


def inputs():
    return (torch.randn(2, 2),)
