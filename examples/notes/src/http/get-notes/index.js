// GET /notes: the notes, the oldest first.
const { http } = require("@orchestrator/functions");
const data = require("@orchestrator/data");

exports.handler = http.async(async function list() {
  const notes = await data.get({ table: "notes", limit: 100 });
  const sorted = notes.sort((a, b) => a.createdAt.localeCompare(b.createdAt));
  return { json: { notes: sorted.map(({ note }) => note) } };
});
