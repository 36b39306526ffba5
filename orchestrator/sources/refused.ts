// How a source is refused: in words that name the entry, and that no name can break out of.
import { PlatformError } from "../../runtime-image/contract/errors.ts";

const SHOWN_LENGTH_MAX = 200;
// What JSON leaves as it is and a terminal does not: other control characters, line ends, and marks that turn the text around.
const UNSEEN = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export const refusedEntry = (path: string, problem: string, cause?: unknown): PlatformError =>
  new PlatformError(
    "SOURCE_REFUSED",
    {
      detail: `${quoted(path)} ${problem}.`,
      remedy: "Take it out or rename it; what .orchestratorignore names is left out when a folder is sent.",
    },
    { cause },
  );

export const refusedArchive = (problem: string, cause?: unknown): PlatformError =>
  new PlatformError(
    "SOURCE_REFUSED",
    { detail: `The archive ${problem}.`, remedy: "Make it anew as tar, compressed with gzip or not, and send it again." },
    { cause },
  );

export function quoted(text: string): string {
  const shown = text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
  return JSON.stringify(shown).replaceAll(UNSEEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
