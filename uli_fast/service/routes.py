"""The one list of routes. A route that names no role cannot be written down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from uli_fast.service import handlers as h
from uli_fast.service import schemas as s
from uli_fast.service.handlers import MOST_RECORDS, Request
from uli_fast.service.metrics import MEDIA


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
    limited: bool = True  # whether --rate counts it: an orchestrator must hear of a busy service
    media: str = "application/json"  # of what is answered

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return (self.handler.__doc__ or "").strip().splitlines()[0]


AFTER = Parameter(
    "after",
    {"type": "string", "pattern": r"^([0-9]{1,18}(\.[0-9]{1,18})?)?$"},
    "The id of a decision, or the ``next`` of the page before.",
)
LIMIT = Parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": MOST_RECORDS, "default": 100}, "Records."
)
OLDER_THAN = Parameter("older_than", {"type": "number", "minimum": 0}, "Seconds since asked for.")
PAGED = (AFTER, LIMIT)

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
    Route("GET", "/v1/counts", "read", h.counts, s.CountsAnswer),
    Route("GET", "/v1/totals", "counts", h.totals, s.TotalsAnswer),
    Route("GET", "/v1/pending", "read", h.pending, s.RecordsAnswer, query=(*PAGED, OLDER_THAN)),
    Route("GET", "/v1/history", "read", h.history, s.RecordsAnswer, query=PAGED),
    Route("GET", "/v1/blocks", "read", h.blocks, s.BlocksAnswer),
    Route("GET", "/v1/audit", "read", h.audit, s.AuditAnswer),
    Route("GET", "/v1/study", "read", h.about, s.StudyAnswer),
    Route("GET", "/v1/head", "read", h.head, s.HeadAnswer),
    Route("GET", "/metrics", "counts", h.metrics, media=MEDIA),
    Route("GET", "/openapi.json", "anybody", h.description),
    Route("GET", "/health/live", "anybody", h.live, s.HealthAnswer, limited=False),
    Route("GET", "/health/ready", "anybody", h.ready, s.HealthAnswer, limited=False),
)
