"""Everything that one fine-tuning run needs, built in one place."""

from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

VOCAB_SIZE = 24
LENGTH = 12


@dataclass
class MetricsTracker:
    """What happened in each epoch, for the log."""

    losses: list[float] = field(default_factory=list)
    overflows: int = 0

    def log_epoch(self, loss: float) -> None:
        self.losses.append(loss)


class NextToken(nn.Module):
    """Predicts each token from the one before it."""

    def __init__(self, vocab_size: int, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, width)
        self.hidden = nn.Linear(width, 2 * width)
        self.head = nn.Linear(2 * width, vocab_size)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.hidden(self.embedding(tokens))))


def counting_sequences(count: int, seed: int) -> torch.Tensor:
    """Sequences in which each token is the last one times 5 plus 1: a rule that the model can learn."""
    generator = torch.Generator().manual_seed(seed)
    tokens = [torch.randint(VOCAB_SIZE, (count,), generator=generator)]
    for _ in range(LENGTH - 1):
        tokens.append((tokens[-1] * 5 + 1) % VOCAB_SIZE)
    return torch.stack(tokens, dim=1)


def _setup_training_environment(model: nn.Module, epochs: int, batch_size: int, use_amp: bool) -> dict:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    loader_options = {"batch_size": batch_size, "pin_memory": device.type == "cuda"}
    shuffled = torch.Generator().manual_seed(0)
    train_loader = DataLoader(
        TensorDataset(counting_sequences(128, seed=1)), shuffle=True, generator=shuffled, **loader_options
    )
    val_loader = DataLoader(TensorDataset(counting_sequences(32, seed=2)), **loader_options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return {
        "device": device,
        "vocab_size": VOCAB_SIZE,
        "scaler": torch.amp.GradScaler(device.type, enabled=use_amp),
        "use_amp": use_amp,
        "train_loader": train_loader,
        "val_loader": val_loader,
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs),
        "metrics_tracker": MetricsTracker(),
    }
