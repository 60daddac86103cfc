"""The benchmarks behind the tables of the docs, and the demo."""
