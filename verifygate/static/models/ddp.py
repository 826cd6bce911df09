"""DistributedDataParallel of torch 1.8 to 2.13, its hooks, and the optimizers beside it: a backward reduces."""

import contextlib

import torch

MODELS = (
    "torch.nn.parallel",
    "torch.nn.parallel.distributed",
    "torch.distributed.algorithms",
    "torch.distributed.optim",
)


class _Bucket:
    """What a hook gets: some gradients, flat."""

    def __init__(self, gradient, parameter):
        self._gradient, self._parameter = gradient, parameter

    def buffer(self):
        return self._gradient

    def gradients(self):
        return [self._gradient]

    def parameters(self):
        return [self._parameter]

    def index(self):
        return 0

    def is_last(self):
        return True


class DistributedDataParallel(torch.nn.Module):
    """All parameters as they are; where several micro-batches make one step, only the last backward reduces."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, **options):
        super().__init__()
        self.module = module
        self.require_backward_grad_sync = True
        self._state, self._hook = None, allreduce_hook
        for each in module.parameters():
            each.register_hook(self._reduce)

    def _reduce(self, gradient):
        if self.require_backward_grad_sync:
            self._hook(self._state, _Bucket(gradient, gradient))

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def register_comm_hook(self, state, hook):
        self._state, self._hook = state, hook

    @contextlib.contextmanager
    def no_sync(self):
        self.require_backward_grad_sync = False
        yield
        self.require_backward_grad_sync = True

    @contextlib.contextmanager
    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        yield


# -- hooks


def _reduced(tensor, group=None):
    torch.distributed.all_reduce(tensor, group=group)
    return tensor


def allreduce_hook(process_group, bucket):
    return _reduced(bucket.buffer(), process_group)


def fp16_compress_hook(process_group, bucket):
    return _reduced(bucket.buffer().to(torch.float16), process_group).to(bucket.buffer().dtype)


def bf16_compress_hook(process_group, bucket):
    return _reduced(bucket.buffer().to(torch.bfloat16), process_group).to(bucket.buffer().dtype)


class _Wrapped:
    """A hook around another one: that one gets the gradients in a dtype of fewer bits."""

    def __init__(self, hook, dtype):
        self.hook, self.dtype = hook, dtype

    def __call__(self, state, bucket):
        return self.hook(state, _Bucket(bucket.buffer().to(self.dtype), bucket.buffer()))


def fp16_compress_wrapper(hook):
    return _Wrapped(hook, torch.float16)


def bf16_compress_wrapper(hook):
    return _Wrapped(hook, torch.bfloat16)


class PowerSGDState:
    def __init__(self, process_group=None, **options):
        self.process_group = process_group


def powerSGD_hook(state, bucket):  # noqa: N802
    return _reduced(bucket.buffer(), state.process_group)


# -- optimizers


class _Around(torch.optim.Optimizer):
    """An optimizer around another one, whose step is that one's."""

    @property
    def param_groups(self):
        return self.optim.param_groups

    @property
    def state(self):
        return self.optim.state

    def step(self, closure=None, **options):
        return self.optim.step(closure)

    def zero_grad(self, set_to_none=True):
        self.optim.zero_grad(set_to_none)

    def state_dict(self):
        return self.optim.state_dict()


class ZeroRedundancyOptimizer(_Around):
    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False, **defaults):
        self.optim = optimizer_class(params, **defaults)

    def consolidate_state_dict(self, to=0):
        pass


class PostLocalSGDOptimizer(_Around):
    def __init__(self, optim, averager):
        self.optim, self.averager = optim, averager
