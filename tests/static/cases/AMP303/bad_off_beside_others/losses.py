def adversarial(scores, wanted):
    return ((scores - wanted) ** 2).mean()
