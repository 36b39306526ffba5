// Where the Docker engine listens, read from a DOCKER_HOST-like text.
import { PlatformError } from "../../runtime-image/contract/errors.ts";

export type DockerAddress =
  | { readonly kind: "socket"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number };

const DEFAULT_SOCKET = "/var/run/docker.sock";
const DEFAULT_TCP_PORT = 2375; // What Docker's own client assumes without TLS.

/** Without a text it is the socket that Docker listens on by default. */
export function parseDockerAddress(text: string | undefined): DockerAddress {
  if (text === undefined || text === "") return { kind: "socket", path: DEFAULT_SOCKET };
  if (text.startsWith("unix://") && text.length > "unix://".length) return { kind: "socket", path: text.slice("unix://".length) };
  if (text.startsWith("/")) return { kind: "socket", path: text };
  const url = URL.parse(text);
  if (url !== null && (url.protocol === "tcp:" || url.protocol === "http:") && url.hostname !== "")
    return { kind: "tcp", host: url.hostname, port: url.port === "" ? DEFAULT_TCP_PORT : Number(url.port) };
  throw new PlatformError("SETTING_INVALID", {
    detail: `The Docker engine's address is "${text}".`,
    remedy: "Write it as unix:///path/to/docker.sock or tcp://host:port.",
  });
}

export function describeDockerAddress(address: DockerAddress): string {
  return address.kind === "socket" ? address.path : `tcp://${address.host}:${address.port}`;
}
