// GET /counter: counts the visits of one visitor.
const { json } = require("@orchestrator/functions");

exports.handler = json.get(function count(req, res) {
  const visits = (req.session.visits ?? 0) + 1;
  res({ session: { ...req.session, visits }, json: { visits } });
});
