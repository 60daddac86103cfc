"""Training policies: actors, replay memory, learners, one loop. The one folder that needs torch."""
