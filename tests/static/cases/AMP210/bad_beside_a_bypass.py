"""An update that is out of place by itself, whatever steps past the scaler elsewhere."""


def every_micro_batch(model, optimizer, batches, scaler):
    for number, batch in enumerate(batches):
        scaler.scale(model(batch)).backward()
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
        scaler.update()  # expect: AMP210


def before_the_bypass(model, optimizer, batches, scaler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        scaler.update()  # expect: AMP210
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        optimizer.step()
        scaler.update()
