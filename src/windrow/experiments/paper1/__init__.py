"""Figures 4 to 8 of paper 1: Kostowski and Claypool, section 4."""

from windrow.experiments.paper1 import figure_4, figure_5, figure_6, figure_7, figure_8

FIGURES = (
    figure_4.EXPERIMENT,
    figure_5.EXPERIMENT,
    figure_6.EXPERIMENT,
    figure_7.EXPERIMENT,
    figure_8.EXPERIMENT,
)
