// Stands for a server that was there before: it says what reached it.
import { createServer } from "node:http";

createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (part) => (body += part));
  request.on("end", () => {
    response.writeHead(request.url === "/gone" ? 410 : 200, { "content-type": "text/plain; charset=utf-8", "x-old": "yes" });
    response.end(`the old server: ${request.method} ${request.url} ${body}\n`);
  });
}).listen(3335, "127.0.0.1", () => console.log("the old server listens on http://127.0.0.1:3335"));
