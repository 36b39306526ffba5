// Brings the request objects of all generations to the one that middleware sees: method, path, params, query and body, always there.
import { isVersion2 } from "./event.ts";
import { isFields, type Fields } from "./fields.ts";

/** A new object with all fields of the event; the event itself stays as it is. */
export function interpolate(event: unknown): Fields {
  if (!isFields(event)) throw new TypeError("interpolate takes the request object");
  return isVersion2(event) ? fromVersion2(event) : fromVersion1(event);
}

function fromVersion2(event: Fields): Fields {
  const method = methodOf(event);
  const routeKey = typeof event["routeKey"] === "string" ? event["routeKey"] : "";
  return {
    ...withCommon(event),
    httpMethod: method,
    method,
    path: event["rawPath"],
    resource: routeKey.split(" ")[1] ?? routeKey,
  };
}

function fromVersion1(event: Fields): Fields {
  const request = withCommon(event);
  const method = event["httpMethod"] ?? event["method"];
  if (typeof method === "string") {
    request["httpMethod"] = method.toUpperCase();
    request["method"] = method.toUpperCase();
  }
  const path = event["path"];
  if (typeof path === "string" && path.includes("{")) request["path"] = fillIn(path, request["params"]);
  return request;
}

/** The older simple requests carry params and query under these names already. */
function withCommon(event: Fields): Fields {
  const params = event["pathParameters"] ?? event["params"] ?? {};
  const query = event["queryStringParameters"] ?? event["query"] ?? {};
  return { ...event, body: event["body"] ?? {}, params, query, pathParameters: params, queryStringParameters: query };
}

function methodOf(event: Fields): unknown {
  const context = event["requestContext"];
  const http = isFields(context) ? context["http"] : undefined;
  return isFields(http) ? http["method"] : event["httpMethod"];
}

/** "/foo/{baz}" with { baz: "v" } is "/foo/v"; a name that no param has stays. */
function fillIn(path: string, params: unknown): string {
  if (!isFields(params)) return path;
  return path.replaceAll(/\{([^{}]+)\}/g, (braces, inner: string) => {
    const value = params[inner.replace(/\+$/, "")];
    return typeof value === "string" ? value : braces;
  });
}
