import torch
import torch.nn.functional as F


def cost(classes, objects, targets, weights, count):
    with torch.autocast("cuda", enabled=False):
        both = classes.float().sigmoid() * objects.float().sigmoid()
        shifted = classes.float().sigmoid() * weights.repeat(count)
        half = classes.float() * 0.5 + classes.sum()
        return F.binary_cross_entropy(both.sqrt(), targets) + shifted.sum() + half.sum()
