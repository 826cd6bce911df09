import pytest
import torch

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


def steps_taken(scaler, value):
    """One optimizer step under a live scaler; the weight that comes of it."""
    weight = torch.nn.Parameter(torch.ones(1, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    with torch.autocast("cuda"):
        loss = (weight * value).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return weight.item()


def test_anywhere():
    assert not torch.cuda.is_available()


@needs_cuda
def test_live_scaler():
    scaler = torch.cuda.amp.GradScaler(init_scale=256.0)
    assert steps_taken(scaler, 0.5) == 0.5
    assert scaler.get_scale() == 256.0
    assert steps_taken(scaler, float("inf")) == 1.0
    assert scaler.get_scale() == 128.0


@needs_cuda
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_operator_policy(dtype):
    with torch.autocast("cuda", dtype=dtype):
        half = torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
        assert (half.dtype, torch.softmax(half, 0).dtype) == (dtype, torch.float32)


@needs_cuda
def test_bug_in_the_code():
    torch.ones(2, device="cuda").numpy()


@needs_cuda
def test_refused_by_autocast():
    with torch.autocast("cuda"):
        torch.nn.functional.binary_cross_entropy(torch.ones(2).cuda(), torch.ones(2).cuda())


@needs_cuda
def test_passes_on_a_figure():
    assert torch.cuda.max_memory_allocated() < 2**30


@needs_cuda
def test_fails_on_a_figure():
    assert torch.cuda.max_memory_allocated() > 0


@needs_cuda
def test_times_something():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0


@needs_cuda
def test_crashes_beside_a_figure():
    {"peak": torch.cuda.max_memory_allocated()}["peek"]


@needs_cuda
def test_graphs():
    sample = torch.ones(1, device="cuda")
    torch.cuda.make_graphed_callables(torch.relu, (sample,))


@needs_cuda
def test_kernel_that_only_cuda_has():
    raise RuntimeError("\"some_kernel_cpu\" not implemented for 'Half'")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_devices():
    assert torch.ones(1, device="cuda:1").item() == 1


@pytest.mark.skipif(True, reason="not today")
def test_skipped_for_another_reason():
    raise AssertionError


@needs_cuda
def test_waits_and_fails():
    torch.cuda.synchronize()
    raise AssertionError("too slow")
