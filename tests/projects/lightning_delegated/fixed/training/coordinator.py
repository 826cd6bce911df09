"""Trains an adapter with the precision that was asked for."""

import torch

from training.amp_logging import AmpWandbLog
from training.precision import compute_effective_precision


class TrainingCoordinator:
    """Decides on the precision, then trains with every AMP step written out."""

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
        device = "cuda" if self.use_gpu and torch.cuda.is_available() else "cpu"
        amp = effective_precision == "16"
        adapter.to(device)
        optimizer = adapter.configure_optimizers()
        scaler = torch.amp.GradScaler(device, enabled=amp)
        log = AmpWandbLog(self.run)
        for _epoch in range(max_epochs):
            for index, batch in enumerate(batches):
                x, y = (part.to(device) for part in batch)
                with torch.autocast(device_type=device, dtype=torch.float16, enabled=amp):
                    loss = adapter.training_step((x, y), index)
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(adapter.parameters(), self.max_norm)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)
                log.on_train_step_end(index, loss.detach(), scaler)
        return effective_precision
