"""timm 0.4 to 1.0: its scalers, which do all of a step from the backward on, its clips, and its averages of weights."""

import copy

import torch
from apex import amp

MODELS = ("timm",)


def adaptive_clip_grad(parameters, clip_factor=0.01, eps=1e-3, norm_type=2.0):
    pass


def dispatch_clip_grad(parameters, value, mode="norm", norm_type=2.0):
    if mode == "norm":
        torch.nn.utils.clip_grad_norm_(parameters, value, norm_type=norm_type)
    elif mode == "value":
        torch.nn.utils.clip_grad_value_(parameters, value)
    else:
        adaptive_clip_grad(parameters, value, norm_type=norm_type)


class NativeScaler:
    state_dict_key = "amp_scaler"

    def __init__(self, device="cuda"):
        self._scaler = torch.amp.GradScaler(device)

    def __call__(
        self,
        loss,
        optimizer,
        clip_grad=None,
        clip_mode="norm",
        parameters=None,
        create_graph=False,
        need_update=True,
    ):
        self._scaler.scale(loss).backward(create_graph=create_graph)
        if need_update:
            if clip_grad is not None:
                self._scaler.unscale_(optimizer)
                dispatch_clip_grad(parameters, clip_grad, mode=clip_mode)
            self._scaler.step(optimizer)
            self._scaler.update()

    def state_dict(self):
        return self._scaler.state_dict()

    def load_state_dict(self, state_dict):
        self._scaler.load_state_dict(state_dict)


class ApexScaler:
    state_dict_key = "amp"

    def __call__(
        self,
        loss,
        optimizer,
        clip_grad=None,
        clip_mode="norm",
        parameters=None,
        create_graph=False,
        need_update=True,
    ):
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward(create_graph=create_graph)
        if need_update:
            if clip_grad is not None:
                dispatch_clip_grad(amp.master_params(optimizer), clip_grad, mode=clip_mode)
            optimizer.step()

    def state_dict(self):
        return amp.state_dict()

    def load_state_dict(self, state_dict):
        amp.load_state_dict(state_dict)


class _Average(torch.nn.Module):
    """A copy of a model that is moved towards it: in the dtype of the model, unless another one is asked for."""

    def __init__(self, model, decay, device, dtype=None):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.module.eval()
        self.decay = decay
        if device is not None:
            self.module.to(device)
        if dtype is not None:
            self.module.to(dtype)

    def update(self, model, step=None):
        with torch.no_grad():
            for kept, new in zip(self.module.state_dict().values(), model.state_dict().values(), strict=True):
                kept.copy_(self.decay * kept + (1.0 - self.decay) * new)

    def set(self, model):
        with torch.no_grad():
            for kept, new in zip(self.module.state_dict().values(), model.state_dict().values(), strict=True):
                kept.copy_(new)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


class ModelEmaV2(_Average):
    def __init__(self, model, decay=0.9999, device=None):
        super().__init__(model, decay, device)


class ModelEmaV3(_Average):
    def __init__(self, model, decay=0.9999, device=None, dtype=None, **options):
        super().__init__(model, decay, device, dtype)
