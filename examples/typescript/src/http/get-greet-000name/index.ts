// GET /greet/:name: types are checked in your editor and taken off here.
import { type Greeting, greet } from "./greet.ts";
import type { Request, Response } from "./payload.ts";

export async function handler(request: Request): Promise<Response> {
  const greeting: Greeting = {
    name: request.pathParameters?.["name"] ?? "nobody",
    isLoud: request.queryStringParameters?.["loud"] === "yes",
  };
  return {
    statusCode: 200,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
    body: greet(greeting),
  };
}
