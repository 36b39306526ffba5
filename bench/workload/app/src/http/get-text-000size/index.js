// GET /text/:size: a text of so many bytes, made once.
// oxlint-disable typescript/no-unsafe-assignment -- Plain JavaScript, as the owner of an app writes it.
const texts = new Map();

exports.handler = async function handler(request) {
  const size = Number(request.pathParameters.size);
  if (!texts.has(size)) texts.set(size, "x".repeat(size));
  return { statusCode: 200, headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" }, body: texts.get(size) };
};
