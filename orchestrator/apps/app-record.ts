// What a platform was told of its app on the command line, kept in the home: it wins over the manifest until it is told otherwise.
import { join } from "node:path";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { textOf } from "./folders.ts";
import { APP_GENERATIONS, type AppGeneration } from "./manifest.ts";
import { isRecord } from "./pragmas.ts";

export interface AppRecord {
  readonly generation: AppGeneration | null; // Null: what the manifest declares.
}

const fileOf = (home: string): string => join(home, "app.json");

/** A home that says nothing of the app, or nothing that can be read, leaves everything to the manifest. */
export async function readAppRecord(home: string): Promise<AppRecord> {
  const text = await textOf(fileOf(home));
  if (text === null) return { generation: null };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { generation: null };
  }
  const generation = isRecord(value) ? value["generation"] : null;
  return { generation: APP_GENERATIONS.find((known) => known === generation) ?? null };
}

export async function writeAppRecord(home: string, record: AppRecord): Promise<void> {
  await writeFileAtomic(fileOf(home), `${JSON.stringify({ v: 1, ...record })}\n`, 0o600);
}
