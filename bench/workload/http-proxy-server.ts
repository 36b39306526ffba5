// http-proxy with a keep-alive agent, as its own documentation sets it up: one row of the comparison.
import { Agent, createServer } from "node:http";
import httpProxy from "http-proxy";

const [target = ""] = process.argv.slice(2);
const proxy = httpProxy.createProxyServer({ target, agent: new Agent({ keepAlive: true, maxSockets: 256 }) });

proxy.on("error", (_error, _request, response) => {
  if ("writeHead" in response && !response.headersSent) response.writeHead(502);
  response.end();
});

const server = createServer((request, response) => proxy.web(request, response));
server.keepAliveTimeout = 65_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`listening ${typeof address === "object" && address !== null ? address.port : ""}\n`);
});
