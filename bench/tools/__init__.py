"""Programs: report, check, growth, walk, compat, races; and the figures they read."""
