// GET /: the guest book of this visitor, and a form to sign it.
const { html } = require("@orchestrator/functions");

const escape = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

exports.handler = html.get(function page(req, res) {
  const names = req.session.names ?? [];
  res({
    html: `<!doctype html>
<title>Guest book</title>
<ul>${names.map((name) => `<li>${escape(name)}</li>`).join("")}</ul>
<form method="post" action="/sign">
  <input type="hidden" name="csrf" value="${escape(req.csrf)}">
  <input name="name" required><button>Sign</button>
</form>
`,
  });
});
