"""Inference with torchvision's ResNet-18; two lines of it are costly. See docs/reports.md."""

import torch
import torchvision

torch.manual_seed(0)
model = torchvision.models.resnet18().eval()


class Classifier(torch.nn.Module):
    def __init__(self, model, threshold):
        super().__init__()
        self.model, self.threshold, self.seen = model, threshold, 0

    def forward(self, images, label):
        self.seen += 1
        scores = self.model(images).softmax(-1)
        if scores.max() > self.threshold:
            scores = scores / scores.sum(-1, keepdim=True)
        return scores.topk(3), f"{label}: {len(label)} letters"


classify = torch.compile(Classifier(model, 0.5), backend="eager")
with torch.no_grad():
    for batch, label in ((2, "cat"), (2, "bird"), (3, "bird"), (4, "dog")):
        classify(torch.randn(batch, 3, 64, 64), label)
