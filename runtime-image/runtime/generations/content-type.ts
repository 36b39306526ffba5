// What a content type says about a body, as far as handlers are promised to notice.

/** "Text/HTML; charset=utf-8" is "text/html". */
export const essenceOf = (contentType: string): string => (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();

export function isJsonType(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return essence === "application/json" || essence.endsWith("+json");
}

export const isFormType = (contentType: string): boolean => essenceOf(contentType) === "application/x-www-form-urlencoded";

export function isTextType(contentType: string): boolean {
  const essence = essenceOf(contentType);
  return essence.startsWith("text/") || essence === "application/xml" || essence.endsWith("+xml");
}
