"""One file imports the names for all others."""

from torch.cuda.amp import GradScaler, autocast

__all__ = ["GradScaler", "autocast"]
