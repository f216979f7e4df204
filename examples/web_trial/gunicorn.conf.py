"""How gunicorn runs the app; options of its command line come first."""

bind = "127.0.0.1:8000"
workers, threads = 4, 4
preload_app = True  # loaded once: what is forked off starts at once


def on_starting(server):
    """Load what decides, too."""
    import intake

    intake.warm()
