"""update() once per window, though not once per iteration or per step."""

import torch


def two_full_cycles(net_d, net_g, optim_d, optim_g, scaler, batches):
    for batch in batches:
        optim_d.zero_grad()
        scaler.scale(net_d(batch)).backward()
        scaler.step(optim_d)
        scaler.update()
        optim_g.zero_grad()
        scaler.scale(net_g(batch)).backward()
        scaler.step(optim_g)
        scaler.update()


def one_update_for_both(net_d, net_g, optim_d, optim_g, scaler, batches):
    for batch in batches:
        optim_d.zero_grad()
        scaler.scale(net_d(batch)).backward()
        scaler.step(optim_d)
        optim_g.zero_grad()
        scaler.scale(net_g(batch)).backward()
        scaler.unscale_(optim_g)
        torch.nn.utils.clip_grad_norm_(net_g.parameters(), 1.0)
        scaler.step(optim_g)
        scaler.update()


def a_scaler_each(net_d, net_g, optim_d, optim_g, batches):
    d_scaler, g_scaler = torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cuda")
    for batch in batches:
        optim_d.zero_grad()
        optim_g.zero_grad()
        loss_d, loss_g = net_d(batch), net_g(batch)
        d_scaler.scale(loss_d).backward(retain_graph=True)
        g_scaler.scale(loss_g).backward()
        d_scaler.step(optim_d)
        d_scaler.update()
        g_scaler.step(optim_g)
        g_scaler.update()


def skipped_after_unscale(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if torch.isfinite(norm):
            optimizer.step()
        scaler.update()


def a_new_scale(model, optimizer, scaler, batches, floor):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < floor:
            scaler.update(new_scale=floor)


def all_of_a_list(model, optimizers, scaler, batches):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        for optimizer in optimizers:
            optimizer.zero_grad()


def each_with_its_own_backward(model, optimizers, scaler, batches):
    for batch in batches:
        for i, optimizer in enumerate(optimizers):
            optimizer.zero_grad()
            scaler.scale(model(batch, i)).backward()
            scaler.step(optimizer)
            scaler.update()


class Standardizer:
    """Another kind of scaler."""

    def update(self, values):
        self.mean = values.mean()


def fit(model, optimizer, batches):
    scaler = Standardizer()
    for batch in batches:
        scaler.update(batch)
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
