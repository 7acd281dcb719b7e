"""Studies: people judge or write answers in a browser, and the figures of the papers are made of it.

A study is a folder: `study.json` (its kind and settings), `items.jsonl` (what is judged),
`guidelines.md` (what raters read beside it) and `study.db` (raters, who gets which item, and every
saved answer). Read in this order: `kind` (how a task is declared), `folder` (the files of a study),
`plan` and `dealing` (who rates what), `records` (the tables of the database), `store` (what is saved),
`session` (what a rater may see and do), `reviewing` (what a reviewer may), `app` (the page and its interface
over HTTP), `analysis` (figures that several kinds share), and one module for each kind of task: `ais`, `answers`, `tofueval`, `attrscore`, `q2`, of which the
last three give back the `tables` that they were made of, and `writing` with `written`.

How to add a task:

1. Write a module with a subclass of `Kind`. It reads input files into items (`read`, with `expected_of` for
   gold ones), declares for an item the stages, each with the parts that it shows and the questions that it
   asks (`stages`), writes the ratings in their released form (`export`) and computes the figures
   (`report`). Stages may depend on the item: a question per key point, a stage per sentence. A file that an
   export changes in places is kept in the folder of the study (`keep`). If raters who disagree need one
   more, name the designs in `adjudicated` and say when in `undecided`. `imported` reads ratings that were
   released.
2. Put its guidelines, in our own words, beside the others: `guidelines/<name>.md`, a template over the
   design.
3. Add an instance to `semqa.studies.kinds.KINDS`. The commands, the page, the store, assignment, gold
   items and the times need no change. If another command has tables for such ratings already, name
   them in `_TABLES` of `semqa.cli.study`; otherwise return tables in `Figures`.

The page draws a part by its ``kind`` and a question by its ``answer``: another one is one more function in
`page/parts.js` or branch in `page/form.js`. A task that is no form at all, such as writing, names a `view`
of its own, and the page loads `page/<view>.js`. It exports ``draw(task, {parts, asked}, changed)``:
`task` is what `session.task` returns, `parts` and `asked` are the elements at the left and at the right,
and `changed` is to be called after each change, for drafts. It returns an object with ``values()``, the answers
to save; ``ready()``, whether they are complete, which otherwise shows what is missing; ``key(event)``, whether
a key was used; and ``keys``, pairs of key and meaning for the list. The form's has a ``stage``, too: the one that is
being changed, after ``changed({edit: stage})``. It may have ``lacks``, what is missing in words; ``writes``, for
Ctrl+Enter instead of Enter and a notice that drafts are saved; ``locked``; ``go``, label and key of the
button; ``focus()``; and ``end()``, called before another item is drawn. What it saves is checked by
`Kind.check`, which such a kind overrides.
"""
