"""no_sync() around forward and backward of the micro-batches that do not step."""

from contextlib import nullcontext


def both_inside(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        last = (i + 1) % window == 0
        with nullcontext() if last else model.no_sync():
            loss = model(batch) / window
            scaler.scale(loss).backward()
        if last:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def in_a_function(model, optimizer, scaler, batches, window, forward_backward):
    for i, batch in enumerate(batches):
        if (i + 1) % window != 0:
            with model.no_sync():
                forward_backward(model, batch)
        else:
            forward_backward(model, batch)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def evaluation(model, batch):
    with model.no_sync():
        return model(batch)


def but_the_last_turn(model, optimizer, parts, sharded):
    for number, part in enumerate(parts):
        region = model.no_sync() if sharded and number < len(parts) - 1 else nullcontext()
        with region:
            model(part).backward()
    optimizer.step()


def unless_it_steps(model, optimizer, scaler, batches, window, use_amp):
    for i, batch in enumerate(batches):
        steps_now = (i + 1) % window == 0
        if use_amp and not steps_now:
            with model.no_sync():
                scaler.scale(model(batch)).backward()
        else:
            scaler.scale(model(batch)).backward()
        if use_amp and steps_now:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def last_part_of_a_batch_that_does_not_step(model, optimizer, batches, window):
    for i, batch in enumerate(batches):
        for number, part in enumerate(batch):
            region = model.no_sync() if number == len(batch) - 1 and (i + 1) % window else nullcontext()
            with region:
                model(part).backward()
        if (i + 1) % window == 0:
            optimizer.step()
            optimizer.zero_grad()
