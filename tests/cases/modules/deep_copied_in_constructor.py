"""A constructor that copies the layer that it is given, called in the compiled function."""

import torch

GRAPHS = 1
# Guards list the keys of copyreg's table, to which the process adds what it imports.
SNAPSHOT = False


def fn(x):
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return encoder(x) * 2, len(encoder.layers)


def calls():
    return [(torch.ones(1, 2, 4),)] * 2
