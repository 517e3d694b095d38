"""Guest sources and the one script that builds them; a wheel carries the results in `built/`."""
