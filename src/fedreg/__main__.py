"""python -m fedreg is fedreg."""

from .cli import main

main()
