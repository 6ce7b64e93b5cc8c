"""Figures 3 to 10 of paper 4: Hammad, Aref and Elmagarmid, sections 4 to 7."""

from windrow.experiments.paper4 import (
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
)

FIGURES = (
    figure_3.EXPERIMENT,
    figure_4.EXPERIMENT,
    figure_5.EXPERIMENT,
    figure_6.EXPERIMENT,
    figure_7.EXPERIMENT,
    figure_8.EXPERIMENT,
    figure_9.EXPERIMENT,
    figure_10.EXPERIMENT,
)
