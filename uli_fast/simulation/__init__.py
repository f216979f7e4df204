"""Playing learners against problems: simulate, play, compare, turning points."""
