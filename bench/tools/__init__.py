"""Programs: report, check, growth, compat, races; and the figures they read."""
