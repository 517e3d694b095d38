"""Encodings of what is stored.

In reading order: `cbor` (canonical CBOR), `compression` (frames that are opened in parts), `sealing` (keys and authenticated
encryption).
"""
