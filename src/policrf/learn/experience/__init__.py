"""What is learned from: instances joined, episodes played on kept engines, the replay memory."""
