"""The one list of routes. A route that names no role cannot be written down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from uli_fast.service import handlers as h
from uli_fast.service import schemas as s
from uli_fast.service.handlers import Request


@dataclass(frozen=True)
class Page:
    """An answer that is no JSON: a page, a figure, plain text."""

    content: bytes
    media: str
    policy: str = "default-src 'none'; frame-ancestors 'none'"  # what it may load


@dataclass(frozen=True)
class Parameter:
    """Something in the query."""

    name: str
    schema: dict[str, Any]
    about: str


@dataclass(frozen=True)
class Route:
    """Where something is, who may have it, what is sent and answered."""

    method: str
    path: str
    role: str  # of tokens.ROLES
    handler: Callable[[Request], Awaitable[Any]]
    answer: Any = None  # a schema; None: no content, or a page
    body: Any = None  # a schema
    query: tuple[Parameter, ...] = ()
    media: str = field(default="application/json")

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return (self.handler.__doc__ or "").strip().splitlines()[0]


ROUTES = (
    Route("POST", "/v1/ask", "drive", h.ask, s.DecisionAnswer, s.AskBody),
    Route("POST", "/v1/ask-many", "drive", h.ask_many, s.DecisionsAnswer, s.AskManyBody),
    Route("POST", "/v1/tell", "drive", h.tell, None, s.TellBody),
    Route("POST", "/v1/tell-many", "drive", h.tell_many, None, s.TellManyBody),
    Route("POST", "/v1/tell-missing", "drive", h.tell_missing, None, s.TellMissingBody),
    Route("POST", "/v1/tell-block", "drive", h.tell_block, None, s.TellBlockBody),
    Route("GET", "/v1/allocation", "read", h.allocation, s.AllocationAnswer),
    Route("GET", "/v1/recommend", "read", h.recommend, s.RecommendAnswer),
    Route("GET", "/v1/certificate", "read", h.certificate, s.CertificateAnswer),
    Route("GET", "/v1/intervals", "read", h.intervals, s.IntervalsAnswer),
    Route("GET", "/v1/active", "read", h.active, s.ActiveAnswer),
    Route("GET", "/v1/counts", "counts", h.counts, s.CountsAnswer),
    Route("GET", "/v1/study", "read", h.about, s.StudyAnswer),
    Route("GET", "/v1/head", "read", h.head, s.HeadAnswer),
    Route("GET", "/health/live", "anybody", h.live, s.HealthAnswer),
    Route("GET", "/health/ready", "anybody", h.ready, s.HealthAnswer),
)
