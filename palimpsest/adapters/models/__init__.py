"""Language models: what answers a request with JSON, one module a provider, and wrappers around each."""
