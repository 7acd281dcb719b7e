// Requests to the server: JSON, server-sent events, uploads. Asks for an API key if needed.

import { askForKey } from "./dialogs.js";

const PLACE = "semqa.key";

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const key = () => sessionStorage.getItem(PLACE) ?? localStorage.getItem(PLACE) ?? "";

export const hasKey = () => key() !== "";

export function forgetKey() {
  sessionStorage.removeItem(PLACE);
  localStorage.removeItem(PLACE);
}

const headers = () => (key() ? { Authorization: `Bearer ${key()}` } : {});

let asking = null;

// Shows a single dialog even if several requests were refused.
async function newKey(refused) {
  if (key() !== refused) return;
  asking ??= askForKey(Boolean(refused)).then(({ secret, keep }) => {
    forgetKey();
    (keep ? localStorage : sessionStorage).setItem(PLACE, secret);
    asking = null;
  });
  await asking;
}

function errorOf(status, text) {
  let said = null;
  try {
    said = JSON.parse(text);
  } catch {
    // Not JSON, such as the error page of a proxy: use the status.
  }
  const detail = said?.error?.message ?? said?.detail;
  const message = typeof detail === "string" ? detail : `The server returned status ${status}.`;
  return new ApiError(status, message);
}

async function request(path, { method = "GET", body, signal } = {}) {
  for (;;) {
    const used = key();
    let reply;
    try {
      reply = await fetch(path, {
        method,
        signal,
        headers: { ...headers(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      throw new ApiError(0, "The server cannot be reached. Is it running?");
    }
    if (reply.ok) return reply;
    if (reply.status !== 401) throw errorOf(reply.status, await reply.text());
    await newKey(used);
  }
}

export async function call(path, given) {
  const reply = await request(path, given);
  return reply.status === 204 ? null : reply.json();
}

export async function download(path, name) {
  const reply = await request(path);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Yields the events of a stream as {event, data}.
export async function* events(path, body, signal) {
  const reply = await request(path, { method: "POST", body, signal });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = "message";
  let data = [];
  for (;;) {
    const { value, done } = await reader.read().catch((problem) => {
      if (problem.name === "AbortError") throw problem;
      throw new ApiError(0, "The answer was cut off: the connection to the server was lost. Ask again.");
    });
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const each of lines) {
      const line = each.endsWith("\r") ? each.slice(0, -1) : each;
      if (line === "") {
        if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
        event = "message";
        data = [];
      } else if (line.startsWith("event:")) event = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    }
  }
}

// Uploads one file; `progress` is called with a number from 0 to 1. Only XMLHttpRequest reports it.
export async function upload(path, file, progress) {
  for (;;) {
    const used = key();
    const reply = await new Promise((resolve, reject) => {
      const sending = new XMLHttpRequest();
      sending.open("POST", path);
      for (const [name, value] of Object.entries(headers())) sending.setRequestHeader(name, value);
      sending.upload.addEventListener("progress", (now) => {
        if (now.lengthComputable) progress(now.loaded / now.total);
      });
      sending.addEventListener("load", () => resolve(sending));
      sending.addEventListener("error", () => reject(new ApiError(0, "The server cannot be reached, or it refused the file.")));
      const form = new FormData();
      form.append("file", file, file.name);
      sending.send(form);
    });
    if (reply.status >= 200 && reply.status < 300) return JSON.parse(reply.responseText);
    if (reply.status !== 401) throw errorOf(reply.status, reply.responseText);
    await newKey(used);
  }
}
