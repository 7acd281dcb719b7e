"""English words that stand between noun phrases rather than in them.

Closed classes are meant to be whole; verbs and adverbs are the common ones, in the forms that they
take in answers. Knows nothing of context: *will* is a verb here, and *may* is no month.
"""

from __future__ import annotations

__all__ = ["BOUNDARIES", "CONNECTORS", "CUT_OFF", "DETERMINERS", "MONTHS", "PRONOUNS", "VERBAL"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS = _words(
    "a an the this these those my your his her its our their some any no every each either "
    "neither another such both all"
)
"""Words that a noun phrase may begin with, and that are none of their own."""

PRONOUNS = _words(
    "i me myself mine you yours yourself yourselves he him himself she hers herself it itself we us "
    "ours ourselves they them theirs themselves one ones who whom whose which what someone somebody "
    "something anyone anybody anything everyone everybody everything nobody nothing none there here "
    "where when why how whoever whatever"
)

CONNECTORS = _words("of the & de la le del der den di du da van von")
"""Words in lower case that may stand inside a name: *House of Lords*, *Ludwig van Beethoven*."""

CUT_OFF = _words("s t m re ve ll d")
"""What is left of a verb or a possessor after an apostrophe that stands alone: *i ' m*."""

MONTHS = _words(
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sep sept oct nov dec"
)

_PREPOSITIONS = (
    "about above across after against along amid among around as at before behind below beneath "
    "beside besides between beyond by despite down during except for from in inside into like near "
    "of off on onto out outside over past per since than through throughout till to toward towards "
    "under until up upon via with within without"
)
_CONJUNCTIONS = (
    "that and or but nor so yet because although though while whereas if unless whether once however "
    "therefore thus also too either neither not n't"
)
_AUXILIARIES = (
    "am is are was were be been being have has had having do does did doing done can could will "
    "would shall should may might must ought need cannot ca wo ai let 's 're 've 'm 'll 'd"
)
_ADVERBS = (
    "very really quite just only even still already always never ever often sometimes usually "
    "again almost maybe perhaps now then ago away back together soon later later today tomorrow "
    "yesterday well far much more most less least rather pretty especially mostly mainly probably "
    "actually originally recently currently typically generally approximately roughly nearly "
    "yes yeah yep no nope oh wow hi hello hey ok okay sure please thanks thank lol haha"
)
_VERBS = (
    "say says said tell tells told think thinks thought know knows knew known believe believes "
    "believed mean means meant call calls called name names named consider considers considered "
    "make makes made making take takes took taken taking get gets got getting give gives gave given "
    "giving go goes went gone going come comes came coming see sees saw seen seeing look looks "
    "looked looking find finds found finding use uses used using want wants wanted try tries tried "
    "trying ask asks asked seem seems seemed feel feels felt become becomes became leave leaves "
    "left put puts keep keeps kept begin begins began begun start starts started run runs ran show "
    "shows showed shown hear hears heard play plays played playing move moves moved live lives lived "
    "living bring brings brought hold holds held write writes wrote written stand stands stood "
    "lose loses lost pay pays paid meet meets met include includes included including continue "
    "continues set sets learn learns learned change changes changed lead leads led understand "
    "watch watches watched follow follows followed stop stops stopped create creates created "
    "speak speaks spoke spoken read reads allow allows allowed add adds added spend spends spent "
    "grow grows grew grown open opens opened walk walks win wins won offer offers offered remember "
    "love loves loved like likes liked enjoy enjoys enjoyed hate hates hated buy buys bought eat "
    "eats ate eaten serve serves served die dies died send sends sent expect build builds built stay "
    "fall falls fell fallen cut reach reaches reached kill kills killed remain remains remained "
    "agree agrees agreed realize realized suggest raise raises raised pass passes sell sells sold require requires required report "
    "decide pull bear born belong belongs based known located founded formed released published "
    "produced developed introduced considered associated characterized composed consist consists "
    "consisted contain contains contained own owns owned employ employs employed occur occurs "
    "occurred air aired airs star stars starred direct directed establish established invent "
    "invented discover discovered describe describes described define defined refer refers referred "
    "depend depends work works worked worry help helps helped prove proves proved proven"
)

BOUNDARIES = PRONOUNS | _words(
    f"{_PREPOSITIONS} {_CONJUNCTIONS} {_AUXILIARIES} {_ADVERBS} {_VERBS}"
)
"""Words that no noun phrase goes across."""

VERBAL = PRONOUNS | _words(_AUXILIARIES)
"""Words after which a word in *-ed* or *-ing* is a verb."""
