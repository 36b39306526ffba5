// PostgreSQL as a Node program uses it: a pool of connections, prepared statements, one row and one commit for each write.
import pg from "pg";
import type { Driver } from "./driver.ts";

const CONNECTION_COUNT = 32; // As many as there are writers at once; one after the other they use one.
const MAKE_TABLE = "create table if not exists documents (name text primary key, value jsonb not null)";
const READ = { name: "read", text: "select value from documents where name = $1" };
const WRITE = {
  name: "write",
  text: "insert into documents (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
};

export async function openPostgres(port: number): Promise<Driver> {
  const pool = new pg.Pool({ host: "127.0.0.1", port, user: "bench", database: "postgres", max: CONNECTION_COUNT });
  await pool.query(MAKE_TABLE);
  return {
    get: async (key) => {
      const { rows } = await pool.query<{ value: unknown }>({ ...READ, values: [key] });
      return rows[0]?.value ?? null;
    },
    set: (key, value) => pool.query({ ...WRITE, values: [key, JSON.stringify(value)] }),
    close: () => pool.end(),
  };
}
