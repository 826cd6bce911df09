"""Trains an adapter with the precision that was asked for."""

import torch

from training.amp_logging import AmpWandbCallback
from training.precision import compute_effective_precision


class TrainingCoordinator:
    """Decides on the precision, then has Lightning train."""

    def __init__(self, run, precision="16", use_gpu=True, max_norm=1.0):
        self.run = run
        self.precision = precision
        self.use_gpu = use_gpu
        self.max_norm = max_norm

    def train(self, adapter, batches, use_amp=None, max_epochs=1):
        """Train for some epochs, and return the precision that was used."""
        effective_precision = compute_effective_precision(
            self.precision, use_amp, cuda_available=torch.cuda.is_available(), use_gpu=self.use_gpu
        )
        import lightning.pytorch as pl

        callbacks = [AmpWandbCallback(self.run)]
        options = {"max_epochs": max_epochs, "gradient_clip_val": self.max_norm, "callbacks": callbacks}
        trainer = pl.Trainer(precision=effective_precision, **options)
        trainer.fit(adapter, batches)
        return effective_precision
