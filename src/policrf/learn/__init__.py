"""Training policies, by a goal or by a method: learners, one loop. Methods need torch."""
