"""Embedders: what turns texts into vectors, one module a provider. A missing package is told by who builds them."""
