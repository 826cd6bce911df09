from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Precision:
    device: str
    dtype: torch.dtype

    def scaler(self, start: float) -> torch.amp.GradScaler:
        return torch.amp.GradScaler(self.device, init_scale=start, enabled=self.dtype == torch.float16)
