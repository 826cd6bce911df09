axolotl vllm-serve grpo.yml --dtype bfloat16 &
axolotl train grpo.yml
