"""`policrf bench large`: solvers and peers on large frustrated fields."""
