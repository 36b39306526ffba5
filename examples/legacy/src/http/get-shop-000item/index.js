// GET /shop/:item in payload version 1: parameters are null where there are none, header names keep the case they were sent in.
exports.handler = async (request) => ({
  statusCode: 200,
  headers: {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0",
  },
  body: JSON.stringify({
    method: request.httpMethod,
    path: request.path,
    item: request.pathParameters.item,
    query: request.queryStringParameters,
    body: request.body,
  }),
});
