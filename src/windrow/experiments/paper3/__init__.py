"""Figures 8 to 12 of paper 3: Ding and Rundensteiner, section 6."""

from windrow.experiments.paper3 import figure_8, figure_9, figure_10, figure_11, figure_12

FIGURES = (
    figure_8.EXPERIMENT,
    figure_9.EXPERIMENT,
    figure_10.EXPERIMENT,
    figure_11.EXPERIMENT,
    figure_12.EXPERIMENT,
)
