// GET / of the smallest app: a request comes in, an object goes out.
exports.handler = async function handler(request) {
  const name = request.queryStringParameters?.name ?? "world";
  return {
    statusCode: 200,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0",
    },
    body: `Hello, ${name}!\n`,
  };
};
