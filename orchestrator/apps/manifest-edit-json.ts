// Puts a route into a JSON manifest, or takes one out, in the form that its routes have there. Pure.
import { type Container, type Member, containerAt, looseSpace, memberOf, withMember, withText, withoutMember } from "./json-places.ts";
import { type KindOfRoute, isSameRoute, routesOfPiece } from "./manifest-piece.ts";
import { methodOf, nameOf } from "./routes.ts";

/** The text, and the key of the object in it that is the manifest; null: all of it. */
export interface JsonManifest {
  readonly text: string;
  readonly key: string | null;
}

/** Texts with the route, the one that reads best first. Which of them says what it should is for the caller to find out. */
export function jsonWithRoute(manifest: JsonManifest, route: KindOfRoute): string[] {
  const { text } = manifest;
  const pragmas = pragmasOf(manifest);
  if (pragmas === null) return [];
  const write = writerFor(text, route);
  const pragma = memberOf(pragmas, route.kind);
  if (pragma === undefined) return [withMember(text, pragmas, `"${route.kind}":${looseSpace(text)}[${write.pair}]`)];
  const place = { from: pragma.valueFrom, to: pragma.to };
  const value = text.slice(place.from, place.to);
  const list = containerAt(text, pragma.valueFrom);
  if (value === "null") return [withText(text, place, `[${write.pair}]`)];
  if (list === null) return [withText(text, place, `[${value},${looseSpace(text)}${write.line}]`)];
  if (value.startsWith("{")) return [write.field, write.block].map((written) => withMember(text, list, written));
  const last = list.members.at(-1);
  const like = last === undefined ? write.pair : write.like(text.slice(last.from, last.to));
  // The line sets a list that stood there empty apart from one that was made for the route, which leaves with it.
  return [like, write.line].map((written) => withMember(text, list, written));
}

/** Texts without the route, the best one first. */
export function jsonWithoutRoute(manifest: JsonManifest, route: KindOfRoute): string[] {
  const { text } = manifest;
  const pragmas = pragmasOf(manifest);
  const pragma = pragmas === null ? undefined : memberOf(pragmas, route.kind);
  if (pragmas === null || pragma === undefined) return [];
  const entries = entriesOf(text, pragma);
  for (const entry of entries) {
    const routes = routesOfPiece(`{"${route.kind}":${entry.piece}}`, "json");
    if (!routes.some((one) => isSameRoute(one, route))) continue;
    if (routes.length > 1) return withoutMethod(text, entry.member, route);
    const edit = withoutMember(text, entry.container, entry.member);
    const wasMadeForIt = entries.length === 1 && entry.piece.startsWith("[[") && pragma === pragmas.members.at(-1);
    return wasMadeForIt ? [withoutMember(text, pragmas, pragma), edit] : [edit];
  }
  return [];
}

interface Entry {
  readonly container: Container;
  readonly member: Member; // What leaves with its route.
  readonly piece: string; // A value that a pragma could have for this entry alone.
}

function pragmasOf({ text, key }: JsonManifest): Container | null {
  const root = containerAt(text, 0);
  if (root === null || key === null) return root;
  const manifest = memberOf(root, key);
  return manifest === undefined ? null : containerAt(text, manifest.valueFrom);
}

/** Items of a list, and keys of an object wherever it stands. */
function entriesOf(text: string, pragma: Member): Entry[] {
  const container = containerAt(text, pragma.valueFrom);
  if (container === null) return [];
  const isList = text[container.open] === "[";
  return container.members.flatMap((member): Entry[] => {
    const written = text.slice(member.from, member.to);
    if (!isList) return [{ container, member, piece: `{${written}}` }];
    const inner = written.startsWith("{") ? containerAt(text, member.from) : null;
    if (inner === null || inner.members.length === 1) return [{ container, member, piece: `[${written}]` }];
    return inner.members.map((one) => ({ container: inner, member: one, piece: `{${text.slice(one.from, one.to)}}` }));
  });
}

/** Of a block with several methods: every place where this one stands. */
function withoutMethod(text: string, entry: Member, route: KindOfRoute): string[] {
  const edits: string[] = [];
  let level = [containerAt(text, entry.valueFrom)];
  for (let depth = 0; depth < BLOCK_DEPTH_MAX; depth += 1) {
    const below: (Container | null)[] = [];
    for (const container of level)
      for (const member of container?.members ?? []) {
        if (isMethod(text.slice(member.valueFrom, member.to), route) && container !== null)
          edits.push(withoutMember(text, container, member));
        const inner = containerAt(text, member.valueFrom);
        const namesItOnly = inner?.members.length === 2 && inner.members.some((one) => isMethod(text.slice(one.valueFrom, one.to), route));
        if (namesItOnly && container !== null) edits.unshift(withoutMember(text, container, member));
        below.push(inner);
      }
    level = below;
  }
  return edits;
}

const BLOCK_DEPTH_MAX = 4; // [{ "/a": [["method", "get", "post"], …] }]

function isMethod(written: string, route: KindOfRoute): boolean {
  return written.startsWith('"') && methodOf(JSON.parse(written)) === route.method;
}

/** A route in each form, spaced as the text is. */
function writerFor(text: string, route: KindOfRoute) {
  const space = looseSpace(text);
  const [method, path] = [JSON.stringify(route.method.toLowerCase()), JSON.stringify(route.path)];
  const pair = `[${method},${space}${path}]`;
  const line = JSON.stringify(nameOf(route));
  const field = `${method}:${space}${path}`;
  const block = `${path}:${space}{${space}"method":${space}${method}${space}}`;
  const like = (neighbour: string): string => {
    if (neighbour.startsWith('"')) return line;
    return neighbour.startsWith("{") && !/^\{\s*"\//.test(neighbour) ? `{${space}${field}${space}}` : pair;
  };
  return { pair, line, field, block, like };
}
