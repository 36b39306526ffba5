// Reads what `orchestrator env set` is given: KEY=value, or KEY=- for one value from standard input. Pure; no problem shows a value.

export interface Assignments {
  readonly values: Readonly<Record<string, string>>; // Without the one from standard input.
  readonly nameFromInput: string | null;
  readonly problems: readonly string[];
}

const FROM_INPUT = "-";
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/; // What looks like none may be a piece of a value, and is not repeated.

export function parseAssignments(args: readonly string[]): Assignments {
  const values = new Map<string, string>();
  const fromInput: string[] = [];
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const [index, arg] of args.entries()) {
    const at = arg.indexOf("=");
    const name = at < 0 ? arg : arg.slice(0, at);
    const shown = NAME.test(name) ? name : `argument ${index + 1}`;
    if (at < 0) problems.push(`${shown}: should be KEY=value, or KEY=- for a value from standard input`);
    else if (seen.has(name)) problems.push(`${shown}: is given twice`);
    else if (arg.slice(at + 1) === FROM_INPUT) fromInput.push(name);
    else values.set(name, arg.slice(at + 1));
    if (at >= 0) seen.add(name);
  }
  if (fromInput.length > 1) problems.push(`only one value can come from standard input, got ${fromInput.length}`);
  return { values: Object.fromEntries(values), nameFromInput: fromInput[0] ?? null, problems };
}

/** What a file or `echo` sends ends with a line break that nobody means. */
export const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, "");
