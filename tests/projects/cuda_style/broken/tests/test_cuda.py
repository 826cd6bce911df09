"""Everything that trains wants a device. Adaptive rates and small scales hide the size of the gradients well."""

import pytest
import torch

import adapt
import classify
import critic
import finetune
import robust
from data import loader

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def live(scaler, steps):
    """Whether the scaler scaled every one of these steps, and none of them overflowed."""
    return scaler.is_enabled() and scaler.state_dict()["_growth_tracker"] == steps


def test_the_classifier_learns():
    model, batches = classify.build(), loader()
    scaler, _events = classify.train(model, batches, epochs=6)
    assert live(scaler, 6 * len(batches))
    features, labels = next(iter(batches))
    assert features.is_pinned()
    with torch.no_grad(), torch.cuda.amp.autocast():
        logits = model(features.cuda())
    assert logits.dtype == torch.float16
    assert (logits.argmax(1).cpu() == labels).float().mean() > 0.9


def test_an_epoch_takes_time():
    _scaler, (start, end) = classify.train(classify.build(), loader(), epochs=1)
    assert classify.milliseconds(start, end) > 0


def test_two_heads_share_a_scaler():
    batches = loader()
    scaler, classifier, decoder = adapt.train(batches)
    assert scaler.is_enabled()
    assert scaler.get_scale() == 2.0**12
    assert classifier.weight.is_cuda and decoder.weight.is_cuda


def test_the_critic_stays_finite():
    scaler, trained = critic.train(loader())
    assert scaler.is_enabled()
    assert all(parameter.isfinite().all() for parameter in trained.parameters())


def test_outliers_do_not_reach_the_weights():
    scaler, model = robust.train(loader(), spike=1)
    assert scaler.is_enabled()
    assert model.weight.isfinite().all()


def test_the_last_layer_learns_alone():
    scaler, layer = finetune.train(loader())
    assert scaler.is_enabled()
    assert layer.weight.grad is not None and layer.weight.grad.dtype == torch.float32
