// What is shown of a commit: its subject, its author, its time, as plain text whatever somebody wrote there. Pure.
import { stripVTControlCharacters } from "node:util";
import { COMMIT_AUTHOR_LENGTH_MAX, COMMIT_SUBJECT_LENGTH_MAX } from "../../runtime-image/contract/limits.ts";

export interface CommitFacts {
  readonly commit: string;
  readonly subject: string;
  readonly author: string;
  readonly epochMs: number;
}

/** What `git log` has to print: all of it on one line but for the message, which may be endless and comes last. */
export const FACTS_FORMAT = "--format=%H%x00%ct%x00%an%x00%s";

export function commitFacts(text: string): CommitFacts {
  const [commit = "", seconds = "", author = "", subject = ""] = text.split("\0");
  const epochMs = Number(seconds) * 1_000;
  return {
    commit,
    subject: shown(subject, COMMIT_SUBJECT_LENGTH_MAX),
    author: shown(author, COMMIT_AUTHOR_LENGTH_MAX),
    epochMs: Number.isSafeInteger(epochMs) ? epochMs : 0,
  };
}

/** One line without escape sequences, control characters, and marks that turn what follows around; cut to so many characters. */
export function shown(text: string, lengthMax: number): string {
  // Each character that is left takes part in at most a few that are taken out, in what people write.
  const plain = plainLine(text.slice(0, lengthMax * 8))
    .replaceAll(/\s+/g, " ")
    .trim();
  const characters = Array.from(plain);
  return characters.length <= lengthMax ? plain : `${characters.slice(0, lengthMax - 1).join("")}…`;
}

/** The same, with its spaces, of any length. */
export const plainLine = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll("\t", "  ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, " ");
