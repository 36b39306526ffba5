// The room that a platform takes, as a table for people. Pure.
import { bytesText } from "../bytes-text.ts";
import type { DiskReport } from "../doctor/disk-use.ts";
import { PART_TEXTS } from "../doctor/judge-use.ts";
import { plainText } from "./plain-text.ts";

interface Row {
  readonly name: string;
  readonly bytes: number;
  readonly isWhole: boolean;
  readonly text: string;
}

/** The largest part first; parts that take nothing are left out. */
export function diskLines({ home, parts, bytes, isWhole, freeBytes, engine }: DiskReport): string[] {
  const own = parts
    .filter((part) => part.bytes > 0 || !part.isWhole)
    .toSorted((a, b) => b.bytes - a.bytes)
    .map((part): Row => ({ name: part.part, bytes: part.bytes, isWhole: part.isWhole, text: PART_TEXTS[part.part] }));
  const total: Row = { name: "the home", bytes, isWhole, text: freeBytes === null ? "" : `${bytesText(freeBytes)} free on its disk` };
  return [`${plainText(home)} takes`, ...rowLines([...own, total, ...engineRows(engine)]), ...(isWhole ? [] : [MORE])];
}

const MORE = "  + and more: measuring was stopped, or something may not be looked into";

/** What the engine "process" keeps lies in the home, and is among its parts. */
function engineRows(engine: DiskReport["engine"]): Row[] {
  if (engine === null || engine.kind === "process") return [];
  const { buildCount, buildBytes, imageBytes, freeBytes } = engine;
  const free = freeBytes === null ? "" : `; ${bytesText(freeBytes)} free on the engine's disk`;
  return [
    {
      name: "images of builds",
      bytes: buildBytes,
      isWhole: true,
      text: `in Docker: ${buildCount} ${buildCount === 1 ? "build" : "builds"}`,
    },
    { name: "what they stand on", bytes: imageBytes, isWhole: true, text: `in Docker: the runtime, Node and npm${free}` },
  ];
}

function rowLines(rows: readonly Row[]): string[] {
  const sizes = rows.map(({ bytes, isWhole }) => `${bytesText(bytes)}${isWhole ? " " : "+"}`);
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const sizeWidth = Math.max(...sizes.map((size) => size.length));
  return rows.map(({ name, text }, index) => `  ${name.padEnd(nameWidth)}  ${(sizes[index] ?? "").padStart(sizeWidth)} ${text}`.trimEnd());
}
