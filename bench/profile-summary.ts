// Reads a V8 CPU profile: which functions the time went to, themselves and with what they call. Pure.

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

export interface FunctionTime {
  readonly name: string; // "send gateway/dispatch/dispatcher.ts:142"
  readonly selfShare: number; // Of the time in which the thread was not idle.
  readonly totalShare: number; // With what it calls; a function that calls itself counts once.
}

export interface ProfileSummary {
  readonly busyShare: number; // Of the whole time.
  readonly functions: readonly FunctionTime[]; // The ones with most time of their own first.
}

export function summarise(profile: CpuProfile): ProfileSummary {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const ownUs = new Map<number, number>();
  for (const [index, id] of profile.samples.entries()) ownUs.set(id, (ownUs.get(id) ?? 0) + (profile.timeDeltas[index] ?? 0));
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  let [allUs, busyUs] = [0, 0];
  const add = (map: Map<string, number>, name: string, us: number): void => void map.set(name, (map.get(name) ?? 0) + us);
  const walk = (node: ProfileNode, above: ReadonlySet<string>): number => {
    const name = nameOf(node);
    const us = ownUs.get(node.id) ?? 0;
    allUs += us;
    if (name === "(idle)") return 0;
    busyUs += us;
    add(self, name, us);
    const within = new Set(above).add(name);
    const sumUs = (node.children ?? []).reduce((sum, id) => sum + walkId(id, within), us);
    if (!above.has(name)) add(total, name, sumUs);
    return sumUs;
  };
  const walkId = (id: number, above: ReadonlySet<string>): number => {
    const node = nodes.get(id);
    return node === undefined ? 0 : walk(node, above);
  };
  const [root] = profile.nodes;
  if (root !== undefined) walk(root, new Set());
  const functions = [...total].map(([name, us]) => ({ name, selfShare: (self.get(name) ?? 0) / busyUs, totalShare: us / busyUs }));
  return { busyShare: busyUs / allUs, functions: functions.toSorted((a, b) => b.selfShare - a.selfShare) };
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === "" ? "(anonymous)" : functionName;
  if (url === "") return name;
  const place = url.replace(/^file:\/\//, "").replace(/^.*\/(?=(gateway|runtime-image|orchestrator|node_modules|runtime)\/)/, "");
  return `${name} ${place}:${lineNumber + 1}`;
}
