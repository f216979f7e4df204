// Looks for news of the study and puts it in place: what is open stays open, what is read stays
// where it is. Nothing is asked for while nobody looks.
"use strict";
(() => {
  const EVERY = 3000, SLOWEST = 30000; // milliseconds between looks; while nobody answers
  const watch = document.getElementById("watch");
  const state = document.getElementById("state"), news = document.getElementById("news");
  let tag = "", timer = 0, pause = EVERY, away = null, looking = false;

  const clock = (date) => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

  function say(text, lost) {
    state.classList.toggle("away", lost);
    if (news.textContent !== text) news.textContent = text;
  }

  // How long ago something was, in the largest unit that there are two of.
  function ago(seconds) {
    const units = [[31557600, "year"], [86400, "day"], [3600, "hour"], [60, "minute"]];
    const [size, unit] = units.find(([size]) => seconds >= 2 * size) || [1, ""];
    return unit ? `${Math.floor(seconds / size)} ${unit}s ago` : "just now";
  }

  function tellTimes() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time")) {
      const then = Date.parse(time.dateTime);
      if (Number.isNaN(then)) continue;
      let note = time.nextElementSibling;
      if (!note || !note.classList.contains("ago")) {
        note = document.createElement("span");
        note.className = "ago";
        time.after(note);
      }
      note.textContent = ` (${ago(Math.max(0, now - then) / 1000)})`;
    }
  }

  function reading() { // nobody likes to lose what they have just marked
    const selection = window.getSelection();
    return selection && !selection.isCollapsed && watch.contains(selection.anchorNode);
  }

  function put(html) {
    const open = [...watch.querySelectorAll("details[open]")].map((x) => x.id);
    const scrolled = [...watch.querySelectorAll(".scroll")].map((x) => [x.getAttribute("aria-label"), x.scrollLeft]);
    const focus = document.activeElement && watch.contains(document.activeElement)
      ? document.activeElement.closest("details, .scroll") : null;
    const [x, y] = [window.scrollX, window.scrollY];
    const fresh = new DOMParser().parseFromString(html, "text/html");
    watch.replaceChildren(...fresh.body.childNodes);
    for (const id of open) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
    const regions = [...watch.querySelectorAll(".scroll")];
    for (const [name, left] of scrolled) {
      const region = regions.find((one) => one.getAttribute("aria-label") === name);
      if (region) region.scrollLeft = left;
    }
    if (focus) {
      const again = focus.id ? document.getElementById(focus.id)
        : regions.find((one) => one.getAttribute("aria-label") === focus.getAttribute("aria-label"));
      const target = again && (again.querySelector("summary") || again);
      if (target) target.focus({ preventScroll: true });
    }
    window.scrollTo(x, y);
    tellTimes();
  }

  async function look() {
    timer = 0;
    if (document.hidden || looking) return;
    looking = true;
    try {
      const headers = tag ? { "If-None-Match": tag } : {};
      const answer = await fetch("watch", { headers, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(20000) });
      if (answer.status === 401) { // signed out meanwhile
        window.location.reload();
        return;
      }
      if (answer.status === 200) {
        const html = await answer.text();
        if (reading()) {
          tag = ""; // the next look has it again
        } else {
          tag = answer.headers.get("ETag") || "";
          put(html);
        }
      } else if (answer.status !== 304) {
        throw new Error(String(answer.status));
      }
      away = null;
      pause = EVERY;
      say(`live, looked at ${clock(new Date())}`, false);
    } catch {
      away = away || new Date();
      pause = Math.min(2 * pause, SLOWEST);
      say(`not reachable since ${clock(away)}; trying again`, true);
    } finally {
      looking = false;
    }
    plan(pause);
  }

  function plan(milliseconds) {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(look, milliseconds);
  }

  document.addEventListener("visibilitychange", () => plan(0));
  window.addEventListener("online", () => plan(0));
  setInterval(tellTimes, 30000);
  tellTimes();
  plan(0);
})();
