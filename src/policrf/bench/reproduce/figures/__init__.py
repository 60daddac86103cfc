"""The paper's figures, one file each: cases, potentials, φ over time, embeddings, rewards, …"""
