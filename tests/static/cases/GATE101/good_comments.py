"""Suppressions with a known rule and a reason, and text that only looks like one."""

from torch.cuda.amp import GradScaler, autocast

first = GradScaler()  # verifygate: ignore[AMP501] torch 2.3 is what the cluster has
second = GradScaler()  # verifygate: ignore[deprecated-amp-api] torch 2.3 is what the cluster has
third = GradScaler()  # noqa: AMP501
# verifygate: ignore[AMP501] torch 2.3 is what the cluster has
fourth = autocast()
fifth = "# verifygate: ignore"
# noqa
# noqa: E501, F401
