// The app that the crash proof writes through: documents in two functions, so that two instances share them, and sessions in a third.
import { createHash } from "node:crypto";

const ANSWER = `
const { http } = require("@orchestrator/functions");
exports.handler = async (request) => {
  const { act, ...params } = http.helpers.bodyParser(request);
  const result = await ACTS[act](params, request);
  return { statusCode: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(result ?? null) };
};
`;

const DOCUMENTS = `
const data = require("@orchestrator/data");
const ACTS = {
  set: ({ documents }) => data.set(documents),
  destroy: ({ documents }) => data.destroy(documents),
  increment: ({ table, key }) => data.incr({ table, key, prop: "count" }),
  read: ({ documents }) => data.get(documents),
  count: ({ table }) => data.count({ table }),
  page: async ({ table, cursor }) => {
    const documents = await data.get({ table, limit: 500, cursor });
    return { documents, cursor: documents.cursor };
  },
};
${ANSWER}`;

const SESSIONS = `
const ACTS = {
  write: async ({ session }) => http.session.write(session),
  read: (_, request) => http.session.read(request),
};
${ANSWER}`;

/** Functions that do the same to the same documents. */
export const DOCUMENT_PATHS = ["/documents", "/documents-too"] as const;
export const SESSION_PATH = "/session";

export const CRASH_APP: Readonly<Record<string, string>> = {
  "app.arc": `@app\ncrash\n\n@http\n${[...DOCUMENT_PATHS, SESSION_PATH].map((path) => `post ${path}`).join("\n")}\n`,
  "src/http/post-documents/index.js": DOCUMENTS,
  "src/http/post-documents_too/index.js": DOCUMENTS,
  "src/http/post-session/index.js": SESSIONS,
};

export const TABLES = ["things", "Māori things", "t"] as const;
export const COUNTER_TABLE = "counters";
export const COUNTERS = ["visits", "sales", "errors"] as const;

const FILLER_LENGTH_MAX = 3_000;

/** What stands beside a value, so that half a document is seen: different for each value, and of a different length. */
export function fillerOf(value: string): string {
  const hash = createHash("sha256").update(value).digest("hex");
  const length = Number.parseInt(hash.slice(0, 8), 16) % FILLER_LENGTH_MAX;
  return hash.repeat(Math.ceil(length / hash.length)).slice(0, length);
}

/** The value of a document or session that is whole; of one that is not, what it looks like. */
export function wholeValue(stored: unknown): string {
  if (typeof stored === "object" && stored !== null && "value" in stored && "filler" in stored) {
    const { value, filler } = stored;
    if (typeof value === "string" && filler === fillerOf(value)) return value;
  }
  return `no whole document: ${JSON.stringify(stored).slice(0, 200)}`;
}
