// An app whose routes overlap in every way, and which of its functions each request should reach.
/** The least special first: the order of a manifest means nothing. */
const ROUTES: readonly (readonly [route: string, folder: string])[] = [
  ["any /files/*", "any-files-catchall"],
  ["get /files/*", "get-files-catchall"],
  ["get /files/:name", "get-files-000name"],
  ["get /files/readme", "get-files-readme"],
  ["get /:page/reviews", "get-000page-reviews"],
  ["any /shop/:item", "any-shop-000item"],
  ["get /shop/:item", "get-shop-000item"],
  ["get /shop/:item/reviews", "get-shop-000item-reviews"],
  ["post /shop/list", "post-shop-list"],
  ["get /shop/list", "get-shop-list"],
];

/** Says which function it is and what it was given. */
const SOURCE = `exports.handler = async ({ routeKey, rawPath, pathParameters, headers, requestContext }, { functionName }) => {
  const { http, requestId, domainName } = requestContext;
  const forwarded = Object.fromEntries(Object.entries(headers).filter(([name]) => name.includes("forwarded")));
  const value = { folder: functionName.slice("src/http/".length), routeKey, rawPath, pathParameters, method: http.method, sourceIp: http.sourceIp, requestId, domainName, forwarded };
  return { headers: { "content-type": "application/json", "x-folder": value.folder }, body: JSON.stringify(value) };
};
`;

export function routingApp(options: { readonly order: "as listed" | "turned round"; readonly hasIndex: boolean }): Record<string, string> {
  const routes = [...(options.hasIndex ? ([["get /", "get-index"]] as const) : []), ...ROUTES];
  const ordered = options.order === "as listed" ? routes : routes.toReversed();
  return {
    "app.arc": `@app\nrouting\n\n@http\n${ordered.map(([route]) => `${route}\n`).join("")}`,
    ...Object.fromEntries(routes.map(([, folder]) => [`src/http/${folder}/index.js`, SOURCE])),
  };
}

export interface Reached {
  readonly folder: string;
  readonly routeKey: string;
  readonly rawPath: string;
  readonly pathParameters?: Readonly<Record<string, string>>;
  readonly method: string;
  readonly sourceIp: string;
  readonly requestId: string;
  readonly domainName: string;
  readonly forwarded: Readonly<Record<string, string>>;
}

type Params = Readonly<Record<string, string>>;

const CASES: readonly (readonly [method: string, path: string, folder: string, params?: Params])[] = [
  // Static before param before catch-all.
  ["GET", "/files/readme", "get-files-readme"],
  ["GET", "/files/other", "get-files-000name", { name: "other" }],
  ["GET", "/files/a/b.txt", "get-files-catchall", { proxy: "a/b.txt" }],
  ["GET", "/files/readme/more", "get-files-catchall", { proxy: "readme/more" }],
  ["GET", "/shop/list", "get-shop-list"],
  ["GET", "/shop/tea", "get-shop-000item", { item: "tea" }],
  ["GET", "/shop/tea/reviews", "get-shop-000item-reviews", { item: "tea" }],
  ["GET", "/about/reviews", "get-000page-reviews", { page: "about" }],
  // From the left: a static first segment before a param, though the param's route is static further on.
  ["GET", "/shop/reviews", "get-shop-000item", { item: "reviews" }],
  ["GET", "/files/reviews", "get-files-000name", { name: "reviews" }],
  // A branch that leads nowhere is left for the next one.
  ["GET", "/shop/list/reviews", "get-shop-000item-reviews", { item: "list" }],
  // The exact method before any, and any for what the exact ones leave.
  ["POST", "/shop/list", "post-shop-list"],
  ["PUT", "/shop/list", "any-shop-000item", { item: "list" }],
  ["DELETE", "/shop/tea", "any-shop-000item", { item: "tea" }],
  ["OPTIONS", "/shop/tea", "any-shop-000item", { item: "tea" }],
  ["PATCH", "/files/readme", "any-files-catchall", { proxy: "readme" }],
  // One slash at the end does not count; two do.
  ["GET", "/shop/list/", "get-shop-list"],
  ["GET", "/shop/tea/", "get-shop-000item", { item: "tea" }],
  ["GET", "/files/a/b/", "get-files-catchall", { proxy: "a/b" }],
  // Slashes and dots are never tidied away.
  ["GET", "/files//x", "get-files-catchall", { proxy: "/x" }],
  ["GET", "/files/a//b", "get-files-catchall", { proxy: "a//b" }],
  ["GET", "/files/../shop/list", "get-files-catchall", { proxy: "../shop/list" }],
  ["GET", "/files/./readme", "get-files-catchall", { proxy: "./readme" }],
  ["GET", "/files/%2e%2e/shop/list", "get-files-catchall", { proxy: "../shop/list" }],
  ["GET", "/shop/..", "get-shop-000item", { item: ".." }],
  // Segments are decoded once, after they were told apart.
  ["GET", "/%73hop/l%69st", "get-shop-list"],
  ["GET", "/shop/a%2Fb", "get-shop-000item", { item: "a/b" }],
  ["GET", "/shop/list%2Freviews", "get-shop-000item", { item: "list/reviews" }],
  ["GET", "/shop/%252F", "get-shop-000item", { item: "%2F" }],
  ["GET", "/shop/%E2%82%AC", "get-shop-000item", { item: "€" }],
  ["GET", "/shop/a+b", "get-shop-000item", { item: "a+b" }],
  ["GET", "/shop/%00", "get-shop-000item", { item: "\0" }],
  ["GET", "/shop/__proto__", "get-shop-000item", { item: "__proto__" }],
  ["GET", "/shop/:item", "get-shop-000item", { item: ":item" }],
  ["GET", "/shop/*", "get-shop-000item", { item: "*" }],
  // The query has no say.
  ["GET", "/shop/list?x=/files/readme", "get-shop-list"],
  ["GET", "/shop/tea?/reviews", "get-shop-000item", { item: "tea" }],
];

export const CAPTURED: readonly (readonly [method: string, path: string, folder: string, params: Params | undefined])[] = CASES.map(
  ([method, path, folder, params]) => [method, path, folder, params],
);

/** What no function captures goes to GET /, or is not found where there is none. */
export const UNCAPTURED: readonly (readonly [method: string, path: string])[] = [
  ["GET", "/nowhere"],
  ["GET", "/shop"],
  ["GET", "/shop/"],
  ["GET", "/shop//"],
  ["GET", "/shop//reviews"],
  ["GET", "/shop/tea/reviews/1"],
  ["GET", "/shop/list//"],
  ["GET", "//shop/list"],
  ["GET", "/./shop/list"],
  ["GET", "/x/../shop/list"],
  ["GET", "/shop%2Flist"],
  ["GET", "/SHOP/list"],
  ["GET", "/Shop/tea"],
  ["POST", "/about/reviews"],
  ["DELETE", "/shop/tea/reviews"],
  ["OPTIONS", "/"],
  ["POST", "/"],
];
