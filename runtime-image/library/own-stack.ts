// A stack as the owner of a function knows it: the function's own files by their short names, and nothing of the platform's inside. Pure.

const FRAME = /^\s+at /;
const NODE_FRAME = /^\s+at .*(?:\(node:|\bnode:)/;

export interface StackFolders {
  readonly own: string; // The function's.
  readonly platform: string; // Where the runtime and the library lie.
}

/** The folder of this very code: the runtime and the library are two bundles in one folder. */
export const PLATFORM_FOLDER = import.meta.dirname;

/** Where no frame is the function's own, all of them stay: then it is the platform that has something to explain. */
export function ownStack(stack: string, folders: StackFolders): string {
  const lines = stack.split("\n");
  const kept = lines.filter((line, index) => !isNoise(line, lines.slice(index + 1), folders));
  const hasOwn = kept.some((line) => FRAME.test(line) && !NODE_FRAME.test(line));
  return withoutFolder((hasOwn ? kept : lines).join("\n"), folders.own);
}

/** "/app/lib/x.js:3" reads as "lib/x.js:3" where "/app" is the function's folder. */
export function withoutFolder(text: string, folder: string): string {
  return text.replaceAll(`file://${folder}/`, "").replaceAll(`${folder}/`, "");
}

/** Node's frames count where they lie between frames of the function, and say nothing below the last one. */
function isNoise(line: string, following: readonly string[], { platform }: StackFolders): boolean {
  if (!FRAME.test(line)) return false;
  const isPlatform = (frame: string): boolean => frame.includes(`${platform}/`);
  if (isPlatform(line)) return true;
  if (!NODE_FRAME.test(line)) return false;
  const end = following.findIndex((next) => !FRAME.test(next));
  const below = end < 0 ? following : following.slice(0, end);
  return below.every((frame) => NODE_FRAME.test(frame) || isPlatform(frame));
}
