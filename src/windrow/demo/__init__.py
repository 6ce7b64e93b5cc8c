"""The main job: auctions and their bids, joined while they stream in, checked at the end."""

from windrow.extras import needed

with needed("The demo"):
    import rich as _rich  # noqa: F401
