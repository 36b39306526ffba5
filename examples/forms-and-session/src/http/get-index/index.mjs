// GET /: a form to log in with, or to log out.
import { http } from "@orchestrator/functions";

const escape = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

async function page({ session }) {
  const form =
    session.name === undefined
      ? '<form method="post" action="/login"><input name="name" required><button>Log in</button></form>'
      : `<p>Hello, ${escape(session.name)}!</p><form method="post" action="/logout"><button>Log out</button></form>`;
  return { html: `<!doctype html><title>Home</title>${form}\n` };
}

export const handler = http.async(page);
