"""Stores: memory, SQLite and PostgreSQL behind one class (`gateway.stores.store`)."""
