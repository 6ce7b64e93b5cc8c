"""The main job: auctions and their bids, joined while they stream in, checked at the end."""
