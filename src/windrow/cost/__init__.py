"""What a join costs: each paper's formulas, their constants on this machine, and the choice."""
