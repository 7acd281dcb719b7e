// The content of an empty conversation.

import { make } from "./dom.js";

const EXAMPLE = {
  question: "Which version of White Christmas sold best, and which award did the song win?",
  passages: [
    { title: "White Christmas (song)", text: "“White Christmas” is an Irving Berlin song reminiscing about an old-fashioned Christmas setting. The version sung by Bing Crosby is the world’s best-selling single, with estimated sales in excess of 50 million copies worldwide." },
    { title: "Bing Crosby", text: "The first public performance of the song was by Bing Crosby, on his NBC radio show The Kraft Music Hall on Christmas Day, 1941. He recorded it for Decca Records in just 18 minutes on May 29, 1942, and it was released on July 30 as part of an album of six songs from the film Holiday Inn." },
    { title: "Holiday Inn (film)", text: "Holiday Inn is a 1942 American musical film starring Bing Crosby and Fred Astaire. White Christmas won the Academy Award for Best Original Song." },
  ],
};

// `tryExample(example)` and `addFiles()` are called by the two buttons.
export function welcome(tryExample, addFiles) {
  return make("section", { class: "welcome" },
    make("h2", {}, "Answers you can check at a glance"),
    make("p", {}, "Ask your documents. Answers quote them word for word, in the colour of each source. Click a quote to see it in its source."),
    make("div", { class: "row" },
      make("button", { type: "button", class: "main", onclick: addFiles }, "Add your documents"),
      make("button", { type: "button", class: "second", onclick: () => tryExample(EXAMPLE) }, "Try an example")));
}
