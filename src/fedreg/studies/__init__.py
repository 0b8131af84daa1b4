"""What one learns from runs."""
