// GET /: the JSON answer that every row of the comparison gives.
exports.handler = async function handler() {
  return {
    statusCode: 200,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
    body: JSON.stringify({ message: "hello from a function", items: [1, 2, 3, 4, 5], isOk: true }),
  };
};
