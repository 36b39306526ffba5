// POST /echo: takes a body as bytes and says how many there were.
// oxlint-disable typescript/no-unsafe-assignment -- Plain JavaScript, as the owner of an app writes it.
exports.handler = async function handler(request) {
  const bytes = Buffer.from(request.body ?? "", "base64");
  return {
    statusCode: 200,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
    body: JSON.stringify({ bytes: bytes.length }),
  };
};
