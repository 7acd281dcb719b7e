"""Studies: people judge answers in a browser, and the figures of the papers are made of it.

A study is a folder: `study.json` (its kind and settings), `items.jsonl` (what is judged),
`guidelines.md` (what raters read beside it) and `study.db` (raters, who gets which item, and every
saved answer). Read in this order: `kind` (how a task is declared), `folder` (the files of a study),
`plan` (who rates what), `store` (the database), `session` (what a rater may see and do), `app` (the
page and its interface over HTTP), `analysis` (figures that several kinds share), and one module for
each kind of task: `ais`, `answers`.

How to add a task:

1. Write a module with a subclass of `Kind`. It reads input files into items (`read`), declares for
   an item the stages, each with the parts that it shows and the questions that it asks (`stages`),
   writes the ratings in their released form (`export`) and computes the figures (`report`). Stages
   may depend on the item: a question per key point, a stage per sentence.
2. Put its guidelines, in our own words, beside the others: `guidelines/<name>.md`.
3. Add an instance to `semqa.studies.kinds.KINDS`. The commands, the page, the store, assignment, gold
   items and the times need no change.

The page draws parts and questions by their `kind` (`page/parts.js`, `page/questions.js`): a new one is
a function in one of these tables. A task that is no form at all, such as writing, names a `view` of
its own: the page loads `page/<view>.js`, whose `draw(task, place, changed)` returns the functions
`values()` and `key(event)`. What it saves is checked by `Kind.check`.
"""
