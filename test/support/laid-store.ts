// Lays a store for the library's documents, as the runtime does in an instance, and reads with the types that tests know.
import { layBridge, type Store } from "../../runtime-image/library/bridge.ts";
import { get } from "../../runtime-image/library/data.ts";

export interface Doc {
  readonly table: string;
  readonly key: string;
  readonly [name: string]: unknown;
}
export type Docs = Doc[] & { cursor?: string };

export function layStore(store: Store): void {
  layBridge({ environment: "staging", appName: "app", secret: "00".repeat(32), currentRequest: () => null, store }, () => null);
}

export const getOne = async (params: unknown): Promise<Doc | null> => (await get(params)) as Doc | null; // {table, key} gives one.
export const getSome = async (params: unknown): Promise<Docs> => (await get(params)) as Docs; // {table} and arrays give several.
export const keysOf = (documents: readonly Doc[]): string[] => documents.map(({ key }) => key);
