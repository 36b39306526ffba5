// How many connections a process has to a port of this machine, read from /proc.
import { readFile, readdir, readlink } from "node:fs/promises";

const ESTABLISHED = "01";

export async function connectionCount(pid: number, port: number): Promise<number> {
  const [own, ...tables] = await Promise.all([
    inodesOf(pid),
    ...["tcp", "tcp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8").catch(() => "")),
  ]);
  return tables.flatMap((table) => inodesTo(table, port)).filter((inode) => own.has(inode)).length;
}

/** Of established connections whose other end has the port. */
export function inodesTo(table: string, port: number): string[] {
  const rows = table.split("\n").slice(1);
  return rows.flatMap((row) => {
    const [, , remote = "", state, , , , , , inode = ""] = row.trim().split(/\s+/);
    return state === ESTABLISHED && Number.parseInt(remote.split(":").at(-1) ?? "", 16) === port ? [inode] : [];
  });
}

async function inodesOf(pid: number): Promise<ReadonlySet<string>> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => ""))); // Closed meanwhile.
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}
