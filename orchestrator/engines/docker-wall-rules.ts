// The wall as text: what the host's packet filter is told, so that a function reaches the broker and the outside, and nothing of the host.
import { shortHash } from "./docker-labels.ts";

export interface Wall {
  readonly platformId: string;
  readonly bridges: readonly string[]; // Interfaces that our containers' traffic comes in from.
  readonly brokerlessBridge: string; // The one of them that nothing on needs the broker.
  readonly resolvers: readonly string[]; // IPv4 addresses that Docker's own resolver asks on behalf of a container.
  readonly broker: { readonly host: string; readonly port: number } | null; // Null while it is not known: nothing is let through.
}

/**
 * What iptables-restore --noflush reads, in one step: our chains are emptied and filled, our jumps taken out and put first.
 * `listed` is what "iptables -S" says of the rules that there are.
 */
export function wallScript(wall: Wall, listed: string): string {
  const { toHost, between } = chainNames(wall.platformId);
  const tag = `-m comment --comment "${wallComment(wall.platformId)}"`;
  const jumps = wall.bridges.flatMap((bridge) => [
    `-I INPUT 1 -i ${bridge} ${tag} -j ${toHost}`,
    `-I FORWARD 1 -i ${bridge} ${tag} -j ${between}`,
  ]);
  return script([
    `:${toHost} - [0:0]`,
    `:${between} - [0:0]`,
    ...jumpRemovals(wall.platformId, listed),
    ...hostRules(wall).map(({ match, verdict }) => `-A ${toHost} ${match}${tag} -j ${verdict}`),
    ...wall.bridges.map((bridge) => `-A ${between} -o ${bridge} ${tag} -j DROP`),
    ...jumps,
  ]);
}

/** Takes everything away that wallScript put there; null where there is nothing. */
export function wallRemovalScript(platformId: string, listed: string): string | null {
  const { toHost, between } = chainNames(platformId);
  const chains = [toHost, between].filter((chain) => listed.split("\n").includes(`-N ${chain}`));
  if (chains.length === 0) return null;
  return script([...jumpRemovals(platformId, listed), ...chains.map((chain) => `-F ${chain}`), ...chains.map((chain) => `-X ${chain}`)]);
}

/** Docker's resolver asks these from inside the container's network, so a query to one on the host itself meets the wall. */
export function resolversOf(resolvConf: string): string[] {
  const addresses = resolvConf.split("\n").map((line) => /^\s*nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/.exec(line)?.[1] ?? "");
  return [...new Set(addresses)].filter((address) => address !== "" && !address.startsWith("127."));
}

export const wallComment = (platformId: string): string => `orchestrator:${platformId}`;

/** At most 28 characters, the packet filter's limit for a chain. */
const chainNames = (platformId: string) => ({
  toHost: `ORC-${shortHash(platformId)}-HOST`,
  between: `ORC-${shortHash(platformId)}-BETWEEN`,
});

function hostRules({ resolvers, broker, brokerlessBridge }: Wall): { match: string; verdict: "ACCEPT" | "DROP" }[] {
  const accept = (match: string) => ({ match: `${match} `, verdict: "ACCEPT" as const });
  return [
    accept("-m conntrack --ctstate RELATED,ESTABLISHED"),
    ...(broker === null ? [] : [accept(`-d ${broker.host}/32 ! -i ${brokerlessBridge} -p tcp -m tcp --dport ${broker.port}`)]),
    ...resolvers.flatMap((address) =>
      ["udp", "tcp"].map((protocol) => accept(`-d ${address}/32 -p ${protocol} -m ${protocol} --dport 53`)),
    ),
    { match: "", verdict: "DROP" },
  ];
}

function jumpRemovals(platformId: string, listed: string): string[] {
  const { toHost, between } = chainNames(platformId);
  const isOurs = (line: string) => /^-A (INPUT|FORWARD) /.test(line) && (line.endsWith(`-j ${toHost}`) || line.endsWith(`-j ${between}`));
  return listed
    .split("\n")
    .filter(isOurs)
    .map((line) => line.replace(/^-A/, "-D"));
}

const script = (lines: readonly string[]): string => ["*filter", ...lines, "COMMIT", ""].join("\n");
