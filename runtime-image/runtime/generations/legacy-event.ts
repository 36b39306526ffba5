// Builds the request object of payload version 1.0, also for the json and html generations, which know its headers in lower case.
import type { RequestHeader } from "../../contract/envelope.ts";
import { headerOf } from "./flat-headers.ts";
import { bodyWriter, type EventWithBody } from "./request-body.ts";
import { firstLabel, splitHeaders, withoutPort } from "./request-headers.ts";
import { ACCOUNT_ID, everyValue, lastValues, ownParams, parseQuery } from "./request-parts.ts";
import { remembering, toResource } from "./request-route.ts";
import { createTimeFormat } from "./request-time.ts";

export interface LegacyEvent extends EventWithBody {
  version: "1.0";
  resource: string; // "/shop/{item}"
  path: string;
  httpMethod: string;
  headers: Record<string, string>;
  multiValueHeaders: Record<string, string[]>;
  queryStringParameters: Record<string, string> | null;
  multiValueQueryStringParameters: Record<string, string[]> | null;
  pathParameters: Record<string, string> | null;
  stageVariables: null;
  requestContext: RequestContext;
  body: string | null;
}

interface RequestContext {
  accountId: string;
  apiId: string;
  domainName: string;
  domainPrefix: string;
  extendedRequestId: string;
  httpMethod: string;
  identity: { sourceIp: string; userAgent: string };
  path: string;
  protocol: string;
  requestId: string;
  requestTime: string;
  requestTimeEpoch: number;
  resourcePath: string;
  stage: "$default";
}

export interface LegacyEventOptions {
  readonly apiId: string;
  readonly rawJson: boolean;
  readonly lowerCaseHeaders: boolean;
}

export function createLegacyEvents(options: LegacyEventOptions): (header: RequestHeader, body: Uint8Array) => LegacyEvent {
  const resourceOf = remembering(toResource);
  const time = createTimeFormat();
  const addBody = bodyWriter(options);

  return (header, body) => {
    const headers = splitHeaders(header.headers, { lowerCase: options.lowerCaseHeaders });
    const query = header.query === "" ? [] : parseQuery(header.query);
    const resource = resourceOf(header.route);
    const event: LegacyEvent = {
      version: "1.0",
      resource,
      path: header.path,
      httpMethod: header.method,
      headers: headers.last,
      multiValueHeaders: headers.every,
      queryStringParameters: query.length === 0 ? null : lastValues(query),
      multiValueQueryStringParameters: query.length === 0 ? null : everyValue(query),
      pathParameters: ownParams(header.params),
      stageVariables: null,
      requestContext: contextOf(header, { apiId: options.apiId, resource, requestTime: time(header.startEpochMs) }),
      body: null,
      isBase64Encoded: false,
    };
    if (body.length > 0) addBody(event, body, header.headers);
    return event;
  };
}

function contextOf(header: RequestHeader, facts: { apiId: string; resource: string; requestTime: string }): RequestContext {
  const domainName = withoutPort(headerOf(header.headers, "host"));
  return {
    accountId: ACCOUNT_ID,
    apiId: facts.apiId,
    domainName,
    domainPrefix: firstLabel(domainName),
    extendedRequestId: header.id,
    httpMethod: header.method,
    identity: { sourceIp: header.sourceIp, userAgent: headerOf(header.headers, "user-agent") },
    path: header.path,
    protocol: `HTTP/${header.httpVersion}`,
    requestId: header.id,
    requestTime: facts.requestTime,
    requestTimeEpoch: header.startEpochMs,
    resourcePath: facts.resource,
    stage: "$default",
  };
}
