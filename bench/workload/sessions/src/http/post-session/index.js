// POST /session: begins a session.
const { http } = require("@orchestrator/functions");

exports.handler = async function handler() {
  const cookie = await http.session.write({ user: "ada@example.com", cart: [1, 2, 3] });
  return { statusCode: 201, cookies: [cookie], body: "" };
};
