// Names of tables and documents: what they may be, and the keys of the store that they become.
import { DOCUMENT_NAME_LENGTH_MAX } from "./limits.ts";

export interface DocumentPlace {
  readonly table: string;
  readonly key: string;
}

/** Any Unicode text of 1 to 50 code points that UTF-8 can write. A number is taken as its text, as it was by the original. */
export function checkTable(value: unknown): string {
  if (isMissing(value)) throw new ReferenceError("Table is not defined");
  const table = textOf(value);
  const length = lengthOf(table ?? "");
  if (length > DOCUMENT_NAME_LENGTH_MAX)
    throw new Error(`Table name has too many characters; max ${DOCUMENT_NAME_LENGTH_MAX}, received ${length} for ${table}`);
  if (table === null) throw new SyntaxError(invalidName("table", value));
  return table;
}

export function checkKey(value: unknown): string {
  if (isMissing(value)) throw new ReferenceError("Key is not defined");
  const key = textOf(value);
  const length = lengthOf(key ?? "");
  if (length > DOCUMENT_NAME_LENGTH_MAX)
    throw new Error(`Key name has too many characters; max ${DOCUMENT_NAME_LENGTH_MAX}, received ${length}`);
  if (key === null) throw new SyntaxError(invalidName("key", value));
  return key;
}

export const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || value === 0 || value === false;

/** Null where no document can have this name: reading it finds nothing, as with the original. */
export function placeToRead(params: { readonly table?: unknown; readonly key?: unknown }): DocumentPlace | null {
  const table = checkTable(params.table);
  const key = isMissing(params.key) ? null : textOf(params.key);
  return key === null || lengthOf(key) > DOCUMENT_NAME_LENGTH_MAX ? null : { table, key };
}

/** Hex of UTF-8: its order is the order of code points, and no name can reach into another's. */
export const storeKeyOf = ({ table, key }: DocumentPlace): string => tablePrefix(table) + hexOf(key);
export const tablePrefix = (table: string): string => `${hexOf(table)}.`;
export const hexOf = (name: string): string => Buffer.from(name, "utf8").toString("hex");
/** The other way round, for what a store may hold. */
export function placeIn(storeKey: string): DocumentPlace {
  const [table = "", key = ""] = storeKey.split(".").map(nameOf);
  return { table, key };
}
export const nameOf = (hex: string): string => Buffer.from(hex, "hex").toString("utf8");

function textOf(value: unknown): string | null {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value.isWellFormed() ? value : null; // Half of a character is none.
}

const lengthOf = (name: string): number => Array.from(name).length;

const invalidName = (kind: string, value: unknown): string =>
  `Invalid ${kind} name of ${typeof value === "string" ? JSON.stringify(value) : typeof value}: names must be alphanumeric and can use the only the following URL safe puncation: .,:-/+?&=@`;
