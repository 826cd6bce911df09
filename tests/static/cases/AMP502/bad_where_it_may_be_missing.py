"""Apex is imported where it is there, and its name is None where it is not."""

try:
    from apex import amp
except ImportError:
    amp = None


def train(model, optimizer, loader, loss_fn):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")  # expect: AMP502
    for inputs, targets in loader:
        optimizer.zero_grad()
        with amp.scale_loss(loss_fn(model(inputs), targets), optimizer) as scaled:  # expect: AMP502
            scaled.backward()
        optimizer.step()
