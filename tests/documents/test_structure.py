"""Structure: what a reader sees as one thing stays one thing, and what it needs is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.documents.structure import read_structure


def units(text: str) -> list[tuple[str, str]]:
    structure = read_structure(text)
    return [(unit.kind, structure.of(i)) for i, unit in enumerate(structure.units)]


def over(text: str, of: str) -> str | None:
    """Return the text of the unit that another cannot be understood without."""
    structure = read_structure(text)
    index = next(i for i in range(len(structure.units)) if structure.of(i).endswith(of))
    above = structure.units[index].over
    return None if above is None else structure.of(above)


def headings(text: str, of: str) -> list[str]:
    structure = read_structure(text)
    index = next(i for i in range(len(structure.units)) if structure.of(i).endswith(of))
    return [structure.of(i) for i in structure.units[index].headings]


def test_sections_have_the_headings_above_them() -> None:
    text = "# Fees\n\n## Late\n\nIt is 5%.\n\n## Early\n\nNone.\n\n# Law\n\nDutch law."
    assert headings(text, "It is 5%.") == ["Fees", "Late"]
    assert headings(text, "None.") == ["Fees", "Early"]
    assert headings(text, "Dutch law.") == ["Law"]


def test_headings_need_no_marks() -> None:
    text = "RENTAL TERMS\n\nDeposit\n\nYou pay five weeks' rent.\n\n4. Ending it.\n\nGive notice."
    assert headings(text, "rent.")[-1] == "Deposit"
    assert headings(text, "Give notice.")[-1] == "4. Ending it."


@pytest.mark.parametrize(
    "line", ['"No diving from the wall."', "**Dogs are not allowed.**", "Cars pay £48 a day.¹"]
)
def test_a_sentence_in_quotes_or_bold_is_no_heading(line: str) -> None:
    assert units(f"# Pool\n\n{line}\n\nThe bar is open.")[1] == ("sentence", line)


def test_headings_may_stand_between_rules() -> None:
    text = "Notes\n\n--- Candidate A: Ann Lee ---\nTue 10:00\n\nDrives.\n\n=== B ===\n\nWalks."
    assert headings(text, "Drives.")[-1] == "Candidate A: Ann Lee"
    assert headings(text, "Walks.")[-1] == "B"


def test_a_title_may_be_underlined_right_above_its_text() -> None:
    text = (
        "MON 3 MARCH  late, Tam\n----------------------\nDuke barks.\nBiscuit (K7)   ate half of it.\n"
        "Freezer is at -9.\n\nName     Price\n--------------\nTea      2.50\nJuice    3.00\n"
    )
    assert headings(text, "Freezer is at -9.") == ["MON 3 MARCH  late, Tam"]
    assert headings(text, "3.00") == ["MON 3 MARCH  late, Tam"]
    assert not any(set(found) == {"-"} for _, found in units(text))


def test_a_signature_is_not_a_heading() -> None:
    text = "Dear Ann,\n\nIt is booked.\n\nSam\n\nFrom: Ann\nTo: Sam\n\nThank you very much."
    assert headings(text, "Thank you very much.") == ["From: Ann"]


def test_short_lines_are_not_joined() -> None:
    text = (
        "Flights\nSat 3 Oct Frankfurt 11:05 to Lisbon 13:10\nThu 8 Oct Lisbon 18:40 to Oslo 22:45\n"
        "One bag of 23 kg and one cabin bag of 8 kg each, sports equipment must be registered"
    )
    assert [(kind, found[:9]) for kind, found in units(text)] == [
        ("heading", "Flights"),
        ("sentence", "Sat 3 Oct"),
        ("sentence", "Thu 8 Oct"),
        ("sentence", "One bag o"),
    ]


def test_a_short_value_stays_with_its_name() -> None:
    text = (
        "A4 colour\n40p a page\n\nThese are the prices of all our copies, and our staff will help you\n"
        "with the machines on every day but Sunday."
    )
    assert units(text)[0] == ("sentence", "A4 colour\n40p a page")


def test_a_line_that_ends_with_the_word_of_a_phrase_goes_on() -> None:
    text = (
        "To report a fault please write to the\n"
        "Harbour Office of the city, which is open from Monday to Friday.\n"
        "Appendix A\nThe fees of this year and of the years that come after it.\n\n"
        "§ 2 Signing in\nThe guests of the harbour sign in at the gate when they come."
    )
    assert units(text)[0][1].endswith("o Friday.")
    assert ("sentence", "Appendix A") in units(text)
    assert ("heading", "§ 2 Signing in") in units(text)


def test_a_paragraph_in_capitals_is_no_heading() -> None:
    text = (
        "NO WARRANTY\nFOR THE SOFTWARE\n\nTHE SOFTWARE IS PROVIDED AS IS, WITHOUT WARRANTY OF ANY\n"
        "KIND, EXPRESS OR IMPLIED. IN NO EVENT SHALL WE BE LIABLE\nFOR ANY CLAIM."
    )
    assert [kind for kind, _ in units(text)] == ["heading", "heading", "sentence", "sentence"]
    assert units(text)[-1][1].startswith("IN NO EVENT")


def test_aligned_columns_are_a_table() -> None:
    text = (
        "Date: 3 May\nNumber: 12\n\nPos  Item         Qty    Price\n1    Repair, pump   2    68.00\n"
        "2    New pump       1   129.50\n\nNet          197.50\nVAT           37.53"
    )
    assert over(text, "2    New pump       1   129.50") == "Pos  Item         Qty    Price"
    assert over(text, "Pos  Item         Qty    Price") is None
    assert [found for _, found in units(text)][-2:] == [
        "Net          197.50",
        "VAT           37.53",
    ]


def test_rules_and_totals_do_not_undo_a_table() -> None:
    text = (
        "Pos  Item         Qty    Price\n------------------------------\n1    Desk, oak     6    68.00\n"
        "2    New chair     1   129.50\n------------------------------\n         Subtotal       197.50"
    )
    assert over(text, "2    New chair     1   129.50") == "Pos  Item         Qty    Price"
    assert units(text)[-1] == ("sentence", "Subtotal       197.50")


ITEMS = "Ingredients:\n- 1 onion\n- a sprig of\nthyme\nChop the onion and fry it in butter for ten minutes."
FIELDS = "Minutes of 4 May\nPresent: Ada Wren (chair), Tom\nOrr\nExcused: Petra Vogl\n"
HANGING = (
    "Time              5 hours\nRefreshments      Drover's Rest, Withen; tea garden at Skell\n"
    "                  Farm, weekends only"
)
JUSTIFIED = (
    "The  landlord   keeps  the  roof  and  the  stairs  clean,  and\n"
    "tells  the tenant  of all works in the  house  at  least  three\n"
    "days  before they  begin.  Works  at night  are  not  permitted."
)
FULL_LINES = (
    "The tenant keeps the flat clean, tells the landlord of any damage and of\n"
    "Any loss, and pays for what he breaks. Children and guests are counted as\n"
    "Tenants here. Done."
)
FENCE = "pip install .\n```\n\nIt starts when you log in. It stops when you leave.\n\n```sh\nmake\n```\n\nThat is all."


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("Dr. Ames paid 4.50 at 9 a.m. on 3 May. See no. 12, e.g. the blue one. Then he left.",
         ["on 3 May.", "See no. 12, e.g. the blue one.", "Then he left."]),
        ("Use form 2, rev. 03/2025. It is 9.6p (incl. VAT).", ["03/2025.", "It is 9.6p (incl. VAT)."]),
        ("Yufu express, dep. 9:17, arr. 11:30, car 2. Lunch is sold.", ["car 2.", "Lunch is sold."]),
        ("Are you related to a trustee? ☒ Yes ☐ No", ["trustee? ☒ Yes ☐ No"]),
        ("**Night.** The fan runs on low. It is locked.", ["**Night.** The fan runs on low.", "It is locked."]),
        ("Methods. We asked 64 nurses.", ["Methods. We asked 64 nurses."]),
        ("Notices of the month.\n\nELECTION OF THE TRUST. Two places fall vacant. Vote by post.",
         ["month.", "ELECTION OF THE TRUST. Two places fall vacant.", "Vote by post."]),
        (FULL_LINES, ["what he breaks.", "counted as\nTenants here.", "Done."]),
        (JUSTIFIED, ["begin.", "Works  at night  are  not  permitted."]),
        (HANGING, ["5 hours", "Skell\n                  Farm, weekends only"]),
        (FIELDS, ["4 May", "Present: Ada Wren (chair), Tom\nOrr", "Excused: Petra Vogl"]),
        ("Text here.\n\n|---|---|\nName: Ann\nPhone: 12", ["Text here.", "Name: Ann", "Phone: 12"]),
        ("Invoice no.: 2024-0381\nDue date: 14 July\nPaid: no", ["2024-0381", "Due date: 14 July", "Paid: no"]),
        ("Übergabe: 30. April\nDue date: 14 July\nPaid: no", ["30. April", "Due date: 14 July", "Paid: no"]),
        ("Open:\nMonday        8 to 12\nTuesday       9 to 13", ["Open:", "8 to 12", "Tuesday       9 to 13"]),
        (FENCE, ["pip install .", "It starts when you log in.", "It stops when you leave.", "make", "That is all."]),
        ("One.\n<!-- The fee\nis 5. -->\nTwo.\n\n<!-- Old. -->\n\n```\n<!-- code -->\n```",
         ["One.", "Two.", "<!-- code -->"]),
        ("One.\n\n<!-- The fee is 5.\n\nTwo.", ["One.", "<!-- The fee is 5.", "Two."]),
    ],
)  # fmt: skip
def test_where_units_end(text: str, ends: list[str]) -> None:
    found = [each for _, each in units(text)]
    assert [each[-len(end) :] for each, end in zip(found, ends, strict=True)] == ends


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Opening hours\n\nMon–Fri 9–5\n\nSat 10–12\n\nRyde PO33\n\nTerms\n\nYou pay in cash.",
         "heading sentence sentence sentence heading sentence"),
        ("The lease\n\nTenant: Maria Jones\n\nPets: not allowed\n\nMonthly charges £54.00\n\nIt is made in Ely.",
         "heading sentence sentence sentence sentence"),
        ("### Team\n\n£24/month\n\nFor businesses with staff.\n", "heading sentence sentence"),
        ("Do this:\n\n1. Switch it off\n2. Wait\n\n3. Call the\n   service", "sentence item item item"),
        (ITEMS, "sentence item item sentence"),
        ("Ann: Two offers:\n- Renner: 21\n- Vogt: 19\nBob: We have 17.\nAnn: Fine.\nBob: Good.",
         "sentence item item sentence sentence sentence"),
        ("The meeting closed at nine.\n\nSigned ............ Mayor Date ..........\n\n"
         "My child ______________ in room _____ may go on the trip.", "sentence meta meta"),
        ("Soup of the day .......... £5\nFish and chips ... £14\nPie ...... £6.50\n", "sentence sentence sentence"),
        ("|---|---|\nThe hall is open.", "sentence"),
        ("A pipeline is a sequence of commands separated by\nthe operators | or |& of the shell.", "sentence"),
        ("How many?\n\n12", "question sentence"),
        ("# Rooms\n\n12", "heading sentence"),
        ("Rooms:\n\n12", "sentence sentence"),
        ("It rained.\n\n12", "sentence meta"),  # nothing asks for a number
    ],
)  # fmt: skip
def test_kinds_of_units(text: str, kinds: str) -> None:
    assert [kind for kind, _ in units(text)] == kinds.split()


MERGED = (
    "| Area | Q1 |  | Q2 |  |\n| --- | --- | --- | --- | --- |\n|  | Sold | Let | Sold | Let |\n"
)
RULER = "\n| --- | --- |\n| Agent | Lowther & Gibb |\n"


@pytest.mark.parametrize(
    ("text", "kinds", "above"),
    [
        # Names and values have no header, nor have numbered rows.
        (f"| Rent | £985 |{RULER}", "row row", [None, None]),
        (f"Rent | £985{RULER}", "row row", [None, None]),
        (f"| Tenant | Ann Lee who lives at 14 Bridge Street |{RULER}", "row row", [None, None]),
        (f"| Office | Ann Lee, 01632 960 144 |{RULER}", "row row", [None, None]),
        ("| Day 1–2 | a quarter |\n|---|---|\n| Day 3 | half |", "row row", [None, None]),
        ("| Plan 1 | Plan 2 |\n|---|---|\n| 2 GB | 4 GB |", "header row", [None, 0]),
        ("| Gas | 4 hours |\n| Else | 28 days |", "row row", [None, None]),
        ("Times:\n\n|  |  |\n| --- | --- |\n| Gas | 4 hours |", "sentence row", [None, 0]),
        # A row of one cell, or of names below merged cells, is a header.
        ("| Feature | Solo | Team |\n|---|---|---|\n| Data |\n| Storage | 2 GB | 50 GB |",
         "header header row", [None, 0, 1]),
        (f"{MERGED}| North | 8 | 9 | 7 | 6 |", "header header row", [None, 0, 1]),
        (MERGED.replace("Q1 |  | Q2 |  |", "A | B | C | D |"), "header row", [None, 0]),
        # A sentence in brackets is no lead-in.
        ("The fee was set. (One voted against.)\n\n| Group | Grant |\n|---|---|\n| Choir | 20 |",
         "sentence sentence header row", [None, None, None, 2]),
    ],
)  # fmt: skip
def test_headers_of_tables(text: str, kinds: str, above: list[int | None]) -> None:
    found = read_structure(text).units
    assert [unit.kind for unit in found] == kinds.split()
    assert [unit.over for unit in found] == above


IF = "You may end it if:\n\n(a) we fail to pay;\n\n(b) the roof leaks.\n\nElse not."
TO = "Pay to:\n  Holder: Meridian\n  IBAN: DE41 2005\n  BIC:  HASPDE\nQuote the number."
TIMES = "Times:\n\n| Fault | Within |\n| --- | --- |\n| Gas | 4 hours |\n| Else | 28 days |"
DRUG = "### Do not take it\n\n- if you are allergic;\n- in pregnancy.\n\n### Fees\n\n- Card: 5"


@pytest.mark.parametrize(
    ("text", "unit", "above"),
    [
        (IF, "(b) the roof leaks.", "You may end it if:"),
        (IF, "Else not.", None),
        ("Who may join\n\nPeople could not if they\n\n- smoked", "- smoked", "People could not if they"),
        (TO, "Meridian", "Pay to:"),
        (TO, "HASPDE", "Pay to:"),
        (TO, "Quote the number.", None),
        (DRUG, "in pregnancy.", "Do not take it"),  # the items continue the heading
        (DRUG, "Card: 5", None),
        (TIMES, "| Else | 28 days |", "| Fault | Within |"),
        (TIMES, "| Fault | Within |", "Times:"),
        ('code,plant,price\nA1,Aster,7.50\nA2,"Phlox, white",8.00\nA3,Sage,5.00', "A3,Sage,5.00", "code,plant,price"),
        ("Is there a helmet?\nNo.\n\nCan I stop?\nYes. Press PAUSE.", "Yes. Press PAUSE.", "Can I stop?"),
    ],
)  # fmt: skip
def test_what_introduces_a_unit(text: str, unit: str, above: str | None) -> None:
    assert over(text, unit) == above


def test_items_within_an_item_are_introduced_by_it() -> None:
    text = (
        "Do this:\n\n 9. Sweep the floor.\n10. Disinfect:\n    - parvo: 1:50\n    - cough: 1:100\n"
        "11. Rinse.\n"
    )
    assert over(text, "1:100") == "10. Disinfect:"
    assert over(text, "10. Disinfect:") == over(text, "11. Rinse.") == "Do this:"


def test_turns_of_a_conversation_are_kept_apart() -> None:
    text = "Ann: Is it built?\nBob: It is. Painted too.\nAnn: Good.\nBob: But late."
    found = read_structure(text)
    groups = {found.of(i): unit.group for i, unit in enumerate(found.units)}
    assert len(set(groups.values())) == 4


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("14/03/2026, 18:22 - Ann Lee:", "14/03/2026, 18:25 - +1 (555) 010-7734:"),
        ("[14/03/2026, 18:22:07] Ann Lee:", "\u200e[14/03/2026, 18:25:11] Bob (lot 3):"),
        ("[3/14/26, 6:22:07\u202fPM] ~ Ann:", "[3/14/26, 6:25:11\u202fPM] Bob:"),
        ("[Sat 14 Mar, 18:22] Ann:", "[18:25] Bob:"),
        ("[14/3 18:22] Ann:", "[14/3 18:25] Bob:"),
        ("14/3/26, 6:22 p. m. - Ann:", "14/3/26, 6:25 p. m. - Bob:"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\n\n"])
def test_messages_of_a_chat_keep_their_sender_and_date(first: str, second: str, end: str) -> None:
    long = "the water heater in our cellar has been leaking since Tuesday, apologies in advance"
    text = f"{first} {long}{end}{second} Got him! He's here. 555-01{end}- bring a lead\nSOON"
    found = read_structure(text)
    said = {found.of(i): unit for i, unit in enumerate(found.units)}
    assert list(said) == [
        first,
        long,
        second,
        "Got him!",
        "He's here.",
        "555-01",
        "- bring a lead",
        "SOON",
    ]
    assert over(text, long) == first
    assert {over(text, each) for each in list(said)[3:]} == {second}
    assert {unit.group for unit in found.units[3:]} == {found.units[2].group}


def test_lines_with_times_are_messages_if_they_name_speakers() -> None:
    told = "10:04 Ann: Is it built?\n10:05 Bob: Yes\n10:06 Ann: And painted\n10:09 Bob: Twice\n10:10 Cy: Hi"
    assert over(told, "Hi") == "10:10 Cy:"
    commas = "".join(f"3 May, 10:0{n} - Ann: one, two\n" for n in range(3))
    assert over(commas, "one, two") == "3 May, 10:00 - Ann:"
    assert over(f"{told}\n# Later\nHe left.", "He left.") is None
    visits = "3 May, 10:00 - Opening: us\n4 May, 11:00 - Tour: you\n\n" + "Bring a coat.\n\n" * 5
    assert over(visits, "Bring a coat.") is None
    wrapped = told.replace("Yes", "Yes, by the people from\nnext door")
    assert over(wrapped, "Yes, by the people from\nnext door") == "10:05 Bob:"
    assert over("3 May, 10:00 - Opening: We bake bread.", "We bake bread.") is None
    assert over("[10:00] <ann> Is it built?\n[10:02] <bob> Yes", "<bob> Yes") == "[10:02]"
    lines = [
        "These are the minutes of a call", "10:04 Ann: Is it built at last", "10:05 Bob: Yes, it is at long last",
        "- a green house with two floors", "10:06 Ann: Is it painted as well", "# Later on, in the same evening",
        "10:07 Bob: It is painted as well",
    ]  # fmt: skip
    found = read_structure("\n".join(lines))
    shown = [line.removeprefix("# ") for line in lines]
    assert [found.text[u.start : u.end] for u in found.units if u.kind != "meta"] == [
        line.partition(": ")[2] or line for line in shown
    ]
    plan = "10:00 Arrival: coffee in the hall.\n10:30 Talk: how to save water.\n11:00 Break: tea"
    assert over(plan, "how to save water.") is None


def test_terms_above_their_texts_are_headings_of_one_level() -> None:
    long = "Four spaces in each train, at three pounds a journey, but not before nine o'clock."
    text = f"# Coast Line\n\n## Good to know\n\nBicycles\n{long}\n\nGroups\nFrom 10 people: a third off. {long}"
    assert headings(text, "a third off.") == ["Coast Line", "Good to know", "Groups"]


def test_lines_that_begin_with_dates_are_no_headings_of_each_other() -> None:
    days = ["12–15 May – Year 6 exams", "Monday 25 May: half-term", "June 6 – photographs"]
    found = units("Term dates\n\n" + "\n\n".join(days) + "\n\nPlease note them.")
    assert [text for kind, text in found if kind == "sentence"] == [*days, "Please note them."]
    assert ("heading", days[1]) in units(f"# Diary\n\n{days[1]}\n\nWe slept.")


@pytest.mark.parametrize(
    "lines",
    [
        "3 May, 10:00 – 11:00 Opening\n4 May, 11:00 – 12:00 Tour of the mill",
        "3 May, 10:00 - Opening\n4 May, 11:00 - Tour of the mill",
        "Q: Is it old?\nA: Yes.\nQ: Is it wet?\nA: No.\n\n5.10 Fee: It is small.",
    ],
)
def test_text_after_times_or_numbers_of_no_messages_is_read_as_elsewhere(lines: str) -> None:
    found = read_structure(f"{lines}\n\nPrices\n\nChildren pay two pounds.")
    assert found.units[-2].kind == "heading"
    assert lines.rsplit("\n", maxsplit=1)[-1] in map(found.of, range(len(found.units)))


@pytest.mark.parametrize("above", ["Mill\n\nIt is old.", "# Mill"])
def test_a_line_below_a_heading_is_below_it(above: str) -> None:
    found = read_structure(f"{above}\n\nFees\n\nFor adults\n\nThey pay four pounds.")
    assert [found.of(at) for at in found.units[-1].headings] == ["Mill", "Fees", "For adults"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Mietvertrag für die Wohnung beginnt am 1. Mai 2024.",
        "Die Miete ist spätestens am 3. Werktag im Voraus fällig.",
        "Der Hausmeister wohnt in der Parkstr. 12, 2. Stock links.",
        "Zum 12. Nov. 2023 wohnte im 2. Obergeschoss, Parkstr. 5, Hr. Keil.",
        "Kleine Tiere, z. B. Hamster, d. h. Tiere nach Nr. 5 und Art. 7, sind erlaubt.",
        "Die Kaution von drei Mieten beträgt d. h. 2.070,00 EUR.",
        "Le bail est signé par M. Dupont et Mme. Roux selon art. 3 et chap. IV, p. ex. Paris.",
        "El contrato lo firman el Sr. García y la Sra. Pérez, p. ej. Ana, según el art. 4.",
        "Please call us on tel. (030) 99 or see the notes on p. 5 of Feb. 2023.",
        "Replace the filter every six months (part no. AF-C14), as on p. B2.",
    ],
)
def test_abbreviations_and_ordinals_of_other_languages_end_no_sentence(sentence: str) -> None:
    assert units(f"{sentence} Das ist alles, was gilt.")[0] == ("sentence", sentence)


@pytest.mark.parametrize(
    "sentence",
    ["The answer of the office was no.", "Their son says that I am 30.", "It is on page 12."],
)
def test_short_words_and_numbers_may_end_a_sentence(sentence: str) -> None:
    assert units(f"{sentence} Dogs and cats stay at home.")[-1][1] == "Dogs and cats stay at home."


def test_the_lines_below_a_label_are_its_value() -> None:
    text = (
        "The trust lets three halls in the town to clubs, to families and also to\n"
        "firms, by the hour or by the day.\n\n"
        "Bill to:                Deliver to:\nOrla Finch              Finch Sailing\n"
        "18 Quayside             Berth 27\n\n"
        "Address:\nWeaver Trust\n41 Mill Street\nHathersby HB2\nPhone: 0161 440\nFax: 0161 441"
    )
    assert [text for _, text in units(text)][1:] == [
        text[text.index("Bill") : text.index("\n\nAddress")],
        "Address:\nWeaver Trust\n41 Mill Street\nHathersby HB2",
        "Phone: 0161 440",
        "Fax: 0161 441",
    ]


def test_an_address_below_a_heading_is_no_heading() -> None:
    wide = (
        "The halls are let to clubs, to families and to firms by the hour or by the day, all year."
    )
    text = (
        f"# Halls\n\n## Visit us\n\nThe Hall\n27 Canal Walk\nOxbridge OX9\n\n{wide}\n{wide}\n\n"
        f"## Letters\n\nWeaver Trust c/o Lund, 41 Mill Street, Hathersby HB2\n\n{wide}\n\n"
        f"## Calls\n\nPhone: 0161 440\n\n{wide}"
    )
    assert [found for kind, found in units(text) if kind == "heading"] == [
        "Halls",
        "Visit us",
        "Letters",
        "Calls",
    ]


def test_short_lines_have_the_lead_in_above_them() -> None:
    text = (
        "Please transfer the rent to this account:\n\nHolder: Anna Berg\nIBAN: DE02 1203\n\n"
        "Key holders:\nAnna Prell: front door\nBen Osei: all doors\n\n"
        "We say this:\n\nThe rent is due on the first working day of each month."
    )
    wide = "The rent of the flat is due on the first working day of each month, and is paid in advance."
    night = f"{wide}\n{wide}\n\nAt night, call:\n\nMill Clinic\n2 Mill Road\n01757 330\n\nWe close at noon."
    assert ("sentence", "Mill Clinic\n2 Mill Road\n01757 330") in units(night)
    assert over(text, "DE02 1203") == "Please transfer the rent to this account:"
    assert over(text, "all doors") == "Key holders:"
    assert over(text, "each month.") is None


def test_sentences_end_at_the_stops_of_other_scripts() -> None:
    for text in (
        "東京は首都です。「人が多い。」彼は言った。",
        "हम आए। वे गए।",
        "هل جاء؟ نعم، جاء.",
        "Τι ώρα είναι; Είναι αργά. Πάμε.",
    ):
        assert len(units(text)) >= 2
    assert [text for _, text in units("「人が多い。」彼は言った。")] == [
        "「人が多い。」",
        "彼は言った。",
    ]


def test_text_without_stops_is_cut_between_words_and_characters() -> None:
    words = [each for _, each in units("word\n" * 2000)]
    assert len(words) > 3
    assert set(" ".join(words).split()) == {"word"}
    marked = [each for _, each in units("e\u0301" * 5000)]
    assert len(marked) > 3
    assert not any(each.startswith("\u0301") for each in marked)


@given(st.text(alphabet="aA1 .?!:|-*#\n(,)", max_size=200))
def test_every_word_is_in_one_unit(text: str) -> None:
    structure = read_structure(text)
    ends = 0
    for unit in structure.units:
        assert ends <= unit.start <= unit.end
        ends = unit.end
        for index in (*unit.headings, *([unit.over] if unit.over is not None else [])):
            assert 0 <= index < len(structure.units)
    inside = {i for unit in structure.units for i in range(unit.start, unit.end)}
    assert {i for i, char in enumerate(text) if char.isalnum()} <= inside


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_code_block_is_one_unit_of_the_sentence_before_it(end: str) -> None:
    lines = [
        "Run this:",
        "",
        "```sh",
        "# in a clone. Then",
        "",
        "make .",
        "```",
        "",
        "Then start it.",
    ]
    code = end.join(lines[3:6])
    text = end.join(lines)
    assert units(text)[1:] == [("item", code), ("sentence", "Then start it.")]
    assert over(text, "make .") == "Run this:"


def test_an_indented_code_block_belongs_to_its_lead_in() -> None:
    text = "Run this:\n\n    brew install vaultsync\n    vaultsync start\n\nThen restart."
    assert ("item", "brew install vaultsync\n    vaultsync start") in units(text)
    assert over(text, "vaultsync start") == "Run this:"
    prose = "The terms are:\n\n    (a) a fee\n    (b) a deposit\n\n    Both are due at once."
    assert ("item", "(a) a fee") in units(prose)
    assert ("sentence", "Both are due at once.") in units(prose)


def test_a_box_of_asterisks_is_read_without_its_frame() -> None:
    text = """\
************************************
*                                  *
*  6. Disclaimer                   *
*  -------------                   *
*                                  *
*  No use of any software is       *
*  authorized, except under this   *
*  disclaimer. You bear the risk.  *
*                                  *
************************************
"""
    assert headings(text, "the risk.") == ["6. Disclaimer"]
    assert [kind for kind, _ in units(text)] == ["heading", "sentence", "sentence"]
    first = units(text)[1][1]
    assert first.startswith("No use of")
    assert first.endswith("disclaimer.")


def test_a_numbered_line_above_its_text_is_a_heading() -> None:
    text = "Present: Ann, Bob\nExcused: Cem\n\n1. Water\nThe pump runs.\n\n2. Party\nIt is in June."
    assert headings(text, "It is in June.") == ["2. Party"]
    assert over(text, "The pump runs.") is None


@pytest.mark.parametrize(("dot", "indent"), [(".", ""), ("", ""), (".", "   ")])
def test_a_numbered_line_above_clauses_of_its_number_is_a_heading(dot: str, indent: str) -> None:
    text = f"Rules\n\n3{dot} Permits\n{indent}3.1 Every fire needs one.\n{indent}3.2 It is free."
    assert headings(text, "3.1 Every fire needs one.") == ["Rules", f"3{dot} Permits"]
    assert headings(text, "3.2 It is free.") == ["Rules", f"3{dot} Permits"]


def test_a_quoted_message_is_read_without_its_marks() -> None:
    text = (
        "Yes.\n\nOn Wed, 23 Apr 2025 at 19:40, Ann <a@b.org> wrote:\n> Hi Bob,\n>\n"
        "> the tiles cost 20,480\n> euros.\n> It is valid until 2 May.\n>> Old."
    )
    assert units(text)[1][0] == "meta"
    assert [said for _, said in units(text)][2:] == [
        "Hi Bob,",
        "the tiles cost 20,480\n> euros.",
        "It is valid until 2 May.",
        "Old.",
    ]
    assert headings(text, "2 May.") == ["On Wed, 23 Apr 2025 at 19:40, Ann <a@b.org> wrote:"]


@pytest.mark.parametrize(
    "text",
    [
        "1. Select the file.\n2. Check it. All is shown.\n3. Click **Accept**.\n\nYou can undo it.",
        "1. Select the file.\n\n2. Check it with care.\n\n3. Click **Accept**.\n\nYou can undo it.",
        "Do this:\n\n1. Press Start. The lamp blinks.\n2. Press Stop. It is off.\n\nYou can undo it.",
    ],
)
def test_short_steps_are_no_headings(text: str) -> None:
    assert headings(text, "undo it.") == []
    assert "heading" not in [kind for kind, _ in units(text)]


def test_tables_of_terminals_have_a_header() -> None:
    border = "+------+-------+"
    table = f"| Room | Price |\n{border.replace('-', '=')}\n| One  | 80    |\n{border}\n| Two  | 90    |"
    text = f"Prices in euros:\n{border}\n{table}\n{border}"
    kinds = ["sentence", "header", "row", "row"]
    assert [kind for kind, _ in units(text)] == kinds
    assert over(text, "90    |") == "| Room | Price |"
    assert over(" id | name\n----+------\n  1 | Ann\n  2 | Bob", "Bob") == "id | name"
