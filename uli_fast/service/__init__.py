"""Live studies over HTTP: many clients, one commit for what arrived together, a page to watch."""
