// GET /session: what the visitor's session holds.
const { http } = require("@orchestrator/functions");

exports.handler = async function handler(request) {
  const session = await http.session.read(request);
  return { statusCode: 200, headers: { "content-type": "application/json; charset=utf-8" }, body: JSON.stringify({ session }) };
};
