"""The description of the service, made of its routes and schemas (OpenAPI 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from uli_fast import __version__
from uli_fast.service.problems import MEDIA
from uli_fast.service.routes import Route
from uli_fast.service.schemas import ProblemAnswer

WHERE = "#/components/schemas/{name}"
# What may be answered besides what was asked for.
ALWAYS = {
    403: "The token's role may not do this; without tokens, not this machine's name was called.",
    429: "Too many requests; Retry-After says when to try again.",
    500: "The journal is damaged, or the learner cannot go on.",
    503: "The study cannot be reached or written, or too many are waiting; nothing was recorded.",
}
GUARDED = {401: "No token, or one that is not known."}
SENT = {
    400: "The request ended too early.",
    404: "No decision with this id was ever asked for.",
    408: "The body was not there in time.",
    413: "The body is too long.",
    415: "The body is not application/json.",
}
STUDY = {
    409: "It contradicts what is recorded, or the study cannot say this.",
    422: "Something in the request is refused; ``argument`` says what.",
}
ABOUT = (
    "Live decisions of one study. An answer means that it is recorded. Whatever gets no answer "
    "may be sent again: asking again with a request id gives the same decision, telling the same "
    "again changes nothing. Floats that are not finite are null; integers are exact."
)


def described(routes: Sequence[Route], guarded: bool) -> dict[str, Any]:
    """Return the description; pages, which have no schema, are left out."""
    shown = [route for route in routes if route.path.startswith(("/v1/", "/health/", "/metrics"))]
    kinds = {x for route in shown for x in (route.body, route.answer) if x is not None}
    listed = sorted({*kinds, ProblemAnswer}, key=lambda kind: str(kind.__name__))
    _, schemas = msgspec.json.schema_components(listed, ref_template=WHERE)
    paths: dict[str, dict[str, Any]] = {}
    for route in shown:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, guarded)
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "uli_fast study", "version": __version__, "description": ABOUT},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if guarded:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return found


def _operation(route: Route, guarded: bool) -> dict[str, Any]:
    closed = guarded and route.role != "anybody"
    found: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": route.about,
        "x-role": route.role,
        "responses": {**_fine(route), **_problems(route, closed)},
    }
    if closed:
        found["security"] = [{"token": []}]
    if route.body is not None:
        content = {"application/json": {"schema": _reference(route.body)}}
        found["requestBody"] = {"required": True, "content": content}
    if route.query:
        found["parameters"] = [
            {"name": x.name, "in": "query", "schema": x.schema, "description": x.about}
            for x in route.query
        ]
    return found


def _fine(route: Route) -> dict[str, Any]:
    if route.answer is None and route.body is not None:
        return {"204": {"description": "It is recorded."}}
    schema = {"type": "string"} if route.answer is None else _reference(route.answer)
    return {"200": {"description": "What was asked for.", "content": {route.media: _of(schema)}}}


def _problems(route: Route, closed: bool) -> dict[str, Any]:
    known = ALWAYS | (GUARDED if closed else {}) | (SENT if route.body is not None else {})
    known |= STUDY if route.role != "anybody" else {422: STUDY[422]}
    content = {MEDIA: _of(_reference(ProblemAnswer))}
    return {
        str(status): {"description": known[status], "content": content} for status in sorted(known)
    }


def _reference(kind: Any) -> dict[str, str]:
    return {"$ref": WHERE.format(name=kind.__name__)}


def _of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"schema": schema}
