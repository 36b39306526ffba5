// Reads docs/library.md: its functions, and under each the requests and answers that show what it does.

export interface Example {
  readonly heading: string;
  readonly code: string;
  readonly generation: "current" | "json" | "html";
  readonly exchanges: readonly Exchange[];
}

export interface Exchange {
  readonly request: { readonly method: string; readonly target: string; readonly headers: readonly string[]; readonly body: string };
  readonly answer: { readonly status: number; readonly headers: ReadonlyMap<string, string>; readonly body: string | null };
}

const BLOCK = /^```(js|http)(?: (json|html))?\n([\s\S]*?)^```$|^## (.+)$/gm;

export function readExamples(page: string): Example[] {
  const examples: { heading: string; code: string; generation: Example["generation"]; texts: string[] }[] = [];
  let heading = "";
  for (const [, kind, generation, text = "", title] of page.matchAll(BLOCK)) {
    if (title !== undefined) heading = title;
    else if (kind === "js") examples.push({ heading, code: text, generation: generationOf(generation), texts: [] });
    else examples.at(-1)?.texts.push(text);
  }
  return examples.map(({ texts, ...example }) => ({ ...example, exchanges: exchangesOf(texts) }));
}

const generationOf = (word: string | undefined): Example["generation"] => (word === "json" || word === "html" ? word : "current");

/** Requests and answers in turn. */
function exchangesOf(texts: readonly string[]): Exchange[] {
  if (texts.length === 0 || texts.length % 2 !== 0) throw new Error("every example has requests, and an answer to each");
  return texts.flatMap((text, index) =>
    index % 2 === 0 ? [{ request: readRequest(text), answer: readAnswer(texts[index + 1] ?? "") }] : [],
  );
}

function readRequest(text: string): Exchange["request"] {
  const { first, headers, body } = readMessage(text);
  const [method = "", target = ""] = first.split(" ");
  return { method, target, headers: headers.flat(), body: body ?? "" };
}

function readAnswer(text: string): Exchange["answer"] {
  const { first, headers, body } = readMessage(text);
  return { status: Number(first), headers: new Map(headers), body };
}

function readMessage(text: string): { first: string; headers: [string, string][]; body: string | null } {
  const end = text.indexOf("\n\n");
  const [first = "", ...lines] = (end < 0 ? text.trimEnd() : text.slice(0, end)).split("\n");
  const headers = lines.map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]);
  return { first, headers, body: end < 0 ? null : text.slice(end + 2).trimEnd() };
}
