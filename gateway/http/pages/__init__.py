"""What is served besides operations of the service.

In reading order: `console` (the page for people), `previews` (ports of runners), `health` (liveness, readiness, metrics),
`openapi` (the table of operations as a document and a page).
"""
