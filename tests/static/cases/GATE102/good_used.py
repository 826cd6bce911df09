"""Suppressions that silence something, and foreign ones, which may be for other tools."""

from torch.amp import GradScaler
from torch.cuda.amp import autocast

region = autocast()  # verifygate: ignore[AMP501] torch 2.3 is what the cluster has
scaler = GradScaler("cuda")  # noqa: AMP501
other = GradScaler("cuda")  # noqa: E501, AMP201
text = "# verifygate: ignore[AMP501] only text"
