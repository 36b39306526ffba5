// The object that require("@orchestrator/functions") gives, under the names that the originals gave these things.
import { events, queues, scheduled, services, tables, ws } from "./absent.ts";
import { bodyParser } from "./body-parser.ts";
import { orCallback } from "./callback.ts";
import { createCsrfToken, verifyCsrfToken } from "./csrf.ts";
import { formGuard } from "./form-guard.ts";
import { asyncStyle, expressStyle } from "./http.ts";
import { interpolate } from "./interpolate.ts";
import { publicProxy } from "./proxy.ts";
import { createRoutes } from "./routes.ts";
import { readSession, writeSession } from "./session.ts";
import { pathOf, staticPath } from "./static-path.ts";

const http = Object.assign((...functions: readonly unknown[]) => expressStyle(...functions), {
  async: asyncStyle,
  middleware: asyncStyle,
  helpers: { bodyParser, interpolate, static: staticPath, url: pathOf },
  session: { read: orCallback(readSession), write: orCallback(writeSession) },
  csrf: { create: createCsrfToken, verify: verifyCsrfToken },
  proxy: Object.assign((options?: unknown) => publicProxy(options), { public: publicProxy }),
});

export const functions = {
  http,
  middleware: asyncStyle,
  json: createRoutes("json"),
  html: { ...createRoutes("html"), csrf: formGuard },
  css: createRoutes("css"),
  js: createRoutes("js"),
  text: createRoutes("text"),
  xml: createRoutes("xml"),
  static: staticPath,
  proxy: { public: publicProxy },
  events,
  queues,
  scheduled,
  tables,
  services,
  ws,
};
