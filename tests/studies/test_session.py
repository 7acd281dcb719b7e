"""A study over HTTP: what raters see, what is saved, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semqa.errors import InputError
from semqa.studies.folder import open_study
from semqa.studies.kind import Input, Rated, Study
from semqa.studies.store import Store
from tests.studies.made import OUTPUTS, make_study, served, write_lines


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return make_study(tmp_path / "new")


def test_the_source_is_not_sent_before_the_first_stage_is_saved(study: Study) -> None:
    with served(study) as site:
        ann = site.person("ann")
        for _ in OUTPUTS:
            task = ann.next()
            assert "HIDDEN" not in json.dumps(task)
            after = ann.answer(task, interpretable=True)
            assert "HIDDEN" in json.dumps(after)
            done = ann.answer(after, attributable=True)
            assert done["finished"]
            # Nor is the system, at any time.
            assert "system" not in json.dumps([task, after, done])
        assert ann.next()["end"] == "done"


def test_missing_or_unknown_answers_are_refused(study: Study) -> None:
    wrong: list[dict[str, Any]] = [
        {}, {"interpretable": "yes"}, {"interpretable": 1}, {"flagged": True}, {"flagged": "no"},
    ]  # fmt: skip
    with served(study) as site:
        ann = site.person("ann")
        for values in wrong:
            ann.answer(ann.next(), 400, **values)


def test_the_first_stage_cannot_change_after_the_source_is_shown(study: Study) -> None:
    with served(study) as site:
        ann = site.person("ann")
        task = ann.next()
        after = ann.answer(task, interpretable=True)
        ann.answer(task, 409, interpretable=False)
        ann.answer(task, interpretable=True)  # sent again, as by a page that heard no reply
        done = ann.answer(after, attributable=True)
        ann.answer(task, 409, interpretable=False)
        assert ann.answer(done, attributable=False)["values"]["attributable"] is False


def test_an_answer_can_be_corrected_before_the_source_is_shown(study: Study) -> None:
    with served(study) as site:
        ann = site.person("ann")
        task = ann.next()
        done = ann.answer(task, interpretable=False)
        assert done["finished"]
        assert "HIDDEN" not in json.dumps(done)
        assert not ann.answer(done, interpretable=True)["finished"]
        assert ann.next()["id"] == task["id"]


def test_answers_survive_a_restart(study: Study) -> None:
    with served(study) as site:
        ann = site.person("ann")
        task = ann.next()
        after = ann.answer(task, interpretable=True)
        ann.draft(after, attributable=False, justification="No year.")
    with served(open_study(study.folder)) as site:
        again = site.person("ann").next()
        assert again["id"] == task["id"]
        assert again["values"]["interpretable"] is True
        assert again["draft"] == {"attributable": False, "justification": "No year."}


def test_a_draft_after_its_answer_is_ignored(study: Study) -> None:
    with served(study) as site:
        ann = site.person("ann")
        task = ann.next()
        ann.answer(task, interpretable=True)
        ann.draft(task, interpretable=False)
        assert ann.next()["draft"] == {}
        done = ann.answer(ann.next(), attributable=True)
        path = f"/v1/tasks/{task['id']}"
        ann.draft(done, seconds=0.0, attributable=False)  # of before the answer
        assert ann.get(path)["draft"] == {}
        ann.draft(done, seconds=1e6, attributable=False)  # a correction
        assert ann.get(path)["draft"] == {"attributable": False}


def test_raters_do_not_see_each_others_answers(study: Study) -> None:
    with served(study) as site:
        ann, ben = site.person("ann"), site.person("ben")
        task = ann.next()
        ben.get(f"/v1/tasks/{task['id']}", 404)
        ben.answer(task, 404, interpretable=True)
        ben.get("/v1/progress", 404)
        assert site.person("owner").get("/v1/progress")["raters"][0]["name"] == "ann"
        assert site.client.get("/v1/next").status_code == 401
        head = {"Authorization": "Bearer " + "x" * 32}
        assert site.client.get("/v1/next", headers=head).status_code == 401


def test_seconds_are_capped_by_the_servers_clock(study: Study) -> None:
    time = [0]
    with served(study, clock=lambda: time[0]) as site:
        ann = site.person("ann")
        task = ann.next()
        time[0] += 10_000_000
        after = ann.answer(task, seconds=3600, interpretable=True)
        assert after["seconds"] == 10.0
        time[0] += 10_000_000
        ann.answer(after, seconds=15, attributable=True)
        assert [each.seconds for each in site.store.rated()] == [15.0]


def test_raters_who_fail_the_qualification_are_excluded(tmp_path: Path) -> None:
    tmp_path.joinpath("in").mkdir()
    gold = [{**OUTPUTS[0], "item": "gold", "expected": {"interpretable": True}}]
    path = write_lines(tmp_path / "in" / "outputs.jsonl", [*OUTPUTS, *gold])
    study = make_study(
        tmp_path, inputs=[Input(path)], raters="ann,ben,eve", per_item=2, qualify=1, threshold=1.0
    )
    with served(study) as site:
        ann, ben = site.person("ann"), site.person("ben")
        ann.answer(ann.next(), interpretable=False)
        assert ann.next() == {"end": "failed"}
        ben.answer(ben.next(), interpretable=True)
        people = {each.name: each for each in site.store.progress()}
        assert people["ann"].state == "failed"
        # The two others get the items of ann.
        assert [people[name].total for name in ("ben", "eve")] == [4, 4]


def test_surplus_ratings_of_an_item_do_not_hide_what_another_lacks(study: Study) -> None:
    store = Store(study)
    store.remove_rater("eve")
    assert store.missing() == len(OUTPUTS)
    for name in ("v", "w", "x", "y", "z"):
        store.take_in([Rated(study.items[0], name, {"interpretable": False}, 1.0, 1)])
    assert store.missing() == len(OUTPUTS) - 1
    store.close()


def test_removed_raters_keep_their_ratings_and_lose_their_link(tmp_path: Path) -> None:
    study = make_study(tmp_path / "new", raters="ann,ben,eve", per_item=1)
    with served(study) as site:
        ann = site.person("ann")
        ann.answer(ann.next(), interpretable=False)
        site.store.remove_rater("ann")
        assert site.store.owner_of(site.store.rater("ann").token) is None
        with pytest.raises(InputError, match="not active"):
            site.store.remove_rater("ann")
        assert len(site.store.rated()) == 1
        assert sum(each.total for each in site.store.progress()) == len(OUTPUTS)


def test_a_study_opens_in_two_processes_at_once(study: Study) -> None:
    one, other = Store(study), Store(open_study(study.folder))
    tasks = [store.next("ann") for store in (one, other)]
    assert len({task.id for task in tasks if task is not None}) == 1
    one.close()
    other.close()
