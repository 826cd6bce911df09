"""The loop's variable has the name of the comprehension's: what the loop goes over is not what that went over."""

from torch.amp import autocast

CASES = [{"prompt": "first", "tools": ["search"]}, {"prompt": "second", "tools": []}]


def run(automatic, ask, show):
    cases = [{"prompt": case["prompt"], "names": case["tools"]} for case in CASES] if automatic else iter(ask, None)
    for case in cases:
        with autocast("cuda"):
            show(case["prompt"], case["names"])
