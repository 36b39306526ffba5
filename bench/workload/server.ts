// The app of the comparison as a plain node:http server: what the rows that are not ours run. Imports nothing else, so that a container can be given it as text.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

const [host, port] = process.argv.slice(-2); // Also right where the code itself comes as an argument.
const texts = new Map<number, Buffer>();

const server = createServer((request, response) => {
  const path = request.url ?? "/";
  if (request.method === "POST" && path === "/echo") echo(request, response);
  else if (path.startsWith("/text/")) sendText(Number(path.slice("/text/".length)), response);
  else sendJson({ message: "hello from a function", items: [1, 2, 3, 4, 5], isOk: true }, response);
});

// The same as a proxy in front of it expects: connections are kept.
server.keepAliveTimeout = 65_000;
server.listen(Number(port), host, () => {
  const address = server.address();
  process.stdout.write(`listening ${typeof address === "object" && address !== null ? address.port : ""}\n`);
});
process.on("SIGTERM", () => process.exit(0)); // As process 1 of a container it would not end otherwise.

function sendJson(value: object, response: ServerResponse): void {
  const body = JSON.stringify(value);
  response.writeHead(200, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

function sendText(size: number, response: ServerResponse): void {
  let text = texts.get(size);
  if (text === undefined) {
    text = Buffer.alloc(size, "x");
    texts.set(size, text);
  }
  response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", "content-length": size });
  response.end(text);
}

function echo(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => sendJson({ bytes: Buffer.concat(chunks).length }, response));
}
