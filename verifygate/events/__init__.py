"""What happens in a training program: the typed record that both witnesses leave, the run and the analysis."""
