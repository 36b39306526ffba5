// GET /plain: the answer of GET /session, from a function that reads no session.
const session = { user: "ada@example.com", cart: [1, 2, 3] };

exports.handler = async function handler() {
  return { statusCode: 200, headers: { "content-type": "application/json; charset=utf-8" }, body: JSON.stringify({ session }) };
};
