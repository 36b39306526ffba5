// Content types of answers: which shorthand has which, which are not to be cached, and which are no text.

/** In the order in which they win over each other. */
export const SHORTHANDS = ["html", "css", "js", "text", "json", "xml"] as const;
export type Shorthand = (typeof SHORTHANDS)[number];

export const SHORTHAND_TYPES: Readonly<Record<Shorthand, string>> = {
  html: "text/html; charset=utf8",
  css: "text/css; charset=utf8",
  js: "text/javascript; charset=utf8",
  text: "text/plain; charset=utf8",
  json: "application/json; charset=utf8",
  xml: "application/xml; charset=utf8",
};

export const ANTI_CACHE = "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0";
const ONE_DAY = "max-age=86400";
const NOT_CACHED = new Set(["text/html", "application/json", "application/vnd.api+json"]);

/** What is made for one visitor, pages and data, is kept by no cache; the rest for a day. */
export const cacheControlFor = (contentType: string): string => (NOT_CACHED.has(nameOf(contentType)) ? ANTI_CACHE : ONE_DAY);

const BINARY_FAMILY = /^(?:image|font|audio|video)\//;
const TEXT_OF_FAMILY = new Set(["image/svg+xml"]);
const BINARY =
  /^application\/(?:octet-stream|pdf|zip|gzip|rtf|msword|epub\+zip|java-archive|wasm|x-(?:7z-compressed|apple-diskimage|bzip2?|gzip|java-archive|rar-compressed|tar|zip)|vnd\.(?:amazon\.ebook|apple\.installer\+xml|ms-.*|oasis\..*|openxmlformats-.*))$/;

/** A text body of such a type is taken for base64. */
export function isBinaryType(contentType: string): boolean {
  const name = nameOf(contentType);
  return (BINARY_FAMILY.test(name) && !TEXT_OF_FAMILY.has(name)) || BINARY.test(name);
}

const nameOf = (contentType: string): string => (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
