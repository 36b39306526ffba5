// The routes for environment variables: who may use which, and what of a body is said back or kept.
import { describe, expect, it } from "vitest";
import { auditedInput, checkedInput } from "../../../orchestrator/api/input.ts";
import { variablesRoutes } from "../../../orchestrator/api/variables-routes.ts";

// Nothing is carried out here.
const never = (): never => {
  throw new Error("not in this test");
};
const routes = variablesRoutes({ app: never });
const SECRET = "hunter2";
const sent = (body: unknown) => ({ params: {}, query: {}, body });

describe("routes for environment variables", () => {
  it("ask more of who changes production than of who changes staging, and let everyone see names", () => {
    expect(routes.map(({ method, path, role }) => `${method} ${path} ${role}`)).toEqual([
      "GET /api/variables read",
      "PATCH /api/variables/staging deploy",
      "PATCH /api/variables/production admin",
      "PATCH /api/variables/both admin",
    ]);
  });

  it.each(routes.slice(1).map((route) => [route.path, route] as const))("%s leaves what is set out of the audit log", (_path, route) => {
    const body = { set: { A: SECRET }, remove: ["B"] };
    expect(auditedInput(route, checkedInput(route, sent(body)))).toEqual({ remove: ["B"] });
  });

  it.each([{ set: SECRET }, { set: [SECRET] }, { set: { A: { B: SECRET } } }, { set: { A: 1, B: [SECRET] } }, { remove: [SECRET] }])(
    "refuse %j without saying a value back",
    (body) => {
      const said = thrown(() => routes.slice(1).map((route) => checkedInput(route, sent(body))));
      expect(said).toContain("API_INPUT_INVALID");
      expect(said).not.toContain(SECRET);
    },
  );
});

function thrown(action: () => unknown): string {
  try {
    return `nothing was thrown: ${JSON.stringify(action())}`;
  } catch (error) {
    return JSON.stringify(error);
  }
}
