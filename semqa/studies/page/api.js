// Client of the study's server. The token is in the URL fragment, which browsers never send.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const token = () => location.hash.slice(1);

export async function call(path, { method = "GET", body, keepalive = false } = {}) {
  let reply;
  try {
    reply = await fetch(path, {
      method,
      keepalive,
      headers: { Authorization: `Bearer ${token()}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (reply.status === 204) return null;
  let content = null;
  try {
    content = await reply.json();
  } catch {
    if (reply.ok) throw new ApiError(0, "The connection was lost.");
  }
  if (reply.ok) return content;
  throw new ApiError(reply.status, content?.error?.message ?? `The server responded with status ${reply.status}.`);
}
