// POST /login: what is stored replaces the session, as a whole.
import { http } from "@orchestrator/functions";

async function check({ body }) {
  if (!body.name) return { status: 400, text: "A name is needed.\n" };
}

async function logIn({ body }) {
  return { session: { name: body.name, since: new Date().toISOString() }, location: "/" };
}

export const handler = http.async(check, logIn);
