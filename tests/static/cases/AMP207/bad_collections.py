"""Optimizers of a collection that step past the scaler."""


def each_by_itself(model, optimizers, scaler, batches):
    for batch in batches:
        for o in optimizers:
            o.zero_grad()
        scaler.scale(model(batch)).backward()
        for index, o in enumerate(optimizers):
            print(index)
            o.step()  # expect: AMP207
        scaler.update()
