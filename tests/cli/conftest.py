"""Files of studies, as in tests/study."""

from tests.study.conftest import folder, path  # noqa: F401
