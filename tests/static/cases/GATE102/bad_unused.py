"""Suppressions that silence nothing."""

from torch.amp import GradScaler
from torch.cuda.amp import autocast

corrected = GradScaler("cuda")  # verifygate: ignore[AMP501] torch 2.3 is what the cluster has  # expect: GATE102
other_rule = autocast()  # verifygate: ignore[AMP216] we accumulate nothing  # expect: GATE102

# verifygate: ignore[deprecated-amp-api] torch 2.3 is what the cluster has  # expect: GATE102
on_the_line_above = GradScaler("cuda")

too_early = 1  # verifygate: ignore[AMP501] a line too early  # expect: GATE102
region = autocast()


def both_named_one_needed():
    return autocast()  # verifygate: ignore[AMP501, AMP216] torch 2.3 is what the cluster has  # expect: GATE102
