// Request objects of each generation, as the runtime builds them, for tests of the library.

type Fields = Record<string, unknown>;

export interface EventParts {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly type?: string; // The content type of the body.
  readonly query?: Readonly<Record<string, string>>;
  readonly params?: Readonly<Record<string, string>>;
}

export function version2(parts: EventParts = {}): Fields {
  const { method = "GET", path = "/", headers = {}, query, params } = parts;
  const routeKey = `${method} ${path}`;
  const cookies = headers["cookie"]?.split("; ");
  return {
    version: "2.0",
    routeKey,
    rawPath: path,
    rawQueryString: query === undefined ? "" : `?${new URLSearchParams(query).toString()}`,
    headers: { ...headers, ...typed(parts) },
    requestContext: { http: { method, path }, routeKey },
    ...(cookies === undefined ? {} : { cookies }),
    ...(query === undefined ? {} : { queryStringParameters: query }),
    ...(params === undefined ? {} : { pathParameters: params }),
    ...(parts.body === undefined ? {} : { body: base64(parts.body) }),
    isBase64Encoded: parts.body !== undefined,
  };
}

export function version1(parts: EventParts = {}): Fields {
  const { method = "GET", path = "/", headers = {} } = parts;
  return {
    httpMethod: method,
    path,
    resource: path,
    pathParameters: parts.params ?? null,
    queryStringParameters: parts.query ?? null,
    headers: { ...headers, ...typed(parts) },
    body: parts.body === undefined ? null : base64(parts.body),
    isBase64Encoded: parts.body !== undefined,
  };
}

/** A form as a browser sends it. */
export function multipart(
  parts: readonly { readonly head: string; readonly content: string | Uint8Array }[],
  boundary = "----orc",
): Buffer {
  const pieces = parts.flatMap(({ head, content }) => [Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), Buffer.from(content), CRLF]);
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

const CRLF = Buffer.from("\r\n");

const typed = ({ type }: EventParts): Record<string, string> => (type === undefined ? {} : { "content-type": type });
const base64 = (body: string | Uint8Array): string => Buffer.from(body).toString("base64");
