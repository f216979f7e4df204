"""The description is true: requests made up from it are answered as it says (schemathesis)."""

import contextlib
import json
import tempfile
from pathlib import Path

import pytest

import uli_fast as uli
from tests.service.conftest import Served
from tests.study.conftest import MEMORY
from tests.support.patience import PATIENCE
from uli_fast.service.limits import Limits
from uli_fast.service.openapi import described
from uli_fast.service.routes import ROUTES

schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, Phase, settings  # noqa: E402
from schemathesis.checks import CHECKS  # noqa: E402

CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)
DESCRIPTION = described(ROUTES, guarded=False)


@pytest.fixture(scope="module")
def served():
    """A study with something in it; one for all requests, so that they get in each other's way."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        )
        learner = uli.BettingElimination(0.1)
        study = stack.enter_context(uli.Study.open(Path(folder) / "t.db", learner, ["a", "b"]))
        study.tell_block({"a": (4, 2.0), "b": (4, 1.0)}, "monday")
        made = study.ask_many([f"p{i}" for i in range(20)])
        study.tell_many([(d.id, 1.0) for d in made[:10]])
        # Few decisions: audits stay short. Large bodies: one is refused for what it says.
        running = Served(study, limits=Limits(decisions=50, body=2**26))
        stack.callback(running.close)
        yield running
        assert study.audited(study.events(0, 10**6)).events == study.head.sequence


def fuzz(served, examples, phases):
    schema = schemathesis.openapi.from_dict(DESCRIPTION)
    schema.config.update(base_url=served.url)
    checks = [CHECKS.get_one(name) for name in CHECKED]
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        sent = {"parameters", "requestBody"} & set(operation.definition.raw)
        for mode in schemathesis.GenerationMode:
            if mode.is_negative and not sent:
                continue  # nothing is sent that could be wrong
            strategy = operation.as_strategy(generation_mode=mode)

            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=True,
                phases=phases,
                suppress_health_check=list(HealthCheck),
            )
            @schemathesis_given(strategy)
            def one(case):
                nonlocal tried
                tried += 1
                case.call_and_validate(checks=checks, timeout=PATIENCE)

            one()
    return tried


def schemathesis_given(strategy):
    from hypothesis import given

    return given(case=strategy)


@pytest.mark.filterwarnings("ignore")
def test_requests_made_up_from_the_description_are_answered_as_it_says(served):
    assert fuzz(served, 12, [Phase.generate]) >= 100


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_more_requests_made_up_from_the_description(served):
    assert fuzz(served, 400, [Phase.generate, Phase.shrink]) >= 3000


def test_the_description_is_whole():
    text = json.dumps(DESCRIPTION)
    names = set(DESCRIPTION["components"]["schemas"])
    used = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert used <= names
    for methods in DESCRIPTION["paths"].values():
        for one in methods.values():
            assert one["summary"].endswith(".") and {"429", "500", "503"} <= set(one["responses"])
    assert "securitySchemes" in described(ROUTES, guarded=True)["components"]
