"""TransformerEngine 1.0 to 2.21: its layers keep parameters as asked for and give what they get, or autocast's dtype.

In `fp8_autocast` a product is computed of float8, block-scaled or four-bit copies; weights, gradients and outputs are
not of these.
"""

import contextlib

import torch

MODELS = ("transformer_engine",)


class _Recipe:
    def __init__(self, **options):
        pass


DelayedScaling = Float8CurrentScaling = MXFP8BlockScaling = Float8BlockScaling = NVFP4BlockScaling = _Recipe


@contextlib.contextmanager
def fp8_autocast(enabled=True, calibrating=False, fp8_recipe=None, fp8_group=None, _graph=False):
    yield


@contextlib.contextmanager
def autocast(enabled=True, calibrating=False, recipe=None, amax_reduction_group=None, _graph=False):
    yield


@contextlib.contextmanager
def fp8_model_init(enabled=True, recipe=None, preserve_high_precision_init_val=False):
    yield


quantized_model_init = fp8_model_init


def checkpoint(function, *args, **kwargs):
    for name in ("use_reentrant", "tp_group", "distribute_saved_activations", "get_rng_state_tracker"):
        kwargs.pop(name, None)
    return function(*args, **kwargs)


class Linear(torch.nn.Linear):
    def __init__(self, in_features, out_features, bias=True, params_dtype=None, device="cuda", **options):
        super().__init__(in_features, out_features, bias=bias, dtype=params_dtype)

    def forward(self, inp, is_first_microbatch=None, fp8_output=False):
        return torch.nn.functional.linear(inp, self.weight, self.bias)


class LayerNorm(torch.nn.LayerNorm):
    def __init__(self, normalized_shape, eps=1e-5, params_dtype=None, **options):
        super().__init__(normalized_shape, eps=eps, dtype=params_dtype)

    def forward(self, inp):
        return torch.nn.functional.layer_norm(inp, [1], self.weight, self.bias).to(inp.dtype)


RMSNorm = LayerNorm


class LayerNormLinear(torch.nn.Module):
    def __init__(self, in_features, out_features, eps=1e-5, bias=True, params_dtype=None, **options):
        super().__init__()
        self.norm = torch.nn.LayerNorm(in_features, dtype=params_dtype)
        self.linear = torch.nn.Linear(in_features, out_features, bias=bias, dtype=params_dtype)

    def forward(self, inp, *args, **kwargs):
        return self.linear(self.norm(inp))


class LayerNormMLP(torch.nn.Module):
    def __init__(self, hidden_size, ffn_hidden_size, eps=1e-5, bias=True, params_dtype=None, **options):
        super().__init__()
        self.norm = torch.nn.LayerNorm(hidden_size, dtype=params_dtype)
        self.first = torch.nn.Linear(hidden_size, ffn_hidden_size, bias=bias, dtype=params_dtype)
        self.second = torch.nn.Linear(ffn_hidden_size, hidden_size, bias=bias, dtype=params_dtype)

    def forward(self, inp, *args, **kwargs):
        return self.second(self.first(self.norm(inp)))


class TransformerLayer(torch.nn.Module):
    def __init__(self, hidden_size, ffn_hidden_size, num_attention_heads, params_dtype=None, **options):
        super().__init__()
        self.attention = LayerNormLinear(hidden_size, hidden_size, params_dtype=params_dtype)
        self.mlp = LayerNormMLP(hidden_size, ffn_hidden_size, params_dtype=params_dtype)

    def forward(self, hidden_states, attention_mask=None, **options):
        return self.mlp(self.attention(hidden_states))


class FusedAdam(torch.optim.Optimizer):
    """Steps the parameters as they are, or float32 copies of them, with a state of float32."""

    state_dtype = torch.float32

    def __init__(self, params, lr=1e-3, master_weights=False, **options):
        super().__init__(params, lr=lr)
        if master_weights:
            for group in self.param_groups:
                group["params"] = [torch.nn.Parameter(each.detach().float()) for each in group["params"]]
