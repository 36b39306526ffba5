// A small HTTP client for one request at a time, on kept connections.
import { Agent, request } from "node:http";

export interface Client {
  /** Rejects where no whole answer comes. */
  get(path: string): Promise<{ readonly status: number; readonly body: string }>;
  close(): void;
}

const TIMEOUT_MS = 15_000; // Longer than a request waits for an instance.

export function createClient(baseUrl: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    get: (path) =>
      new Promise((resolve, reject) => {
        const sent = request(new URL(path, baseUrl), { agent, timeout: TIMEOUT_MS }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
          response.on("error", reject);
        });
        sent.on("timeout", () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
        sent.on("error", reject);
        sent.end();
      }),
    close: () => agent.destroy(),
  };
}
