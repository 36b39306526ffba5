// Notices that an app's files change, and tells of it once they have been quiet for a moment.
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { isInside } from "./folders.ts";
import { MANIFEST_FILE_NAMES } from "./manifest-files.ts";
import { VARIABLE_FILE_NAMES } from "./variables.ts";

export interface FolderWatch {
  /** Watches exactly these folders and all below them from now on; one that is not there is watched once it is. */
  include(folders: readonly string[]): void;
  /** Whether every change that was seen was told of. */
  isQuiet(): boolean;
  close(): void;
}

const QUIET_MS = 25; // Editors write a file in several steps; measured, they lie within a few milliseconds.
// Package managers write these when they are done: by then the app's own node_modules is whole.
const LOCK_FILE_NAMES = ["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml"];
const TOP_FILES: ReadonlySet<string> = new Set([...MANIFEST_FILE_NAMES, ...VARIABLE_FILE_NAMES, ...LOCK_FILE_NAMES]);

export function watchApp(appFolder: string, onChange: () => void, onTrouble: (error: Error) => void): FolderWatch {
  return new AppWatch(appFolder, onChange, onTrouble);
}

class AppWatch implements FolderWatch {
  readonly #appFolder: string;
  readonly #onChange: () => void;
  readonly #onTrouble: (error: Error) => void;
  readonly #contents = new Map<string, FSWatcher>(); // Of the included folders.
  readonly #parents = new Map<string, FSWatcher>(); // Tell when an included folder comes or goes.
  #included: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | null = null;

  constructor(appFolder: string, onChange: () => void, onTrouble: (error: Error) => void) {
    this.#appFolder = appFolder;
    this.#onChange = onChange;
    this.#onTrouble = onTrouble;
    this.#watchParent(appFolder);
  }

  include(folders: readonly string[]): void {
    // What lies in another one is watched with it.
    this.#included = new Set(folders.filter((folder) => !folders.some((other) => other !== folder && isInside(other, folder))));
    for (const folder of this.#contents.keys()) if (!this.#included.has(folder)) forget(this.#contents, folder);
    const parents = new Set([this.#appFolder, ...[...this.#included].map((folder) => dirname(folder))]);
    for (const folder of this.#parents.keys()) if (!parents.has(folder)) forget(this.#parents, folder);
    for (const parent of parents) this.#watchParent(parent);
    for (const folder of this.#included) this.#watchContent(folder);
  }

  isQuiet(): boolean {
    return this.#timer === null;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const watchers of [this.#contents, this.#parents]) for (const folder of watchers.keys()) forget(watchers, folder);
  }

  #watchParent(parent: string): void {
    this.#add(this.#parents, parent, { recursive: false }, (name) => {
      const here = [...this.#included].filter((folder) => dirname(folder) === parent && (name === null || basename(folder) === name));
      for (const folder of here) {
        // It may be another folder than the one that was watched.
        forget(this.#contents, folder);
        this.#watchContent(folder);
      }
      if (here.length > 0 || name === null || (parent === this.#appFolder && TOP_FILES.has(name))) this.#changed();
    });
  }

  #watchContent(folder: string): void {
    this.#add(this.#contents, folder, { recursive: true }, () => this.#changed());
  }

  #add(watchers: Map<string, FSWatcher>, folder: string, options: { recursive: boolean }, onEvent: (name: string | null) => void): void {
    if (watchers.has(folder)) return;
    try {
      const watcher = watch(folder, options, (_event, name) => onEvent(name));
      watcher.on("error", this.#onTrouble);
      watchers.set(folder, watcher);
    } catch (cause) {
      // A folder that is not there is watched once it is; its parent tells.
      if (!(cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR"))) throw cause;
    }
  }

  #changed(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#onChange();
    }, QUIET_MS);
  }
}

function forget(watchers: Map<string, FSWatcher>, folder: string): void {
  watchers.get(folder)?.close();
  watchers.delete(folder);
}
