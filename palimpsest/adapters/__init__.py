"""What touches the world outside the store: catalogs, clocks, links. Adapters know neither each other nor the store."""
