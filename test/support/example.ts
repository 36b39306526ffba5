// Reads what an example says of itself, and plays it: expect.json is described in examples/README.md.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { CookieJar } from "./cookie-jar.ts";
import { type Answer, CHECKOUT, type SendOptions } from "./platform.ts";

export interface Example {
  readonly requests: readonly Step[];
  readonly keepCookies?: boolean;
  readonly beside?: string;
}

interface Step {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  };
  readonly answer: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, Wanted | null>>;
    readonly body?: Wanted;
    readonly json?: unknown;
    readonly keep?: Readonly<Record<string, string>>;
  };
}

type Wanted = string | { readonly matches: string };

export const EXAMPLES = join(CHECKOUT, "examples");
export const EXAMPLE_NAMES: readonly string[] = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

export function readExample(name: string): Example {
  const path = join(EXAMPLES, name, "expect.json");
  if (!existsSync(path)) throw new Error(`${path} is missing: every example says what it answers`);
  return JSON.parse(readFileSync(path, "utf8")) as Example; // This file is ours, and playing it fails on whatever it does not say.
}

/** The lines to copy that a page shows. */
export const commandsIn = (page: string): string[] =>
  page
    .split("\n")
    .filter((line) => line.startsWith("    "))
    .map((line) => line.trim());

/** Starts the program that an example runs beside it. */
export async function startBeside(name: string, program: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(EXAMPLES, name, program)], { stdio: ["ignore", "pipe", "inherit"] });
  const first = await Promise.race([once(child.stdout, "data").then(() => "printed"), once(child, "exit").then(() => "ended")]);
  if (first === "ended") throw new Error(`${name}/${program} ended before it said that it is ready`);
  return child;
}

/** Sends every request of an example: what of the answers it speaks of, and what it says they should be. */
export async function play(
  example: Example,
  sending: (path: string, options: SendOptions) => Promise<Answer>,
): Promise<{ readonly got: readonly unknown[]; readonly wanted: readonly unknown[] }> {
  const jar = new CookieJar();
  const kept = new Map<string, string>();
  const got: unknown[] = [];
  for (const { name, request, answer: wanted } of example.requests) {
    const { method, path, headers, body } = filledIn(request, kept);
    const cookies = example.keepCookies === true && jar.header !== "" ? { cookie: jar.header } : {};
    const answer = await sending(path, { method, headers: { ...cookies, ...headers }, ...(body === undefined ? {} : { body }) });
    got.push({ name, ...seen(answer, wanted) });
    jar.take(answer);
    for (const [key, pattern] of Object.entries(wanted.keep ?? {})) kept.set(key, groupIn(answer.text, pattern));
  }
  return { got, wanted: example.requests.map(({ name, answer }) => ({ name, ...asked(answer) })) };
}

const filledIn = (request: Step["request"], kept: ReadonlyMap<string, string>): Step["request"] =>
  [...kept].reduce(
    // The value comes from a page of ours and goes where the example says; in JSON text it needs its quotes escaped, which none has.
    (filled, [key, value]) => JSON.parse(JSON.stringify(filled).replaceAll(`{${key}}`, () => value)) as Step["request"],
    request,
  );

/** The parts of an answer that the example speaks of, in the shape in which it does. */
function seen(answer: Answer, wanted: Step["answer"]): Record<string, unknown> {
  const names = Object.keys(wanted.headers ?? {});
  return {
    status: answer.status,
    headers: Object.fromEntries(names.map((name) => [name, answer.headers[name]?.toString() ?? null])),
    ...(wanted.body === undefined ? {} : { body: answer.text }),
    ...(wanted.json === undefined ? {} : { json: jsonIn(answer.text) }),
  };
}

function asked(wanted: Step["answer"]): Record<string, unknown> {
  const headers = Object.entries(wanted.headers ?? {}).map(([name, value]) => [name, value === null ? null : matcher(value)]);
  return {
    status: wanted.status,
    headers: Object.fromEntries(headers),
    ...(wanted.body === undefined ? {} : { body: matcher(wanted.body) }),
    ...(wanted.json === undefined ? {} : { json: wanted.json }),
  };
}

const matcher = (value: Wanted): unknown =>
  typeof value === "string" ? value : (expect.stringMatching(new RegExp(value.matches, "s")) as unknown);

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { thisIsNoJson: text };
  }
}

function groupIn(text: string, pattern: string): string {
  const value = new RegExp(pattern).exec(text)?.[1];
  if (value === undefined) throw new Error(`nothing to keep matches ${pattern} in: ${text}`);
  return value;
}
