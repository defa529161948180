"""Labels of captured clips as prompts: terse notes such as `walk, veer left` as people would write them."""

import re

_UNTOLD = {"", "unknown", "t pose", "start", "cool", "rushed", "clean", "range of motion"}
"""Labels that say nothing of what is done."""
_VERBS = """adjust balance bend bow box bounce carry cartwheel catch chop climb close crawl crouch curtsey dance dig
direct dive drink dribble drop duck eat flip fly get grab hammer hang hop jog jump kick laugh lay lean lie
lift limp look lower lunge march mop move open pace pick pivot place play point pull punch push put putt raise
reach roll run scramble search shake shoot shrug shuffle sidestep sit skip slide sneak spin squat stand start
step stop strafe stretch stride stroll strut stumble swat sweep swim swing swordplay throw tiptoe toss trip
turn twist unscrew veer wade wait walk wander wash wave yawn""".split()  # noqa: SIM905
_DOUBLED = """chop dig drop flip get grab hop jog mop put run shrug sidestep sit skip spin squat step stop strut swat
swim trip""".split()  # noqa: SIM905
_ACTIONS = """walk run jog jump hop dance sit stand climb kick punch box throw catch swim crawl balance pick carry push
pull sweep wash wave wait turn march skip stretch""".split()  # noqa: SIM905
"""What many labels have in common, whoever does it and however."""
_SWAPPED = {"left": "right", "right": "left", "clockwise": "counterclockwise", "counterclockwise": "clockwise"}


def plain_label(label: str) -> str:
    """A label in lower-case words, without marks of who took part; empty where it says nothing."""
    text = re.sub(r"\((?:\d+ )?subjects?[^)]*\)", "", label)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ").lower()
    text = re.sub(r"[\"'.:]", "", text)
    text = re.sub(r"(?<=[a-z])\d+\b", "", text)  # the number of a take
    text = re.sub(r"\s*(?:;|/| - )\s*", ", ", text)
    text = " ".join(text.split()).strip(" ,")
    return "" if text in _UNTOLD or not re.search(r"[a-z]{3}", text) or text.endswith("amc") else text


def wordings(label: str) -> tuple[str, ...]:
    """The prompts of a label: as it is, told of a person, and told as it goes on; the empty one where it is void."""
    text = plain_label(label)
    if not text:
        return ("",)
    if text.endswith("(human subject)"):
        animal = text.removesuffix("(human subject)").strip()
        return animal, f"a person moves like a {animal}", f"a person is moving like a {animal}"
    parts = text.split(", ")
    told = ", ".join(_third_person(part) for part in parts)
    going_on = ", ".join(_participle(part) for part in parts)
    return text, f"a person {told}", f"a person is {going_on}"


def actions(label: str) -> tuple[str, ...]:
    """The wordings of what is done without how, `walk` of `slow walk, veer left`; none where no action is named."""
    for word in re.findall("[a-z]+", plain_label(label)):
        for verb in _ACTIONS:
            if word in (verb, _third_person(verb), _participle(verb)):
                return wordings(verb)
    return ()


def mirrored(prompt: str) -> str:
    """The prompt of the mirror image: left and right change places."""
    return re.sub(r"[a-z]+", lambda word: _SWAPPED.get(word[0], word[0]), prompt)


def _third_person(part: str) -> str:
    first, _, rest = part.partition(" ")
    if first in _VERBS:
        ending = "es" if re.search(r"(s|x|z|ch|sh)$", first) else "s"
        verb = f"{first[:-1]}ies" if re.search(r"[^aeiou]y$", first) else first + ending
    elif first.endswith("ing"):
        verb = f"is {first}"
    else:
        return _noun(part, "does")
    return f"{verb} {rest}".strip()


def _participle(part: str) -> str:
    first, _, rest = part.partition(" ")
    if first not in _VERBS:
        return part if first.endswith("ing") else _noun(part, "doing")
    if first in _DOUBLED:
        stem = first + first[-1]
    else:
        stem = first[:-1] if re.search(r"[^e]e$", first) else first
    return f"{'ly' if first == 'lie' else stem}ing {rest}".strip()


def _noun(part: str, before: str) -> str:
    """What a person does where no verb comes first; of `slow walk` the last word is one."""
    manner, _, last = part.rpartition(" ")
    if manner and last in _VERBS:
        return f"{_third_person(last) if before == 'does' else _participle(last)} {manner}"
    return f"{before} {part}"
