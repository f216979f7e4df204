"""What holds for every test."""

import signal

# A shell that starts the tests in the background has SIGINT ignored, and programs inherit that:
# those that tests stop with Ctrl-C would run on for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
