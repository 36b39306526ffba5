// Builds the request object of payload version 2.0.
import type { RequestHeader } from "../../contract/envelope.ts";
import { bodyWriter, type EventWithBody } from "./request-body.ts";
import { firstLabel, joinHeaders, withoutPort } from "./request-headers.ts";
import { ACCOUNT_ID, ownParams, parseQuery, setOwn } from "./request-parts.ts";
import { remembering, toRouteKey } from "./request-route.ts";
import { createTimeFormat } from "./request-time.ts";

export interface CurrentEvent extends EventWithBody {
  version: "2.0";
  routeKey: string;
  rawPath: string;
  rawQueryString: string;
  cookies?: string[];
  headers: Record<string, string>;
  queryStringParameters?: Record<string, string>;
  requestContext: RequestContext;
  pathParameters?: Record<string, string>;
}

interface RequestContext {
  accountId: string;
  apiId: string;
  domainName: string;
  domainPrefix: string;
  http: { method: string; path: string; protocol: string; sourceIp: string; userAgent: string };
  requestId: string;
  routeKey: string;
  stage: "$default";
  time: string;
  timeEpoch: number;
}

interface Options {
  readonly apiId: string;
  readonly rawJson: boolean;
  readonly bareQuery: boolean; // rawQueryString without its "?", as AWS sends it.
}

export function createCurrentEvents(options: Options): (header: RequestHeader, body: Uint8Array) => CurrentEvent {
  const routeKeyOf = remembering(toRouteKey);
  const time = createTimeFormat();
  const addBody = bodyWriter(options);
  const queryMark = options.bareQuery ? "" : "?";

  return (header, body) => {
    const routeKey = routeKeyOf(header.route);
    const cookies: string[] = [];
    const headers = joinHeaders(header.headers, cookies);
    const domainName = withoutPort(ownText(headers, "host"));
    const event: CurrentEvent = {
      version: "2.0",
      routeKey,
      rawPath: header.path,
      rawQueryString: header.query === "" ? "" : queryMark + header.query,
      headers,
      requestContext: {
        accountId: ACCOUNT_ID,
        apiId: options.apiId,
        domainName,
        domainPrefix: firstLabel(domainName),
        http: {
          method: header.method,
          path: header.path,
          protocol: `HTTP/${header.httpVersion}`,
          sourceIp: header.sourceIp,
          userAgent: ownText(headers, "user-agent"),
        },
        requestId: header.id,
        routeKey,
        stage: "$default",
        time: time(header.startEpochMs),
        timeEpoch: header.startEpochMs,
      },
      isBase64Encoded: false,
    };
    if (cookies.length > 0) event.cookies = cookies;
    if (header.query !== "") addQuery(event, header.query);
    const params = ownParams(header.params);
    if (params !== null) event.pathParameters = params;
    if (body.length > 0) addBody(event, body, header.headers);
    return event;
  };
}

function addQuery(event: CurrentEvent, query: string): void {
  const pairs = parseQuery(query);
  if (pairs.length === 0) return;
  const values: Record<string, string> = {};
  for (const [name, value] of pairs) setOwn(values, name, Object.hasOwn(values, name) ? `${values[name]},${value}` : value);
  event.queryStringParameters = values;
}

const ownText = (values: Record<string, string>, name: string): string => (Object.hasOwn(values, name) ? (values[name] ?? "") : "");
