"""Studies: people rate or write answers in a browser.

A study is a folder: `study.json` (task and settings), `items.jsonl` (the items), `guidelines.md`
(instructions for raters) and `study.db` (raters, assignments and every saved answer).

Read in this order: `kind` (how a task is declared), `folder` (the files of a study), `assigning`
(who rates what), `records` (the database tables), `store` (the database), `app` (the HTTP
interface, what raters and reviewers see, and the page) and `analysis` (shared statistics). Each
task has its own module: `ais`, `answers`, `attrscore`, `explanations`, `q2`, `tofueval` and
`writing`. `tables` is for tasks that start from released tables and write them
back.

To add a task:

1. Write a subclass of `Kind`. `read` turns input files into items (`expected_of` reads gold
   answers). `stages` returns the stages of an item: the parts to show and the questions to ask.
   Stages may depend on the item, for example one stage per sentence. `rows` and `columns` (or
   `table`) declare the exports, and `report` computes the statistics. `keep` saves input files that the export needs. If disagreements go to one more
   rater, list the designs in `adjudicated` and override `undecided`.
2. Write its guidelines as `guidelines/<name>.md`, a Jinja template with the variable `design`.
3. Add an instance to `semqa.studies.folder.KINDS`.

The page draws a part by its ``kind`` (`page/parts.js`) and a question by its ``answer``
(`page/form.js`). A task that is not a form sets `view`, and the page loads `page/<view>.js`. That
module exports ``draw(task, {parts, asked}, changed)``: `task` is the result of `app.task`,
`parts` and `asked` are the left and right elements, and `changed` must be called after each change
to save a draft. `draw` returns an object with

- ``values()``: the answers to save;
- ``ready()``: whether they are complete; if not, it shows what is missing;
- ``key(event)``: handle a key, and return whether it was handled;
- ``keys``: pairs of key and meaning for the list of shortcuts;
- ``stage`` (forms): the stage being edited, after ``changed({edit: stage})``;
- optionally ``lacks`` (a message about what is missing), ``writes`` (submit with Ctrl+Enter and
  announce saved drafts), ``locked``, ``go`` (label and key of the submit button), ``focus()``, and
  ``end()`` (called before the next item is drawn).

The server validates the saved values with `Kind.check`, which such a task overrides.
"""
