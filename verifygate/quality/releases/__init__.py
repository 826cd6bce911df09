"""What is known of torch by release: the facts that tables rest on, and the versions that proofs ran with."""
