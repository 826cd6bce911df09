import torch
from torch.amp import GradScaler


def build(trainer, args):
    scaler = GradScaler("cuda") if trainer.use_fp16 else None
    other = GradScaler("cuda", enabled=args.fp16 or not args.bf16)
    third = GradScaler("cuda", enabled=args.fp16) if args.fp16 or args.bf16 else None
    return scaler, other, third
