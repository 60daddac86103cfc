"""Where work is done: in this process, in several, or on a Ray cluster, behind one interface."""
