"""A live study over HTTP: ``uli serve``, and the client that speaks to it.

server.py    uvicorn, with what it lacks: slow and too many connections are cut off
app.py       a request comes in: its route, its token, its limits; its answer goes out
routes.py    the one list of routes, with the role that each needs
handlers.py  what each does
desk.py      the one thread that has the study: all that arrived meanwhile in one commit
schemas.py   what is sent and answered; openapi.py describes it
problems.py  errors as application/problem+json, and back
tokens.py    who may do what
limits.py    how much, and how often
metrics.py   what Prometheus reads
client.py    ``uli.Client``
"""
