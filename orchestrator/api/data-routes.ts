// Routes of the management API for documents: read, written, exported and imported by their owner, as functions see them.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BACKUP_BYTES_MAX, DOCUMENT_PAGE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { encodedAt, placeOf, readDocument, readPage, removeDocuments, tableOf, writeDocument } from "../stores/documents.ts";
import type { AppStores } from "../stores/stores.ts";
import { countTable, listTables } from "../stores/tables.ts";
import { exportDocuments, importDocuments } from "../stores/transfer.ts";
import { APP_FIELD, type FindApp } from "./app-query.ts";
import { type ApiRoute, type Role, Type, route } from "./route.ts";

export interface DataRouteParts {
  readonly app: FindApp;
}

/**
 * Documents are what visitors told the app: whoever deploys may see those of staging, and only an admin those of production. A token
 * that may only look at the platform sees none.
 */
export const STORE_ROLES: Readonly<Record<Environment, Role>> = { staging: "deploy", production: "admin" };

export const dataRoutes = ({ app }: DataRouteParts): ApiRoute[] =>
  ENVIRONMENTS.flatMap((environment) => {
    const stores = async (query: { readonly app?: string }): Promise<AppStores> => app(query.app).stores(environment);
    const place = { environment, role: STORE_ROLES[environment], stores };
    return [...readingRoutes(place), ...writingRoutes(place), ...transferRoutes(place)];
  });

interface Place {
  readonly environment: Environment;
  readonly role: Role;
  readonly stores: (query: { readonly app?: string }) => Promise<AppStores>;
}

const TABLE = Type.String({ description: "the name of a table" });
const KEY = Type.String({ description: "the key of a document" });
const DOCUMENT = Type.Unknown({ description: "a document: an object with its table and key in it" });
const COUNT = Type.Integer({ minimum: 0 });
const REVISION = Type.Integer({ minimum: 0, description: "the revision of what it replaces; 0: there must be none" });

function readingRoutes({ environment, role, stores }: Place): ApiRoute[] {
  return [
    route({
      method: "GET",
      path: `/api/data/${environment}/tables`,
      role,
      summary: `The tables of ${environment} and how many documents each has.`,
      query: Type.Object(APP_FIELD),
      answer: {
        kind: "json",
        schema: Type.Object({ tables: Type.Array(Type.Object({ table: TABLE, count: COUNT })) }),
        handle: async ({ query }) => ({ tables: await listTables((await stores(query)).requests) }),
      },
    }),
    route({
      method: "GET",
      path: `/api/data/${environment}/count`,
      role,
      summary: `How many documents a table of ${environment} has.`,
      query: Type.Object({ ...APP_FIELD, table: TABLE }),
      answer: {
        kind: "json",
        schema: Type.Object({ count: COUNT }),
        handle: async ({ query }) => ({ count: await countTable((await stores(query)).requests, tableOf(query.table)) }),
      },
    }),
    route({
      method: "GET",
      path: `/api/data/${environment}/document`,
      role,
      summary: `One document of ${environment}, and its revision.`,
      query: Type.Object({ ...APP_FIELD, table: TABLE, key: KEY }),
      answer: {
        kind: "json",
        schema: Type.Object({ document: DOCUMENT, revision: REVISION }),
        handle: async ({ query }) => {
          const found = await readDocument((await stores(query)).store, placeOf(query.table, query.key));
          if (found === null) throw new PlatformError("DOCUMENT_NOT_FOUND", { detail: `${query.table}/${query.key} on ${environment}.` });
          return found;
        },
      },
    }),
    route({
      method: "GET",
      path: `/api/data/${environment}/page`,
      role,
      summary: `Documents of a table of ${environment} in the order of their keys, with a cursor where there may be more.`,
      query: Type.Object({
        ...APP_FIELD,
        table: TABLE,
        begin: Type.Optional(Type.String({ description: "what keys begin with" })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: DOCUMENT_PAGE_COUNT_MAX })),
        cursor: Type.Optional(Type.String({ description: "the cursor of the page before" })),
      }),
      answer: {
        kind: "json",
        schema: Type.Object({ documents: Type.Array(DOCUMENT), cursor: Type.Optional(Type.String()) }),
        handle: async ({ query }) => readPage((await stores(query)).store, query),
      },
    }),
  ];
}

/** Keys may name people, so the audit log keeps the table alone. */
function writingRoutes({ environment, role, stores }: Place): ApiRoute[] {
  return [
    route({
      method: "PUT",
      path: `/api/data/${environment}/document`,
      role,
      summary: `Writes one document of ${environment}.`,
      query: Type.Object(APP_FIELD),
      body: Type.Object({
        table: TABLE,
        key: KEY,
        document: Type.Unknown({ description: "an object: what the document holds" }),
        expectedRevision: Type.Optional(REVISION),
      }),
      auditedFields: ["table"],
      answer: {
        kind: "json",
        schema: Type.Object({ document: DOCUMENT, revision: REVISION }),
        handle: async ({ query, body }) => {
          const encoded = encodedAt(placeOf(body.table, body.key), attributesIn(body.document));
          const revision = await writeDocument((await stores(query)).store, encoded, body.expectedRevision);
          return { document: encoded.document, revision };
        },
      },
    }),
    route({
      method: "POST",
      path: `/api/data/${environment}/remove`,
      role,
      summary: `Destroys documents of one table of ${environment}.`,
      query: Type.Object(APP_FIELD),
      body: Type.Object({ table: TABLE, keys: Type.Array(KEY, { minItems: 1, maxItems: REMOVED_COUNT_MAX }) }),
      auditedFields: ["table"],
      answer: {
        kind: "json",
        schema: Type.Object({ removedKeys: Type.Array(KEY, { description: "those that were there" }) }),
        handle: async ({ query, body }) => {
          const places = body.keys.map((key) => placeOf(body.table, key));
          return { removedKeys: (await removeDocuments((await stores(query)).store, places)).map(({ key }) => key) };
        },
      },
    }),
  ];
}

const REMOVED_COUNT_MAX = 1_000;

function transferRoutes({ environment, role, stores }: Place): ApiRoute[] {
  return [
    route({
      method: "GET",
      path: `/api/data/${environment}/export`,
      role,
      summary: `Every document of ${environment}, or of one table, by table and key. Only a line of the kind "end" says that it is all.`,
      query: Type.Object({ ...APP_FIELD, table: Type.Optional(TABLE) }),
      answer: {
        kind: "lines",
        schema: EXPORT_LINE,
        handle: async ({ query }) => exportDocuments(await stores(query), query.table === undefined ? null : tableOf(query.table)),
      },
    }),
    route({
      method: "POST",
      path: `/api/data/${environment}/import`,
      role,
      summary: `Writes documents into ${environment}, one JSON object per line; nothing of a bad line. Doing it again changes nothing.`,
      query: Type.Object(APP_FIELD),
      answer: {
        kind: "upload",
        contentType: "application/x-ndjson",
        bytesMax: BACKUP_BYTES_MAX,
        schema: Type.Object({
          writtenCount: COUNT,
          badCount: COUNT,
          problems: Type.Array(Type.Object({ line: COUNT, problem: Type.String() })),
        }),
        handle: async ({ query }, body) => importDocuments((await stores(query)).store, body),
      },
    }),
  ];
}

const EXPORT_LINE = Type.Union([
  Type.Object({ kind: Type.Literal("begin"), count: COUNT }),
  Type.Object({ kind: Type.Literal("document"), document: DOCUMENT }),
  Type.Object({ kind: Type.Literal("unreadable"), place: Type.Object({ table: TABLE, key: KEY }) }),
  Type.Object({ kind: Type.Literal("end"), count: COUNT }),
]);

function attributesIn(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new PlatformError("API_INPUT_INVALID", { problems: ["document: should be an object"] });
}
