"""Large neighbourhoods: regions solved exactly, all other nodes held, one region after another."""
