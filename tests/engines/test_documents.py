"""Answers from documents: units that a person would quote, plus the context they need."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.bench.docqa import QuestionSet, answer_questions, whole_documents
from semqa.documents.structure import read_structure
from semqa.engines import Request
from semqa.engines.extractive import ExtractiveEngine
from semqa.engines.extractive.asked import missing_names, named_documents
from semqa.engines.extractive.direct import contrary, direct_rows
from semqa.engines.extractive.documents import are_documents, read, write
from semqa.engines.extractive.judging import Trees, judge, load_models
from semqa.engines.extractive.matching import match, read_units
from semqa.engines.extractive.tables import bands, column_rows
from semqa.engines.outcome import nearest
from semqa.history import Exchange
from semqa.metrics.docqa import DocsReport
from semqa.quotes import QuotedAnswer, Source, Verdict
from semqa.quotes.render.common import has_tick
from semqa.retrieval.encoder import PACKAGED_ENCODER, TUNED_ENCODER, SentenceEncoder

HELD = Path(__file__).parents[1] / "data" / "docs" / "held"

CONTRACT = """\
# Hire of the hall

## 1. Price

1.1 The hall costs £45 an hour.

1.2 The kitchen costs £20 a day. It must be left clean.

## 2. Ending it

2.1 You may cancel free of charge up to 60 days before the event. After that we keep the deposit.

2.2 We may cancel the hire at once if:

- the hall is damaged
- the deposit is not paid
- you misled us about the event

## 3. Times

| Day | Open |
| --- | --- |
| Monday | 08:00 to 22:00 |
| Sunday | 10:00 to 18:00 |

## 4. Animals

Dogs are welcome in the hall. However, they must stay out of the kitchen.
"""


@cache
def engine(encoder: str = "none") -> ExtractiveEngine:
    return ExtractiveEngine(encoder=encoder)


def attempt(question: str, *texts: str, encoder: str = "none") -> QuotedAnswer:
    answer = engine(encoder).attempt(question, [Source(text) for text in texts])
    assert answer is not None
    return answer


def quotes(question: str, *texts: str, encoder: str = "none") -> list[str]:
    answer = attempt(question, *texts, encoder=encoder)
    assert answer.verified
    return [quote.text for quote in answer.quotes]


def test_a_list_is_quoted_whole_and_with_its_lead_in() -> None:
    found = quotes("When may you cancel the hire at once?", CONTRACT)
    assert "2.2 We may cancel the hire at once if:" in found
    assert {"the hall is damaged", "the deposit is not paid"} <= set(found)


def test_a_question_for_all_gets_the_whole_list() -> None:
    text = (
        "## Use\n\nThe hirer shall not:\n\n- carry passengers for payment\n- tow a trailer\n"
        "- leave Great Britain\n- smoke in the van\n\n## Rent\n\nThe van costs £50 a day."
    )
    assert len(quotes("What am I not allowed to smoke in the van?", text)) == 5
    assert len(quotes("Is it forbidden to smoke in the van?", text)) < 5


def test_a_list_within_an_item_is_quoted_whole_without_the_outer_one() -> None:
    text = (
        "## Cleaning\n\nDo this:\n\n- sweep the floor\n- mix the cleaner for:\n"
        "  - parvo 20 ml a litre\n  - cough 10 ml a litre\n- rinse it\n- dry it\n- sign the sheet\n"
    )
    found = quotes("Is the cleaner for parvo 20 ml?", text)
    assert {"mix the cleaner for:", "parvo 20 ml a litre", "cough 10 ml a litre"} <= set(found)
    assert "sign the sheet" not in found


STAFF = """\
STAFF OF THE CLINIC

Anna Weiss, surgeon
Room 12
Phone: 0161 20
E-mail: aw@clinic.example

Ben Adler, nurse
Room 3
Phone: 0161 31
E-mail: ba@clinic.example
"""
COVER_TEXT = (
    "## Insured\n\n- Fire and storm\n\n## What is not insured\n\n- Theft of jewellery\n- Wear"
)
CHANGES = (
    "# Changes\n\n## 4.1.0 (2025-03-11)\n\n- The port is 8470.\n\n## 4.0.0\n\n- A new licence."
)
HOOKS = "| Hook | Price | From |\n|---|---|---|\n| Steel | £2 | 1 |\n|  | £1 | 100 |\n| Brass | £5 | 1 |"
OPENING = "| | Central | Riverside |\n|---|---|---|\n| Monday | closed | 10-18 |\n"
POST = "| Service | Price |\n| --- | --- |\n| Express ¹ | £9 |\n| Standard | £4 |"
TICKETS = "| Age | Fee |\n| --- | --- |\n| Adult | 7 |\n| Child | 3 |"


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What is Ben's phone number?", STAFF, ["Ben Adler, nurse\nRoom 3", "Phone: 0161 31"]),
        (
            "Is theft of jewellery insured?",
            COVER_TEXT,
            ["What is not insured", "Theft of jewellery"],
        ),
        ("Is fire insured?", COVER_TEXT, ["Fire and storm"]),
        (
            "What do two claims cost?",
            "## Cover\n\n- Fire\n\n## No-claims discount\n\n- Two claims cost two steps.",
            ["Two claims cost two steps."],
        ),
        (
            "When is Riverside open on Monday?",
            OPENING,
            ["| Central | Riverside", "Monday | closed | 10-18"],
        ),
        (
            "Who would like to keep a cat?",
            "## Notes\n\n- The owner knows.\n- They would like to keep a cat.\n- Rent is paid.\n",
            ["They would like to keep a cat."],
        ),
        (
            "What does a hook cost from 100?",
            HOOKS,
            ["Hook | Price | From", "Steel | £2 | 1", "| £1 | 100"],
        ),
        (
            "What does express cost?",
            f"# Prices\n\n{POST}\n\n¹ Ordered before 2 pm.\n\nOf 2025.",
            ["Service | Price", "Express ¹ | £9", "¹ Ordered before 2 pm."],
        ),
        (
            "Where are the bays?",
            "# Contact\n\n## Parking\n\nTwo bays in Cross Lane\n\n## Office\n\nFirst floor",
            ["Parking", "Two bays in Cross Lane"],
        ),
        ("When did the port change?", CHANGES, ["4.1.0 (2025-03-11)", "The port is 8470."]),
        ("What is the port?", CHANGES, ["The port is 8470."]),
        (
            "What suppresses alerts?",
            "# API\n\n## silence(name)\n\nSuppress alerts.\n\n## history()\n\nReturn results.",
            ["silence(name)", "Suppress alerts."],
        ),
        (
            "What are the prices of all tickets?",
            f"# Tickets\n\nThe prices of tickets are:\n\n{TICKETS}\n\nDogs travel free.",
            ["The prices of tickets are:", "Age | Fee", "Adult | 7", "Child | 3"],
        ),
        (
            "押金是多少?",
            "# 规则\n\n押金是五百元。\n\n租期为十二个月。宠物不得入内。",
            ["押金是五百元。"],
        ),
        (
            "Wie hoch ist die Kaution?",
            "# Miete\n\nDie Kaution beträgt 900 Euro.\n\nHunde sind erlaubt.",
            ["Die Kaution beträgt 900 Euro."],
        ),
    ],
)
def test_what_is_quoted(question: str, text: str, expected: list[str]) -> None:
    assert quotes(question, text) == expected


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What is the fee?", "The fee [per year] is 40 euros.", "The fee [per year] is 40 euros."),
        (
            "What is the fee?",
            "The fee[1] is [40](/a) or [5] 60 `eur[0]`.",
            "The fee is 40 (/a) or 60 `eur[0]`.",
        ),
        (
            "What is the fee?",
            "The fee is 40 euros, see [the table](#table).",
            "The fee is 40 euros, see the table.",
        ),
        ("What is the fee?", "The fee is ~~£30~~ £25 per month.", "The fee is £25 per month."),
        ("Were alarms tested?", "- [x] Smoke alarms tested\n- [ ] Boiler", "☑ Smoke alarms tested"),
        ("Was the boiler serviced?", "- [ ] Boiler serviced\n- Paint", "☐ Boiler serviced"),
        ("Are windows clean?", "- Windows: [X] clean\n- Paint", "Windows: ☑ clean"),
        (
            "Who found the hole?",
            "- Ann found the hole.\n- The crash is gone.",
            "Ann found the hole.",
        ),
    ],
)
def test_marks_of_the_source_are_no_part_of_quotes(question: str, text: str, expected: str) -> None:
    assert attempt(question, f"# Fees\n\n{text}\n\nPay early.").plain == expected


def test_text_that_is_struck_through_answers_nothing() -> None:
    assert engine().attempt("Is it open?", [Source("# Pool\n\n~~It is open.~~\n\nDogs.")]) is None


def test_the_same_sentence_is_quoted_once() -> None:
    text = "# Pets\n\nOne dog is allowed.\n\nCats too."
    assert quotes("Is a dog allowed?", text, text) == ["One dog is allowed."]


STOP = "When should I stop taking the tablets?"
DROPS = "What if drops stay, or to change and turn the dial?"
BRAKES = "What about new brakes for the bus?"


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Are dogs welcome in the hall?", "Dogs are welcome in the hall. However, they pay."),
        (STOP, "Stop taking the tablets a week before. Eye surgery is an exception: no pause."),
        (STOP, "Stop taking the tablets a week before. Tablets in blisters are not affected."),
        (STOP, "Stop taking the tablets a week before. Not before an operation."),
        ("Do members pay the fee?", "Members pay the fee. The charge is waived for children."),
        (DROPS, "The dose of rinse aid has five levels. Raise it if drops stay."),
        (DROPS, "The dose of rinse aid has five levels. To change one, turn the dial."),
        (DROPS, "The dose of rinse aid has five levels. Once it is raised, turn the dial."),
        (DROPS, "The dose of rinse aid has five levels. After that, turn the dial."),
        ("Who may open the valve?", "The valve is old. You may open it."),
        ("Where does the bus wait?", "Gas may close the road. If it is shut, the bus waits below."),
        (
            "Can I cancel the boat?",
            "You can cancel the boat a day before. After that, half is charged.",
        ),
        ("What do the gates cost?", "The gates cost £3,150. Castle's do not include the posts."),
        (BRAKES, "The bus needs new brakes for 1,900. Approved."),
        (BRAKES, "The bus needs new brakes for 1,900. Carried by six votes to two."),
        (BRAKES, "The bus needs new brakes for 1,900. Objection by two votes: not needed."),
        (BRAKES, "Does the bus need new brakes? The garage says 1,900."),
        (BRAKES, "The bus needs new brakes for 1,900. They are not under guarantee."),
        ("Were there 412 toasters?", "No, there were not 412 toasters. We counted 37."),
        ("Who decides on a new machine?", "Sue decides on a new machine. Above that we vote."),
        ("What did Ann ask about the bus?", "Ann asked about the bus. Ben replied that it is old."),
        (
            "Can we pay drivers?",
            "A guest asked whether we could pay drivers. Dana: no rule allows it.",
        ),
        (
            "What does it cost to cancel a session?",
            "To cancel a session ten days ahead or earlier: nothing. Less than ten days: half.",
        ),
        (
            "How many permits can a household get?",
            "There is a limit of two permits per household. In zone B the limit is one.",
        ),
    ],
)
def test_sentences_that_need_each_other_are_quoted_together(question: str, found: str) -> None:
    text = f"The road is long.\n\n{found} Nobody was there.\n\nEnd of text."
    assert quotes(question, text) == [found]


LEASE = """\
Between Anna Berg, Kassel (hereinafter the "Landlord") and Tom Ruiz (together with his family “the Tenant”).

1. The Landlord lets the flat to the Tenant. The Landlord keeps the roof in repair.

2. The rent is due on the third working day (the Due Date).

3. "Ancillary Costs" means heating and water. The Landlord states the Ancillary Costs once a year.

4. The Data Protection Officer ("DPO") must be told of any camera. The DPO is Ms Falk.

| “Deposit” | £1,315, held under clause 3 |
| --- | --- |
| “Term” | as agreed |
| “Notice Period” | three months, in writing |
"""


MINUTES = """\
Committee meeting, 3 May, club house

Present: Ada Lund (chair), Bo Ek
Apologies: Cy Marsh

1. Roof

Bo Ek: The committee meeting in June is too late for the roof. I have three offers.
Decision: The roof is mended in June. Two for, none against.
Action: Bo to order the tiles.

2. Any other business

Action: Ada to write to the members.
"""


INVOICE = """\
INVOICE

Invoice date: 14 June 2024
Due date: 14 July 2024

Pos  Item          Qty     Price
1    Red paint       4    248.00
2    Hull, clean     1    180.00
--------------------------------
     Subtotal             428.00
     Balance due          513.60

If you pay within 10 days, you may deduct 2%. The goods are ours until you pay for them.

Phone: 01734 552 018
E-mail: office@boats.example
"""


TURNS = """\
Ann: Is the pump built?
Bob: Yes.
Ann: Good.
Bob: It was late.
Cem: Ann is the treasurer of the club.
Ann: I know.
Cem: Fine.
"""


@pytest.mark.parametrize(
    ("question", "text", "starts"),
    [
        ("Who is the landlord?", LEASE, ["Between Anna Berg"]),
        ("Who are the parties?", LEASE, ["Between Anna Berg"]),
        ("who's the tenant in this agreement", LEASE, ["Between Anna Berg"]),
        ("What is the due date?", LEASE, ["2. The rent is due"]),
        ("What does “ancillary costs” mean?", LEASE, ['3. "Ancillary Costs" means']),
        ("how long is the notice period", LEASE, ["“Notice Period” | three months"]),
        ("Who attended the meeting?", MINUTES, ["Present: Ada Lund"]),
        ("Who attended the committee meeting?", MINUTES, ["Present: Ada Lund"]),
        ("Who was absent?", MINUTES, ["Apologies: Cy Marsh"]),
        ("What was decided?", MINUTES, ["Decision: The roof is mended in June. Two for"]),
        ("What are the action items?", MINUTES, ["Action: Bo to order", "Action: Ada to write"]),
        ("What did Bo Ek say?", MINUTES, ["Bo Ek: The committee meeting in June is too late"]),
        ("How much do I have to pay?", INVOICE, ["Balance due          513.60"]),
        ("What do we owe?", INVOICE, ["Balance due          513.60"]),
        ("When do I have to pay?", INVOICE, ["Due date: 14 July 2024"]),
        ("How can I contact you?", INVOICE, ["Phone: 01734 552", "E-mail: office@boats.example"]),
    ],
)
def test_a_form_answers_a_question(question: str, text: str, starts: list[str]) -> None:
    found = quotes(question, text)
    assert [quote[: len(start)] for quote, start in zip(found, starts, strict=True)] == starts


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who is the DPO?", LEASE, "The DPO is Ms Falk."),  # not the long form
        ("Who is Ann?", TURNS, "Cem: Ann is the treasurer of the club."),
        (
            "What is the warranty?",
            "# Boiler\n\nWarranty: page 12\n\nThe warranty is two years from the purchase.",
            "The warranty is two years",
        ),
        (
            "What is the fee?",
            "# Boiler\n\nAn engineer looks at it (fee) once a year.\n\nThe fee is 40 euros.",
            "The fee is 40 euros.",
        ),
    ],
)
def test_a_form_hides_no_answer(question: str, text: str, answer: str) -> None:
    assert answer in " ".join(quotes(question, text))


def test_a_total_is_what_to_pay_if_nothing_else_is() -> None:
    table = "| Item | Price |\n| --- | --- |\n| Paint | £24.00 |\n| Total | £24.00 |\n"
    assert quotes("How much do I have to pay?", f"# Bill\n\n{table}") == [
        "Item | Price",
        "Total | £24.00",
    ]
    assert "Total: 45 members" not in quotes(
        "How much do I have to pay?",
        "Total: 45 members\n\nYou pay a fee of £20 a year to the club.",
    )


def test_a_number_of_somebody_else_is_no_answer() -> None:
    text = "# Staff\n\nPhone: 0161 440\n\nIf a pipe leaks, the plumber comes within an hour.\n"
    assert quotes("How can I reach the plumber?", text) != ["Phone: 0161 440"]


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What does the code E41 mean?", ("E41",)),
        ("What do the codes E17 and E2 mean?", ("E2",)),
        ("What does the code E-17 mean?", ()),
        ("What does E23 mean, and AB-900?", ("AB-900",)),
        ("How much does AB-1234 cost?", ()),
    ],
)
def test_a_code_that_is_in_no_document_is_named(question: str, missing: tuple[str, ...]) -> None:
    source = Source(
        "| Code | Meaning |\n|---|---|\n| E17 | High pressure |\n| E23 | The fan is stuck |\n\n"
        "| Part | Costs |\n|---|---|\n| AB-1234 | 10 |\n| CD-5678 | 20 |"
    )
    answer = engine().attempt(question, [source])
    assert answer is not None
    assert answer.unanswered == missing


BOILER = """\
# Ember 24 boiler

## Switching on

1. Open the gas valve below the boiler.
2. Press the power button for three seconds.
3. Wait until the flame symbol stops blinking.

## Resetting after a fault

Hold both buttons together for five seconds. The display shows "rS".
Do not reset it more than three times.

Faults are kept in the memory of the boiler.
"""


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("How do I switch the boiler on?", "Open", "stops blinking."),
        ("How can I reset the Ember 24?", "Hold both", "three times."),
    ],
)
def test_all_steps_below_a_heading_say_how_to_do_it(question: str, first: str, last: str) -> None:
    found = quotes(question, BOILER, "How to reset a watch: pull out the crown.")
    assert found[0].startswith(first)
    assert found[-1].endswith(last)


def test_steps_are_quoted_whole_even_if_their_heading_has_other_words() -> None:
    steps = "\n".join(
        f"{n}. Press the {n}th of the buttons on the left for {n} seconds." for n in range(1, 9)
    )
    manual = f"# Radio\n\n## Stations\n\nStations can be stored by day only.\n\n{steps}\n\n## Care\n\nKeep it dry."
    for question in ("How do I store stations by day?", "how can I press the 3th of the buttons?"):
        found = quotes(question, manual)
        assert found[-8:] == [line.split(". ", 1)[1] for line in steps.splitlines()]


def test_a_step_of_two_sentences_is_one_quote() -> None:
    step = "Press the Start button for a while. The lamp begins to blink in red."
    assert step in quotes("How do I reset it?", f"To reset it:\n\n1. {step}\n2. Wait.")


CLAIMS = """\
# Travel policy

## Claims

Claims are paid on Fridays. Take a photo of the receipt in the app. A slip is not enough. Choose the
project code. Enter the reason and submit the claim.

## Company cards

If your card is stolen, call the bank. Then tell Ann. Cards have a limit of £500.
"""


def test_an_age_limit_is_not_what_is_old() -> None:
    text = "Our old girl is 13.\n\nYou must be 18 or over to foster.\n\nFostering is unpaid."
    assert quotes("how old do you have to be to foster", text, encoder=TUNED_ENCODER) == [
        "You must be 18 or over to foster."
    ]


def test_a_question_at_the_end_of_a_paragraph_brings_its_reply() -> None:
    text = "Q: And the cleaners, do they know the code?\n\nA: They never did.\n\nThe road is long."
    assert "A: They never did." in quotes("Do the cleaners know the code?", text)


def test_a_comment_brings_the_reply_to_its_question() -> None:
    text = (
        "Made this for the fair.\n\n## Comments\n\n1. Ann 3 October 2025 at 1:27 pm\n\n"
        "Still great. Can you make it without eggs?\n\n  - Nell 4 October 2025 at 9:00 am\n\n"
        "I tried it with flax. It was gluey.\n\n2. Bo 5 October 2025 at 7:00 pm\n\nLovely."
    )
    found = quotes("Can I make it without eggs?", text)
    assert "I tried it with flax. It was gluey." in " ".join(found)
    assert not any("Lovely" in quote for quote in found)


def test_the_next_post_of_a_thread_brings_the_reply() -> None:
    text = (
        "# Brushes\n\nann · Sep 24, 2025, 8:14 pm\n\nAnybody know whether the MB-14 fits the R1? "
        "My mom has one.\n\nbo_lee · Sep 24, 2025, 8:20 pm\n\nNope, the R1 takes MB-9."
    )
    assert "Nope, the R1 takes MB-9." in quotes("Will the MB-14 brush fit an R1?", text)


def test_which_of_several_is_named_by_its_heading() -> None:
    text = (
        "# Heaters\n\n## Haldex Pro 30\n\nIt is loud. You can hear it next door.\n\n"
        "## Nordal Dry 12\n\nSo quiet that I stepped on it.\n\n## How I tested\n\nAt home."
    )
    assert quotes("Which one is quiet?", text)[0] == "Nordal Dry 12"
    assert quotes("How quiet is it?", text)[0] == "So quiet that I stepped on it."
    team = "# Team\n\n## Ann Lee\n\nSwimming\n\nShe is on leave until May.\n\n## Bo Ek\n\nGym\n\nHe is new."
    assert quotes("Who is on leave?", team)[:2] == ["Ann Lee", "Swimming"]


def test_what_a_lead_in_is_about_comes_along_and_is_looked_at() -> None:
    text = (
        "# Pay\n\nOvertime has to be approved. It is paid as follows:\n\n- double on Sundays\n"
        "- time and a half on other days\n\nOffice staff have no overtime.\n\nPay is monthly."
    )
    found = quotes("What are the overtime rates?", text, encoder=TUNED_ENCODER)
    assert "Overtime has to be approved. It is paid as follows:" in found
    assert "double on Sundays" in found


PLANS = """\
# Plans

## Solo

£9/month

- E-mail support
- One user

## Team

£24/month

- Telephone support
- Five users
"""


def test_a_plan_is_named_by_its_heading() -> None:
    found = quotes("Which plan has telephone support?", PLANS)
    assert {"Team", "Telephone support"} <= set(found)
    assert quotes("What does Team cost a month?", PLANS)[:2] == ["Team", "£24/month"]


def test_a_ticket_is_quoted_with_its_price() -> None:
    tickets = "Adult weekend\n£148\nincl. camping\nYouth weekend (11–17)\n£85\nwith an adult only"
    text = f"# Fair\n\nThe fair of the town takes place on the meadow.\n\n{tickets}\n\nEnd of text."
    (found,) = quotes("What does a youth weekend ticket cost?", text)
    assert "Youth weekend (11–17)\n£85\nwith an adult only" in found


def test_many_lines_that_begin_sentences_are_a_document() -> None:
    said = (
        "The hall on the corner of Mill Street is open again, and all of the neighbours are welcome"
    )
    lines = [f"{said} on day {n}." for n in range(8)]
    assert are_documents([Source("\n".join(lines))])
    assert not are_documents([Source("\n".join(lines[:3]))])
    assert not are_documents([Source(textwrap.fill(" ".join(lines), 80))])


CHAT = """\
14/03/2026, 18:22 - Ann Lee: I broke my foot on Sunday. Can I keep my place in the choir until May?
14/03/2026, 18:25 - Bob: Ouch, get well soon! Until June even. Just tell Maria. And rest. A lot
15/03/2026, 07:10 - Ann Lee: The bakery on Mill Street burnt down last night. Nobody was hurt, they say. Its oven was from 1954
15/03/2026, 07:12 - Bob: oh no
"""


def test_a_message_is_quoted_with_its_sender_and_date() -> None:
    found = quotes("What was from 1954?", CHAT)
    assert found == ["15/03/2026, 07:10 - Ann Lee:", "Its oven was from 1954"]
    answer = engine().answer("What was from 1954?", [Source(CHAT)])
    assert "\n" not in answer.marked
    bracketed = "".join(f"[{line.replace(' -', ']', 1)}\n" for line in CHAT.splitlines())
    assert quotes("What was from 1954?", bracketed)[:2] == ["15/03/2026, 07:10", "Ann Lee:"]


def test_a_message_that_asks_brings_the_reply() -> None:
    assert quotes("Who broke a foot?", CHAT) == [
        "14/03/2026, 18:22 - Ann Lee: I broke my foot on Sunday. Can I keep my place in the choir until May?",
        "14/03/2026, 18:25 - Bob: Ouch, get well soon! Until June even.",
    ]


@pytest.mark.parametrize("most", [24, 26, 28])
def test_a_sender_is_left_out_with_its_message(most: int) -> None:
    answer = ExtractiveEngine(encoder="none", max_words=most).answer(
        "Who broke a foot?", [Source(CHAT)]
    )
    assert not answer.quotes[-1].text.endswith(":")


OLD = "On Mon, 2 Mar 2026 at 09:12, Bo Park\n<bo@y.org> wrote:"
THREAD = f"""\
From: Ann Lee
Subject: Re: The hall

The hall is £60 now. Answers to the rest below.

{OLD}
> The deposit was £50 last year.
>
> How many chairs are there? I think 60.

There are 80.
"""


def test_an_older_message_is_quoted_with_its_sender_and_date() -> None:
    assert quotes("How much is the hall?", THREAD) == ["The hall is £60 now."]
    assert quotes("What was the deposit?", THREAD) == [OLD, "The deposit was £50 last year."]
    outlook = THREAD.replace(OLD, "From: Bo Park\nSent: 2 March 2026\nTo: Ann\nSubject: The hall\n")
    assert quotes("What was the deposit?", outlook.replace("> ", "").replace(">", "")) == [
        "From: Bo Park",
        "Sent: 2 March 2026",
        "The deposit was £50 last year.",
    ]


def test_a_reply_between_quoted_lines_comes_along_and_is_no_part_of_the_older_message() -> None:
    found = quotes("How many chairs are there?", THREAD)
    assert found[-1].endswith("There are 80.")
    assert quotes("Are there 80?", THREAD.replace("How many chairs", "Chairs")) == ["There are 80."]


def test_a_question_about_several_things_has_several_parts() -> None:
    texts = ["# Museum\n\nDogs stay outside the museum.", "# Flat\n\nDogs are allowed in the flat."]
    found = quotes("What about dogs in the museum and in the flat?", *texts)
    assert {"Dogs stay outside the museum.", "Dogs are allowed in the flat."} <= set(found)


def test_headings_of_several_sections_do_not_say_which_steps_are_meant() -> None:
    radio = BOILER.replace("Ember 24 boiler", "Ember 24 radio").replace("Open", "Pull")
    rows, _ = direct_rows(match("How do I switch it on?", [Source(BOILER), Source(radio)]))
    assert rows == []


def test_until_when_may_be_answered_by_a_duration() -> None:
    text = f"{CONTRACT}\n## 6. Undo\n\nTo take back a change, run undo.\n\nIt works for 30 days.\n"
    answer = attempt("How do I take back a change, and until when?", text)
    assert not answer.unanswered
    assert "for 30 days" in answer.plain


def test_less_likely_units_are_left_out_rather_than_the_rest_of_a_list() -> None:
    items = [
        f"damage by {each} that was not reported to us at once, in writing"
        for each in "abcdefghijk"
    ]
    listed = "".join(f"- {item};\n" for item in items)
    other = f"Nobody may give the dryer away {'or so on ' * 4}."
    sources = [Source(f"{other}\n\nWe do not pay for:\n\n{listed}\n## End\n\nBye.\n")]
    reading = read("What do you not pay for?", sources, None)
    texts = [reading.found.sources[s].texts[u] for s, u in reading.found.places]
    chances = np.array([0.5 if text == other else 0.9 * ("damage" in text) for text in texts])
    chances[-6:] = 0.0  # these items are quoted because the others are
    found = write(
        reading._replace(judgement=replace(reading.judgement, chances=chances)), sources, 100
    )
    assert all(item in found for item in items)
    assert other not in found


MACHINES = """| Model | Price | Heat-up | Built-in grinder | Taste score |
| --- | --- | --- | --- | --- |
| Lucca | $1,395 | 11 min | No | 9.1 |
| Barista | $749 | 40 sec | Yes | 8.0 |
| Mini | $189 | 55 sec | No | 6.8 |
| KE-20 | $259 | 2 min | Yes | 5.2 |
"""


ANIMALS = """| No | Name | Species | Status |
| --- | --- | --- | --- |
| 1 | Duke | dog | available |
| 2 | Tom | cat | available |
| 3 | Soot | cat | reserved |
| 4 | Kit | cat | not available |
| 5 | Mog | cat | lost |
| 6 | Bo | horse | big tent |
"""
CLUBS = "| Club | Points | Rank |\n| --- | --- | --- |\n| Ayr | 9 | 3 |\n| Bute | 20 | 1 |\n| Coll | 11 | 2 |\n"
OFFERS = """| Plan | Response time | Parcel weight | Rent | Accuracy |
| --- | --- | --- | --- | --- |
| Basic | 2 working days | 500 g | 950 | 0.5% |
| Plus | 8 hours | 1,2 kg | 1.200 | 0.1% |
| Max | 90 minutes | 3 kg | 1.050 | 0.05% |
"""


def weights(*cells: str) -> str:
    rows = (f"| {name} | {cell} |\n" for name, cell in zip("ABC", cells, strict=True))
    return "| Model | Weight |\n| --- | --- |\n" + "".join(rows)


MOWERS = """| Feature | M500 | Clover | X4 |
| --- | --- | --- | --- |
| Price | $989 | $649 | $1,899 |
| Run time | 110 min | 50 min | 180 min |
| Noise | 58 dB | 61 dB | 63 dB |
| Steepest slope | 35% | 25% | 60%, wet too |
| App | yes | no | yes |
| Delivery cost | $20 | $0 | $0 |
"""


@pytest.mark.parametrize(
    ("question", "table", "rows"),
    [
        ("Which is the cheapest machine?", MACHINES, ["Mini"]),
        ("Which is the cheapest machine?", MACHINES.replace("$189", "on request"), []),
        ("Which machine scored best for taste?", MACHINES, ["Lucca"]),
        ("which one heats up fastest?", MACHINES, ["Barista"]),
        ("Which machines have a grinder?", MACHINES, ["Barista", "KE-20"]),
        ("Which machines don't come with a grinder?", MACHINES, ["Lucca", "Mini"]),
        ("Which is the cheapest machine with a grinder?", MACHINES, []),
        ("Which is the second cheapest machine?", MACHINES, []),
        ("Which machine has the best price?", MACHINES, []),
        ("Which machines have at least one grinder?", MACHINES, ["Barista", "KE-20"]),
        ("Which is the most expensive machine?", MACHINES, ["Lucca"]),
        ("What is the most that is paid for the price of a burnt house?", MACHINES, []),
        ("Which machine is from Milan?", MACHINES, []),
        ("Which cats are available?", ANIMALS, ["2"]),
        ("Which cats are reserved or lost?", ANIMALS, ["3", "5"]),
        ("What species are reserved?", ANIMALS, ["3"]),
        ("Which cats are not available?", ANIMALS, []),
        ("Which cats are available in Leeds?", ANIMALS, []),
        ("Which species are there?", ANIMALS, []),
        ("What is a big tent?", ANIMALS, []),
        ("Which club has the highest rank?", CLUBS, []),  # the lowest number
        ("Which club has the most points?", CLUBS, ["Bute"]),
        ("Which plan has the shortest response time?", OFFERS, ["Max"]),
        ("Which plan has the longest response time?", OFFERS, ["Basic"]),
        ("Which plan has the highest parcel weight?", OFFERS, ["Max"]),
        ("Which plan is the lightest?", OFFERS, ["Basic"]),
        ("Which plan has the highest rent?", OFFERS, ["Basic", "Plus", "Max"]),  # 1200 or 1.2?
        ("Which plan is the most accurate?", OFFERS, ["Basic", "Plus", "Max"]),
        (
            "Which has the lowest weight?",
            OFFERS.replace("500 g", "500 cm"),
            ["Basic", "Plus", "Max"],
        ),
        ("Which is the heaviest?", weights("1,5", "1,5.5", "0,9"), ["A", "B", "C"]),
        ("Which is the heaviest?", weights("0,900", "1,5", "1,2"), ["B"]),
        ("Which is the heaviest?", weights("1,250", "1,5", "0,9"), ["A", "B", "C"]),
        ("Which is the heaviest?", weights("2 kg 100 g", "2050 g", "20 g"), ["A", "B", "C"]),
        ("Which is the heaviest?", weights("10 000 g", "900 g", "1 kg"), ["A", "B", "C"]),
        ("Which is the heaviest?", weights("3 stone", "30 t", "5 stone"), ["A", "B", "C"]),
        ("Which is the heaviest?", weights("3 to 4 kg", "3500 g", "5 to 6 kg"), ["C"]),
        (
            "Which is the cheapest?",
            MACHINES.replace("$189", "€189"),
            ["Lucca", "Barista", "Mini", "KE-20"],
        ),
        ("Which mower runs longest?", MOWERS, ["Run"]),
        ("Which is the cheapest?", MOWERS, ["Price", "Delivery"]),
        ("Which of the mowers is best for slopes?", MOWERS, []),
    ],
)
def test_a_table_tells_which(question: str, table: str, rows: list[str]) -> None:
    found = match(question, [Source(table)])
    assert [found.texts[row].split()[0] for row in column_rows(found)] == rows


def test_the_row_that_a_column_tells_is_the_answer() -> None:
    found = quotes("Which is the cheapest machine?", MACHINES, encoder=TUNED_ENCODER)
    assert [row.split()[0] for row in found] == ["Model", "Mini"]


def test_a_list_of_what_is_asked_for_is_no_answer_to_what_is_not() -> None:
    text = (
        "# Trip\n\nWhat to bring:\n\n- a torch with batteries\n- swimwear and two towels\n\n"
        "Please leave at home: phones, aerosols and anything with nuts.\n"
    )
    source = Source(text)
    assert contrary(match("What mustn't we bring?", [source])) == [0, 1, 2]
    assert not contrary(match("What should we bring?", [source]))
    assert not contrary(match("What must we not leave at home?", [source]))


def test_a_row_comes_with_its_section_of_the_table() -> None:
    table = (
        "| Item | Price |\n| --- | --- |\n| **Adults** | |\n| Day ticket | £10 |\n| Season ticket | £60 |\n"
        "| **Children** | |\n| Day ticket | £5 |\n| Season ticket | £25 |\n"
    )
    question = "How much is a day ticket for children?"
    expected = ["Item | Price", "Children", "Day ticket | £5"]
    assert quotes(question, table, encoder=TUNED_ENCODER) == expected
    twice = table.replace("| Season ticket | £60 |", "| Day ticket | £11 at the weekend |")
    assert quotes(question, twice, encoder=TUNED_ENCODER) == expected
    gaps = table.replace("Day ticket | £10", "Weekend | £10").replace("Season ticket", "Month", 1)
    kinds = [unit.kind for unit in read_structure(gaps).units]
    assert kinds == ["header", *["row"] * 6]  # a name without a value is no section


HOTEL = """# Harbour Hotel

| Room | Season | Price* |
| --- | --- | --- |
| Double | Summer | £90 |
| Suite | all year | £150** |

* Prices exclude breakfast.

** From three nights.

Check-in is from 3 pm.¹ The pool is open daily.² Dogs cost £12 a night.† Parking costs £5 a day.[^p]

¹ Not on Mondays. Then come at noon.
² Closed in January.
† Assistance dogs stay free.

[^p]: Free for electric cars.

Bring *your own* towels to the sauna.* It is for:

* adults
* guests of adults
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "How much is a double room in summer?",
            ["Room | Season | Price*", "Double | Summer | £90", "Prices exclude breakfast."],
        ),
        (
            "What does the suite cost?",
            [
                "Room | Season | Price*",
                "Suite | all year | £150**",
                "Prices exclude breakfast.",
                "** From three nights.",
            ],
        ),
        (
            "When can I check in?",
            ["Check-in is from 3 pm.¹", "¹ Not on Mondays. Then come at noon."],
        ),
        ("When is the pool open?", ["The pool is open daily.²", "² Closed in January."]),
        (
            "What does parking cost?",
            ["Parking costs £5 a day.", "Free for electric cars."],
        ),
        ("What do I bring to the sauna?", ["Bring *your own* towels to the sauna.*"]),
    ],
)
def test_a_note_comes_along(question: str, answer: list[str]) -> None:
    assert quotes(question, HOTEL, encoder=TUNED_ENCODER) == answer


def test_a_subject_before_a_dash_belongs_to_each_part() -> None:
    question = "Night vet - what is the number and what does the visit cost?"
    reading = read(question, [Source("The night vet is at 41 Mill Road.\n\nRing 960 900.")], None)
    assert [part for part, _ in reading.parts] == [
        "Night vet - what is the number",
        "Night vet - what does the visit cost",
    ]


def test_each_part_of_a_question_is_answered() -> None:
    text = f"{CONTRACT}\n## 5. Deposit\n\nThe deposit is £80.\n\nIt falls due on 3 May.\n"
    found = " ".join(quotes("What does the kitchen cost, and how much is the deposit?", text))
    assert "£20 a day" in found
    assert "The deposit is £80." in found


@pytest.mark.parametrize("last", ["Crisp", "Pudding"])
def test_it_in_a_part_is_what_the_part_before_is_about(last: str) -> None:
    crisp = "## Crisp\n\nFrozen rhubarb works in the crisp.\n\nBake for 45 minutes.\n\n"
    pudding = "## Pudding\n\nDried figs work in the pudding.\n\nBake for 2 hours.\n\n"
    text = crisp + pudding if last == "Pudding" else pudding + crisp
    question = "Does frozen rhubarb work, and how long do you bake it?"
    found = quotes(question, text, encoder=TUNED_ENCODER)
    assert "Bake for 45 minutes." in found
    assert "Bake for 2 hours." not in found


def test_an_unanswered_part_is_reported() -> None:
    answer = attempt("What does the hall cost an hour, and who invented the telephone?", CONTRACT)
    assert answer.unanswered == ("who invented the telephone",)
    assert any("£45 an hour" in quote.text for quote in answer.quotes)
    assert (
        engine().attempt("Who is Ada, and who invented the telephone?", [Source(CONTRACT)]) is None
    )


PENSION = """## Transfers

You may transfer your benefits to another scheme until one year before your normal retirement date.
That date has passed, so a transfer is no longer possible. The transfer value on your last statement
(£248,900) is for information only.

## Payment

We pay on the 24th of each month.
"""
COVER = """## Cover

Two years on everything, five on the compressor, seven on the compressor if the pump was registered
within 60 days and is serviced every year.

## Noise

The pump may hum.
"""


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        (
            "Can I still move my pension somewhere else and how much is it worth?",
            PENSION,
            "£248,900",
        ),
        (
            "How long is the compressor covered and what must I do for the longest cover?",
            COVER,
            "registered\nwithin 60 days",
        ),
    ],
)
def test_a_part_that_is_hardly_understood_alone_is_not_said_to_be_missing(
    question: str, text: str, expected: str
) -> None:
    answer = attempt(question, text, encoder=TUNED_ENCODER)
    assert not answer.unanswered
    assert any(expected in quote.text for quote in answer.quotes)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What does a call to Ghana cost?", ()),
        ("What does a call to Kenya cost?", ("Kenya",)),
        ("What does a call to Gahna cost?", ()),  # a slip
        ("Does it tell us what calls to the BDF cost?", ()),  # British Defence Forces
        ("How fast is Home Fibre 150?", ()),
        ("How fast is Home Fibre 500?", ("Fibre 500",)),
        ("How Fast Is Home Cable?", ()),  # capitals mean nothing here
    ],
)
def test_names_that_are_in_none_of_the_documents_are_reported(
    question: str, missing: tuple[str, ...]
) -> None:
    text = (
        "A call to Ghana costs £2 a minute.\n\nCalls to the British Defence Forces cost £3.\n\n"
        "Home Fibre 150 has a speed of 76 Mbps."
    )
    answer = attempt(question, text)
    assert answer.unanswered == missing


def test_names_may_be_written_in_other_ways() -> None:
    texts = ["The cafe has wi-fi, and its owner is Müller.", "Thanks to the AGM."]
    question = "Does the Café of the Muller family have WiFi, and is H2O there, H2O? Thanks"
    assert missing_names(question, texts) == ["H2O"]
    assert missing_names("Is a BBQ allowed in the garden, or a FRZ?", texts) == ["FRZ"]


def test_a_part_without_words_to_search_for_is_answered_or_reported() -> None:
    text = (
        "## Phase 1\n\nFrom 4 to 29 May the racks are put up.\n\nThe hall is shut.\n\nBea is the lead.\n\n"
        "## Phase 2\n\nGreer leads it.\n"
    )
    first = engine().attempt("Who leads phase 1, and when is it?", [Source(text)])
    assert first is not None
    assert {"From 4 to 29 May the racks are put up."} <= {quote.text for quote in first.quotes}
    assert not first.unanswered
    second = engine().attempt("Who leads phase 2, and when is it?", [Source(text)])
    assert second is not None
    assert second.unanswered == ("when is it",)


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("What does a permit for a car with 150 g/km cost?", "111 to 185 | £118"),
        ("What does a permit for a car with 185 g/km cost?", "111 to 185 | £118"),
        ("What does a permit for a car with 1,200 g/km cost?", "Over 185 | £210"),
        ("What does a permit for a car with 150 g/km cost for 3 months?", "111 to 185 | £118"),
        ("How much leave is there after 12 months?", "26 weeks to 2 years | 12 weeks"),
        ("How much leave is there after three years?", "Over 2 years | 20 weeks"),
        ("How much leave is there after 30 weeks?", "26 weeks to 2 years | 12 weeks"),
        ("How much leave is there after 2 months?", "Under 26 weeks | none"),
    ],
)
def test_a_number_is_answered_by_the_band_that_has_it(question: str, row: str) -> None:
    permits = (
        "| Emissions (g/km) | Cost of a permit |\n| --- | --- |\n| 0 (electric) | £25 |\n"
        "| 1 to 110 | £72 |\n| 111 to 185 | £118 |\n| Over 185 | £210 |\n"
    )
    leave = (
        "| Service | Leave |\n| --- | --- |\n| Under 26 weeks | none |\n"
        "| 26 weeks to 2 years | 12 weeks |\n| Over 2 years | 20 weeks |\n"
    )
    found = quotes(question, f"{permits}\n{leave}", encoder=TUNED_ENCODER)
    assert row in found
    table = permits if row in permits else leave
    assert sum(f"| {each} |" in table for each in found) == 2  # with the header


DOSES = ("Weight | Dose", "16 to 32 lb | 0.1 mg", "33 to 65 lb | 0.15 mg")
FOOD = ("Weight of dog | Food", "5 kg | 75 g", "10 kg | 130 g", "20 kg | 215 g")
TIMES = ("Time | Price", "up to 30 minutes | £1", "over 30 minutes | £2")
FEES = ("Age | Price", "under 5 | free", "over 5 | £9")
HOURS = ("Day | Open", "Mon–Fri | 6–22", "Saturday | 7–20", "Sunday and bank holidays | 8–18")
NOTICE = (
    "Notice | Charge",
    "More than 6 months before | fee only",
    "6 months to 8 weeks before | 30%",
    "8 weeks to 15 days before the event | 60%",
    "14 days before or later | 100%",
)


@pytest.mark.parametrize(
    ("question", "table", "row"),
    [
        ("How much for 50 pounds?", DOSES, 1),
        ("How much food for a 20kg dog?", FOOD, 2),
        ("How much for 15kg?", FOOD, None),
        ("What if we cancel 40 weeks before?", NOTICE, 0),
        ("What if we cancel 9 weeks before?", NOTICE, 1),
        ("What if we cancel 5 weeks before?", NOTICE, 2),
        ("What if we cancel 1 weeks before?", NOTICE, 3),
        ("What is the price for 2 hours?", TIMES, None),
        ("For which distance is the fee £150?", ("Distance | Price", "0 to 110 | £90"), None),
        ("What did a ticket cost in 2024?", FEES, None),
        ("How much does a ticket cost for 4 adults?", FEES, None),
        ("When does the gym close on Wednesday?", HOURS, 0),
        ("is it open on sat", HOURS, 1),
        ("When does the gym close?", HOURS, None),
        ("Is it open on Saturday or Sunday?", HOURS, None),
        ("Is it open on Good Friday?", HOURS, None),
    ],
)
def test_the_rows_of_other_bands_are_left_out(
    question: str, table: tuple[str, ...], row: int | None
) -> None:
    header, *rows = table
    lines = "".join(f"| {each} |\n" for each in (header, "--- | ---", *rows))
    found = match(question, [Source(lines)])
    others = [other for other in range(len(rows)) if other != row]
    assert list(bands(found, range(len(rows)))) == ([] if row is None else [(row, others)])


def test_a_list_below_a_heading_is_completed() -> None:
    text = (
        "## What cannot be returned\n\n- Swimwear without its liner\n- Earrings\n"
        "- Final sale items (the price ends in .97)\n- Monogrammed goods\n- Candles that were lit\n\n"
        "## Postage\n\nPostage costs £3."
    )
    question = "Are earrings among what cannot be returned?"
    assert len(quotes(question, text, encoder=TUNED_ENCODER)) >= 5


@pytest.mark.parametrize(
    ("question", "ticked"),
    [
        ("What does a tour cost?", True),
        ("How long does a tour take?", False),
        ("How long will the mill be closed?", True),
        ("What is the phone number of the mill?", False),
        ("What is the phone number of the bank?", False),
        ("When is there scaffolding at the quay?", True),
        ("When does the landlord pay for repairs?", False),
        ("How many repairs does the landlord pay for?", False),
        ("Why is there scaffolding at the quay?", False),
        ("Why is the mill closed?", True),
        ("What does the landlord pay for?", True),
        ("How much does delivery cost?", True),
        ("What is the fine for litter at the quay?", False),
        ("Why is the mill closed until May?", True),
        ("Why is litter collected at the quay?", False),
    ],
)
def test_quotes_without_the_kind_of_answer_asked_for_have_no_tick(
    question: str, ticked: bool
) -> None:
    text = (
        "A tour of the castle costs 45 euros.\n\nAt the quay there is scaffolding this year.\n\n"
        "The mill is closed until May because the roof leaks. You can reach the mill on foot.\n\n"
        "The landlord pays for repairs of the roof, windows and doors, heating and insurance.\n\n"
        "Litter at the quay is collected within 20 minutes.\n\nDelivery costs fifteen pounds.\n\nThe number of the bank is BK/88213."
    )
    answer = engine(TUNED_ENCODER).attempt(question, [Source(text)])
    assert (answer is not None and has_tick(answer)) == ticked


def test_quotes_that_answer_are_more_relevant_from_any_engine() -> None:
    text = "[ 1 Dogs are welcome in the hall. ] [ 1 The hall costs £45 an hour. ] [ 1 nowhere ]"
    answer = QuotedAnswer.parse(text, [Source(CONTRACT)])
    dogs, cost, fabricated = engine().rate("What does the hall cost an hour?", answer).quotes
    assert dogs.relevance is not None
    assert cost.relevance is not None
    assert 0 <= dogs.relevance < cost.relevance <= 1
    assert fabricated.relevance is None


def test_a_quote_has_the_relevance_of_the_place_that_readers_see() -> None:
    text = "Parking costs 5 euros at 5 places.\n\nThe hall has 5 rooms.\n\nDogs are welcome."
    relevance = []
    for beside in ("costs", "rooms"):
        answer = QuotedAnswer.parse(f"[ 1 {beside} ] [ 1 5 ]", [Source(text)])
        word, five = engine().rate("What does parking cost?", answer).quotes
        assert word.relevance == five.relevance is not None
        relevance.append(five.relevance)
    assert relevance[0] > relevance[1]


def test_a_document_is_quoted_beside_a_better_one_if_it_answers_by_itself() -> None:
    rest = (
        "The office is in Leeds, two minutes from the station. It is staffed on weekdays.\n\n"
        "## Hours\n\nEvery day from 6 am to 11 pm with your PIN.\n\n## Ending it\n\n"
        "Tell us 14 days before you go. We refund unused days.\n\n"
    )
    texts = {
        "Kirkgate": "## Insurance\n\nYou must insure your goods yourself and show us the certificate.",
        "Bright": "## Insurance\n\nCompulsory. Ours costs £2.40 per week for each £1,000 of cover.",
        "Aire": "## Damp\n\nContainers are ventilated but not heated.",
    }
    sources = [Source(rest + text, title) for title, text in texts.items()]
    answer = engine(TUNED_ENCODER).attempt("Must I insure my goods at all of them?", sources)
    assert answer is not None
    assert {quote.source for quote in answer.quotes} == {1, 2}


def test_a_question_of_many_parts_is_not_split() -> None:
    parts = [f"what does hall {n} cost" for n in range(1, 8)]
    text = "# Fees\n\n" + "\n\n".join(f"Hall {n} costs £{n}0 per hour." for n in range(1, 8))
    for count, split in ((6, True), (7, False)):
        reading = read(" and ".join(parts[:count]), [Source(text)], None)
        assert bool(reading.parts) == split


def test_a_question_that_names_a_document_is_not_asked_of_the_others() -> None:
    people = {"Priya Raman": "after two months' notice", "Tobias Lund": "on 1 September"}
    sources = [
        Source(f"# {name}\n\n## Availability\n\nI could start {when}.", name)
        for name, when in people.items()
    ]
    for number, person in enumerate(("Priya", "Tobias"), start=1):
        answer = engine("none").attempt(f"When could {person} start?", sources)
        assert answer is not None
        assert {quote.source for quote in answer.quotes} == {number}
        assert answer.quotes[0].relevance is not None
    unclear = [
        Source("# Priya\n\n## Notice\n\nMy notice is two months.", "Priya Raman"),
        Source("# Tobias\n\n## Start\n\nI could start on 1 September.", "Tobias Lund"),
    ]
    answer = engine("none").answer("When could Priya start?", unclear)
    assert {quote.source for quote in answer.quotes} == {1}
    asked = "How do the dates of Priya and the others compare?"
    assert named_documents(asked, [read_units(source) for source in sources]) == [0, 1]


def test_titles_are_rated_if_nothing_else_is_quoted() -> None:
    sources = [Source("Parking costs 5 euros.", title="Fees"), Source("Dogs bark.", title="Dogs")]
    question = "What does parking cost?"
    named = engine().rate(question, QuotedAnswer.parse("[ 1 Fees ] [ 2 Dogs ]", sources))
    fees, dogs = (quote.relevance for quote in named.quotes)
    assert fees is not None
    assert dogs is not None
    assert dogs < fees
    said = engine().rate(question, QuotedAnswer.parse("[ 1 Fees ]: [ 1 5 euros ]", sources))
    assert [quote.relevance for quote in said.quotes] == [None, fees]


@pytest.mark.parametrize("question", ["Are dogs allowed?", "Is the hall open on Sunday?"])
def test_a_sentence_that_says_yes_has_a_tick(question: str) -> None:
    text = "# Hall rules\n\nDogs are allowed.\n\nThe hall is open on Sunday.\n\n- Bring glasses.\n"
    answer = attempt(question, text, encoder=TUNED_ENCODER)
    assert has_tick(answer)


def test_a_list_of_short_items_has_a_tick() -> None:
    items = ("a torch", "boots", "a hat", "sun cream", "a mug", "a sleeping bag")
    bullets = "\n- ".join(("What to bring:\n", *items))
    text = f"# Camp\n\n{bullets}\n\n## Fees\n\nIt costs £40.\n"
    answer = attempt("What should I bring?", text, encoder=TUNED_ENCODER)
    assert {*items} <= {quote.text for quote in answer.quotes}
    assert has_tick(answer)


def test_quotes_of_only_the_question_tell_nothing() -> None:
    question, sources = "What does parking cost?", [Source("Parking costs 5 euros.")]
    for text, relevant in [("[ 1 Parking costs ]", False), ("[ 1 Parking ] costs [ 1 5 ]", True)]:
        relevance = engine().rate(question, QuotedAnswer.parse(text, sources)).relevance
        assert relevance is not None
        assert (relevance > 0) == relevant


def test_sources_are_named_if_there_are_several() -> None:
    sources = [
        Source("# Pets\n\nOne dog is allowed.\n\nCats too.", title="Flats"),
        Source("# Visits\n\nA dog is allowed on a lead.\n\nMind the step.", title="Garden"),
    ]
    answer = engine().attempt("Is a dog allowed?", sources)
    assert answer is not None
    assert {(quote.source, quote.text) for quote in answer.quotes} == {
        (1, "Flats"),
        (1, "One dog is allowed."),
        (2, "Garden"),
        (2, "A dog is allowed on a lead."),
    }


def test_unrelated_questions_are_not_answered() -> None:
    assert engine().attempt("Who painted the Mona Lisa?", [Source(CONTRACT)]) is None


def test_headings_greetings_and_lead_ins_are_not_offered_as_nearest() -> None:
    class Unsure(ExtractiveEngine):
        def answer(
            self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
        ) -> QuotedAnswer:
            said = "[ 1 News ] [ 1 Dear all, ] [ 1 Some points: ] [ 1 It rains. ] [ 1 Ann ]"
            return QuotedAnswer.parse(said, sources)

    sources = (Source("# News\n\nDear all,\n\nSome points:\n\nIt rains.\n\nAnn"),)
    (near,) = nearest(Unsure(encoder="none"), Request("Who sang?", sources))
    assert near.text == "It rains."


def test_a_paraphrased_question_is_answered_by_meaning() -> None:
    found = quotes("Can I take my puppy inside the building?", CONTRACT, encoder="auto")
    assert any("Dogs are welcome" in quote for quote in found)


def test_a_question_on_the_subject_that_has_no_answer() -> None:
    text = f"{CONTRACT}\n## 5. Parking\n\nCars are parked behind the hall. The gate is locked at 23:00.\n"
    sources = [Source(text)]
    padded = engine(TUNED_ENCODER).attempt("How many parking spaces are there?", sources)
    assert padded is None or not has_tick(padded)
    answer = engine(TUNED_ENCODER).attempt("When is the gate locked?", sources)
    assert answer is not None
    assert has_tick(answer)


def test_dashes_alone_are_no_content() -> None:
    units = read_units(Source("The fee is £5.\n\n--\n\nAda"))
    assert [units.texts[i] for i in units.content] == ["The fee is £5.", "Ada"]


def test_the_words_around_a_letter_are_no_part_of_what_it_says() -> None:
    text = "Dear Dana,\nhere are our prices:\n\n- Tiles: £3,900\n- Slate: £4,850"
    assert attempt("What are the prices?", text).plain.startswith("here are our prices:")
    text = (
        "From: Dana Ruiz\nTo: Lee Park\nSubject: Roof repair\n\nHi Lee,\n\n"
        "We'd like to go ahead with the second option, the slate one at £4,850, not the tiles. Could "
        "your crew start in the week of 8 June? We are away until the 5th.\n\n"
        "One thing: the chimney flashing was not in your list. Is it included?\n\nBest,\nDana\n"
    )
    found = quotes("Is the chimney flashing included?", text, encoder=TUNED_ENCODER)
    assert found == ["One thing: the chimney flashing was not in your list. Is it included?"]


def test_a_quote_has_no_marks_of_bold_around_it() -> None:
    text = "# Grants\n\nWe give 5.\n\n**Applications close on 3 May.** *Late ones* are not read."
    assert quotes("When do applications close?", text)[0] == "Applications close on 3 May."


def test_a_row_with_many_blanks_is_quoted_quickly() -> None:
    started = time.process_time()
    text = f"Fees:\n\n| Card | 12 euros{' ' * 30_000}a year |\n| Room | 9 |\n\nPay early."
    assert quotes("What is the fee for a card?", text)
    assert time.process_time() - started < 2


def test_other_encoders_are_judged_by_other_trees() -> None:
    models = load_models()
    encoders = ((TUNED_ENCODER, "tuned", "meaning"), (PACKAGED_ENCODER, "meaning", "tuned"))
    for name, own, other in encoders:
        found = match("When is the rent due?", [Source(CONTRACT)], SentenceEncoder(name))
        judged = judge(found).relevance.tolist()
        assert judged == judge(found, models[own]).relevance.tolist()
        assert judged != judge(found, models[other]).relevance.tolist()


def test_a_quote_that_occurs_thousands_of_times_is_rated_quickly() -> None:
    text = "".join(f"Name: {i % 10}\n" for i in range(20_000))
    started = time.process_time()
    assert quotes("What is the name?", text)
    assert time.process_time() - started < 8


@given(
    st.lists(st.text(alphabet="dog fe12.?\n#|-*:(", max_size=120), min_size=1, max_size=3),
    st.integers(1, 12),
)
def test_every_answer_is_verbatim_and_short_enough(texts: list[str], most: int) -> None:
    sources = [Source(f"# The dog\n\nA dog.\n\n{text}", title="dog 1") for text in texts]
    answer = ExtractiveEngine(max_words=most, encoder="none").answer("What does a dog do?", sources)
    assert not answer.quotes or answer.verified
    said = [quote.text for quote in answer.quotes if quote.field != "title"]
    assert sum(len(quote.split()) for quote in said) <= most or len(said) == 1


def plain_odds(trees: Trees, values: dict[str, float]) -> float:
    """Walk each tree from its root to a leaf, a reference for `Trees.odds`."""
    odds = trees.bias
    for t in range(len(trees.feature)):
        node = 0
        while trees.left[t, node] != node:
            value = values[trees.names[trees.feature[t, node]]]
            down = trees.left if value <= trees.threshold[t, node] else trees.right
            node = int(down[t, node])
        odds += float(trees.value[t, node])
    return odds


@pytest.mark.parametrize(
    "question", ["When is the hall open on Sunday?", "Can I take my dog in the kitchen?", "?"]
)
def test_trees_equal_the_reference(question: str) -> None:
    found = match(question, [Source(CONTRACT)])
    for trees in (load_models()["words"].unit, load_models()["words"].relevance):
        expected = [
            plain_odds(trees, dict(zip(found.names, row, strict=True))) for row in found.features
        ]
        order = [found.names.index(name) for name in trees.names]
        assert trees.odds(found.features[:, order]) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "least"), [("none", 0.38), ("auto", 0.6)])
def test_quality_on_held_out_documents(encoder: str, least: float) -> None:
    asked = QuestionSet.read(HELD / "questions.jsonl")
    keys = dict.fromkeys((question.id for question in asked.questions), "")
    answers = answer_questions(
        engine(encoder), "", asked.questions, lambda q: whole_documents(q, asked.documents), keys
    )
    scores = map(asked.scorer.score, asked.questions, (answer.prediction for answer in answers))
    total = DocsReport.of(list(scores), resamples=0).total
    assert total.docqa.value is not None
    assert total.docqa.value >= least
    assert total.not_verbatim == 0


def test_the_numbers_of_a_whole_list_stand_before_its_quotes() -> None:
    text = "# Baking bread\n\nTo bake the bread:\n\n1. Heat the oven.\n2. Bake the bread.\n3. Let the bread cool."
    answer = ExtractiveEngine().answer("How do I bake the bread?", [Source(text)])
    assert answer.marked.endswith("\n2. [ 1 Bake the bread. ]\n3. [ 1 Let the bread cool. ]")
    assert answer.verdict("How do I bake the bread?") is Verdict.QUOTED


def test_the_number_of_a_single_item_is_quoted() -> None:
    text = "# Rules\n\n1. Dogs are on a lead.\n2. Fires are forbidden.\n3. Bells are welcome."
    marked = ExtractiveEngine().answer("Are fires forbidden?", [Source(text)]).marked
    assert "[ 1 2. Fires are forbidden. ]" in marked


@pytest.mark.parametrize(
    ("question", "in_order"),
    [
        ("Are bonfires allowed?", ["2025-11", "2025-04", "2025-01"]),
        ("What was decided about bonfires in January?", ["2025-01"]),
    ],
)
def test_the_newest_of_several_minutes_is_quoted_first(question: str, in_order: list[str]) -> None:
    texts = {
        "2025-01": "Bonfires are allowed on Fridays and Saturdays after 5 pm. The fence was mended.",
        "2025-04": "Bonfires are allowed only on Saturdays. Jim brings the keys.",
        "2025-11": "All bonfires are forbidden on the site. The hut gets a new roof.",
    }
    sources = [
        Source(f"# Minutes\n\nPresent: Ann, Jim.\n\n{text}", title=f"Minutes {date}")
        for date, text in texts.items()
    ]
    quotes = ExtractiveEngine().answer(question, sources).quotes
    shown = dict.fromkeys(sources[quote.source - 1].title for quote in quotes)
    assert [title.removeprefix("Minutes ") for title in shown][: len(in_order)] == in_order


def test_a_header_does_not_stay_without_its_row() -> None:
    text = (
        "The kitchen costs more at weekends, as it has to be cleaned on Sundays by somebody who comes "
        "from the village and wants to be paid twice.\n\n"
        "| Room | Price on weekdays | Price at weekends |\n| --- | --- | --- |\n"
        "| Kitchen | £20 a day | £30 a day |\n| Hall | £45 an hour | £60 an hour |"
    )
    shown = [
        ExtractiveEngine(max_words=most)
        .answer("What does the kitchen cost at weekends, and why?", [Source(text)])
        .plain
        for most in range(12, 60, 4)
    ]
    assert "Room | Price" in shown[-1]
    assert all("Kitchen |" in answer for answer in shown if "Room |" in answer)
