#!/bin/sh
# python train.py --fp16 --bf16 would be wrong
torchrun --nproc_per_node 2 train.py \
    --output_dir out --per_device_train_batch_size 2 \
    --fp16 --max_steps 3 --bf16 # expect: AMP901
