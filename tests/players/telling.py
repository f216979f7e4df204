"""Ask once, and tell what comes of it."""


def tell(player, outcome):
    """Tell the outcome of the arm that is asked for, None for one that is missing."""
    d = player.ask()
    x = outcome(d.arm)
    if x is None:
        player.tell_missing(d.id, "gone")
    else:
        player.tell(d.id, x)
    return d.arm, x
