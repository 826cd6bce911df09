"""Suppressions that are refused, and so silence nothing."""

from torch.cuda.amp import GradScaler, autocast

blanket = GradScaler()  # verifygate: ignore  # expect: GATE101
empty = GradScaler()  # verifygate: ignore[] the cluster has torch 2.3  # expect: GATE101
unknown = GradScaler()  # verifygate: ignore[AMP999] the cluster has torch 2.3  # expect: GATE101
misspelt = GradScaler()  # verifygate: ignore[deprecated-amp] the cluster has torch 2.3  # expect: GATE101
family = GradScaler()  # verifygate: ignore[AMP5] the cluster has torch 2.3  # expect: GATE101
everything = GradScaler()  # verifygate: ignore[*] the cluster has torch 2.3  # expect: GATE101
word = GradScaler()  # verifygate: disable[AMP501] the cluster has torch 2.3  # expect: GATE101
# verifygate: skip-file  # expect: GATE101
one_of_two = autocast()  # verifygate: ignore[AMP501, AMP998] the cluster has torch 2.3  # expect: GATE101
