"""FactConsolidation: facts as notes in their order, the newest of a claim wins, asked by recall."""
