"""Made sessions with known habits and decoys, by writers who did not write the miner."""
