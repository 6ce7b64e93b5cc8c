"""Figures 2(b) to 9 of paper 2: Hammad, Franklin, Aref and Elmagarmid, sections 2 to 5."""

from windrow.experiments.paper2 import (
    figure_2b,
    figure_3b,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    joining,
    memory,
)

FIGURES = (
    figure_2b.EXPERIMENT,
    figure_3b.EXPERIMENT,
    figure_5.EXPERIMENT,
    figure_6.EXPERIMENT,
    figure_7.EXPERIMENT,
    figure_8.EXPERIMENT,
    figure_9.EXPERIMENT,
    memory.EXPERIMENT,
    joining.EXPERIMENT,
)
