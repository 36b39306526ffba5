// Notices that an app's files change, and tells of it once they have been quiet for a moment.
import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { MANIFEST_FILE_NAMES, isInside } from "./app-folder.ts";

export interface FolderWatch {
  /** Watches these folders of functions too; a manifest may name any folder of the app. */
  include(folders: readonly string[]): void;
  close(): void;
}

const QUIET_MS = 25; // Editors write a file in several steps; measured, they lie within a few milliseconds.

export function watchApp(appFolder: string, onChange: () => void, onTrouble: (error: Error) => void): FolderWatch {
  const watchers = new Map<string, FSWatcher>();
  const sources = join(appFolder, "src");
  let timer: NodeJS.Timeout | null = null;
  const changed = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(onChange, QUIET_MS);
  };
  const add = (folder: string, recursive: boolean): void => {
    if (watchers.has(folder)) return;
    try {
      const watcher = watch(folder, { recursive }, (_event, fileName) => {
        const matters = recursive || fileName === null || fileName === "src" || MANIFEST_FILE_NAMES.includes(fileName);
        if (fileName === "src" && !recursive) refresh();
        if (matters) changed();
      });
      watcher.on("error", onTrouble);
      watchers.set(folder, watcher);
    } catch (cause) {
      // A folder that is not there is watched once it is; its parent tells.
      if (!(cause instanceof Error && "code" in cause && cause.code === "ENOENT")) throw cause;
    }
  };
  const refresh = (): void => {
    watchers.get(sources)?.close();
    watchers.delete(sources);
    add(sources, true);
  };
  add(appFolder, false);
  add(sources, true);
  return {
    include(folders) {
      for (const folder of folders) if (!isInside(sources, folder)) add(folder, true);
    },
    close() {
      if (timer !== null) clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}
