"""Figures 4 to 8 of paper 1: Kostowski and Claypool, section 4."""
