"""Work items on devices: Ray, the stream of shards, and what one device does with them."""
