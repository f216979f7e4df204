"""``uli verify``: a table, an exit code, and refusals before anything runs."""

import pytest
from click.testing import CliRunner

from tests.verify.test_verify import fake
from uli_fast.cli import main


def test_the_command_prints_a_table_and_succeeds():
    done = CliRunner().invoke(main, ["verify", "--quick", "--only", "PE_MAB_FULI"])
    assert done.exit_code == 0, done.output
    assert "PE_MAB_FULI" in done.output and "1 hold, 0 fail" in done.output


def test_the_command_fails_with_a_row(monkeypatch):
    monkeypatch.setattr("uli_fast.verify.checks", lambda only: [fake(), fake(False)])
    done = CliRunner().invoke(main, ["verify"])
    assert done.exit_code == 1
    assert "1 hold, 1 fail" in done.output


def test_the_command_refuses_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("uli_fast.verify.verify", lambda *args: pytest.fail("nothing may run"))
    page = tmp_path / "page.md"
    page.write_text("no markers")
    for wrong, said in (
        (["--only", "nonsense"], "only"),
        (["--write", str(page)], "begin"),
        (["--write", str(tmp_path / "none.md")], "cannot be read"),
        (["--write", str(page), "--only", "SC"], "--only"),
    ):
        done = CliRunner().invoke(main, ["verify", *wrong])
        assert done.exit_code != 0 and said in done.output, done.output
