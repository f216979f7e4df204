"""``uli study``: what it shows, that it changes nothing, and that damage is an exit code."""

import hashlib
import math
import re

import numpy as np
import pytest
from click.testing import CliRunner

import uli_fast as uli
from tests.study.live import LEARNERS, asked, outcome
from uli_fast.cli import main
from uli_fast.errors import ArgumentError, ReportError, StudyError
from uli_fast.report.live import write_audit

NASTY = "\x1b[31mred\x1b[0m\u202e<script>alert(1)</script>"


def uli_study(*words):
    return CliRunner().invoke(main, ["study", *map(str, words)])


def driven(path, arms=("drug", "placebo", NASTY), rounds=400):
    rng = np.random.default_rng(0)
    with uli.Study.open(path, uli.SuccessiveElimination(0.3), list(arms)) as study:
        for i in range(rounds):
            d = study.ask(f"patient {i} {NASTY if i == rounds - 1 else ''}")
            if i == rounds - 1:
                continue
            if i % 37 == 5:
                study.tell_missing(d.id, f"moved {NASTY}")
            else:
                study.tell(d.id, float(rng.random() < {arms[0]: 0.95}.get(d.arm, 0.1)))
        return study.history(), study.active, study.certificate()


def prints(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).digest() for p in folder.iterdir()}


@pytest.fixture
def full(path):
    return driven(path)


def test_show_and_audit_tell_what_there_is_and_change_nothing(full, path, folder):
    before = prints(folder)
    history, active, certificate = full
    shown = uli_study("show", path)
    audited = uli_study("audit", path)
    assert shown.exit_code == audited.exit_code == 0, audited.output
    assert prints(folder) == before
    for text in (shown.output, audited.output):
        assert "\x1b" not in text and "\u202e" not in text
        assert "400 decisions" in text and "1 pending" in text and "SuccessiveElimination" in text
        assert f"{certificate.bound:.6g}" in text
    missing = sum(r.status == "missing" for r in history)
    assert f"missing {missing} times: " in audited.output
    assert "none altered" in audited.output and "all 400 come out the same" in audited.output
    assert active == ("drug",) and "dropped placebo" in audited.output
    rows = [line.split() for line in shown.output.splitlines()]
    drug = next(row for row in rows if row[:2] == ["drug", "yes"])
    assert int(drug[2]) == sum(r.arm == "drug" and r.status == "reward" for r in history)


def test_damage_is_an_exit_code(full, path, folder):
    raw = bytearray(path.read_bytes())
    at = raw.index(b'{"reward":1.0}')
    raw[at + 10 : at + 13] = b"0.0"
    path.write_bytes(raw)
    for command in ("show", "audit"):
        done = uli_study(command, path)
        assert done.exit_code == 1 and "is not what was recorded" in done.output
    path.write_bytes(b"x" * 10_000)
    assert uli_study("audit", path).exit_code == 1
    path.write_bytes(b"")
    assert uli_study("audit", path).exit_code == 1
    assert uli_study("audit", folder / "none").exit_code == 1


def test_the_page_is_text_and_needs_nothing_else(full, path, folder, tmp_path):
    pytest.importorskip("jinja2")
    done = uli_study("audit", path, "--html", tmp_path / "audit.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "<script" not in page and "\x1b" not in page and "\u202e" not in page
    assert "The journal holds" in page and "dropped <bdi>placebo</bdi>" in page
    assert not re.search(r"(src|href)=[\"']?http", page)
    with pytest.raises(ReportError):
        write_audit(uli.Study.audit(path), path / "x" / "page.html")


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_can_be_shown(name, path, tmp_path):
    learner, start = LEARNERS[name]
    rng = np.random.default_rng(0)
    with uli.Study.open(path, learner, **start) as study:
        for _ in range(40):
            d = asked(study)
            study.tell(d.id, *outcome(d, rng))
        asked(study)
    found = uli.Study.audit(path)
    assert found.statuses == {"reward": 40, "pending": 1}
    write_audit(found, tmp_path / "page.html")
    for command in ("show", "audit"):
        done = uli_study(command, path)
        assert done.exit_code == 0 and type(learner).__name__ in done.output, done.output


def test_audits_of_nothing(path):
    with pytest.raises(StudyError):
        uli.Study.audit(path)


def test_nothing_is_written_over_the_study(full, path, folder, monkeypatch):
    monkeypatch.chdir(folder)
    link, other_name = folder / "link.html", folder / "hard.csv"
    link.symlink_to(path)
    before = prints(folder)
    for target in (path, f"{path}-wal", path.name, link):
        done = uli_study("audit", path, "--html", target)
        assert done.exit_code == 1 and "own file" in done.output, done.output
    audit = uli.Study.audit(path)
    other_name.hardlink_to(path)  # a study with two names is not opened: not before it was
    before |= {other_name.name: before[path.name]}
    for target in (path, f"{path}-wal", path.name, link, other_name):
        with pytest.raises(ArgumentError, match="own file"):
            write_audit(audit, target)
    assert prints(folder) == before
    other_name.unlink()
    named = folder / "study.csv"
    path.rename(named)
    with uli.Study.open(named) as study:
        other_name.hardlink_to(named)
        for export in (study.export, study.history().export, study.pending().export):
            for target in (named, "study.csv", f"{folder}/../{folder.name}/study.csv", other_name):
                with pytest.raises(ArgumentError, match="own file"):
                    export(target)
        study.ask("one more")


def page_of(path, tmp_path):
    write_audit(uli.Study.audit(path), tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_is_said_without_a_range_names_what_it_believes(path, tmp_path):
    escape = pytest.importorskip("markupsafe").escape
    start = {"arms": 2, "low": -math.inf, "high": math.inf}
    with uli.Study.open(path, uli.SuccessiveElimination(0.1, R=0.5), **start) as study:
        for x in (0.5, 7.0, -3.0):
            study.tell(study.ask().id, x)
        said = study.certificate().assumes
        assert len(said) == 2 and "R-subgaussian around its mean with R = 0.5" in said[1]
        study.ask()
    for command in ("show", "audit"):
        text = uli_study(command, path).output
        assert "no arm is better, if all that is assumed holds" in text
        assert all(f"assumed: {sentence}\n" in text for sentence in said)
        assert "learned from 3 plays" in text and "missing outcomes" not in text
    page = page_of(path, tmp_path)
    assert all(f"<li>{escape(sentence)!s}</li>" in page for sentence in said)
    assert "outcomes lie in" not in page and "whatever made them" not in page
    assert "are left out" in page
    with uli.Study.open(path) as study:
        study.tell_missing(4, "x")
    page = page_of(path, tmp_path)
    assert "-\u221e to \u221e" in page and ">\u221e to" not in page
    assert "Nothing is certified: 1 outcomes are missing" in page


def test_what_is_said_with_a_range_counts_what_was_learned_from(path, tmp_path):
    pytest.importorskip("jinja2")
    with uli.Study.open(path, uli.SuccessiveElimination(0.1), 2) as study:
        study.tell(study.ask().id, 0.5)
        assert study.certificate().assumes[1:] == ("outcomes lie in [0, 1]",)
        assert "learned from 1 play" in uli_audit_certificate(study)
        study.tell_missing(study.ask().id, "x")
        assert "2 plays, missing outcomes (1) taken at their worst" in uli_audit_certificate(study)
    page = page_of(path, tmp_path)
    assert "<li>outcomes lie in [0, 1]</li>" in page and "whatever made them" in page
    assert "what is assumed of outcomes holds for missing ones too" in page


def uli_audit_certificate(study):
    from uli_fast.study.sentences import certificate_words

    return certificate_words(study._replay.player)


def test_linear_certificates_name_the_slope(path):
    learner, vectors = uli.LinearElimination(0.1, R=0.2, theta_norm=2.0), np.eye(2)
    player = learner.start(vectors, low=-math.inf, high=math.inf)
    assert player.certificate().assumes[2].endswith("<a, theta>, with a theta of norm at most 2")
    player = uli.SpannerElimination(0.1, R=1.0).start(vectors, low=-math.inf, high=math.inf)
    assert player.certificate().assumes[2].endswith("<a, theta>, with a theta of norm at most 1")
