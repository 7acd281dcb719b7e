"""No request causes a server error, whether or not it matches the schema; replies match it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation.meta import CoveragePhaseData, CoverageScenario
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from semqa.server.app import create_app
from semqa.server.settings import ServerSettings
from tests.effort import effort
from tests.server.stand_ins import Scripted

FEW = 100
"""Cases are generated as if long lists had no limits.

Else one case has thousands of blocks to each of thousands of messages.
"""


def shortened(schema: Any) -> Any:
    """Return a schema without the limits of its long lists."""
    if isinstance(schema, dict):
        return {
            key: shortened(value)
            for key, value in schema.items()
            if not (key == "maxItems" and isinstance(value, int) and value > FEW)
        }
    if isinstance(schema, list):
        return [shortened(value) for value in schema]
    return schema


# Cases are generated when the test runs: every process that collects tests would make them anew.
schema = schemathesis.pytest.from_fixture("api")
wrong_types: set[tuple[str, str | None, str | None]] = set()


def is_tried(case: schemathesis.Case[Any]) -> bool:
    """Whether a field had another wrong type before: half of all cases are wrong types."""
    how = case.meta.phase.data if case.meta is not None else None
    if getattr(how, "scenario", None) != CoverageScenario.INCORRECT_TYPE:
        return False
    assert isinstance(how, CoveragePhaseData)
    field = (case.operation.label, how.parameter, how.location)
    tried = field in wrong_types
    wrong_types.add(field)
    return tried


@pytest.fixture
def api(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """The schema of a server with real collections and a store, so that hostile requests reach them."""
    if not hasattr(request.node, "_nodeid"):
        request.node._nodeid = request.node.nodeid  # schemathesis 4 reads what pytest 9.2 renamed
    engine = Scripted(["A ", "[ 1 b", "c ] [ 2 d ]"])
    app = create_app(
        ServerSettings(data=tmp_path, engines=(engine.name, "extractive"), create=lambda _: engine)
    )
    described = schemathesis.openapi.from_dict(shortened(app.openapi()))
    described.app = app
    return described


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@schema.parametrize()
@settings(max_examples=effort(3), suppress_health_check=list(HealthCheck))
def test_no_server_error(case: schemathesis.Case[Any]) -> None:
    if is_tried(case):
        return
    case.call_and_validate(
        checks=[
            not_a_server_error,
            content_type_conformance,
            response_schema_conformance,
            status_code_conformance,
        ]
    )
