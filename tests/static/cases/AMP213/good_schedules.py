"""Schedules per epoch, and schedules that ask whether the step was made."""


def per_epoch(model, optimizer, scaler, loader, scheduler, epochs):
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
        scheduler.step()


def asks_the_scale(model, optimizer, scaler, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()


def counts_skips(model, optimizer, scaler, batches, scheduler, monitor):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        if not monitor.skipped(optimizer):
            scheduler.step()


def without_a_scaler(model, optimizer, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
        scheduler.step()


def another_kind_of_step(model, optimizer, scaler, batches, profiler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        profiler.step()


def per_epoch_of_steps(model, optimizer, scaler, stream, scheduler, epochs, steps_per_epoch):
    for epoch in range(epochs):
        for step in range(steps_per_epoch):
            optimizer.zero_grad()
            scaler.scale(model(next(stream))).backward()
            scaler.step(optimizer)
            scaler.update()
        scheduler.step()


def per_round_of_several_epochs(model, optimizer, scaler, buffer, scheduler, updates):
    for update in range(updates):
        for epoch in range(4):
            for part in buffer.parts():
                optimizer.zero_grad()
                scaler.scale(model(part)).backward()
                scaler.step(optimizer)
                scaler.update()
        scheduler.step()


def told_the_number_after_the_step(model, optimizer, scaler, batches, scheduler):
    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step_update(number)


def says_when_the_scale_moved(model, optimizer, scaler, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        after = scaler.get_scale()
        if after != before:
            print(after)
        if after >= before:
            scheduler.step()


def compares_by_a_name(model, optimizer, scaler, batches, scheduler):
    known = scaler.get_scale()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        now = scaler.get_scale()
        stepped = now >= known
        known = now
        if stepped:
            scheduler.step()


def in_the_arm_without_a_scaler(model, optimizer, scaler, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        if scaler is not None:
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            model(batch).backward()
            optimizer.step()
            scheduler.step()


def compared_by_the_private_scale(model, optimizer, scheduler, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        before = scaler._scale.item()
        scaler.step(optimizer)
        scaler.update()
        if scaler._scale.item() >= before:
            scheduler.step()


def asked_of_a_helper(model, optimizer, scaler, batches, scheduler, read):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        previous_scale = read(scaler)
        scaler.step(optimizer)
        scaler.update()
        if read(scaler) >= previous_scale:
            scheduler.step()
