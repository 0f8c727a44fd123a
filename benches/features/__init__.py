"""Features of torch.compile, each a small program: how much is captured below a compiler."""
