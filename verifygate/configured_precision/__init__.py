"""What files beside the source set for the precision: YAML, JSON, TOML and shell scripts, as facts with their lines."""
