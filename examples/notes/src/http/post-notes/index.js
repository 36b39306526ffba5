// POST /notes: stores the note of a form or of JSON.
const { http } = require("@orchestrator/functions");
const data = require("@orchestrator/data");

exports.handler = async function create(request) {
  const { note } = http.helpers.bodyParser(request) ?? {};
  if (!note) return { statusCode: 204, body: JSON.stringify({ ok: false }) };
  await data.set({ table: "notes", note, createdAt: new Date().toISOString() });
  return {
    statusCode: 201,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
    body: JSON.stringify({ ok: true }),
  };
};
