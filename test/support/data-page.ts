// Reads the examples of docs/data.md: code, and what each of its results is said to be.
const FENCE = /^```js\n(.*?)^```$/gms;
const CLAIM = /^\/\/ (.+) → (.+)$/;

/** One function body of all examples. It calls `claim(text, actual, said)` where the page says what something is. */
export function readDataExamples(page: string): { readonly code: string; readonly claimCount: number } {
  const lines = [...page.matchAll(FENCE)].flatMap((match) => (match[1] ?? "").split("\n"));
  let claimCount = 0;
  const code = lines.map((line) => {
    const [, expression, said] = CLAIM.exec(line) ?? [];
    if (expression === undefined || said === undefined) return line;
    claimCount += 1;
    return `claim(${JSON.stringify(line)}, ${expression}, ${said.replaceAll('"…"', "anything")});`;
  });
  return { code: code.join("\n"), claimCount };
}
