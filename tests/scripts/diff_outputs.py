# SPDX-License-Identifier: BSD-2-Clause
"""What a diff's outputs say, read back: Markdown, JUnit's XML, the page; and the rules that each of them has to keep."""

import html
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

SIGNS = {"+": "regressed", "-": "improved", "~": "unchanged", "?": "inconclusive", "x": "not comparable"}

# ---- Markdown ------------------------------------------------------------------------------------------------------------------------------

RUN = re.compile(r"`+")


def pieces(line):
    """[(is it code, text), …] as CommonMark finds them: code lies between runs of as many backticks. An escaped backtick begins none; code knows no escapes."""
    made, plain_from, at = [], 0, 0
    while at < len(line):
        if line[at] == "\\":
            at += 2
            continue
        run = RUN.match(line, at)
        if not run:
            at += 1
            continue
        end = next((other for other in RUN.finditer(line, run.end()) if len(other[0]) == len(run[0])), None)
        if end:
            made += [(False, line[plain_from:at]), (True, line[run.end():end.start()])]
            plain_from = end.end()
        at = (end or run).end()
    return made + [(False, line[plain_from:])]


def without_code(line):
    return "".join(text for code, text in pieces(line) if not code)


def plain(cell):
    """A cell's text: code, entities and escapes are what they stand for."""
    made = ""
    for code, text in pieces(cell):
        if not code:
            made += re.sub(r"\\([^\w\s])", r"\1", html.unescape(text)).replace("**", "")
        elif text.strip() and text.startswith(" ") and text.endswith(" "):
            made += text[1:-1]
        else:
            made += text
    return made.strip()


def cells(line):
    return [plain(cell) for cell in line.strip().strip("|").split("|")]


def tables(text):
    """[[row, …], …]: of each table its cells, the head first."""
    found, lines = [], text.splitlines()
    for at, line in enumerate(lines):
        if re.fullmatch(r"\|(:?-+:?\|)+", line):
            rows = [cells(lines[at - 1])]
            for row in lines[at + 1:]:
                if not row.startswith("|"):
                    break
                rows.append(cells(row))
            found.append(rows)
    return found


OURS = re.compile(r"</?(?:details|summary)>|<br>")


def markdown_troubles(text):
    """Ways in which a name could have become markup, a link or a mention."""
    for number, line in enumerate(text.splitlines(), 1):
        rest = OURS.sub("", without_code(line))
        for pattern in (r"(?<!\\)<", r"@\w", r"(?<![&\w\\#])#\w", r"://", r"www\.", r"(?<!\\)!\[|(?<!\\)\]\(", r"(?<!\\)`", r"[\x00-\x08\x0b-\x1f\x7f]"):
            if re.search(pattern, rest):
                yield f"line {number}: {pattern}: {rest}"
        if re.match(r" {0,3}(?:>|={3,}|-{3,}\s*$|~{3,}|\d+[.)] )| {4}", rest):
            yield f"line {number}: begins a block: {rest}"
    for rows in tables(text):
        if len({len(row) for row in rows}) != 1:
            yield f"a table's rows differ in their cells: {rows}"
    if text.count("<details>") != text.count("</details>"):
        yield "details that do not end"


# ---- JUnit ---------------------------------------------------------------------------------------------------------------------------------

SCHEMA = {  # as Jenkins and GitLab take it: element → its attributes, those that it must have, its children in their order
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, set(), ["testsuite"]),
    "testsuite": ({"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"}, {"name", "tests"},
                  ["properties", "testcase", "system-out", "system-err"]),
    "properties": (set(), set(), ["property"]),
    "property": ({"name", "value"}, {"name", "value"}, []),
    "testcase": ({"name", "assertions", "time", "classname", "status"}, {"name", "classname"}, ["skipped", "error", "failure", "system-out", "system-err"]),
    "skipped": ({"message"}, set(), []),
    "failure": ({"type", "message"}, set(), []),
    "system-out": (set(), set(), []),
}


def junit_troubles(element):
    allowed, must, order = SCHEMA.get(element.tag, (set(), set(), []))
    if element.tag not in SCHEMA:
        yield f"{element.tag}: no such element"
    if not must <= set(element.attrib) <= allowed:
        yield f"{element.tag}: attributes {sorted(element.attrib)}"
    for name in ("tests", "failures", "errors", "skipped"):
        if name in element.attrib and not element.attrib[name].isdigit():
            yield f"{element.tag}: {name}={element.attrib[name]}"
    if "time" in element.attrib and not re.fullmatch(r"\d+(\.\d+)?", element.attrib["time"]):
        yield f"{element.tag}: time={element.attrib['time']}"
    at = [order.index(child.tag) if child.tag in order else -1 for child in element]
    if -1 in at or at != sorted(at):
        yield f"{element.tag}: children {[child.tag for child in element]}"
    if order and (element.text or "").strip() or any((child.tail or "").strip() for child in element):
        yield f"{element.tag}: text between its children"
    for child in element:
        yield from junit_troubles(child)


def junit_counts_troubles(root):
    suites = root.findall("testsuite")
    for suite in suites:
        cases = suite.findall("testcase")
        for name, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
            if int(suite.get(name)) != sum(case.find(tag) is not None for case in cases):
                yield f"{suite.get('name')}: {name}={suite.get(name)}"
        if int(suite.get("tests")) != len(cases):
            yield f"{suite.get('name')}: tests={suite.get('tests')}, {len(cases)} cases"
        if len({case.get("name") for case in cases}) != len(cases):
            yield f"{suite.get('name')}: two cases of one name"
    for name in ("tests", "failures", "errors"):
        if int(root.get(name)) != sum(int(suite.get(name)) for suite in suites):
            yield f"testsuites: {name}={root.get(name)}"


def junit(data):
    """The parsed root of what keeps all rules."""
    root = ElementTree.fromstring(data)
    assert [*junit_troubles(root), *junit_counts_troubles(root)] == []
    return root


# ---- the page ------------------------------------------------------------------------------------------------------------------------------

VOID = {"meta", "br"}
ATTRIBUTES = {"class", "id", "title", "lang", "charset", "content", "name", "http-equiv", "data-ready", "href", "tabindex", "role", "open", "aria-hidden", "aria-label", "viewbox",
              "preserveaspectratio", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "d", "fill", "patternunits", "pointer-events"}


class Page(HTMLParser):
    """Its elements are closed in their order, have attributes that we write, and point nowhere."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.troubles, self.tables, self.text = [], [], [], []
        self.feed(text)
        self.close()
        if self.open:
            self.troubles.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "div" and ("td" in self.open or "th" in self.open):
            self.tables[-1][-1][-1] += "\n"

    def handle_startendtag(self, tag, attrs):
        for name, value in attrs:
            if name not in ATTRIBUTES or name == "href" and not value.startswith("#") or name == "fill" and not value.startswith("url(#"):
                self.troubles.append(f"<{tag} {name}={value}>")
        if tag in ("script", "img", "iframe", "link", "form", "input", "object", "embed", "base"):
            self.troubles.append(f"<{tag}>")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.troubles.append(f"</{tag}> ends something else")

    def handle_data(self, data):
        self.text.append(data)
        if self.open and ("td" in self.open or "th" in self.open) and not {"title"} & set(self.open):
            self.tables[-1][-1][-1] += data
