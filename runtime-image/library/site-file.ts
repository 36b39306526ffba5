// What a handler throws to have the request answered with a file of the app's site: the gateway has those files, an instance has not.

// The library and the runtime are bundled apart, so that a class of one would be unknown to the other.
const MARK = Symbol.for("orchestrator:site-file");

export interface SiteFileAsked {
  readonly path: string; // As a request would name it: "/docs/".
  readonly isSpa: boolean;
}

export function siteFile(asked: SiteFileAsked): Error {
  const error = new Error(`the site's file ${asked.path} was asked for, outside of the platform`);
  error.name = "SiteFile";
  return Object.defineProperty(error, MARK, { value: asked });
}

/** Null for anything else that may be thrown. */
export function siteFileAsked(thrown: unknown): SiteFileAsked | null {
  if (!(thrown instanceof Error) || !(MARK in thrown)) return null;
  return thrown[MARK] as SiteFileAsked; // siteFile() put it there.
}
