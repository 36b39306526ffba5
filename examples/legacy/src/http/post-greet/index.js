// POST /greet, in the style with a callback: bodies arrive as base64.
exports.handler = (request, context, callback) => {
  const form = new URLSearchParams(Buffer.from(request.body ?? "", "base64").toString());
  const name = form.get("name");
  if (!name) return callback(null, { statusCode: 400, headers: { "content-type": "text/plain" }, body: "Who are you?\n" });
  callback(null, { headers: { "content-type": "text/plain; charset=utf-8" }, body: `Hello, ${name}!\n` });
};
