// Anything that user code may throw, as a message and a stack of bounded size, with paths as the owner knows them.
import { inspect } from "node:util";
import { ownStack, PLATFORM_FOLDER, withoutFolder } from "../library/own-stack.ts";

const MESSAGE_LENGTH_MAX = 4_096; // Both travel in one envelope, and in one line of log.
const STACK_LENGTH_MAX = 16_384;

export interface ErrorText {
  readonly message: string; // "TypeError: x is not a function"
  readonly stack: string;
}

export function describeError(thrown: unknown, folder: string): ErrorText {
  const message = cut(withoutFolder(messageOf(thrown), folder), MESSAGE_LENGTH_MAX);
  const stack = stackOf(thrown);
  return { message, stack: stack === "" ? message : cut(ownStack(stack, { own: folder, platform: PLATFORM_FOLDER }), STACK_LENGTH_MAX) };
}

function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown);
    if (typeof thrown === "string") return thrown;
    return inspect(thrown, { depth: 2 });
  } catch {
    return "an error that cannot be printed"; // User code may throw an object whose toString throws as well.
  }
}

function stackOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return "";
    const own = typeof thrown.stack === "string" ? thrown.stack : "";
    return thrown.cause instanceof Error && typeof thrown.cause.stack === "string" ? `${own}\n[cause]: ${thrown.cause.stack}` : own;
  } catch {
    return "";
  }
}

const cut = (text: string, lengthMax: number): string => (text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}… (cut)`);
