"""What callers hand over can be gone through twice, or is gone through once."""

from torch.nn.utils import clip_grad_norm_


def clip_and_shrink(weights, optimizer, decay):
    clip_grad_norm_(weights, 1.0)
    for weight in weights:
        weight.data *= 1 - decay
    optimizer.step()


def of_a_list(model, optimizer, loss):
    loss.backward()
    clip_and_shrink(list(model.parameters()), optimizer, 1e-4)


def one_or_the_other(weights, optimizer, clips):
    if clips:
        clip_grad_norm_(weights, 1.0)
    else:
        for weight in weights:
            weight.grad.clamp_(-1, 1)
    optimizer.step()


def of_a_generator(model, optimizer, loss, clips):
    loss.backward()
    one_or_the_other(model.parameters(), optimizer, clips)


def told_only(weights, optimizer):
    clip_grad_norm_(weights, 1.0)
    show(weights)
    optimizer.step()


def show(weights):
    print(type(weights))


def of_another(model, optimizer, loss):
    loss.backward()
    told_only(model.parameters(), optimizer)


def unknown(weights, optimizer):
    clip_grad_norm_(weights, 1.0)
    for weight in weights:
        weight.data.clamp_(-1, 1)
    optimizer.step()
