// GET /prices: the first route that has moved.
exports.handler = async () => ({
  statusCode: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: JSON.stringify({ tea: 3 }),
});
