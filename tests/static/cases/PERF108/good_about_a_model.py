"""What handles a model and does not run it has nothing to wait for."""

import time

import torch


def convert(pipeline, model, log):
    print(torch.cuda.is_available())
    start = time.time()
    pipeline.add_model(model)
    pipeline.save_model(model, "model.bin")
    log(f"converted in {time.time() - start:.1f}s")
