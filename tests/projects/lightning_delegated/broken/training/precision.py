"""Which precision a run uses, from what was asked for and what the machine has."""


def compute_effective_precision(requested_precision, use_amp, cuda_available, use_gpu):
    """`requested_precision` where `use_amp` is None; else "16" on a GPU that may be used, and "32" anywhere else."""
    if use_amp is None:
        return requested_precision
    return "16" if use_amp and cuda_available and use_gpu else "32"
