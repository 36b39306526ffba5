// Opens pages in a real browser, the one that ./setup --docker makes sure of; the only file that knows the library that drives it.
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type BrowserContext, type Page, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]; // As in ./setup.
const ON_A_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
const FLAGS = [
  "--no-sandbox", // Its sandbox needs rights that root in a container does not have; the pages are our own.
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const START_TIMEOUT_MS = 60_000;

export interface Browser {
  open(url: string): Promise<Page>;
  close(): Promise<void>;
}

export async function startBrowser(): Promise<Browser> {
  const executablePath = browserPath();
  const profile = await mkdtemp(join(tmpdir(), "orchestrator-browser-"));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: FLAGS,
    timeout: START_TIMEOUT_MS,
  });
  return {
    async open(url) {
      const page = await context.newPage();
      await page.goto(url);
      return page;
    },
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

function browserPath(): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const candidates = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ON_A_MAC];
  const found = candidates.find((path) => isProgram(path));
  if (found === undefined)
    throw new Error("no Chromium was found: run ./setup --docker as root on Debian or Ubuntu, or put a Chromium or Chrome on your PATH");
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
