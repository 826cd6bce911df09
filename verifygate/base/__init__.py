"""What every floor may use: records, errors, digests, CPU time."""
