import apex
from apex import amp as nvidia_amp
from apex.amp import scale_loss


def train(model, optimizer, batches):
    model, optimizer = nvidia_amp.initialize(model, optimizer, opt_level="O1")  # expect: AMP502
    for batch in batches:
        with scale_loss(model(batch), optimizer) as scaled:  # expect: AMP502
            scaled.backward()
        optimizer.step()
    return apex.amp.state_dict()  # expect: AMP502
