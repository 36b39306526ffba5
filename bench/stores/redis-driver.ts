// Redis as a Node program uses it: one connection, values as JSON.
import { createClient } from "redis";
import type { Driver } from "./driver.ts";

export async function openRedis(port: number): Promise<Driver> {
  const client = createClient({ socket: { host: "127.0.0.1", port } });
  await client.connect();
  return {
    get: async (key) => {
      const json = await client.get(key);
      return json === null ? null : (JSON.parse(json) as unknown);
    },
    set: (key, value) => client.set(key, JSON.stringify(value)),
    close: async () => client.destroy(),
  };
}
