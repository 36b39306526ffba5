// What of a stack is shown to the owner of a function.
import { describe, expect, it } from "vitest";
import { ownStack } from "../../../runtime-image/library/own-stack.ts";

const FOLDERS = { own: "/app/src/http/get-index", platform: "/runtime" };
const shown = (...lines: string[]): string[] => ownStack(lines.join("\n"), FOLDERS).split("\n");

const ERROR = "Error: nope";
const OWN = "    at exports.handler (/app/src/http/get-index/index.js:1:40)";
const CALL = "    at call (/runtime/main.js:31:708)";
const STORAGE = "    at AsyncLocalStorage.run (node:internal/async_local_storage/async_context_frame:65:14)";

describe("ownStack", () => {
  it("ends where the platform's code begins, and names files as the owner does", () => {
    expect(shown(ERROR, OWN, CALL, STORAGE, CALL)).toEqual([ERROR, "    at exports.handler (index.js:1:40)"]);
  });

  it("keeps what Node did for the function, and what the app's other code did", () => {
    const parse = "    at node:internal/deps/parse:1:1";
    const shared = "    at help (/app/node_modules/help/index.js:3:1)";
    expect(shown(ERROR, parse, shared, OWN, CALL)).toEqual([ERROR, parse, shared, "    at exports.handler (index.js:1:40)"]);
  });

  it("leaves out the library above the function's own code", () => {
    expect(shown(ERROR, "    at write (/runtime/library.js:1:1)", OWN, STORAGE)).toEqual([ERROR, "    at exports.handler (index.js:1:40)"]);
  });

  it("looks at the stack of a cause by itself", () => {
    const cause = "[cause]: Error: first";
    expect(shown(ERROR, OWN, CALL, STORAGE, cause, OWN, CALL)).toEqual([
      ERROR,
      "    at exports.handler (index.js:1:40)",
      cause,
      "    at exports.handler (index.js:1:40)",
    ]);
  });

  it("stays whole where nothing of it is the function's, and as it is where there are no frames", () => {
    expect(shown(ERROR, CALL, STORAGE)).toEqual([ERROR, CALL, STORAGE]);
    expect(shown(ERROR)).toEqual([ERROR]);
  });
});
