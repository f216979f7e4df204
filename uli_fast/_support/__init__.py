"""Tools that know nothing of bandits: files, fingerprints, progress, text."""
