"""The training builds the other class of the module."""

from parts import Plain


def train(batches, net, optimizer):
    plain = Plain()
    for inputs in batches:
        optimizer.zero_grad()
        loss = plain(net(inputs)).mean()
        loss.backward()
        optimizer.step()
