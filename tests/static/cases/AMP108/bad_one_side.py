import torch
import torch.nn.functional as F


def cost(classes, objects, targets, count):
    with torch.autocast("cuda", enabled=False):
        both = (
            classes.float().unsqueeze(0).repeat(count, 1).sigmoid()  # expect: AMP108 likely
            * objects.unsqueeze(0).repeat(count, 1).sigmoid()
        )
        return F.binary_cross_entropy(both.sqrt(), targets)
