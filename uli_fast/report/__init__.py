"""Tables and figures made from Runs."""
