"""`python -m policrf` is the same as `policrf`."""

from policrf.cli import main

main()
