"""toulbar2's files, read and written: `.wcsp`, `.cfn`, and cost functions that have a name."""
