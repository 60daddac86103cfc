"""Labeling as decisions: states, actions, rewards and exploration on the compiled energy core."""
