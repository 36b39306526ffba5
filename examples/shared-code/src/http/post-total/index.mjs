// POST /total: what a list of things costs. An ES module imports shared code just the same.
import { total } from "@architect/shared/prices.js";

export async function handler(request) {
  const items = JSON.parse(Buffer.from(request.body ?? "W10=", "base64").toString());
  return {
    statusCode: 200,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
    body: JSON.stringify({ total: total(items) }),
  };
}
