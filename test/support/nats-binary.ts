// Finds the nats-server that tests run: the setting NATS_SERVER, then what ./setup put into the checkout, then PATH.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const CHECKOUT = join(import.meta.dirname, "..", "..");

export function natsServerPath(): string {
  const setting = process.env["NATS_SERVER"];
  if (setting !== undefined && setting !== "") return setting;
  const folders = [join(CHECKOUT, ".tools"), ...(process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "")];
  const found = folders.map((folder) => join(folder, "nats-server")).find(isExecutable);
  if (found === undefined) throw new Error("no nats-server was found: run ./setup, or name one in NATS_SERVER");
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
