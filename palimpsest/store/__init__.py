"""The one schema, its engine and its statements. The only package that knows SQLAlchemy."""
