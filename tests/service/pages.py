"""Pages as a reader of HTML sees them, not as strings."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img"}


class Seen(HTMLParser):
    """The elements of a page with their attributes, its text, and the text of each element."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self._open, self.texts = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        about = {"tag": tag, "text": "", **dict(attributes)}
        self.elements.append(about)
        if tag not in VOID:
            self._open.append(about)

    def handle_startendtag(self, tag, attributes):
        self.elements.append({"tag": tag, "text": "", **dict(attributes)})

    def handle_endtag(self, tag):
        while self._open and self._open.pop()["tag"] != tag:
            pass

    def handle_data(self, text):
        inside = {about["tag"] for about in self._open}
        if not inside & {"style", "script"}:
            self.texts.append(text)
        for about in self._open:
            about["text"] += text

    @property
    def text(self):
        return " ".join("".join(self.texts).split())

    def all(self, tag, **wanted):
        return [
            x
            for x in self.elements
            if x["tag"] == tag and all(x.get(k.strip("_")) == v for k, v in wanted.items())
        ]

    def id(self, name):
        return next(x for x in self.elements if x.get("id") == name)

    def table(self, name):
        """Return the rows of the table inside an element, as text."""
        rows, inside = [], False
        for x in self.elements:
            inside = inside or x.get("id") == name
            if inside and x["tag"] == "tr":
                rows.append([])
            elif inside and x["tag"] in ("td", "th") and rows:
                rows[-1].append(" ".join(x["text"].split()))
            elif inside and x["tag"] == "section" and x.get("id") != name:
                break
        return rows
