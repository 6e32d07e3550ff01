"""Administer the single-use invite codes of an existing PostgreSQL table."""

__version__ = "0.1.0"
