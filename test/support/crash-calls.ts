// Calls the crash proof's app over HTTP, and says of each call whether it was acknowledged, refused, or never left.
import { COUNTER_TABLE, DOCUMENT_PATHS, SESSION_PATH, TABLES, wholeValue } from "./crash-app.ts";
import { send } from "./platform.ts";

export type Outcome =
  | { readonly kind: "acknowledged"; readonly result: unknown }
  | { readonly kind: "uncertain"; readonly reason: string } // An error, or no answer: it may have been carried out.
  | { readonly kind: "unsent" }; // Nobody listened.

export interface Call {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly cookie?: string;
}

export async function callApp(port: number, { path, body, cookie }: Call): Promise<Outcome> {
  const headers = { "content-type": "application/json", ...(cookie === undefined ? {} : { cookie }) };
  try {
    const answer = await send(port, path, { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.status === 200) return { kind: "acknowledged", result: JSON.parse(answer.text) as unknown };
    return { kind: "uncertain", reason: `${answer.status} ${codeIn(answer.text)}` };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return code === "ECONNREFUSED" ? { kind: "unsent" } : { kind: "uncertain", reason: code };
  }
}

const codeIn = (text: string): string => /"code":\s*"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 80);

export interface Everything {
  readonly values: Map<string, string>; // By place.
  readonly counters: Map<string, number>;
}

export const documentPlace = (table: string, key: string): string => `${table}/${key}`;

/** Every document of every table by its pages, every counter, and the sessions of these cookies. */
export async function readEverything(port: number, sessions: ReadonlyMap<string, string>): Promise<Everything> {
  const values = new Map<string, string>();
  for (const table of TABLES) await readTable(port, table, values);
  const waiting = [...sessions];
  const readers = Array.from({ length: SESSIONS_AT_ONCE }, async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [place, cookie] = next;
      const session = await ask(port, { path: SESSION_PATH, body: { act: "read" }, cookie });
      if (Object.keys(Object(session)).length > 0) values.set(place, wholeValue(session));
    }
  });
  await Promise.all(readers);
  return { values, counters: await readCounters(port) };
}

const SESSIONS_AT_ONCE = 8;

interface Page {
  readonly documents: readonly { readonly key: string }[];
  readonly cursor?: string;
}

async function readTable(port: number, table: string, values: Map<string, string>): Promise<void> {
  let cursor: string | undefined;
  let count = 0;
  do {
    // What the app of this proof answers.
    const page = (await ask(port, { path: DOCUMENT_PATHS[0], body: { act: "page", table, cursor } })) as Page;
    for (const document of page.documents) values.set(documentPlace(table, document.key), wholeValue(document));
    count += page.documents.length;
    ({ cursor } = page);
  } while (cursor !== undefined);
  const total = await ask(port, { path: DOCUMENT_PATHS[1], body: { act: "count", table } });
  if (total !== count) values.set(`${table}, as counted`, `${String(total)} documents, of which pages hold ${count}`);
}

async function readCounters(port: number): Promise<Map<string, number>> {
  // What the app of this proof answers.
  const page = (await ask(port, { path: DOCUMENT_PATHS[0], body: { act: "page", table: COUNTER_TABLE } })) as {
    readonly documents: readonly { readonly key: string; readonly count: number }[];
  };
  return new Map(page.documents.map(({ key, count }) => [key, count]));
}

async function ask(port: number, call: Call): Promise<unknown> {
  const outcome = await callApp(port, call);
  if (outcome.kind === "acknowledged") return outcome.result;
  throw new Error(`reading ${JSON.stringify(call.body)} failed: ${outcome.kind === "uncertain" ? outcome.reason : "nobody listens"}`);
}
