"""no_sync() around the wrong part."""

from contextlib import nullcontext


def forward_outside(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        loss = model(batch) / window
        if (i + 1) % window == 0:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        else:
            with model.no_sync():  # expect: AMP218
                scaler.scale(loss).backward()


def forward_outside_by_choice(model, optimizer, batches, window):
    for i, batch in enumerate(batches):
        last = (i + 1) % window == 0
        loss = model(batch) / window
        with nullcontext() if last else model.no_sync():  # expect: AMP218
            loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()


def around_the_step(model, optimizer, scaler, batches):
    for batch in batches:
        with model.no_sync():  # expect: AMP218
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def in_the_last_turn(model, optimizer, parts, sharded, trainer):
    for number, part in enumerate(parts):
        skip = sharded and number < len(parts) - 1
        region = nullcontext() if skip else model.no_sync()  # expect: AMP218
        with region:
            trainer._backward(model(part))
    optimizer.step()


def under_the_condition_of_the_step(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        steps_now = (i + 1) % window == 0
        if steps_now:
            with model.no_sync():  # expect: AMP218
                scaler.scale(model(batch)).backward()
        else:
            scaler.scale(model(batch)).backward()
        if steps_now and i > 10:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def in_the_last_turn_where_there_are_several(model, optimizer, parts, sharded, trainer):
    for number, part in enumerate(parts):
        shares = sharded and number == len(parts) - 1
        region = model.no_sync() if shares else nullcontext()  # expect: AMP218 likely
        with region:
            trainer._backward(model(part))
    optimizer.step()
