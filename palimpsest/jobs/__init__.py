"""The verbs: each job reads, plans, applies, and returns a frozen report. Jobs print nothing and know no adapter."""
