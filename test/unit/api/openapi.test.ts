// The OpenAPI document and the page about the API: that both say what the routes are.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openApiDocument } from "../../../orchestrator/api/openapi.ts";
import { type ApiParts, apiRoutes } from "../../../orchestrator/api/routes.ts";

// Only handlers use the other parts, and none is called here.
const routes = apiRoutes({} as ApiParts);

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean; readonly schema: object }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: object }>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: object };
}

// Through JSON, as its readers get it.
const document = JSON.parse(JSON.stringify(openApiDocument(routes, 3330))) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe("the OpenAPI document", () => {
  it("has every route once", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).toSorted()).toEqual(
      routes.map((route) => `${route.method} ${route.path.replace(/:(\w+)/g, "{$1}")}`).toSorted(),
    );
  });

  it("gives each operation a name of its own, a summary and the shape of its errors", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operation } of operations) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z0-9]+$/);
      expect(operation.summary).toMatch(/^[A-Z].*\.$/);
      expect(operation.responses).toHaveProperty("200");
      expect(JSON.stringify(operation.responses["default"])).toContain("#/components/schemas/Problem");
    }
    expect(document.components.schemas).toHaveProperty("Problem");
  });

  it("declares every parameter that a path has, and no other, as required", () => {
    for (const { path, operation } of operations) {
      const declared = (operation.parameters ?? []).filter((one) => one.in === "path");
      expect(new Set(declared.map((one) => one.name))).toEqual(new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)));
      expect(declared.every((one) => one.required)).toBe(true);
    }
  });

  it("says that a body may hold nothing but what it names", () => {
    const bodies = operations.flatMap(({ operation }) => Object.entries(operation.requestBody?.content ?? {}));
    const ofJson = bodies.filter(([type]) => type === "application/json");
    expect(ofJson.length).toBeGreaterThan(0);
    for (const [, { schema }] of ofJson) expect(schema).toMatchObject({ type: "object", additionalProperties: false });
  });
});

describe("docs/api.md", () => {
  it("has a row for every route, with the role that it needs, and for nothing else", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/api.md"), "utf8");
    const rows = [...page.matchAll(/^\| `(GET|POST|PUT|PATCH|DELETE) (\/api\/\S+)` \| (\w+) \|/gm)].map(
      ([, method, path, role]) => `${method} ${path} ${role}`,
    );
    expect(rows.toSorted()).toEqual(routes.map((route) => `${route.method} ${route.path} ${route.role}`).toSorted());
  });
});
