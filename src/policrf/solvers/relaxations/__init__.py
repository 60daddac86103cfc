"""Relaxed problems: mean field (independent beliefs) and dual decomposition (trees and cliques)."""
