// Which form of a file a client gets, and what it and every cache on the way are told of it. Pure.
import type { SiteFile } from "../../runtime-image/contract/snapshot.ts";
import { ANTI_CACHE } from "../error-page.ts";

export interface Representation {
  readonly contentId: string;
  readonly headers: readonly (readonly [string, string])[];
}

export function represent(path: string, file: SiteFile, acceptEncoding: string): Representation {
  const encoding = chooseEncoding(file, acceptEncoding);
  const contentId = (encoding === null ? null : file.encodings?.[encoding]?.contentId) ?? file.contentId;
  const headers: [string, string][] = [
    ["etag", `"${contentId.slice(0, ETAG_LENGTH)}"`],
    ["cache-control", cacheControl(path, file)],
  ];
  if (encoding !== null) headers.push(["content-encoding", encoding]);
  if (file.encodings !== undefined) headers.push(["vary", "accept-encoding"]);
  return { contentId, headers };
}

const ETAG_LENGTH = 32; // Hex digits of a SHA-256: strong, and different for each encoding because its bytes are.
const YEAR_S = 31_536_000;

function cacheControl(path: string, file: SiteFile): string {
  if (file.isImmutable) return `public, max-age=${YEAR_S}, immutable`;
  return /\.(?:html?|xhtml|json)$/i.test(path) ? ANTI_CACHE : "public, max-age=0, must-revalidate";
}

type Encoding = "br" | "gzip";

/** The encoding that the client likes best, the smaller one where it likes both as much (RFC 9110 12.5.3). */
export function chooseEncoding({ encodings }: Pick<SiteFile, "encodings">, acceptEncoding: string): Encoding | null {
  if (encodings === undefined || acceptEncoding === "") return null;
  const weights = readWeights(acceptEncoding);
  const rest = weights.get("*");
  const weightOf = (encoding: Encoding): number => {
    if (encodings[encoding] === undefined) return 0;
    return weights.get(encoding) ?? (encoding === "gzip" ? weights.get("x-gzip") : undefined) ?? rest ?? 0;
  };
  const br = weightOf("br");
  const gzip = weightOf("gzip");
  const best = Math.max(br, gzip);
  // As it is: always acceptable unless refused, and preferred only where that is said.
  if (best === 0 || (weights.get("identity") ?? 0) > best) return null;
  if (br !== gzip) return br > gzip ? "br" : "gzip";
  return (encodings.br?.bytes ?? 0) <= (encodings.gzip?.bytes ?? 0) ? "br" : "gzip";
}

function readWeights(acceptEncoding: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const entry of acceptEncoding.toLowerCase().split(",")) {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith("q="));
    const weight = quality === undefined ? 1 : Number(quality.slice(2));
    weights.set(name, weight >= 0 && weight <= 1 ? weight : 0);
  }
  return weights;
}
