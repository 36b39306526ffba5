// The certificate of an HTTPS address: read from its files, and read again when they change, without touching open connections.
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, Server as SecureServer } from "node:tls";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import type { GatewayTls } from "../runtime-image/contract/gateway-config.ts";
import { CERTIFICATE_BYTES_MAX, CERTIFICATE_CHECK_INTERVAL_MS } from "../runtime-image/contract/limits.ts";
import type { ListeningSocket } from "./listening.ts";
import type { Log } from "./log.ts";

export interface Certificates {
  /** Before the servers listen. Fails where files cannot be used, and names them. */
  load(): Promise<void>;
  close(): void;
}

interface Certificate {
  readonly cert: string; // With those between it and a root.
  readonly key: string;
}

export function createCertificates(sockets: readonly ListeningSocket[], log: Log): Certificates {
  const stops: (() => void)[] = [];
  const load = async ({ server, address: { tls } }: ListeningSocket): Promise<void> => {
    if (tls === undefined || !(server instanceof SecureServer)) return;
    const certificate = await readBoth(tls);
    use(server, certificate, tls);
    stops.push(follow(server, { files: tls, served: certificate, log }));
  };
  return {
    load: async () => void (await Promise.all(sockets.map(load))),
    close: () => stops.forEach((stop) => stop()),
  };
}

interface Following {
  readonly files: GatewayTls;
  readonly served: Certificate;
  readonly log: Log;
}

/** New connections get the new certificate; where the new files cannot be used, they get the old one. Ends with the result. */
function follow(server: SecureServer, { files, served: first, log }: Following): () => void {
  let served = first;
  let lastFailure = ""; // A renewal writes two files, one after the other: what is wrong once may be right a moment later.
  let toldFailure = "";
  const check = async (): Promise<void> => {
    try {
      const certificate = await readBoth(files);
      if (certificate.cert !== served.cert || certificate.key !== served.key) {
        use(server, certificate, files);
        served = certificate;
        log.info("the certificate was replaced", { certFile: files.certFile });
      }
      lastFailure = toldFailure = "";
    } catch (cause) {
      const failure = String(cause);
      if (failure === lastFailure && failure !== toldFailure) {
        toldFailure = failure;
        log.error("the certificate's files cannot be used any more; the one before is served on", { reason: failure });
      }
      lastFailure = failure;
    }
  };
  const timer = setInterval(() => void check(), CERTIFICATE_CHECK_INTERVAL_MS); // It tells its failures itself.
  return () => clearInterval(timer);
}

const readBoth = async ({ certFile, keyFile }: GatewayTls): Promise<Certificate> => ({
  cert: await readText(certFile),
  key: await readText(keyFile),
});

function use(server: SecureServer, { cert, key }: Certificate, { certFile, keyFile }: GatewayTls): void {
  const options = { cert, key, minVersion: "TLSv1.2" } as const; // RFC 8996: older ones are not to be used.
  try {
    createSecureContext(options); // A server that was given a wrong one would keep half of it.
    server.setSecureContext(options);
  } catch (cause) {
    throw new PlatformError("SETTING_INVALID", {
      detail: `${certFile} and ${keyFile} are no certificate and its key: ${cause instanceof Error ? cause.message : String(cause)}.`,
      remedy: "Name a PEM file with the certificate and its chain, and one with the key that belongs to it.",
    });
  }
}

async function readText(file: string): Promise<string> {
  const size = await stat(file).then(
    (found) => found.size,
    (cause: unknown) => unreadable(file, cause),
  );
  if (size > CERTIFICATE_BYTES_MAX)
    throw new PlatformError("SETTING_INVALID", { detail: `${file} is larger than ${CERTIFICATE_BYTES_MAX} bytes.` });
  return readFile(file, "utf8").catch((cause: unknown) => unreadable(file, cause));
}

function unreadable(file: string, cause: unknown): never {
  const why = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
  throw new PlatformError("SETTING_INVALID", { detail: `${file} cannot be read (${why}).`, remedy: "Let the platform's user read it." });
}
