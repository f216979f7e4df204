"""The page that is served: who may see it, what goes with it, and what the blinded do not see."""

import math
import re
from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest

import uli_fast as uli
from tests.service.pages import Seen
from tests.support.patience import PATIENCE
from uli_fast.report.watch import page
from uli_fast.service import page as served_page
from uli_fast.service import sessions
from uli_fast.service.page import ASSETS, POLICY, TRIES
from uli_fast.service.tokens import Tokens, new_token

pytest.importorskip("jinja2")
FORM = "application/x-www-form-urlencoded"
CHANCES = {"control-arm": 0.12, "wide-arm": 0.55, "best-arm": 0.97}
SE = uli.SuccessiveElimination(0.3)


def drive(study, n=360, awaited=3):
    rng = np.random.default_rng(0)
    for i in range(n):
        d = study.ask(f"patient {i}")
        if i >= n - awaited:
            continue
        if i in (7, 31, 64):
            study.tell_missing(d.id, "moved away" if i > 7 else "withdrew")
        else:
            study.tell(d.id, float(rng.random() < CHANCES[d.arm]))
    study.overview()  # its past has been read


def sign_in(served, token, **headers):
    headers = {"content-type": FORM} | headers
    return served.send("POST", "/sign-in", urlencode({"token": token}), **headers)


def cookie(headers):
    return headers["set-cookie"].partition(";")[0]


def test_a_browser_signs_in_with_a_token_and_out_again(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    status, headers, _ = served.send("GET", "/")
    assert status == 303 and headers["location"] == "sign-in"
    status, headers, content = served.send("GET", "/sign-in")
    form = Seen(content.decode()).all("form")[0]
    assert status == 200 and (form["method"], form["action"]) == ("post", "sign-in")
    assert served.send("GET", "/watch")[0] == 401

    status, headers, _ = sign_in(served, made["read"])
    assert status == 303 and headers["location"] == "."
    about = {part.strip() for part in headers["set-cookie"].split(";")[1:]}
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= about and "Secure" not in about
    assert made["read"] not in headers["set-cookie"]
    key = cookie(headers)
    status, _, content = served.send("GET", "/", cookie=key)
    assert status == 200 and "All 3 arms are in play: a, b and c." in Seen(content.decode()).text
    assert served.send("GET", "/watch", cookie=key)[0] == 200

    status, headers, _ = served.send("POST", "/sign-out", "", cookie=key, **{"content-type": FORM})
    assert status == 303 and "Max-Age=0" in headers["set-cookie"]
    assert served.send("GET", "/watch", cookie=key)[0] == 401


def test_wrong_tokens_are_refused_and_not_tried_often(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    statuses = []
    for token in ("", "wrong", made["read"][:-1], f"{made['read']}x", "ü€", "a" * 5000):
        status, headers, _ = sign_in(served, token)
        statuses.append(status)
        assert "set-cookie" not in headers
    assert statuses == [401] * 5 + [413]
    found = [sign_in(served, "wrong")[0] for _ in range(int(2 * TRIES))]
    assert found.count(429) >= TRIES - 1
    status, headers, _ = sign_in(served, made["read"])
    assert (status, headers.get("retry-after")) == (429, "1")


def test_a_token_that_is_taken_out_ends_its_sessions(serve, folder):
    path = folder / "tokens"
    token, other = (new_token(path, name, "read") for name in ("one", "two"))
    tokens = Tokens(path)
    served = serve(tokens=tokens)
    key = cookie(sign_in(served, token)[1])
    assert served.send("GET", "/watch", cookie=key)[0] == 200
    path.write_text("\n".join(path.read_text().splitlines()[1:]) + "\n")
    tokens._next = 0.0  # it looks at the file once a second
    assert served.send("GET", "/watch", cookie=key)[0] == 401
    assert served.send("GET", "/watch", token=other)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1"},  # another port
    ],
    ids=str,
)
def test_forms_from_elsewhere_are_refused(serve, roles, headers):
    tokens, made = roles
    served = serve(tokens=tokens)
    assert sign_in(served, made["read"], **headers)[0] == 403
    key = cookie(sign_in(served, made["read"], origin=served.url)[1])
    about = {"content-type": FORM, "cookie": key}
    assert served.send("POST", "/sign-out", "", **about, **headers)[0] == 403
    assert served.send("GET", "/watch", cookie=key)[0] == 200


def test_the_cookie_is_secure_where_the_way_is(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    headers = sign_in(served, made["read"], **{"x-forwarded-proto": "https"})[1]
    assert "; Secure" in headers["set-cookie"]


def test_cookies_of_others_on_this_machine_are_in_nobodys_way(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    key = cookie(sign_in(served, made["read"])[1])
    for others in ('x={"a": 1}', "x", "=", "a=b=c", "\u00fc=1"):
        assert served.send("GET", "/watch", cookie=f"{others}; {key}; {others}")[0] == 200
    assert served.send("GET", "/watch", cookie=f"x{key}")[0] == 401


def test_sessions_end_with_time_and_are_not_too_many(monkeypatch):
    now = [0.0]
    known = sessions.Sessions(clock=lambda: now[0])
    key = known.begin("token")
    now[0] = sessions.LASTS - 1.0
    assert known.token(key) == "token" and known.token("") is None
    now[0] = sessions.LASTS
    assert known.token(key) is None
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 3)
    keys = [known.begin(f"t{i}") for i in range(4)]
    assert [known.token(k) for k in keys] == [None, "t1", "t2", "t3"]


def test_every_answer_of_the_page_keeps_to_the_strict_policy(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    wanted = (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    assert wanted == POLICY
    for path in ("/", "/watch", "/sign-in", *(f"/static/{name}" for name in ASSETS)):
        for token in (None, made["read"]):
            status, headers, content = served.send("GET", path, token=token)
            assert status in (200, 303, 401)
            assert headers["content-security-policy"] == wanted
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] in ("no-store", "no-cache")
            if headers["content-type"].startswith("text/html"):
                check_no_code(Seen(content.decode()))
    assert served.send("DELETE", "/")[:1] == (405,)
    assert served.send("POST", "/watch", "")[1]["allow"] == "GET"


def check_no_code(seen):
    """Nothing of a page is a style or a script of its own, or comes from elsewhere."""
    for x in seen.elements:
        assert "style" not in x and x["tag"] not in ("style", "iframe", "object", "base")
        assert not any(name.startswith("on") for name in x)
        assert x["tag"] != "script" or (x["src"].startswith("static/") and not x["text"].strip())
        for name in ("href", "src", "action"):
            assert not re.match("[a-z]+:|//", x.get(name) or "") or x[name] == "data:,"


def test_what_has_not_changed_is_not_sent_again(serve, monkeypatch):
    monkeypatch.setattr("uli_fast.service.page.FRESH", 0.0)
    served = serve()
    status, headers, content = served.send("GET", "/watch")
    tag = headers["etag"]
    again = served.send("GET", "/watch", **{"if-none-match": tag})
    assert (status, again[0], again[2]) == (200, 304, b"") and again[1]["etag"] == tag
    served.study.ask("p1")
    status, headers, news = served.send("GET", "/watch", **{"if-none-match": tag})
    assert status == 200 and headers["etag"] != tag and news != content
    status, headers, _ = served.send("GET", "/static/watch.js")
    again = served.send("GET", "/static/watch.js", **{"if-none-match": headers["etag"]})
    assert (status, again[0]) == (200, 304)


def test_it_is_rendered_once_a_second_whoever_looks(serve, monkeypatch):
    rendered, fragment = [], page.fragment

    def counting(o, audited=False):
        rendered.append(o.events)
        return fragment(o, audited)

    monkeypatch.setattr(page, "fragment", counting)
    assert served_page.FRESH == 1.0
    monkeypatch.setattr(served_page, "FRESH", PATIENCE)  # the longest second
    served = serve()
    for _ in range(20):
        assert served.send("GET", "/watch")[0] == 200
    assert len(rendered) == 1
    monkeypatch.setattr(served_page, "FRESH", 0.0)
    other = serve()
    for _ in range(3):
        assert other.send("GET", "/watch")[0] == 200
    assert len(rendered) == 4


def test_without_tokens_no_foreign_name_leads_here(serve):
    served = serve()
    for host in ("127.0.0.1:1", "localhost", "[::1]:8321"):
        for path in ("/", "/v1/head"):
            assert served.send("GET", path, host=host)[0] == 200
    for host in ("evil.example", "evil.example:8321", "127.0.0.1.evil.example", "", "10.0.0.1"):
        for path in ("/", "/v1/head", "/health/live"):
            assert served.send("GET", path, host=host)[0] == 403
        assert served.send("POST", "/v1/ask", {}, host=host)[0] == 403
    assert served.study.head.sequence == 1


def test_with_tokens_any_name_may_lead_here(serve, roles):
    tokens, made = roles
    served = serve(tokens=tokens)
    assert served.send("GET", "/v1/head", token=made["read"], host="trial.example")[0] == 200


def test_a_study_that_cannot_be_reached_says_so_and_no_more(serve, monkeypatch):
    served = serve(arms=("secret-arm", "other"))
    monkeypatch.setattr(uli.Study, "overview", _fails)
    status, headers, content = served.send("GET", "/watch")
    assert status == 503 and b"secret-arm" not in content
    assert headers["content-type"].startswith("text/plain")


def _fails(self, wait=True):
    raise uli.errors.StudyUnavailableError("'secret-arm' is away")


# Blinding.


def numbers(html):
    """Return all numbers of a page but times, places in drawings and versions."""
    drawn = r'<time.*?</time>| (?:d|[xy][12]?|c[xy]|d[xy]|r|height)="[^"]*"|<dl class="facts">.*'
    text = re.sub(rf"{drawn}|\d\d:\d\d(:\d\d)?", "", html, flags=re.S)
    return {float(x.replace(",", "")) for x in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", text)}


def secrets_of(audit):
    """Return every number of an arm that is not one of all arms together, and what betrays one."""
    said = set()
    for line in audit.arms:
        values = (line.rewards, line.missing, line.pending, line.plays, line.mean, line.low)
        said |= {float(x) for x in (*values, line.high) if x is not None}
        said |= {float(f"{x:.4g}") for x in (line.mean, line.low, line.high) if x is not None}
    for drop in audit.drops:
        said |= {float(drop.sequence), float(drop.decision)}
    said |= {float(m.bound) for m in audit.overview.moments if m.bound is not None}
    return {x for x in said if (x > 9 and math.isfinite(x)) or x != int(x)}


def test_those_who_see_counts_see_nothing_by_arm(serve, roles):
    tokens, made = roles
    served = serve(SE, tuple(CHANCES), tokens=tokens)
    drive(served.study)
    served.study.tell_missing(358, "lost")
    headers = sign_in(served, made["counts"])[1]
    pages = [served.send("GET", path, cookie=cookie(headers)) for path in ("/", "/watch")]
    totals = served.send("GET", "/v1/totals", token=made["counts"])
    served.study.close()
    audit = uli.Study.audit(served.study.path)
    assert len(audit.drops) == 2
    secret = secrets_of(audit) - {float(audit.events)}
    common = {360.0, 354.0, 4.0, 2.0, 3.0}  # of all arms together
    for status, _, content in pages:
        assert status == 200
        html = content.decode()
        seen = Seen(html)
        for name in CHANCES:
            assert name not in html
        assert audit.head not in html and "patient" not in html
        for word in ("certif", "interval", "dropped", "in play", "recommend", "mean"):
            body = seen.text.replace(seen.id("blinded")["text"].strip(), "")
            why = " ".join(seen.id("blinded")["text"].split())
            assert word not in body.replace(why, "").lower(), word
        # Words, tables behind the figures, labels of axes: no number that only an arm has.
        known = {float(m.settled + more) for m in audit.overview.moments for more in (0, m.awaited)}
        known |= {float(m.sequence) for m in audit.overview.moments}
        assert not numbers(html) & (secret - known - common)
        assert "360 decisions so far." in seen.text
        assert "2 \u00d7 moved away" in seen.text and "1 \u00d7 withdrew" in seen.text
        assert "Arms that do worse are played less" in seen.text
    assert totals[2] == {
        "decisions": 360,
        "reward": 354,
        "missing": 4,
        "pending": 2,
        "oldest": audit.pending[0].asked,
    }
    for path in ("counts", "intervals", "certificate", "active", "recommend", "history", "head"):
        assert served.send("GET", f"/v1/{path}", token=made["counts"])[0] == 403, path
    for path in ("pending", "blocks", "audit", "study", "allocation"):
        assert served.send("GET", f"/v1/{path}", token=made["counts"])[0] == 403, path


def test_what_the_blinded_see_does_not_depend_on_any_arm(folder):
    """The same page comes out whatever the arms are called, got, and led to."""
    path = folder / "study.db"
    with uli.Study.open(path, SE, list(CHANCES)) as study:
        drive(study)
        o = study.overview()
    nobody = np.zeros((0, 3))
    other = replace(
        o,
        head="f" * 64,
        arms=o.arms[:1],
        drops=(),
        reasons=tuple(("another", why, n) for _, why, n in o.reasons),
        awaited=tuple(x._replace(arm="another", request_id="x") for x in o.awaited),
        certificate="something else",
        recommended="another",
        assumes=("another",),
        widens=not o.widens,
        moments=tuple(
            m._replace(bound=0.5, counts=nobody, means=nobody, intervals=nobody, active=nobody)
            for m in o.moments
        ),
    )
    assert page.blinded_fragment(other) == page.blinded_fragment(o)
    # The same check notices a page that is not blinded.
    assert page.fragment(replace(o, head="f" * 64)) != page.fragment(o)


def test_the_blinded_do_not_see_how_many_plays_a_block_has(serve, roles, monkeypatch):
    """An allocation is so many plays times the arms in play."""
    monkeypatch.setattr("uli_fast.service.page.FRESH", 0.0)
    tokens, made = roles
    served = serve(uli.BettingElimination(0.1), ("a", "b"), tokens=tokens)
    served.study.tell_block({"a": (7001, 6900.0, 13), "b": (7001, 17.0, 13)}, "block 1")
    served.study.ask()
    html = served.send("GET", "/watch", token=made["counts"])[2].decode()
    assert not numbers(html) & {7001.0, 14002.0, 6988.0, 13976.0, 13.0, 26.0, 14003.0}
    assert "blocks of sums are left out" in html
    assert served.send("GET", "/v1/totals", token=made["counts"])[2]["decisions"] == 1
    full = served.send("GET", "/watch", token=made["read"])[2].decode()
    assert "13,976 rewards" in full


def test_readers_see_everything_by_arm(serve, roles):
    tokens, made = roles
    served = serve(SE, tuple(CHANCES), tokens=tokens)
    drive(served.study)
    html = served.send("GET", "/watch", token=made["read"])[2].decode()
    served.study.close()
    audit = uli.Study.audit(served.study.path)
    rows = Seen(html).table("arms")[1:]
    for row, line in zip(rows, audit.arms, strict=True):
        name, active, *counts, mean, _ = row
        assert (name, active) == (line.arm, "yes" if line.active else "no")
        assert list(map(int, counts)) == [line.rewards, line.missing, line.pending]
        assert mean == f"{line.mean:.4g}"
    assert audit.head in html
