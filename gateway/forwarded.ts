// Who a request comes from: what a trusted proxy says of it, or else what its connection shows.
import { BlockList, isIP, type Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** What the connection itself shows. */
export interface Peer {
  readonly address: string;
  readonly isTrusted: boolean;
  readonly isSecure: boolean; // It came over TLS.
  readonly localPort: number;
}

/** The x-forwarded-* values as they came, joined where they were repeated. */
export interface ForwardedValues {
  for: string | null;
  proto: string | null;
  host: string | null;
  port: string | null;
}

export interface Origin {
  readonly sourceIp: string;
  readonly scheme: "http" | "https";
  readonly port: string;
  readonly host: string | null; // Null where no trusted proxy named one.
}

export type Trust = (address: string) => boolean;

export function createTrust(ranges: readonly string[]): Trust {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? "ipv6" : "ipv4");
  };
}

export const peerOf = (socket: Socket, trust: Trust): Peer => {
  const address = plainAddress(socket.remoteAddress ?? "");
  return { address, isTrusted: trust(address), isSecure: socket instanceof TLSSocket, localPort: socket.localPort ?? 0 };
};

/** An IPv4 address that came in over an IPv6 socket is shown as what it is. */
export const plainAddress = (address: string): string =>
  address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;

export function originOf(peer: Peer, values: ForwardedValues, trust: Trust): Origin {
  const own = peer.isSecure ? "https" : "http";
  if (!peer.isTrusted) return { sourceIp: peer.address, scheme: own, port: String(peer.localPort), host: null };
  const scheme = values.proto === null ? own : firstOf(values.proto)?.toLowerCase() === "https" ? "https" : "http";
  return { sourceIp: sourceOf(peer, values.for, trust), scheme, port: portOf(values, scheme, peer), host: firstOf(values.host) };
}

// Every proxy appends whom it heard from, so the right-most address that is no proxy of ours is the one we can believe.
function sourceOf(peer: Peer, list: string | null, trust: Trust): string {
  let source = peer.address;
  const hops = list === null ? [] : list.split(",");
  for (const hop of hops.reverse()) {
    const address = hopAddress(hop.trim());
    if (address === null) return source;
    source = address;
    if (!trust(address)) return source;
  }
  return source;
}

// Some proxies write a port behind the address.
function hopAddress(hop: string): string | null {
  const bare = hop.startsWith("[")
    ? hop.slice(1, hop.indexOf("]"))
    : isIP(hop) === 0 && hop.split(":").length === 2
      ? hop.slice(0, hop.indexOf(":"))
      : hop;
  const address = plainAddress(bare);
  return isIP(address) === 0 ? null : address;
}

function portOf(values: ForwardedValues, scheme: "http" | "https", peer: Peer): string {
  const port = firstOf(values.port);
  if (port !== null && /^\d{1,5}$/.test(port)) return port;
  if (values.proto === null) return String(peer.localPort);
  return scheme === "https" ? "443" : "80";
}

// The first value is what the visitor asked for, whatever the proxies call each other.
function firstOf(list: string | null): string | null {
  if (list === null) return null;
  const comma = list.indexOf(",");
  const first = (comma === -1 ? list : list.slice(0, comma)).trim();
  return first === "" ? null : first;
}
