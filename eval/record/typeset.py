"""Tables of words as Markdown, as LaTeX (booktabs) and as HTML by themselves."""

from collections.abc import Sequence
from textwrap import wrap

from markupsafe import Markup

from eval.record.word_tables import INTERVAL, WordTable

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "<": "$<$", ">": "$>$",
}  # fmt: skip
_WIDE, _WIDE_HEADER = 22, 10
"""Letters of a line of LaTeX's."""


def markdown(one: WordTable) -> str:
    """A pipe table below its caption."""
    return f"{_markdown(one.caption)}\n\n{pipe_table(one.header, bold_words(one, '**{}**'))}\n"


def pipe_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; whatever an entry holds, it stays one."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_markdown(entry) for entry in line) + " |" for line in lines)


def latex(one: WordTable) -> str:
    """A booktabs table, narrowed and shrunk where a line is too narrow; needs the packages booktabs and graphicx."""
    one = one.narrowed
    flush = ["r" if any(INTERVAL.match(row[at]) for row in one.rows) else "l" for at in range(len(one.header))]
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\small",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{latex_words(one.caption)}}}",
        rf"\label{{tab:{one.name}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{''.join(flush)}}}",
        r"\toprule",
        _latex_row(one.header, -1, flush, one),
        r"\midrule",
        "\n\\addlinespace[3pt]\n".join(_latex_row(row, line, flush, one) for line, row in enumerate(one.rows)),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def html(one: WordTable) -> Markup:
    """A plain table that a notebook styles as its own; all text is escaped."""
    head, *body = (_html_row(tag, row) for tag, row in [("th", one.header), *(("td", row) for row in one.rows)])
    return Markup("<table><caption>{}</caption><thead>{}</thead><tbody>{}</tbody></table>").format(
        one.caption, head, Markup("").join(body)
    )


def latex_words(text: str) -> str:
    """Text in which no character is a command."""
    return "".join(_LATEX.get(character, character) for character in text)


def bold_words(one: WordTable, how: str) -> list[list[str]]:
    """The rows, with the best entries set as `how` says."""
    return [
        [how.format(entry) if (line, place) in one.bold else entry for place, entry in enumerate(row)]
        for line, row in enumerate(one.rows)
    ]


def _latex_row(row: Sequence[str], line: int, flush: Sequence[str], one: WordTable) -> str:
    width = _WIDE if line >= 0 else _WIDE_HEADER
    words = [_latex_entry(row[place], (line, place) in one.bold, width, side) for place, side in enumerate(flush)]
    return " & ".join(words) + r" \\"


def _latex_entry(entry: str, bold: bool, width: int, side: str) -> str:
    """A mean stands above its interval, and long words in lines: a page is too narrow for both beside each other."""
    set_bold = r"\textbf{{{}}}".format if bold else "{}".format
    if (found := INTERVAL.match(entry)) is not None:
        mean, interval = map(latex_words, found.groups())
        return rf"\shortstack[r]{{{set_bold(mean)}\\{{\scriptsize {interval}}}}}"
    lines = [latex_words(line) for line in wrap(entry, width, break_long_words=False, break_on_hyphens=False)]
    if len(lines) > 1:
        return rf"\shortstack[{side}]{{" + r"\\".join(map(set_bold, lines)) + "}"
    # braces keep a bracket at a row's start from being read as an option of the line break before it
    return set_bold(f"{{{latex_words(entry)}}}" if entry.startswith("[") else latex_words(entry))


def _html_row(tag: str, row: Sequence[str]) -> Markup:
    entries = Markup("").join(Markup("<{0}>{1}</{0}>").format(Markup(tag), entry) for entry in row)
    return Markup("<tr>{}</tr>").format(entries)


def _markdown(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.split())
