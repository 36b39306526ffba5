// How the log files of an instance are followed and bounded.
import { appendFile, mkdtemp, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import type { LogLine } from "../../../orchestrator/engines/engine.ts";
import { boundLogs, followFiles } from "../../../orchestrator/engines/process-logs.ts";
import { encodePrintedLine } from "../../../runtime-image/contract/log-line.ts";
import { until } from "../../support/until.ts";

let folder: string;
let files: { outputFile: string; errorFile: string };
let lines: LogLine[];
let isOver: boolean;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "process-logs-test-"));
  files = { outputFile: join(folder, "out"), errorFile: join(folder, "err") };
  lines = [];
  isOver = false;
  await Promise.all([writeFile(files.outputFile, ""), writeFile(files.errorFile, "")]);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const follow = (sinceEpochMs = 0, signal = new AbortController().signal): Promise<void> =>
  followFiles({ ...files, sinceEpochMs, signal, isOver: () => Promise.resolve(isOver) }, (line) => lines.push(line));
const has = (text: string) => (): boolean => lines.some((line) => line.text === text);
const texts = (): string[] => lines.map(({ text }) => text);

it("tells what was there, what comes, and at the end what has no line break", async () => {
  await appendFile(files.outputFile, "before\n");
  const following = follow();
  await until(has("before"), { timeoutMs: 2_000 });
  await appendFile(files.errorFile, "trouble\nhalf");
  await until(has("trouble"), { timeoutMs: 2_000 });
  isOver = true;
  await following;
  expect(lines.map(({ stream, text }) => `${stream} ${text}`)).toEqual(["stdout before", "stderr trouble", "stderr half"]);
});

it("tells the last lines of an instance whose files were removed already", async () => {
  const following = follow();
  await appendFile(files.outputFile, "first\n");
  await until(has("first"), { timeoutMs: 2_000 });
  await appendFile(files.outputFile, "last words\n");
  await rm(folder, { recursive: true });
  isOver = true;
  await following;
  expect(texts()).toEqual(["first", "last words"]);
});

it("goes on at the beginning of a file that was emptied", async () => {
  await appendFile(files.outputFile, "a long line of before\n");
  const following = follow();
  await until(has("a long line of before"), { timeoutMs: 2_000 });
  await truncate(files.outputFile, 0);
  await appendFile(files.outputFile, "after\n");
  await until(has("after"), { timeoutMs: 2_000 });
  isOver = true;
  await following;
  expect(texts()).toEqual(["a long line of before", "after"]);
});

it("leaves out what was printed before the moment that is asked for", async () => {
  const line = (epochMs: number): string => encodePrintedLine({ epochMs, level: "info", requestId: null, text: "" });
  await appendFile(files.outputFile, line(10) + line(20) + line(30));
  isOver = true;
  await follow(20);
  expect(lines.map(({ epochMs }) => epochMs)).toEqual([20, 30]);
});

it("ends at once, and without an error, when the signal aborts", async () => {
  const over = new AbortController();
  const following = follow(0, over.signal);
  over.abort();
  await following;
  expect(lines).toEqual([]);
});

it("empties a file that grew too large, leaves others, and does not mind one that is gone", async () => {
  await truncate(files.outputFile, 16_000_001);
  await truncate(files.errorFile, 16_000_000);
  await boundLogs([files.outputFile, files.errorFile, join(folder, "gone")]);
  expect((await stat(files.outputFile)).size).toBe(0);
  expect((await stat(files.errorFile)).size).toBe(16_000_000);
});
