// What a source holds so far: says of each further entry whether it has a place, and of all links where they end. Touches no disk.
import { SOURCE_LINK_HOP_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { type EntryKind, LEADS_OUT, placeOf, type SourceLimits, targetProblem } from "./entry-rules.ts";

export interface EntryFacts {
  readonly path: string;
  readonly kind: EntryKind;
  readonly linksTo?: string;
  readonly byteCount: number;
}

export type Placed =
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "placed"; readonly path: string; readonly newFolders: readonly string[] }; // Outer ones first, itself included.

export interface PlacedLink {
  readonly path: string;
  readonly target: string;
}

export interface SourceTree {
  add(entry: EntryFacts): Placed;
  /** In the order in which they came. */
  readonly links: readonly PlacedLink[];
  /** The first link that leads out or nowhere; to be asked when every entry is there, because each link may lead through others. */
  wrongLink(): { readonly path: string; readonly problem: string } | null;
  readonly fileCount: number;
  readonly bytes: number;
}

interface FolderNode {
  readonly kind: "folder";
  readonly parent: FolderNode | null;
  readonly children: Map<string, { readonly name: string; readonly node: TreeNode }>; // By name as NFC: é and é are one name to people.
  isNamed: boolean; // By an entry of its own, not only as part of a path.
}

interface LinkNode extends PlacedLink {
  readonly kind: "link";
  readonly parent: FolderNode;
  end: LinkEnd | "unknown" | "asked";
}

type TreeNode = FolderNode | LinkNode | { readonly kind: "file" };

/** A folder of the tree, and how many names below it that are no folders: a file, or what is not there. */
interface Position {
  readonly folder: FolderNode;
  readonly below: number;
}
type LinkEnd =
  | { readonly kind: "inside"; readonly at: Position; readonly hopCount: number }
  | { readonly kind: "wrong"; readonly problem: string };

interface State {
  readonly limits: SourceLimits;
  readonly root: FolderNode;
  readonly links: LinkNode[];
  addCount: number;
  nodeCount: number;
  namesBytes: number;
  fileCount: number;
  bytes: number;
}

export function createSourceTree(limits: SourceLimits): SourceTree {
  const root = folderNode(null, { isNamed: true });
  const state: State = { limits, root, links: [], addCount: 0, nodeCount: 0, namesBytes: 0, fileCount: 0, bytes: 0 };
  return {
    add: (entry) => add(state, entry),
    links: state.links,
    wrongLink: () => wrongLink(state.links),
    get fileCount() {
      return state.fileCount;
    },
    get bytes() {
      return state.bytes;
    },
  };
}

const folderNode = (parent: FolderNode | null, { isNamed }: { readonly isNamed: boolean }): FolderNode => ({
  kind: "folder",
  parent,
  children: new Map(),
  isNamed,
});

/** What it made on the way to a refusal stays: a source is refused as a whole. */
function add(state: State, entry: EntryFacts): Placed {
  state.addCount += 1;
  if (entry.kind === "other") return refused("is no plain file, folder or symbolic link, but a device, a pipe, a hard link or the like");
  const place = placeOf(entry.path, entry.kind);
  if (place.kind === "refused") return place;
  const way = place.segments.slice(0, -1);
  const problem = sizeProblem(state, entry) ?? (entry.kind === "link" ? targetProblem(way, entry.linksTo ?? "") : null);
  if (problem !== null) return refused(problem);
  const newFolders: string[] = [];
  const folder = enterAll(state, way, newFolders);
  if (typeof folder === "string") return refused(folder);
  const path = place.segments.join("/");
  const name = place.segments.at(-1);
  const nodeCountBefore = state.nodeCount;
  const wrong = (name === undefined ? null : put(state, { folder, name }, { ...entry, path })) ?? countProblem(state);
  if (wrong !== null) return refused(wrong);
  if (entry.kind === "folder" && state.nodeCount > nodeCountBefore) newFolders.push(path);
  return { kind: "placed", path, newFolders };
}

const refused = (problem: string): Placed => ({ kind: "refused", problem });

function sizeProblem({ limits, bytes }: State, { kind, byteCount }: EntryFacts): string | null {
  if (kind !== "file") return null;
  if (!Number.isSafeInteger(byteCount) || byteCount < 0) return "announces no valid size";
  if (byteCount > limits.fileBytesMax) return `has ${byteCount} bytes; a file of a source has at most ${limits.fileBytesMax}`;
  return bytes + byteCount > limits.bytesMax ? `is too much: all files together may have ${limits.bytesMax} bytes` : null;
}

function countProblem({ limits, addCount, nodeCount, namesBytes }: State): string | null {
  if (Math.max(addCount, nodeCount) > limits.entryCountMax) return `is one too many: a source has at most ${limits.entryCountMax} entries`;
  return namesBytes > limits.namesBytesMax ? `is one too many: all names together may have ${limits.namesBytesMax} bytes` : null;
}

/** The innermost folder of the way, or the problem. */
function enterAll(state: State, way: readonly string[], newFolders: string[]): FolderNode | string {
  let folder = state.root;
  for (const [index, name] of way.entries()) {
    const found = folder.children.get(keyOf(name));
    const next = found === undefined ? keep(state, { folder, name }, folderNode(folder, { isNamed: false })) : found.node;
    if (found !== undefined && found.name !== name) return SAME_NAME;
    if (next.kind !== "folder") return `leads through a ${next.kind} of the same source`;
    if (found === undefined) newFolders.push(way.slice(0, index + 1).join("/"));
    folder = next;
  }
  return folder;
}

interface Spot {
  readonly folder: FolderNode;
  readonly name: string;
}

function put(state: State, spot: Spot, entry: EntryFacts): string | null {
  const found = spot.folder.children.get(keyOf(spot.name));
  if (found !== undefined) return nameAgain(found.name === spot.name, found.node, entry.kind);
  if (entry.kind === "folder") keep(state, spot, folderNode(spot.folder, { isNamed: true }));
  else if (entry.kind === "link") state.links.push(keep(state, spot, linkNode(state, spot.folder, entry)));
  else {
    keep(state, spot, { kind: "file" });
    state.fileCount += 1;
    state.bytes += entry.byteCount;
  }
  return null;
}

function keep<Node extends TreeNode>(state: State, { folder, name }: Spot, node: Node): Node {
  folder.children.set(keyOf(name), { name: flat(name), node });
  state.nodeCount += 1;
  state.namesBytes += Buffer.byteLength(name);
  return node;
}

function linkNode(state: State, parent: FolderNode, { path, linksTo = "" }: EntryFacts): LinkNode {
  state.namesBytes += Buffer.byteLength(path) + Buffer.byteLength(linksTo);
  return { kind: "link", parent, path, target: linksTo, end: "unknown" };
}

const SAME_NAME = "has the name of another entry, written with other bytes";
const keyOf = (name: string): string => flat(name.normalize("NFC"));
/** A copy: what was cut out of a path would keep the whole path in memory. */
const flat = (name: string): string => Buffer.from(name).toString();

function wrongLink(links: readonly LinkNode[]): { readonly path: string; readonly problem: string } | null {
  for (const link of links) {
    const end = endOf(link, 0);
    if (end.kind === "wrong") return { path: link.path, problem: end.problem };
  }
  return null;
}

function nameAgain(isExact: boolean, node: TreeNode, kind: EntryKind): string | null {
  if (!isExact) return SAME_NAME;
  if (node.kind === "folder" && kind === "folder" && !node.isNamed) {
    node.isNamed = true; // It was only part of a path so far.
    return null;
  }
  return node.kind === kind ? "is there twice" : `is there twice, as a ${node.kind} and as a ${kind}`;
}

/** As the kernel follows it, except that what is not there counts as a folder: it may be made later. Each link is followed once. */
function endOf(link: LinkNode, depth: number): LinkEnd {
  if (link.end === "asked") return wrong("is a link that leads back to itself");
  if (link.end !== "unknown") return link.end;
  if (depth > SOURCE_LINK_HOP_COUNT_MAX) return wrong(TOO_MANY_HOPS);
  link.end = "asked";
  link.end = follow(link, depth);
  return link.end;
}

const TOO_MANY_HOPS = `is a link that leads through more than ${SOURCE_LINK_HOP_COUNT_MAX} others`;
const wrong = (problem: string): LinkEnd => ({ kind: "wrong", problem });

function follow(link: LinkNode, depth: number): LinkEnd {
  let at: Position = { folder: link.parent, below: 0 };
  let hopCount = 1;
  for (const name of link.target.split("/")) {
    const next = step(at, name);
    if (next === null) return wrong(LEADS_OUT);
    if (!("kind" in next)) {
      at = next;
      continue;
    }
    const end = endOf(next, depth + 1);
    if (end.kind === "wrong") return end;
    at = end.at;
    hopCount += end.hopCount;
    if (hopCount > SOURCE_LINK_HOP_COUNT_MAX) return wrong(TOO_MANY_HOPS);
  }
  return { kind: "inside", at, hopCount };
}

/** The next position, a link that stands there, or null outside the root. */
function step({ folder, below }: Position, name: string): Position | LinkNode | null {
  if (name === "" || name === ".") return { folder, below };
  if (name === "..") {
    if (below > 0) return { folder, below: below - 1 };
    return folder.parent === null ? null : { folder: folder.parent, below: 0 };
  }
  if (below > 0) return { folder, below: below + 1 };
  const found = folder.children.get(keyOf(name));
  if (found?.name !== name || found.node.kind === "file") return { folder, below: 1 };
  return found.node.kind === "folder" ? { folder: found.node, below: 0 } : found.node;
}
