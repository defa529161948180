"""Tables of words as Markdown, as LaTeX (booktabs) and as HTML by themselves."""

from collections.abc import Sequence

from markupsafe import Markup

from eval.record.word_tables import WordTable

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "<": "$<$", ">": "$>$",
}  # fmt: skip


def markdown(one: WordTable) -> str:
    """A pipe table below its caption."""
    return f"{_markdown(one.caption)}\n\n{pipe_table(one.header, bold_words(one, '**{}**'))}\n"


def pipe_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; whatever an entry holds, it stays one."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_markdown(entry) for entry in line) + " |" for line in lines)


def latex(one: WordTable) -> str:
    """A booktabs table; needs `\\usepackage{booktabs}`."""
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_words(one.caption)}}}",
        rf"\label{{tab:{one.name}}}",
        rf"\begin{{tabular}}{{{'l' * (len(one.header) - 1)}r}}",
        r"\toprule",
        _latex_row(one.header, -1, one),
        r"\midrule",
        *(_latex_row(row, line, one) for line, row in enumerate(one.rows)),
        r"\bottomrule",
        r"\end{tabular}",
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


def _latex_row(row: Sequence[str], line: int, one: WordTable) -> str:
    # braces keep a bracket at a row's start from being read as an option of the line break before it
    words = [f"{{{latex_words(entry)}}}" if entry.startswith("[") else latex_words(entry) for entry in row]
    words = [rf"\textbf{{{entry}}}" if (line, place) in one.bold else entry for place, entry in enumerate(words)]
    return " & ".join(words) + r" \\"


def _html_row(tag: str, row: Sequence[str]) -> Markup:
    entries = Markup("").join(Markup("<{0}>{1}</{0}>").format(Markup(tag), entry) for entry in row)
    return Markup("<tr>{}</tr>").format(entries)


def _markdown(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.split())
