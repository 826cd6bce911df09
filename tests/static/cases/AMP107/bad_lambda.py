from concurrent.futures import ThreadPoolExecutor

import torch


def over_models(models, inputs):
    pool = ThreadPoolExecutor(4)
    with torch.autocast("cuda"):
        outputs = list(pool.map(lambda each: each(inputs), models))  # expect: AMP107 likely
    return outputs


def over_inputs(model, batches):
    with torch.autocast("cuda"), ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda batch: model(batch), batches))  # expect: AMP107 likely
