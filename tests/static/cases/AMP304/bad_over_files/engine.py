def one_epoch(model, optimizer, batches, context, loss_scaler):
    for batch in batches:
        optimizer.zero_grad()
        with context():
            loss = model(batch)
        loss_scaler(loss, optimizer)
