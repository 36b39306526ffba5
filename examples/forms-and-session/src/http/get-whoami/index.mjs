// GET /whoami: a handler that asks for the session itself.
import { http } from "@orchestrator/functions";

export async function handler(request) {
  const session = await http.session.read(request);
  return {
    statusCode: session.name === undefined ? 401 : 200,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
    body: JSON.stringify({ name: session.name ?? null }),
  };
}
