"""The experiments, one TOML file each, and what reads them."""
