// Where the parts of a JSON text stand, so that one can be put in or cut out and the rest keeps its form. For texts that JSON.parse took. Pure.

export interface Container {
  readonly open: number; // Of its bracket.
  readonly close: number;
  readonly members: readonly Member[];
}

export interface Member {
  readonly key: string | null; // Null in a list.
  readonly from: number;
  readonly to: number; // Behind its last character.
  readonly valueFrom: number;
}

/** The object or list that begins at the first character from there on that is no space; null where there is none. */
export function containerAt(text: string, start: number): Container | null {
  const open = afterSpace(text, start);
  const closing = CLOSING[text[open] ?? ""];
  if (closing === undefined) return null;
  const members: Member[] = [];
  let position = afterSpace(text, open + 1);
  while (position < text.length && text[position] !== closing) {
    const member = memberAt(text, position, closing === "}");
    members.push(member);
    const next = afterSpace(text, member.to);
    position = text[next] === "," ? afterSpace(text, next + 1) : next;
  }
  return { open, close: position, members };
}

/** Of several with the same key it is the last one that counts. */
export const memberOf = (container: Container, key: string): Member | undefined =>
  container.members.findLast((member) => member.key === key);

export const withText = (text: string, { from, to }: { readonly from: number; readonly to: number }, inserted: string): string =>
  text.slice(0, from) + inserted + text.slice(to);

/** With one more member at the end, which stands as the one before it does. */
export function withMember(text: string, { open, members }: Container, written: string): string {
  const last = members.at(-1);
  if (last === undefined) return withText(text, { from: open + 1, to: open + 1 }, written);
  const before = members.at(-2);
  const gap = /\s*$/.exec(text.slice(before === undefined ? open + 1 : before.to, last.from))?.[0] ?? "";
  const separator = gap.includes("\n") || before !== undefined ? gap : looseSpace(text);
  return withText(text, { from: last.to, to: last.to }, `,${separator}${written}`);
}

export function withoutMember(text: string, { open, close, members }: Container, member: Member): string {
  const index = members.indexOf(member);
  const [before, after] = [members[index - 1], members[index + 1]];
  if (before !== undefined) return withText(text, { from: before.to, to: member.to }, "");
  if (after !== undefined) return withText(text, { from: member.from, to: after.from }, "");
  return withText(text, { from: open + 1, to: member.from === open + 1 ? member.to : close }, "");
}

/** " " where the text has one after commas and colons. */
export const looseSpace = (text: string): string => (/[\]}"\d],\s|":\s/.test(text) ? " " : "");

const CLOSING: Readonly<Record<string, string>> = { "{": "}", "[": "]" };

function memberAt(text: string, from: number, hasKey: boolean): Member {
  if (!hasKey) return { key: null, from, to: valueEnd(text, from), valueFrom: from };
  const keyEnd = valueEnd(text, from);
  const valueFrom = afterSpace(text, afterSpace(text, keyEnd) + 1); // Behind the colon.
  return { key: String(JSON.parse(text.slice(from, keyEnd))), from, to: valueEnd(text, valueFrom), valueFrom };
}

/** No recursion: a text may be nested deeper than the stack is. */
function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start);
  if (CLOSING[text[start] ?? ""] === undefined) return scalarEnd(text, start);
  let depth = 0;
  for (let position = start; position < text.length; position += 1) {
    const character = text[position] ?? "";
    if (character === '"') position = stringEnd(text, position) - 1;
    else if (CLOSING[character] !== undefined) depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth === 0) return position + 1;
  }
  return text.length;
}

function scalarEnd(text: string, start: number): number {
  let position = start;
  while (position < text.length && !/[\s,\]}]/.test(text[position] ?? "")) position += 1;
  return position;
}

function stringEnd(text: string, start: number): number {
  let position = start + 1;
  while (position < text.length && text[position] !== '"') position += text[position] === "\\" ? 2 : 1;
  return position + 1;
}

function afterSpace(text: string, start: number): number {
  let position = start;
  while (/[ \t\r\n]/.test(text[position] ?? "")) position += 1;
  return position;
}
