"""A component as a mixed-integer linear program: its columns and rows, term by term, and HiGHS."""
