"""Two steps in the source, one on each way, or one for each backward."""


def twins(model, optimizer, scaler, batches, use_amp):
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if use_amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


def early_return(loss, optimizer, scaler):
    if scaler is not None:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return
    loss.backward()
    optimizer.step()


def another_optimizer(model, optimizer, embedding_optimizer, scaler, batches):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        model.embedding_loss(batch).backward()
        embedding_optimizer.step()
        embedding_optimizer.zero_grad()


def amp_first_then_float32(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    for batch in batches:
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
