"""Learning for few calls or none: questions to expensive functions, stand-ins, judging."""
