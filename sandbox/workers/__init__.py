"""Workers: where tenants' sessions live. `interface` has the verbs; `local` runs them on threads, `remote` in processes."""
