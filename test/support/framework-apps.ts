// The same small site in three web frameworks, each in a function behind a published adapter for events of AWS.

/** What every one of them answers, below its own folder. */
const BYTES = "Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))";

const HONO = `
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";

const app = new Hono().basePath("/hono");
app.get("/query", (c) => c.json(c.req.queries()));
app.post("/json", async (c) => c.json(await c.req.json(), 201));
app.post("/form", async (c) => c.json(await c.req.parseBody()));
app.get("/cookies", (c) => {
  c.header("set-cookie", "one=1; Path=/", { append: true });
  c.header("set-cookie", "two=2; HttpOnly", { append: true });
  return c.text(c.req.header("cookie") ?? "none");
});
app.get("/binary", (c) => c.body(${BYTES}, 200, { "content-type": "application/octet-stream" }));
app.get("/redirect", (c) => c.redirect("/hono/there"));
app.get("/items/:id", (c) => c.text(c.req.param("id")));
app.get("/headers", (c) => c.text(c.req.header("x-mine") ?? "none"));
app.notFound((c) => c.text("hono knows no " + c.req.path, 404));

export const handler = handle(app);
`;

const FASTIFY = `
const fastify = require("fastify");
const awsLambda = require("@fastify/aws-lambda");

const app = fastify();
app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body))));
const routes = async (site) => {
  site.get("/query", async (request) => request.query);
  site.post("/json", async (request, reply) => reply.code(201).send(request.body));
  site.post("/form", async (request) => request.body);
  site.get("/cookies", async (request, reply) => reply.header("set-cookie", ["one=1; Path=/", "two=2; HttpOnly"]).type("text/plain").send(request.headers.cookie ?? "none"));
  site.get("/binary", async (request, reply) => reply.type("application/octet-stream").send(${BYTES}));
  site.get("/redirect", async (request, reply) => reply.redirect("/fastify/there"));
  site.get("/items/:id", async (request, reply) => reply.type("text/plain").send(request.params.id));
  site.get("/headers", async (request, reply) => reply.type("text/plain").send(request.headers["x-mine"] ?? "none"));
};
app.register(routes, { prefix: "/fastify" });
app.setNotFoundHandler(async (request, reply) => reply.code(404).type("text/plain").send("fastify knows no " + request.url));
exports.handler = awsLambda(app, { binaryMimeTypes: ["application/octet-stream"] });
`;

const EXPRESS = `
const express = require("express");
const serverless = require("serverless-http");

const site = express.Router();
site.get("/query", (request, response) => response.json(request.query));
site.post("/json", express.json(), (request, response) => response.status(201).json(request.body));
site.post("/form", express.urlencoded({ extended: false }), (request, response) => response.json(request.body));
site.get("/cookies", (request, response) => response.append("set-cookie", "one=1; Path=/").append("set-cookie", "two=2; HttpOnly").type("text/plain").send(request.headers.cookie ?? "none"));
site.get("/binary", (request, response) => response.type("application/octet-stream").send(${BYTES}));
site.get("/redirect", (request, response) => response.redirect("/express/there"));
site.get("/items/:id", (request, response) => response.type("text/plain").send(request.params.id));
site.get("/headers", (request, response) => response.type("text/plain").send(request.headers["x-mine"] ?? "none"));
const app = express();
app.use("/express", site);
app.use((request, response) => response.status(404).type("text/plain").send("express knows no " + request.path));
exports.handler = serverless(app, { binary: ["application/octet-stream"] });
`;

export const FRAMEWORKS = ["hono", "fastify", "express"] as const;
export const FRAMEWORK_PACKAGES = ["hono", "fastify", "@fastify/aws-lambda", "express", "serverless-http"] as const;

export const frameworkApp = (gateway: "http" | "rest"): Record<string, string> => ({
  "app.arc": `@app
frameworks

@aws
apigateway ${gateway}

@orchestrator
function-size 20
bare-query true

@http
${FRAMEWORKS.map((framework) => `any /${framework}/*\n`).join("")}`,
  "src/http/any-hono-catchall/index.mjs": HONO,
  "src/http/any-fastify-catchall/index.js": FASTIFY,
  "src/http/any-express-catchall/index.js": EXPRESS,
});
