"""The providers: `wasm`, `unix-local`, `ssh`, `docker`, `hatchway`. Each file knows its own kind of place and no other's."""
