// Talking to the study's server. The secret of the link is behind "#", which browsers never send.

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
  let said = null;
  try {
    said = await reply.json();
  } catch {
    if (reply.ok) throw new ApiError(0, "The connection broke off.");
  }
  if (reply.ok) return said;
  throw new ApiError(reply.status, said?.error?.message ?? `The server answered ${reply.status}.`);
}
