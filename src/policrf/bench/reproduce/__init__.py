"""`policrf reproduce`: the paper's tables and figures, cell by cell, from one command."""
