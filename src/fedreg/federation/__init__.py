"""Who owns which examples, and the rounds in which they learn together."""
