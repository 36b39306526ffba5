// The OpenAPI 3.1 document of the management API, made of the very schemas that its input is checked with. Pure.
import { ERRORS } from "../../runtime-image/contract/errors.ts";
import { PASSPHRASE_HEADER } from "./passphrase.ts";
import type { ApiAnswer, ApiRoute } from "./route.ts";
import { isOptional } from "./json-schema.ts";
import { type TSchema, closed } from "./schema.ts";

export function openApiDocument(routes: readonly ApiRoute[], port: number): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Management API of orchestrator",
      version: "1",
      description:
        "Answers on this machine alone. Each route says which role a token needs; admin may do what deploy may, deploy what read may.",
    },
    servers: [{ url: `http://localhost:${port}` }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "64 hexadecimal digits; see orchestrator token --help." } },
      schemas: { Problem: PROBLEM },
    },
  };
}

const PROBLEM = {
  type: "object",
  required: ["status", "code", "title"],
  properties: {
    status: { type: "integer" },
    code: { type: "string", enum: Object.keys(ERRORS) },
    title: { type: "string" },
    detail: { type: "string" },
    remedy: { type: "string" },
    problems: { type: "array", items: { type: "string" }, description: "Everything that is wrong with the input, each with its path." },
  },
};

const PASSPHRASE = {
  name: PASSPHRASE_HEADER,
  in: "header",
  required: false,
  schema: { type: "string", contentEncoding: "base64", writeOnly: true },
  description: "The passphrase of a backup's environment variables, as UTF-8. Nothing keeps it.",
};

function operation(route: ApiRoute): object {
  const passphrase = route.takesPassphrase === true ? [PASSPHRASE] : [];
  const parameters = [...parametersOf(route.params, "path"), ...parametersOf(route.query, "query"), ...passphrase];
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: `Needs the role ${route.role}.`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...bodyOf(route),
    responses: {
      200: { description: "Done.", content: contentOf(route.answer) },
      default: {
        description: "It was not done; the code says why.",
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

/** "GET /api/env/:environment/:name" is "getEnvByEnvironmentByName". */
function operationId({ method, path }: ApiRoute): string {
  const words = path
    .slice("/api/".length)
    .split(/[^\w:]+/)
    .map((part) => (part.startsWith(":") ? `By${capitalized(part.slice(1))}` : capitalized(part)));
  return `${method.toLowerCase()}${words.join("")}`;
}

const capitalized = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

function parametersOf(schema: ApiRoute["params"], place: "path" | "query"): object[] {
  return Object.entries(schema?.properties ?? {}).map(([name, one]) => ({
    name,
    in: place,
    required: place === "path" || !isOptional(one),
    schema: one,
  }));
}

function bodyOf({ body, answer }: ApiRoute): object {
  if (answer.kind === "upload")
    return { requestBody: { required: true, content: { [answer.contentType]: { schema: { type: "string", format: "binary" } } } } };
  return body === undefined ? {} : { requestBody: { required: true, content: { "application/json": { schema: closed(body) } } } };
}

function contentOf(answer: ApiAnswer): Record<string, { schema: TSchema }> {
  switch (answer.kind) {
    case "json":
    case "upload":
      return { "application/json": { schema: answer.schema } };
    case "lines":
      return { "application/x-ndjson": { schema: answer.schema }, "text/event-stream": { schema: answer.schema } };
    case "events":
      return { "text/event-stream": { schema: answer.schema } };
    case "download":
      return { [answer.contentType]: { schema: { type: "string", format: "binary" } } };
  }
}
