"""Figures 5 to 11 of paper 5: Wu, Tan and Zhou, section 5."""

from windrow.experiments.paper5 import (
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_11,
)

FIGURES = (
    figure_5.EXPERIMENT,
    figure_6.EXPERIMENT,
    figure_7.EXPERIMENT,
    figure_8.EXPERIMENT,
    figure_9.EXPERIMENT,
    figure_10.EXPERIMENT,
    figure_11.EXPERIMENT,
)
