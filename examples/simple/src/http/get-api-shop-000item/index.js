// GET /api/shop/:item, for pages of other origins too.
exports.handler = async ({ params, query, path }) => ({
  cors: true,
  type: "application/json; charset=utf-8",
  body: JSON.stringify({ path, item: params.item, size: query.size ?? "any" }),
});
