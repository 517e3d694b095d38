"""Stores: memory, SQLite and PostgreSQL behind one protocol (`gateway.stores.interface`)."""
