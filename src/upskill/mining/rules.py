"""Sentences of people: which of them correct, forbid or remind, what they say no to, and which say the opposite."""

import re

from upskill.mining.terms import LONGEST, stem, text_terms

CORRECTS = re.compile(
    r"""(?ix)
      ^\W*(?:no|nope|nah|wrong|actually|instead|careful|again|still
        |not\ (?:in|into|on|like|with|that|this|there|here|the|by|as|what|how|an?)|stop\ \w+ing)\b
    | \b(?:that|this|it)(?:'s|\ is|\ was)\ (?:not|wrong|the\ wrong|incorrect|a\ mistake)\b
    | \bwrong\ (?:file|place|folder|directory|command|tool|branch|way|one|order|format|name|version)\b
    | \b(?:i|we)(?:'ve)?\ (?:said|meant|asked|told\ you|already|never|always|don'?t|do\ not|only)\b
    | \byou\ (?:forgot|missed|broke|removed|changed|skipped|should|shouldn'?t|must|mustn'?t|didn'?t|did\ not|keep|still
        |\w+ed|used|wrote|put|edited|touched|ran|opened|committed|pushed|cannot|can'?t|need|have\ to)\b
    | \bwhy\ (?:(?:did|do|are)\ (?:you|we)|not)\b | ^\W*(?:please\ )?(?:undo|revert|roll\ ?back)\b
    | \bnot\ what\ i\b | \bnot\ like\ (?:this|that)\b
    """
)
"""A turn that says that something was done in a wrong way."""
RULES = re.compile(
    r"""(?ix)(?:^|[,;:.(]\ *|\b(?:please|you|we|and|but|must|should|to|is|are|it)\ )(?:never|always)\b
    | \b(?:must(?:n'?t)?|make\ sure|ensure|remember|be\ sure|instead|rather\ than|not\ allowed|forbidden
        |belongs?\ (?:in|into|below|under|on)
        |has\ to|needs?\ to\ be|goes\ in(?:to)?|our\ (?:convention|rule|style|standard|policy|\w+\ guide)|convention
        |by\ default|stick\ (?:to|with)|keep\ in\ mind|note\ that|reminder|as\ usual|supposed\ to
        |every\ time|each\ time|by\ hand|whenever|as\ always|when\ you\ are\ done|when\ done|at\ the\ end
        |before\ you\ (?:finish|start|commit|push|begin)|(?:finish|close|end|begin)\ with|otherwise
        |from\ now\ on|in\ this\ (?:repo|repository|project|codebase))\b
    | (?<!\bi\ )\b(?:don'?t|do\ not|have\ to|need\ to|prefer|avoid)\b
    | \bshould(?:n'?t)?\ (?:not\ )?(?:be|go|use|have|live|come|stay|only|always|never|end|start|contain|look|match)\b
    | \bwe\ (?:use|keep|write|call|name|put|store|want|have|run|do|only)\b | \bno\ \w+\ (?:in|on|at|for)\b
    | \bwe\ \w+\ here\b
    """
)
"""Words that make a sentence a rule: it says how a thing is done, and not which."""
FURTHER = re.compile(
    r"(?i)^\W*(?:(?:now|then|next|also|and|great|good|perfect|thanks?|ok(?:ay)?|nice|can|could|please|let'?s|you|we"
    r"|lastly|finally|after that)\W+){0,4}(?:add|write|create|implement|fix|explain|show|tell|commit"
    r"|push|open|refactor|update|document|summari[sz]e|review|look at|check|continue|proceed|move on|merge|release)\b"
)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+(?:\s*[-*•]\s*)?|\s+[—–]\s+")


def rules_in(text: str) -> str:
    """The sentences of a turn that correct, forbid or remind; all of it where it begins like that."""
    text = text[:2_000]
    sentences = SENTENCE.split(text)
    if CORRECTS.match(text) or CORRECTS.search(sentences[0]):
        return text
    if not any(CORRECTS.search(each) or (RULES.search(each) and not FURTHER.match(each)) for each in sentences):
        return ""
    return " ".join(each for each in sentences if not FURTHER.match(each) and each[-1:] != "?")


_OPPOSITES = """
single double, tab space, short long, upper lower, before after, first last, add remove, enable disable, public private
plural singular, sync async, merge rebase, squash merge, camel snake, british american, british us, formal informal
english german, light dark, ascending descending, inline separate, relative absolute, yes no, with without, keep delete
"""
OPPOSITES = tuple(
    (stem(first), stem(second)) for first, second in (pair.split() for pair in re.split(r"[,\n]", _OPPOSITES.strip()))
)
"""Words of which a rule has one and the opposite rule the other."""
_NEGATION = re.compile(
    r"(?i)\b(?:(?:not|never|don'?t|do not)(?! forget)|doesn'?t|didn'?t|no|stop|without|avoid|isn'?t|aren'?t"
    r"|shouldn'?t|mustn'?t|can'?t|cannot|won'?t|instead of|rather than|forget about|drop|remove|skip|quit|nicht"
    r"|kein\w*|pas|jamais|no longer|revert|undo|you(?= \w+ed\b)|you (?:put|wrote|used|made|did|ran)|why did you)\b"
)
_NEEDED = re.compile(
    r"(?i)\b(?:not|never|no|nothing|nobody|can'?t|cannot|won'?t|don'?t|refuse|reject|bounce|fail|break|complain)"
    r"\w*\b[^.;:!?\n]*$"
)
"""Before `without`: what is missing then is asked for."""
_CLAUSE = re.compile(r"[.;:!?](?=\s|$)|[\n,—–]|\b(?:but|and|use|do|then|just|only|please|always|because|since)\b|\s-\s")


def refused_terms(text: str) -> set[str]:
    """The terms that a text says no to: those that follow a negation within its clause."""
    text = text[:LONGEST]
    found: set[str] = set()
    for match in _NEGATION.finditer(text):
        if match.group().lower() == "without" and _NEEDED.search(text[: match.start()]):
            continue
        rest = text[match.end() : match.end() + 120]
        # The verb that is negated belongs to the clause: `don't use`.
        end = _CLAUSE.search(rest, 5)
        found.update(text_terms(rest[: end.start()] if end else rest))
    return found
