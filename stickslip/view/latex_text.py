"""Convert arbitrary text to LaTeX that prints it literally."""

import unicodedata

from stickslip.view.text import line

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}",
    "-": r"{-}", "'": r"\textquotesingle{}",
}  # fmt: skip
"""Special characters of LaTeX; hyphens and quotes are protected from becoming dashes and ligatures."""
SYMBOLS = {
    "–": "--", "—": "---", "…": r"\ldots{}", "’": "'", "‘": "`", "“": "``", "”": "''", "°": r"$^\circ$",
    "·": r"$\cdot$", "×": r"$\times$", "±": r"$\pm$", "−": "$-$", "µ": r"$\mu$", "½": r"$\frac12$",
    "→": r"$\rightarrow$", "←": r"$\leftarrow$", "≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$",
    "≈": r"$\approx$", "∞": r"$\infty$", "∂": r"$\partial$", "√": r"$\surd$", "⟂": r"$\perp$",
    "⊥": r"$\perp$", "∈": r"$\in$", "∑": r"$\Sigma$", "∫": r"$\int$", "∇": r"$\nabla$", "‖": r"$\|$",
    "⁻": "$^{-}$", "₋": "$_{-}$", "⁺": "$^{+}$",
}  # fmt: skip
"""LaTeX of characters that text fonts do not contain."""
ACCENTS = {"\u0307": r"\dot", "\u0308": r"\ddot", "\u0302": r"\hat", "\u0304": r"\bar", "\u0303": r"\tilde"}
"""Mathematical accents by combining character."""
LATIN = 0x180
"""Letters below this code point are in fonts of LaTeX's encoding T1."""


def latex_text(text: str) -> str:
    """Convert `text` to one line of LaTeX; characters without a font are written as their code points."""
    out: list[str] = []
    for character in unicodedata.normalize("NFC", line(text)):
        accent = ACCENTS.get(character)
        if accent is not None and out:
            out[-1] = f"${accent}{{{out[-1].strip('$')}}}$"
        else:
            out.append(_shown(character))
    return "".join(out)


def _shown(character: str) -> str:
    """LaTeX of one character."""
    known = SPECIAL.get(character) or SYMBOLS.get(character)
    if known is not None:
        return known
    if ord(character) < 0x80 or (ord(character) < LATIN and character.isalpha()):
        return character
    name, _, parts = unicodedata.decomposition(character).partition(" ")
    if name in ("<super>", "<sub>") and parts:
        mark = "^" if name == "<super>" else "_"
        return f"${mark}{{{latex_text(chr(int(parts, 16)))}}}$"
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and len(words) == 4 and words[2] == "LETTER":
        letter = words[3].lower()
        return f"$\\{letter.capitalize() if words[1] == 'CAPITAL' else letter}$"
    if parts and (accent := ACCENTS.get(chr(int(parts.split()[0], 16)))):  # such as x with a dot
        return f"${accent}{{{chr(int(name, 16))}}}$"
    return f"U+{ord(character):04X}"
