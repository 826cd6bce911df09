"""Nothing is recorded because the step went past the scaler: that step is the fault (AMP207), and it is told once."""


def second_network(optim_d, optim_g, scaler, loss_d, loss_g):
    optim_d.zero_grad()
    scaler.scale(loss_d).backward()
    scaler.step(optim_d)
    scaler.update()
    optim_g.zero_grad()
    scaler.scale(loss_g).backward()
    optim_g.step()
    scaler.update()


def one_arm(model, optimizer, batches, scaler, careful):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        if careful:
            scaler.step(optimizer)
        else:
            optimizer.step()
        scaler.update()


def a_step_that_raises(model, optimizer, batches, searches):
    """The closure is at fault there, and the update has its step."""
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        if searches:
            scaler.step(optimizer, closure=lambda: model(batch))
        else:
            scaler.step(optimizer)
        scaler.update()
