// POST /sign: only a form that this app has handed out to this visitor counts.
const { html } = require("@orchestrator/functions");

function sign(req, res) {
  const names = [...(req.session.names ?? []), String(req.body.name)];
  res({ session: { names }, location: "/" });
}

exports.handler = html.post(html.csrf, sign);
